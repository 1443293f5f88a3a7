"""Tiny plans with groups of one role: random instances, and the enumeration of all their fleets.

What a group of one role hosts is computed again from the records, as in `legal`. Whether a fleet holds
the load is asked as it is meant: whatever is lost, groups of both roles take what they can, and the rest
is the smaller of what the decode groups host and what the prefill groups prefill.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice
from random import Random

from planner.hardware import Cpu, Dimm, Drive, Part
from planner.scenario import Limits
from planner.units import Money
from tests.oracle.brute_force import Answer, Oracle, TooLargeError, Totals, parts_of
from tests.oracle.instances import GB, GIB, Instance, make_instance
from tests.oracle.legal import Own, Size, Way, session_size
from tests.oracle.rules import with_a_second_gpu

MOST_STEPS, MOST_GROUPS, MOST_BUILDS = 4_000, 8, 30


class RoleOracle(Oracle):
    """Enumerates the fleets of one instance, groups of one role among them."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.steps_s: dict[object, Fraction] = {}

    def step_s(self, way: Way, tokens: int, caches: int, *, prefill: bool) -> Fraction:
        # The same for all that differ in their role, cards and chassis only: asked for once.
        key = (way.gpu.id, way.tp, way.pp, way.weights, way.kv, tokens, caches, prefill)
        if key not in self.steps_s:
            self.steps_s[key] = super().step_s(way, tokens, caches, prefill=prefill)
        return self.steps_s[key]

    def ways(self) -> Iterator[Way]:
        roles = self.scenario.serving.roles
        for way in super().ways():
            if "both" in roles:
                yield way
            for role in ("decode", "prefill") if "split" in roles else ():
                for cards in {2, 4, way.chassis.n_gpus} if way.nodes == 1 else {way.chassis.n_gpus}:
                    if self.cards(way.system, cards) <= way.chassis.nic_slots:
                        yield replace(way, fabric=cards, role=role)

    # -- what a turn moves -------------------------------------------------------------------

    @property
    def per_open(self) -> Fraction:
        return self.people.turns_per_s / self.people.open

    @property
    def kept(self) -> Fraction:
        return sum(self.where().values(), Fraction(0))

    @property
    def handed(self) -> Fraction:
        """Return the tokens that a turn has prefilled on a prefill group."""
        tail = self.kept * Fraction(self.cache.chunk_tokens, 2)
        return self.scenario.workload.rates.new_tokens + tail + self.again(self.where())

    def one_way(self, way: Way) -> Fraction:
        """Return the bytes per second that cards of one node may be planned for."""
        nic = self.catalog.nics()[self.catalog.cluster.fabric_nic]
        return Fraction(self.dealt(way, way.fabric, nic.ports * nic.port_bytes_per_s), 2)

    def session_links(self, way: Way) -> Fraction:
        return self.links(way, way.tp) * self.cache.host_link_fraction

    def turn_seconds(self, way: Way, size: Size, tokens: Fraction) -> Fraction:
        """Return how long a turn with so many tokens to prefill is on a prefill group."""
        new = self.scenario.workload.rates.new_tokens
        chunk = self.step(way)[1]
        seconds = self.prompt_s(way, new)
        seconds += (tokens - new) / chunk * self.step_s(way, chunk, 1, prefill=True)
        moved = tokens * size.rate * size.copies + (size.resume if self.kept else 0)
        return seconds + moved / self.session_links(way) + moved / self.one_way(way)

    # -- what a group hosts ------------------------------------------------------------------

    def core_reach(self, way: Way, size: Size) -> int:
        if way.role == "both":
            return super().core_reach(way, size)
        people, turns = self.people, self.per_open
        kv_bytes = self.kv_bytes(way)
        slots = self.pool_sessions(way, kv_bytes) * way.replicas if kv_bytes > 0 else 0
        if slots == 0:
            return 0
        bounds = [self.all_parts]
        if way.role == "decode" and people.in_flight:
            bounds.append(self.most(slots, Fraction(people.in_flight, people.open)))
            if self.scenario.service is not None:
                bounds.append(self.most(self.unprompted_slots(way), Fraction(people.in_flight, people.open)))
        if not turns:
            return min(bounds)
        into, out = self.link_bytes(way, size)
        links = way.nodes * self.links(way) * self.cache.host_link_fraction * self.cache.load_ceiling_fraction
        bounds += [self.most(math.floor(links), turns * into), self.most(math.floor(links), turns * out)]
        bounds.append(self.most(math.floor(links * Fraction("1.668")), turns * (into + out)))
        busier = max(self.kept * size.resume, self.handed * size.rate * size.copies)
        bounds.append(self.most(math.floor(way.nodes * self.one_way(way)), turns * busier))
        if way.role == "prefill":
            flops = self.prefill_rate(way) * self.engine.service.load_ceiling_fraction
            bounds.append(self.most(math.floor(flops), turns * self.handed))
            bounds.append(self.most(slots, turns * self.turn_seconds(way, size, self.handed)))
        return min(bounds)

    def link_bytes(self, way: Way, size: Size) -> tuple[Fraction, Fraction]:
        """Return the bytes of a turn into GPUs and out of them."""
        where, each = self.where(), size.rate * size.copies
        if way.role == "prefill":
            return self.kept * size.resume, self.handed * each
        answer = self.scenario.workload.rates.answer_tokens * each if self.offloads() else 0
        return (where["dram"] + where["nvme"]) * size.resume + self.handed * each, answer + where["gpu"] * size.resume

    def unprompted_slots(self, way: Way) -> int:
        """Return the sessions that are decoded in time where no prompts come between."""
        service, found = self.scenario.service, 0
        for bit in reversed(range(13)):
            more = found + 2**bit
            step = self.step_s(way, more, more, prefill=False)
            fits = step * service.decode_tokens_per_s <= self.engine.service.decode_ceiling_fraction
            found = more if fits and more <= 4096 else found
        return way.replicas * found

    def drive_sets(self, way: Way) -> Iterator[tuple[Drive | None, int]]:
        if way.role == "prefill" and way.system is None:
            yield None, 0
        else:
            yield from super().drive_sets(way)

    def memory_reach(self, way: Way, size: Size, gib: int) -> int:
        # A prefill group has no tier; what it stages depends on its memory, see `build`.
        return self.all_parts if way.role == "prefill" else super().memory_reach(way, size, gib)

    def drive_reach(self, way: Way, size: Size, gb: int, drive: Drive | None, drives: int) -> int:
        return self.all_parts if way.role == "prefill" else super().drive_reach(way, size, gb, drive, drives)

    def traffic_reach(self, way: Way, size: Size, cpu: Cpu, dimm: Dimm, dimms: int) -> int:
        if way.role == "both":
            return super().traffic_reach(way, size, cpu, dimm, dimms)
        if not self.per_open:
            return self.all_parts
        each = dimms // way.chassis.n_cpus
        speed = cpu.speed_1dpc if each <= cpu.memory_channels else cpu.speed_2dpc or cpu.speed_1dpc
        socket = min(each, cpu.memory_channels) * min(speed, dimm.speed) * 8_000_000
        have = way.nodes * way.chassis.n_cpus * socket * Fraction(4, 5) * self.cache.load_ceiling_fraction
        crossing = self.crossing(way, size)
        bounds = [self.most(math.floor(have), self.per_open * crossing)]
        if way.role == "prefill":
            pinned = math.floor(dimms * dimm.capacity_bytes * self.cache.host_fraction)
            staying = self.per_open * self.turn_seconds(way, size, self.handed)
            bounds.append(self.most(way.nodes * (pinned // size.staged), staying))
        return min(bounds)

    def crossing(self, way: Way, size: Size) -> Fraction:
        """Return the bytes of a turn that host memory reads and writes."""
        where, each, drives = self.where(), size.rate * size.copies, self.scenario.tiers.nvme != "none"
        handed, context = self.handed * each, self.kept * size.resume
        if way.role == "prefill":
            return 2 * context + 2 * handed
        answer = self.scenario.workload.rates.answer_tokens * each if self.offloads() else Fraction(0)
        total = (where["dram"] + where["nvme"]) * size.resume + where["nvme"] * size.resume
        total += answer + handed + handed + where["gpu"] * size.resume + context
        return total + (answer + handed if drives else 0)

    # -- the first token ---------------------------------------------------------------------

    def in_time(self, way: Way, size: Size, drive: Drive | None, drives: int) -> bool:
        if way.role == "both":
            return super().in_time(way, size, drive, drives)
        if self.scenario.service is None or not self.people.turns_per_s:
            return True
        return self.own_ms(way, size, drive, drives) <= math.floor(self.scenario.service.first_token_s * 1000)

    def own_ms(self, way: Way, size: Size, drive: Drive | None, drives: int) -> int:
        """Return the milliseconds of the first token that pass on a group of one role."""
        new = Fraction(self.scenario.workload.rates.new_tokens)
        if way.role == "prefill":
            return math.ceil(self.turn_seconds(way, size, new) * 1000)
        back, seconds = new * size.rate * size.copies, Fraction(0)
        if self.offloads():
            seconds += size.resume / self.session_links(way)
        if self.scenario.tiers.nvme != "none" and drive is not None:
            read = self.dealt(way, drives, drive.read_bytes_per_s) * self.cache.drive_read_fraction
            seconds += size.resume / read
        seconds += back / self.session_links(way) + (back + (size.resume if self.kept else 0)) / self.one_way(way)
        return math.ceil(seconds * 1000)

    def populated(self, way: Way) -> Iterator[Own]:
        timed = self.scenario.service is not None and self.people.turns_per_s
        size = session_size(self.scenario, self.model, self.cache, way.kv, way.tp)
        for own in super().populated(way):
            found = 0
            if timed and way.role != "both":
                name, drives = own.key[9], own.key[10]
                found = self.own_ms(way, size, self.catalog.drives()[name] if name else None, drives)  # type: ignore[arg-type,index]
            yield replace(own, role=way.role, first_ms=found)

    # -- which fleets hold the load ----------------------------------------------------------

    def holds(self, fleet: tuple[Own, ...]) -> bool:
        pieces = parts_of(fleet) if self.scenario.limits.minimum else {}
        if any(pieces.get(name, 0) < least for name, least in self.scenario.limits.minimum.items()):
            return False
        return all(self.left(fleet, lost) >= self.all_parts for lost in self.failures(fleet))

    def left(self, fleet: tuple[Own, ...], lost: tuple[int, ...]) -> int:
        """Return the sessions, in parts, that are hosted and prefilled without the groups that are lost."""
        sums = dict.fromkeys(("both", "decode", "prefill"), 0)
        for i, own in enumerate(fleet):
            sums[own.role] += 0 if i in lost else own.reach
        return sums["both"] + min(sums["decode"], sums["prefill"])

    def lacks(self, fleet: tuple[Own, ...]) -> set[str]:
        """Return the roles of which more could help."""
        pieces, least = parts_of(fleet), self.scenario.limits.minimum
        if any(pieces.get(name, 0) < least[name] for name in least):
            return {"both", "decode", "prefill"}
        found = set()
        for role, other in (("decode", "prefill"), ("prefill", "decode")):
            mine = [i for i, own in enumerate(fleet) if own.role != other]
            for lost in self.failures(fleet):
                if sum(fleet[i].reach for i in mine if i not in lost) < self.all_parts:
                    found |= {role, "both"}
                    break
        return found

    def allowed(self, fleet: tuple[Own, ...], totals: Totals) -> bool:
        return super().allowed(fleet, totals) and self.hand_over(fleet)

    def hand_over(self, fleet: tuple[Own, ...]) -> bool:
        """Return whether each decode group takes from each prefill group, in time."""
        apart = [own for own in fleet if own.role != "both"]
        if len({(own.kv, own.tp) for own in apart}) > 1:
            return False
        service = self.scenario.service
        target = math.floor(service.first_token_s * 1000) if service else 0
        pairs = ((a, b) for a, b in combinations(apart, 2) if a.role != b.role)
        return service is None or all(a.first_ms + b.first_ms <= target for a, b in pairs)

    def solve(self) -> Answer:
        answer = Answer(None, (), self.builds())
        if self.can_hold(list(answer.builds)):
            _Search(self, answer).grow((), 0)
        return answer

    def can_hold(self, builds: list[Own]) -> bool:
        roles = {own.role for own in builds}
        parts = {name for own in builds for name, _ in own.parts}
        asked = (name for name, least in self.scenario.limits.minimum.items() if least)
        return ("both" in roles or {"decode", "prefill"} <= roles) and parts.issuperset(asked)


class _Search:
    """Grows fleets until they hold the load; what cannot help is not added."""

    def __init__(self, oracle: RoleOracle, answer: Answer) -> None:
        self.oracle, self.answer = oracle, answer
        self.cents = {own.key: own.nodes * oracle.node_cents(own) for own in answer.builds}
        self.builds = sorted(
            answer.builds, key=lambda own: (own.role, Fraction(self.cents[own.key], own.reach), repr(own.key))
        )

    def grow(self, fleet: tuple[Own, ...], start: int) -> None:
        oracle, answer = self.oracle, self.answer
        answer.steps += 1
        if answer.steps > MOST_STEPS or len(fleet) > MOST_GROUPS:
            raise TooLargeError
        lacking = oracle.lacks(fleet)
        if oracle.holds(fleet):
            totals = oracle.totals(fleet)
            value = oracle.value(totals)
            if oracle.allowed(fleet, totals) and (answer.best is None or value < answer.best):
                answer.best, answer.fleet = value, fleet
            return
        for i in range(start, len(self.builds)):
            larger = (*fleet, self.builds[i])
            if self.builds[i].role in lacking and self.worth(larger):
                self.grow(larger, i)

    def worth(self, fleet: tuple[Own, ...]) -> bool:
        oracle = self.oracle
        watts, nodes = sum(own.watts for own in fleet), sum(own.nodes for own in fleet)
        opex = oracle.opex(watts) if oracle.scenario.objective == "tco" else 0
        least = Totals(sum(self.cents[own.key] for own in fleet), opex, watts, nodes, 0, {})
        if self.answer.best is not None and oracle.value(least) > self.answer.best:
            return False
        return oracle.allowed(fleet, least)


# -- instances -------------------------------------------------------------------------------


def role_instance(seed: int) -> Instance:
    """Return an instance that allows groups of one role, its load of a few groups, its limits near what they take."""
    rng = Random(f"roles {seed}")
    chosen = rng.choice((("both", "split"), ("both", "split"), ("both", "split"), ("split",)))
    while True:
        instance = _drawn(seed, chosen, rng)
        oracle = RoleOracle(instance)
        made = (own for way in oracle.ways() for own in oracle.populated(way))
        builds = list(islice(made, MOST_BUILDS + 1))
        roles = {own.role for own in builds}
        # Few enough to be enumerated; now and then without a pair.
        paired = {"decode", "prefill"} <= roles and ("both" not in roles or _pays(instance) or rng.random() < 0.06)
        if len(builds) <= MOST_BUILDS and (paired or rng.random() < 0.002):
            break
    return _tight(_sized(instance, rng), rng)


def _most(instance: Instance) -> dict[str, Fraction]:
    """Return the most open sessions of a group by role, where there are many users."""
    oracle = RoleOracle(_with_users(instance, 4_000))
    most: dict[str, Fraction] = {}
    for own in oracle.builds():
        reach = Fraction(own.reach, max(1, oracle.people.in_flight))
        most[own.role] = max(reach, most.get(own.role, Fraction(0)))
    return most


def _pays(instance: Instance) -> bool:
    """Return whether one pair holds about as much as two of the best groups of both roles."""
    most = _most(instance)
    return len(most) == 3 and min(most["decode"], most["prefill"]) > Fraction(7, 4) * most["both"]


def _drawn(seed: int, roles: tuple[str, ...], rng: Random) -> Instance:
    drawn = make_instance(rng.randrange(10**6))
    scenario = drawn.scenario
    if scenario.tiers.placement == "pooled" or scenario.workload.rates is None:
        return _drawn(seed, roles, rng)
    serving = replace(scenario.serving, roles=roles, placement="balanced")
    fleet = replace(
        scenario.fleet, spare_groups=rng.choice((0, 0, 0, 1)), spare_racks=rng.choice((0, 0, 0, 0, 1)), max_builds=None,
        one_gpu_model=rng.random() < 0.1,
    )  # fmt: skip
    rates = replace(scenario.workload.rates, new_tokens=rng.randint(500, 6_000))
    service = scenario.service and replace(scenario.service, first_token_s=Fraction(rng.randint(10, 300), 10))
    free = replace(
        scenario, serving=serving, fleet=fleet, workload=replace(scenario.workload, rates=rates), service=service
    )
    made = _specialised(drawn, rng)
    every = {part for by_id in made.shelf.catalog.parts.values() for part in by_id}
    limits = replace(free.limits, stock={part: most for part, most in free.limits.stock.items() if part in every})
    return replace(made, seed=seed, scenario=replace(free, limits=limits))


def _specialised(drawn: Instance, rng: Random) -> Instance:
    """Give one GPU more of memory and the other more of FLOP/s, so that roles pay."""
    catalog = drawn.shelf.catalog
    if len(catalog.gpus()) == 1:
        catalog = with_a_second_gpu(catalog, {kind: dict(by_id) for kind, by_id in catalog.parts.items()}, rng)
    parts = {kind: dict(by_id) for kind, by_id in catalog.parts.items()}
    gpus, changed = catalog.gpus(), {}
    for name, gpu in gpus.items():
        strong = name == "gpu-1"
        flops = (rng.randint(100, 900) if strong else rng.randint(1, 12)) * 10**12
        fp8 = None if gpu.dense.fp8_flops is None else 2 * flops
        memory = (rng.randint(5, 8) if strong else rng.randint(8, 16)) * GIB
        dense = replace(gpu.dense, bf16_flops=flops, fp8_flops=fp8)
        changed[name] = replace(gpu, memory_bytes=memory, visible_bytes=None, dense=dense)
    if rng.random() < 0.9:
        changed = {name: replace(gpu, host_link_bytes_per_s=32 * GB) for name, gpu in changed.items()}
        _enlarge(parts, rng)
    nic = catalog.nics()["nic-fabric"]
    parts["gpu"] = changed  # type: ignore[assignment]
    parts["nic"]["nic-fabric"] = replace(nic, port_bytes_per_s=nic.port_bytes_per_s * rng.choice((1, 4)))
    book = catalog.books["book"]
    cheap = Money("USD", 10_000)
    priced = {"nic-fabric": cheap} if rng.random() < 0.8 else {}
    prices = tuple(
        replace(price, low=cents, typical=cents, high=cents) if (cents := priced.get(price.part)) else price
        for price in book.prices
    )
    made = replace(catalog, parts=parts, books={"book": replace(book, prices=prices)})
    return replace(drawn, shelf=replace(drawn.shelf, catalog=made))


def _enlarge(parts: dict[str, dict[str, Part]], rng: Random) -> None:
    """Leave the GPUs as what binds: one kind of memory and drives, and enough of each."""
    for name, chassis in parts["chassis"].items():
        parts["chassis"][name] = replace(
            chassis, uplink_bytes_per_s=64 * GB, nic_slots=8, drive_bays=1, dimm_slots=4, max_dimm_bytes=64 * GIB,
            n_gpus=min(2, chassis.n_gpus),  # type: ignore[attr-defined]
        )  # fmt: skip
    if rng.random() < 0.9:
        for kind in ("cpu", "dimm", "chassis"):
            first = next(iter(parts[kind]))
            parts[kind] = {first: parts[kind][first]}
        for name, chassis in parts["chassis"].items():
            parts["chassis"][name] = replace(chassis, whole_system=False)  # type: ignore[call-arg]
        parts["system"] = {}
        parts["drive"].pop("drive-1", None)
    for name in parts["dimm"]:
        parts["dimm"][name] = replace(parts["dimm"][name], capacity_bytes=rng.choice((32, 64)) * GIB)
    for name, drive in parts["drive"].items():
        if name.startswith("drive"):
            parts["drive"][name] = replace(
                drive, capacity_bytes=400 * GB, dwpd=Fraction(10), read_bytes_per_s=7 * GB, write_bytes_per_s=4 * GB
            )


def _with_users(instance: Instance, users: int) -> Instance:
    scenario = instance.scenario
    return replace(instance, scenario=replace(scenario, workload=replace(scenario.workload, users=users)))


def _sized(instance: Instance, rng: Random) -> Instance:
    most = _most(instance)
    if not most:
        return instance
    pair = min(most.get("decode", Fraction(0)), most.get("prefill", Fraction(0)))
    hosted = Fraction(rng.randint(60, 105), 100) * (pair or max(most.values()))
    if "both" in most and not pair > Fraction(7, 4) * most["both"]:
        hosted = Fraction(rng.randint(30, 250), 100) * most["both"]
    return _with_users(instance, max(1, math.ceil(hosted / instance.scenario.workload.sessions_per_user)))


def _tight(instance: Instance, rng: Random) -> Instance:
    scenario = instance.scenario
    limits, rules = scenario.limits, scenario.fleet
    free = replace(scenario, limits=Limits(), fleet=replace(rules, max_nodes=None, one_gpu_model=False))
    oracle = RoleOracle(replace(instance, scenario=free))
    try:
        fleet = oracle.solve().fleet
    except TooLargeError:
        return replace(instance, scenario=free)
    totals, used = oracle.totals(fleet) if fleet else None, parts_of(fleet)
    if totals is None:
        return replace(instance, scenario=free)

    def near(value: int) -> int:
        return max(1, value * rng.randint(93, 130) // 100)

    stock = {part: max(0, used.get(part, 0) + totals.items.get(part, 0) + rng.randint(-2, 2)) for part in limits.stock}
    minimum = {}
    if rng.random() < 0.1:
        part = rng.choice(sorted(used))
        minimum[part] = used[part] + rng.randint(0, 2)
    tight = Limits(
        budget=limits.budget and Money("USD", near(totals.capex)), power_w=limits.power_w and near(totals.watts),
        rack_units=limits.rack_units and near(sum(own.rack_units for own in fleet)), stock=stock, minimum=minimum,
    )  # fmt: skip
    most = rules.max_nodes and max(1, totals.nodes + rng.choice((-1, 0, 0, 1, 2)))
    fleet_rules = replace(rules, max_nodes=most, max_builds=rng.choice((None, None, None, 1, 2)))
    service = scenario.service
    slowest = [max((own.first_ms for own in fleet if own.role == role), default=0) for role in ("decode", "prefill")]
    if service and all(slowest) and rng.random() < 0.7:
        # Just met by the slowest pair, or just not: another pair, or groups of both roles, must do.
        target = Fraction(max(1, sum(slowest) - rng.choice((0, 1, 1, 20))), 1000)
        service = replace(service, first_token_s=target)
    return replace(instance, scenario=replace(scenario, limits=tight, fleet=fleet_rules, service=service))
