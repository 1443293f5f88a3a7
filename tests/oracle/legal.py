"""Every legal build of an instance, from the records and first principles.

Nothing here calls the planner's formulas: sessions, footprints, pools and reaches are computed
again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache

from planner.build import Build
from planner.engines import Cache
from planner.hardware import Catalog, Chassis, Cpu, Dimm, Drive, Gpu, Quantity, System
from planner.models import Model
from planner.scenario import Scenario
from tests.oracle.instances import GB, GIB, Instance

Key = tuple[object, ...]
ELEMENT = {"bf16": Fraction(2), "fp8": Fraction(1)}
WEIGHT = {"bf16": Fraction(2), "fp8": 1 + Fraction(4, 128 * 128)}


@dataclass(frozen=True)
class People:
    """Sessions by state."""

    open: int
    in_flight: int
    in_dram: int
    on_drives: int
    turns_per_s: Fraction


@dataclass(frozen=True)
class Size:
    """Bytes of one session in one KV format and layout, by place, all copies counted."""

    rate: Fraction
    copies: Fraction
    stored: int
    prefix: int
    resume: Fraction
    staged: int


@dataclass(frozen=True)
class Own:
    """One legal build with all that a fleet adds up; everything of one group."""

    key: Key
    kv: str
    tp: int
    nodes: int
    reach: int
    parts: tuple[tuple[str, int], ...]
    bought: tuple[tuple[str, int], ...]
    watts: int
    rack_units: int
    racks_per: int
    front_ports: int
    fabric_ports: int
    dram_gib: int
    drive_gb: int
    market: tuple[tuple[str, int], ...]
    prefill: int = 0
    role: str = "both"
    first_ms: int = 0

    @property
    def hosts(self) -> int:
        return 0 if self.role == "prefill" else self.reach

    @property
    def prefills(self) -> int:
        return 0 if self.role == "decode" else self.reach


def key_of(build: Build) -> Key:
    """Return what tells a build apart, from one of the planner's."""
    core = build.core
    machine = core.system.id if core.system else core.chassis.id
    drive = build.drive.id if build.drive else None
    return (
        machine, core.n_nodes, core.gpu.id, core.layout.name, core.weights, core.footprint.kv.name, build.cpu.id,
        build.dimm.id, build.dimms, drive, build.drives, core.fabric_nics, core.role,
    )  # fmt: skip


def count_people(scenario: Scenario) -> People:
    load, tiers = scenario.workload, scenario.tiers
    total, active = load.users * load.sessions_per_user, load.users * load.active_per_user
    duty: Fraction | int = 1 if load.duty_fraction is None else load.duty_fraction
    promised = scenario.service
    if load.duty_fraction is None and load.rates and promised:
        # Little's law: turns per second times the seconds of each at the promised speed.
        each = promised.first_token_s + Fraction(load.rates.answer_tokens, promised.decode_tokens_per_s)
        duty = min(Fraction(1), load.rates.turns_per_hour / 3600 * each)
    flying = load.in_flight if load.in_flight is not None else active * duty
    warm = math.ceil((total - active) * (load.warm_fraction or 0))
    kept = (
        active
        + warm
        + math.ceil((total - active - warm) * (1 if load.retained_fraction is None else load.retained_fraction))
    )
    spilled = kept - active - (0 if tiers.dram == "none" else warm)
    return People(
        open=total,
        in_flight=min(active, math.ceil(flying * load.peak_over_mean)),
        in_dram={"inclusive": active + warm, "exclusive": warm, "none": 0}[tiers.dram],
        on_drives={"write-all": kept, "spill": spilled, "none": 0}[tiers.nvme],
        turns_per_s=active * load.rates.turns_per_hour / 3600 * load.peak_over_mean if load.rates else Fraction(0),
    )


def token_bytes(model: Model, kv: str) -> Fraction:
    layer = model.attention[0]
    return layer.layers * layer.kv_heads * (layer.key_dim + layer.value_dim) * ELEMENT[kv]


def prefix_length(scenario: Scenario) -> int:
    prefix, planned = scenario.workload.shared_prefix, scenario.workload.context.planned_tokens
    if prefix is None:
        return 0
    if prefix.length_tokens is not None:
        return min(prefix.length_tokens, planned)
    return math.floor(prefix.share_fraction * planned)


def flat_scale(scenario: Scenario) -> Fraction:
    load = scenario.workload
    prefix = load.shared_prefix
    share = Fraction(0)
    if prefix is not None:
        share = prefix.share_fraction
        if share is None:
            share = Fraction(prefix_length(scenario), load.context.planned_tokens)
    return (1 + load.overhead_fraction) * (1 - share)


def rank_copies(model: Model, tp: int) -> Fraction:
    """Return copies of a session over the ranks: beyond one rank per K/V head each holds another."""
    heads = model.attention[0].kv_heads
    return Fraction(tp * max(1, math.ceil(Fraction(heads, tp))), heads)


def session_size(scenario: Scenario, model: Model, cache: Cache, kv: str, tp: int) -> Size:
    load, rate, copies = scenario.workload, token_bytes(model, kv), rank_copies(model, tp)
    planned, prefix, chunk = load.context.planned_tokens, prefix_length(scenario), cache.chunk_tokens
    shared, head = load.shared_prefix, Fraction(0)
    if load.overhead_fraction is not None:
        own = rate * planned * flat_scale(scenario)
    elif shared is not None and shared.stored == "deducted":
        own = rate * ((planned - prefix) // chunk * chunk)
    else:
        head = rate * (prefix // chunk * chunk)
        own = rate * (planned // chunk * chunk) - head
    groups = shared.groups if shared else 1
    return Size(
        rate=rate,
        copies=copies,
        stored=math.ceil(own * copies),
        prefix=math.ceil(head * groups * copies),
        resume=math.ceil(own) * copies,
        staged=math.ceil((own + head) * copies),
    )


@dataclass(frozen=True)
class Way:
    """A machine with its layout and formats; `name` as the planner writes layouts."""

    chassis: Chassis
    gpu: Gpu
    system: System | None
    nodes: int
    tp: int
    pp: int
    weights: str
    kv: str
    fabric: int
    role: str = "both"

    @property
    def name(self) -> str:
        words = [f"tp{self.tp}" if self.tp > 1 else "", f"pp{self.pp}" if self.pp > 1 else ""]
        return "-".join(w for w in words if w) or "tp1"

    @property
    def gpus(self) -> int:
        return self.nodes * self.chassis.n_gpus

    @property
    def replicas(self) -> int:
        return self.gpus // (self.tp * self.pp)


@cache
def most_given(total: int, in_flight: int, slots: int, most: Fraction) -> int:
    """Return the most sessions that one pool may be given, each weight of the binomial made from the one before."""

    def waits(sessions: int) -> bool:
        # In whole numbers: weights of the binomial times total ** in_flight.
        weight, wait = (total - sessions) ** in_flight, 0
        if sessions == total:
            return in_flight - slots > most * in_flight
        for x in range(1, in_flight + 1):
            weight = weight * (in_flight - x + 1) * sessions // (x * (total - sessions))
            wait += max(0, x - slots) * weight
        return wait * total > most * in_flight * sessions * total**in_flight

    few = [sessions for sessions in range(1, total + 1) if not waits(sessions)] if total <= 60 else []
    if total <= 60:
        return max(few, default=0)
    low, high = 0, total
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if not waits(middle) else (low, middle - 1)
    return low


class LegalBuilds:
    """The legal builds of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.scenario, shelf = instance.scenario, instance.shelf
        self.catalog: Catalog = shelf.catalog
        self.model = shelf.models["model"]
        self.engine = shelf.engines.engines["engine"]
        self.cache = shelf.engines.caches["cache"]
        self.people = count_people(self.scenario)
        self.book = self.catalog.books["book"]
        self.pooled = self.scenario.tiers.placement == "pooled"
        self.prices = {p.part: p for p in self.book.prices}
        self.case = self.scenario.finance.price_case
        self.owned = {own.name: own for own in self.scenario.fleet.owned}

    # -- builds ------------------------------------------------------------------------------

    def builds(self) -> tuple[Own, ...]:
        return tuple(build for way in self.ways() for build in self.populated(way))

    def machines(self) -> Iterator[tuple[Chassis, Gpu, System | None]]:
        fleet = self.scenario.fleet
        for chassis in self.catalog.chassis().values():
            if not chassis.whole_system and (not fleet.chassis or chassis.id in fleet.chassis):
                for gpu in chassis.gpu_models:
                    yield chassis, self.catalog.gpus()[gpu], None
        for system in self.catalog.systems().values():
            if not fleet.chassis or system.id in fleet.chassis or system.chassis in fleet.chassis:
                yield self.catalog.chassis()[system.chassis], self.catalog.gpus()[system.gpu], system
        for own in self.owned.values():
            chassis = self.catalog.chassis()[own.chassis]
            drives = (Quantity(part=own.drive, count=own.drives),) if own.drives else ()
            boot = Quantity(part=self.catalog.cluster.boot_drive, count=chassis.boot_drives)
            nics = tuple(Quantity(part=name, count=count) for name, count in (own.nics or {}).items())
            content = System(
                id=own.name, name="O", vendor="O", chassis=own.chassis, gpu=own.gpu, cpu=own.cpu,
                dimms=Quantity(part=own.dimm, count=own.dimms), drives=drives, boot=boot, nics=nics,
            )  # fmt: skip
            yield chassis, self.catalog.gpus()[own.gpu], content

    def ways(self) -> Iterator[Way]:
        serving, fleet = self.scenario.serving, self.scenario.fleet
        for chassis, gpu, system in self.machines():
            makers = {gpu.vendor, chassis.vendor, system.vendor if system else gpu.vendor} - {"any"}
            mine = system is not None and system.id in self.owned
            if mine:
                makers = set()
            if makers & set(fleet.without_vendors) or (fleet.vendors and makers - set(fleet.vendors)):
                continue
            if not mine and fleet.gpus and gpu.id not in fleet.gpus:
                continue
            for weights in serving.weights:
                if weights == "fp8" and gpu.architecture != "a":
                    continue
                # The engine of the instances writes no others.
                for kv in (kv for kv in serving.kv_formats if kv in ELEMENT):
                    for nodes in fleet.group_nodes:
                        for tp, pp in self.layouts(chassis.n_gpus, nodes):
                            for fabric in self.fabric_cards(chassis.n_gpus, nodes):
                                cards = self.cards(system, fabric)
                                if cards <= chassis.nic_slots:
                                    yield Way(chassis, gpu, system, nodes, tp, pp, weights, kv, fabric)

    def cards(self, system: System | None, fabric: int) -> int:
        cluster = self.catalog.cluster
        wanted = {cluster.front_nic: cluster.front_nics, cluster.fabric_nic: fabric}
        inside = {quantity.part: quantity.count for quantity in system.nics} if system else {}
        return sum(max(wanted.get(name, 0), inside.get(name, 0)) for name in {**wanted, **inside})

    def layouts(self, per_node: int, nodes: int) -> Iterator[tuple[int, int]]:
        found: dict[tuple[int, int], None] = {}
        for text in self.scenario.serving.layouts:
            if text == "any":
                every = [(per_node, nodes)] if nodes > 1 else [(tp, 1) for tp in (1, 2, 4) if per_node % tp == 0]
                found |= dict.fromkeys(every)
                continue
            degrees = {word[:2]: int(word[2:]) for word in text.split("-")}
            tp, pp = degrees.get("tp", 1), degrees.get("pp", 1)
            if (nodes == 1 and per_node % (tp * pp) == 0) or (
                nodes > 1 and tp * pp == nodes * per_node and tp <= per_node
            ):
                found[tp, pp] = None
        yield from found

    def fabric_cards(self, per_node: int, nodes: int) -> set[int]:
        if nodes > 1:
            return {per_node}
        return {2, 4, per_node} if self.pooled else {0}

    def populated(self, way: Way) -> Iterator[Own]:
        size = session_size(self.scenario, self.model, self.cache, way.kv, way.tp)
        core = self.core_reach(way, size)
        if core == 0:
            return
        for cpu, dimm, dimms, boot, boots in self.hosts(way):
            for drive, drives in self.drive_sets(way):
                build = self.build(way, size, core, (cpu, dimm, dimms, boot, boots), drive, drives)
                if build is not None:
                    yield build

    def hosts(self, way: Way) -> Iterator[tuple[Cpu, Dimm, int, Drive, int]]:
        chassis, system, boots = way.chassis, way.system, way.chassis.boot_drives
        if system is not None:
            boot = self.catalog.drives()[system.boot.part]
            cpu, dimm = self.catalog.cpus()[system.cpu], self.catalog.dimms()[system.dimms.part]
            yield cpu, dimm, system.dimms.count, boot, boots
            if system.id in self.owned and self.owned[system.id].upgrade:
                channels = chassis.n_cpus * cpu.memory_channels
                for count in {channels, 2 * channels if cpu.speed_2dpc else channels}:
                    if system.dimms.count < count <= chassis.dimm_slots:
                        yield cpu, dimm, count, boot, boots
            return
        boot = self.catalog.drives()[self.catalog.cluster.boot_drive]
        for cpu in self.catalog.cpus().values():
            if cpu.platform not in chassis.cpu_platforms:
                continue
            channels = chassis.n_cpus * cpu.memory_channels
            for dimm in self.catalog.dimms().values():
                for count in (channels, 2 * channels) if cpu.speed_2dpc else (channels,):
                    if dimm.generation != cpu.memory_generation:
                        continue
                    if count <= chassis.dimm_slots and dimm.capacity_bytes <= chassis.max_dimm_bytes:
                        yield cpu, dimm, count, boot, boots

    def drive_sets(self, way: Way) -> Iterator[tuple[Drive | None, int]]:
        if way.system is not None:
            inside = way.system.drives
            yield (self.catalog.drives()[inside[0].part], inside[0].count) if inside else (None, 0)
            if way.system.id in self.owned and self.owned[way.system.id].upgrade and self.scenario.tiers.nvme != "none":
                for drive in self.catalog.drives().values():
                    if drive.role == "data" and (not inside or inside[0].part == drive.id):
                        for count in range(1, way.chassis.drive_bays + 1):
                            if count > (inside[0].count if inside else 0):
                                yield drive, count
        elif self.scenario.tiers.nvme == "none":
            yield None, 0
        else:
            for drive in self.catalog.drives().values():
                if drive.role == "data":
                    yield from ((drive, count) for count in range(1, way.chassis.drive_bays + 1))

    def build(
        self, way: Way, size: Size, core: int, host: tuple[Cpu, Dimm, int, Drive, int], drive: Drive | None, drives: int
    ) -> Own | None:
        cpu, dimm, dimms, boot, boots = host
        cluster, chassis = self.catalog.cluster, way.chassis
        wanted = {cluster.front_nic: cluster.front_nics, cluster.fabric_nic: way.fabric}
        inside = {quantity.part: quantity.count for quantity in way.system.nics} if way.system else {}
        parts = [
            (chassis.id, 1), (way.gpu.id, chassis.n_gpus), (cpu.id, chassis.n_cpus), (dimm.id, dimms), (boot.id, boots),
            *((name, max(wanted.get(name, 0), inside.get(name, 0))) for name in {**wanted, **inside}),
        ]  # fmt: skip
        parts += [(drive.id, drives)] if drive else []
        parts = [(name, count) for name, count in parts if count]
        bought = parts
        if way.system is not None:
            extra = {name: count - inside.get(name, 0) for name, count in wanted.items()}
            bought = [(way.system.id, 1), *((name, count) for name, count in extra.items() if count > 0)]
        mine = way.system is not None and way.system.id in self.owned
        if mine:
            more = {dimm.id: dimms - way.system.dimms.count}
            if drive:
                more[drive.id] = drives - (way.system.drives[0].count if way.system.drives else 0)
            bought = [*bought[1:], *((name, count) for name, count in more.items() if count)]
        if any(name not in self.prices or not self.comes_in_time(name) for name, _ in bought):
            return None
        if any(not self.may_stand_here(name) for name, _ in ([] if mine else parts) + bought):
            return None
        watts = chassis.base_w + sum(
            getattr(self.catalog.find(name), "power_w", 0) * count for name, count in parts if name != chassis.id
        )
        if watts > (chassis.psus - chassis.spare_psus) * chassis.psu_w:
            return None
        site = self.scenario.limits
        height = cluster.rack_units if site.rack_height is None else site.rack_height
        kilowatts = cluster.rack_w if site.rack_power_w is None else site.rack_power_w
        racks_per = min(height // chassis.rack_units, kilowatts // watts)
        if racks_per < 1:
            return None
        gib = self.tier_gib(dimms * dimm.capacity_bytes, size)
        gb = math.floor((drives * drive.capacity_bytes if drive else 0) * self.cache.space_fraction / GB)
        reach = min(core, self.memory_reach(way, size, gib), self.drive_reach(way, size, gb, drive, drives))
        reach = min(reach, self.traffic_reach(way, size, cpu, dimm, dimms))
        if reach < 1 or not self.in_time(way, size, drive, drives):
            return None
        stocked = [*parts, *([(way.system.id, 1)] if way.system else [])]
        ports = {name: nic.ports for name, nic in self.catalog.nics().items()}
        return Own(
            key=(
                way.system.id if way.system else chassis.id, way.nodes, way.gpu.id, way.name, way.weights, way.kv,
                cpu.id, dimm.id, dimms, drive.id if drive else None, drives, way.fabric, way.role,
            ),
            kv=way.kv, tp=way.tp, nodes=way.nodes, reach=reach,
            parts=tuple((name, count * way.nodes) for name, count in stocked),
            bought=tuple(bought), watts=watts * way.nodes, rack_units=chassis.rack_units * way.nodes,
            racks_per=racks_per, front_ports=way.nodes * cluster.front_nics * ports[cluster.front_nic],
            fabric_ports=way.nodes * way.fabric * ports[cluster.fabric_nic],
            dram_gib=max(0, gib) * way.nodes, drive_gb=gb * way.nodes,
            market=tuple((name, count * way.nodes) for name, count in (bought if mine else stocked)),
            prefill=math.floor(self.prefill_rate(way) * self.engine.service.load_ceiling_fraction),
        )  # fmt: skip

    def comes_in_time(self, name: str) -> bool:
        limits, price = self.scenario.limits, self.prices[name]
        if limits.deliver_by is None:
            return True
        lead = price.lead_time.time_days if price.lead_time else limits.lead_time_days
        room = (date.fromisoformat(limits.deliver_by) - date.fromisoformat(self.book.as_of)).days
        return lead is not None and lead <= room

    def may_stand_here(self, name: str) -> bool:
        region, part = self.scenario.fleet.region, self.catalog.find(name)
        return region is None or (region not in part.export_barred and region in (part.regions or (region,)))

    # -- what a group hosts ------------------------------------------------------------------

    def most(self, have: int, need_per_session: Fraction) -> int:
        """Return the most open sessions h <= open with h * need <= have, in parts of 1 / in flight."""
        if have < 0:
            return 0
        if not need_per_session:
            return self.all_parts
        return min(self.all_parts, math.floor(have * max(1, self.people.in_flight) / need_per_session))

    @property
    def all_parts(self) -> int:
        return self.people.open * max(1, self.people.in_flight)

    def core_reach(self, way: Way, size: Size) -> int:
        people, scenario = self.people, self.scenario
        kv_bytes = self.kv_bytes(way)
        slots = self.pool_sessions(way, kv_bytes) * way.replicas if kv_bytes > 0 else 0
        if slots == 0:
            return 0
        flying = Fraction(people.in_flight, people.open)
        given = scenario.serving
        if people.in_flight and given.placement == "sticky":
            each = most_given(people.open, people.in_flight, slots // way.replicas, given.overflow_fraction)
            bounds = [self.all_parts, self.most(way.replicas * each, Fraction(1))]
        else:
            bounds = [self.all_parts, self.most(slots, flying)]
        turns = people.turns_per_s / people.open
        rates, ceiling = scenario.workload.rates, self.cache.load_ceiling_fraction
        if scenario.service is not None and people.in_flight:
            bounds.append(self.most(self.decode_slots(way), flying))
        if turns:
            flops = self.prefill_rate(way) * self.engine.service.load_ceiling_fraction
            where = self.where()
            loaded = where["dram"] + where["nvme"]
            bounds.append(self.most(math.floor(flops), turns * self.prompt_tokens()))
            if self.offloads():
                links = way.nodes * self.links(way) * self.cache.host_link_fraction * ceiling
                bounds.append(self.most(math.floor(links), turns * loaded * size.resume))
                stored = (rates.new_tokens + rates.answer_tokens + self.again(where)) * size.rate * size.copies
                bounds.append(self.most(math.floor(links), turns * stored))
                both = links * Fraction("1.668")
                bounds.append(self.most(math.floor(both), turns * (loaded * size.resume + stored)))
            if self.pooled:
                nic = self.catalog.nics()[self.catalog.cluster.fabric_nic]
                cards = Fraction(way.nodes * self.dealt(way, way.fabric, nic.ports * nic.port_bytes_per_s), 2)
                bounds.append(self.most(math.floor(cards), turns * loaded * size.resume))
        return min(bounds)

    def prompt_tokens(self) -> Fraction:
        """Return what a turn prefills: new tokens, half a chunk where it loads, its context where that is lost."""
        where = self.where()
        tail = (where["dram"] + where["nvme"]) * Fraction(self.cache.chunk_tokens, 2)
        return self.scenario.workload.rates.new_tokens + tail + self.again(where)

    def where(self) -> dict[str, Fraction]:
        """Return the shares of turns by where their session still is; the rest is lost."""
        load, tiers = self.scenario.workload, self.scenario.tiers
        cold, gpu = load.rates.cold_fraction, load.rates.in_gpu_fraction
        kept = Fraction(1) if load.retained_fraction is None else load.retained_fraction
        found = {"gpu": gpu, "dram": Fraction(0), "nvme": Fraction(0)}
        if tiers.dram != "none":
            found["dram"] = 1 - gpu - cold
        if tiers.nvme != "none":
            found["nvme"] = cold * kept if tiers.dram != "none" else 1 - gpu - cold * (1 - kept)
        return found

    def again(self, where: dict[str, Fraction]) -> Fraction:
        """Return the tokens of lost contexts that a turn prefills again on average."""
        own = self.scenario.workload.context.planned_tokens - prefix_length(self.scenario)
        return (1 - sum(where.values())) * own

    def offloads(self) -> bool:
        return (self.scenario.tiers.dram, self.scenario.tiers.nvme) != ("none", "none")

    def weight_bytes(self, way: Way) -> int:
        """Return weight bytes of the fullest GPU: split matrices, whole norms and tables, ends of the vocabulary.

        Ranks beyond one per K/V head copy that head's projections.
        """
        model, layer = self.model, self.model.attention[0]
        each = layer.key_dim + layer.value_dim
        own_heads = max(1, math.ceil(Fraction(layer.kv_heads, way.tp)))
        rank = Fraction(layer.layers * model.hidden * layer.heads * each, way.tp)
        rank += layer.layers * model.hidden * own_heads * each
        rank += Fraction(3 * model.feed_forward.dense_layers * model.hidden * model.feed_forward.dense_size, way.tp)
        ends = model.vocabulary * model.hidden * 2 * (2 if way.pp == 1 else 1)
        stage = Fraction(math.ceil(Fraction(layer.layers, way.pp)), layer.layers)
        norms = (2 * layer.layers + 1) * model.hidden * 2
        tables = model.max_context_tokens * layer.key_dim * self.engine.runtime.position_bytes
        return math.ceil(stage * (rank * WEIGHT[way.weights] + norms) + Fraction(ends, way.tp) + tables)

    def step(self, way: Way) -> tuple[int, int]:
        """Return sequences and new tokens of the largest batch."""
        fitting = (
            batch
            for batch in self.engine.runtime.batches
            if batch.from_memory_bytes <= way.gpu.memory_bytes and way.gpu.architecture not in batch.not_on
        )
        batch = max(fitting, key=lambda b: b.from_memory_bytes)
        sequences = batch.max_sequences if way.tp < 4 else batch.tensor_sequences or batch.max_sequences
        return sequences, batch.batched_tokens

    def usable_bytes(self, way: Way) -> int:
        memory, rule, (sequences, tokens) = way.gpu.memory_bytes, self.engine.reserve, self.step(way)
        visible = way.gpu.visible_bytes or math.floor(memory * self.engine.runtime.visible_fraction)
        if rule is None:
            return math.floor(visible * self.engine.utilisation_fraction)
        kept = rule.base_bytes + rule.chunk_bytes * tokens + rule.rank_bytes * way.tp * way.pp
        kept += rule.sequence_bytes * sequences + (rule.graphs_bytes if way.pp == 1 else 0)
        if memory >= rule.floor_from_bytes:
            kept = max(kept, rule.floor_bytes)
        thousandths = round(Fraction(1000 * max(0, memory - kept), memory))
        return visible * thousandths // 1000

    def peak_bytes(self, way: Way) -> int:
        """Return the peak of activations: in the sampler, or in a layer."""
        rule, model = self.engine.runtime.activations, self.model
        if rule is None:
            return 0
        sequences, tokens = self.step(way)
        sampler = (rule.sampler * sequences + rule.vocabulary) * model.vocabulary
        sampler += (rule.stream * tokens + rule.sampled * sequences) * model.hidden
        inner = Fraction(model.feed_forward.dense_size, way.tp)
        layer = tokens * (rule.widest * inner + rule.streams * model.hidden)
        return math.ceil(rule.base_bytes + max(sampler, layer))

    def kv_bytes(self, way: Way) -> int:
        run = self.engine.runtime
        linked = run.base_parallel_bytes if way.gpu.fabric_bytes_per_s else run.base_bridged_bytes
        base = linked if way.tp > 1 else run.base_single_bytes
        return self.usable_bytes(way) - self.weight_bytes(way) - base - self.peak_bytes(way) - run.graphs_bytes

    def rank_bytes_per_token(self, way: Way) -> Fraction:
        layer = self.model.attention[0]
        heads = max(1, math.ceil(Fraction(layer.kv_heads, way.tp)))
        layers = math.ceil(Fraction(layer.layers, way.pp))
        return layers * heads * (layer.key_dim + layer.value_dim) * ELEMENT[way.kv]

    def pool_sessions(self, way: Way, kv_bytes: int) -> int:
        """Return whole sessions: blocks of a pool less those that no session gets, over blocks of a session."""
        load, block = self.scenario.workload, self.engine.block_tokens
        tokens, prefix = load.context.planned_tokens, prefix_length(self.scenario)
        page = math.ceil(self.rank_bytes_per_token(way) * block)
        flat = load.overhead_fraction is not None
        if flat and flat_scale(self.scenario) != 1:
            return math.floor(kv_bytes / (page * math.ceil(Fraction(tokens, block)) * flat_scale(self.scenario)))
        if flat:
            prefix = 0
        elif load.shared_prefix is not None and load.shared_prefix.stored == "deducted":
            tokens, prefix = tokens - prefix, 0
        whole, shared = math.ceil(Fraction(tokens, block)), prefix // block
        once = shared * (load.shared_prefix.groups if load.shared_prefix else 1)
        return max(0, kv_bytes // page - self.engine.paging.null_blocks - once) // (whole - shared)

    def decode_slots(self, way: Way) -> int:
        """Return the sessions whose steps and prompts together leave the promised rate."""
        service, speed, people = self.scenario.service, self.engine.service, self.people
        per_replica = self.prefill_rate(way) / way.replicas
        prompts = Fraction(0)
        if people.turns_per_s:
            each = self.prompt_tokens()
            prompts = people.turns_per_s / people.in_flight * each / per_replica
        best = 0
        # From the largest power of two down: each is kept if the time still suffices with it.
        for bit in reversed(range(13)):
            sessions = best + 2**bit
            step = self.step_s(way, sessions, sessions, prefill=False)
            fits = step * service.decode_tokens_per_s + sessions * prompts <= speed.decode_ceiling_fraction
            best += 2**bit * (fits and sessions <= 4096)
        return way.replicas * best

    def step_s(self, way: Way, tokens: int, caches: int, *, prefill: bool) -> Fraction:
        """Return a step's seconds with so many new tokens, reading so many sessions' caches."""
        model, layer, gpu, speed = self.model, self.model.attention[0], way.gpu, self.engine.service
        context = self.scenario.workload.context.planned_tokens
        head = (layer.heads + layer.kv_heads) * (layer.key_dim + layer.value_dim)
        norms = (2 * layer.layers + 1) * model.hidden
        matrices = layer.layers * model.hidden * head
        matrices += 3 * model.feed_forward.dense_layers * model.hidden * model.feed_forward.dense_size
        vocabulary = model.vocabulary * model.hidden
        stage = Fraction(math.ceil(Fraction(layer.layers, way.pp)), layer.layers)
        peak = (gpu.dense.fp8_flops if way.weights == "fp8" else None) or gpu.dense.bf16_flops
        memory = gpu.memory_bandwidth_bytes_per_s * speed.bandwidth_fraction
        own_heads = max(1, math.ceil(Fraction(layer.kv_heads, way.tp)))
        both = layer.key_dim + layer.value_dim
        split = Fraction(matrices - layer.layers * model.hidden * layer.kv_heads * both, way.tp)
        split += layer.layers * model.hidden * own_heads * both
        active = split + norms + (0 if prefill else Fraction(vocabulary, way.tp))
        products = stage * tokens * 2 * active / (peak * speed.compute_fraction)
        read = stage * (split * WEIGHT[way.weights] + 2 * norms) + Fraction(2 * vocabulary, way.tp)
        seen = 2 * layer.layers * layer.heads * both * context
        attention = stage * tokens * Fraction(seen, way.tp) / (gpu.dense.bf16_flops * speed.attention_fraction)
        cached = caches * self.rank_bytes_per_token(way) * context
        rows = stage * 2 * speed.stream_passes * model.hidden * layer.layers * tokens
        link = (gpu.fabric_bytes_per_s or gpu.host_link_bytes_per_s) * speed.fabric_fraction
        sent = stage * tokens * Fraction(8 * (way.tp - 1) * model.hidden * layer.layers, way.tp) / link
        inside = max(products, read / memory) + max(attention, cached / memory) + rows / memory + sent
        return speed.step_floor_s + layer.layers * speed.layer_floor_s + way.pp * inside

    def prefill_rate(self, way: Way) -> Fraction:
        """Return the prompt tokens per second of a group: a full chunk in every stage of every replica."""
        chunk = self.step(way)[1]
        return way.replicas * way.pp * chunk / self.step_s(way, chunk, 1, prefill=True)

    def prompt_s(self, way: Way, tokens: int) -> Fraction:
        """Return the seconds of one prompt alone: chunks follow each other through the stages."""
        chunk = self.step(way)[1]
        sizes = [chunk] * (tokens // chunk) + ([tokens % chunk] if tokens % chunk else [])
        steps = [self.step_s(way, size, 1, prefill=True) for size in sizes]
        return (sum(steps, Fraction(0)) + (way.pp - 1) * steps[0]) / way.pp if steps else Fraction(0)

    def links(self, way: Way, gpus: int | None = None) -> int:
        """Return what all GPUs load together, or so many that share most."""
        chassis, each, most = way.chassis, way.gpu.host_link_bytes_per_s, way.chassis.uplink_bytes_per_s
        left, total = chassis.n_gpus if gpus is None else min(gpus, chassis.n_gpus), 0
        # Dealt out to the uplinks in turn: the first have the most.
        for i in range(chassis.uplinks):
            behind = min(left, len(range(i, chassis.n_gpus, chassis.uplinks)))
            total, left = total + min(most, behind * each), left - behind
        return total

    def dealt(self, way: Way, count: int, each: int) -> int:
        """Return what `count` drives or cards move, dealt out to the uplinks in turn."""
        chassis = way.chassis
        behind = [len(range(i, count, chassis.uplinks)) for i in range(chassis.uplinks)]
        return sum(min(chassis.uplink_bytes_per_s, n * each) for n in behind)

    def tier_gib(self, ram: int, size: Size) -> int:
        staging = self.scenario.tiers.staging_prefixes
        staging = self.cache.staging_prefixes if staging is None else staging
        pinned = math.floor(ram * self.cache.host_fraction)
        return math.floor(Fraction(pinned, GIB)) - math.ceil(Fraction(staging * size.staged, GIB))

    def traffic_reach(self, way: Way, size: Size, cpu: Cpu, dimm: Dimm, dimms: int) -> int:
        """Return what the memory's bandwidth lets a group host: every byte of every tier crosses it."""
        people, rates = self.people, self.scenario.workload.rates
        if not people.turns_per_s or not self.offloads():
            return self.all_parts
        each = dimms // way.chassis.n_cpus
        speed = cpu.speed_2dpc or cpu.speed_1dpc
        if each <= cpu.memory_channels:
            speed = cpu.speed_1dpc
        socket = min(each, cpu.memory_channels) * min(speed, dimm.speed) * 8_000_000
        have = way.nodes * way.chassis.n_cpus * socket * Fraction(4, 5) * self.cache.load_ceiling_fraction
        where = self.where()
        loaded = where["dram"] + where["nvme"]
        stored = (rates.new_tokens + rates.answer_tokens + self.again(where)) * size.rate * size.copies
        crossing = loaded * size.resume + where["nvme"] * size.resume
        crossing += stored if self.scenario.tiers.nvme == "none" else 2 * stored
        crossing += 2 * loaded * size.resume if self.pooled else 0
        return self.most(math.floor(have), people.turns_per_s / people.open * crossing)

    def memory_reach(self, way: Way, size: Size, gib: int) -> int:
        if self.pooled or self.scenario.tiers.dram == "none":
            return self.all_parts
        have = math.floor(way.nodes * gib * GIB * self.cache.usable_fraction) - way.nodes * size.prefix
        return self.most(have, Fraction(self.people.in_dram, self.people.open) * size.stored)

    def drive_reach(self, way: Way, size: Size, gb: int, drive: Drive | None, drives: int) -> int:
        people, tiers, bounds = self.people, self.scenario.tiers, [self.all_parts]
        if tiers.nvme == "none":
            return self.all_parts
        if not self.pooled:
            have = math.floor(way.nodes * gb * GB * self.cache.usable_fraction) - way.nodes * size.prefix
            bounds.append(self.most(have, Fraction(people.on_drives, people.open) * size.stored))
        turns = people.turns_per_s / people.open
        if turns:
            rates, ceiling = self.scenario.workload.rates, self.cache.load_ceiling_fraction
            rate = self.dealt(way, drives, drive.read_bytes_per_s) if drive else 0
            read = way.nodes * rate * self.cache.drive_read_fraction
            where = self.where()
            bounds.append(self.most(math.floor(read * ceiling), turns * where["nvme"] * size.resume))
            rate = self.dealt(way, drives, drive.write_bytes_per_s) if drive else 0
            write = way.nodes * rate * self.cache.drive_write_fraction
            tokens = rates.new_tokens + rates.answer_tokens + self.again(where)
            bounds.append(self.most(math.floor(write * ceiling), turns * tokens * size.rate * size.copies))
            # A day at the mean rate, against what the drives are rated for over the term.
            rated = way.nodes * drives * (drive.capacity_bytes * drive.dwpd * 5 if drive else 0)
            lasting = rated * self.scenario.limits.drive_wear_fraction / self.scenario.finance.years
            mean = turns / self.scenario.workload.peak_over_mean * 3600 * rates.hours_per_day
            daily = mean * tokens * size.rate * size.copies * self.cache.write_amplification
            bounds.append(self.most(math.floor(lasting), daily))
        return min(bounds)

    def in_time(self, way: Way, size: Size, drive: Drive | None, drives: int) -> bool:
        service, rates = self.scenario.service, self.scenario.workload.rates
        if not self.people.turns_per_s:
            return True
        seconds = Fraction(0)
        if self.offloads():
            seconds += size.resume / (self.links(way, way.tp) * self.cache.host_link_fraction)
        if self.pooled:
            nic = self.catalog.nics()[self.catalog.cluster.fabric_nic]
            seconds += size.resume / Fraction(self.dealt(way, way.fabric, nic.ports * nic.port_bytes_per_s), 2)
        from_drives = Fraction(0)
        if self.scenario.tiers.nvme != "none" and drive is not None:
            rate = self.dealt(way, drives, drive.read_bytes_per_s)
            from_drives = size.resume / (rate * self.cache.drive_read_fraction)
        # A session that is loaded must come sooner than if it were prefilled again.
        where = self.where()
        own = self.scenario.workload.context.planned_tokens - prefix_length(self.scenario)
        again = own * way.replicas / self.prefill_rate(way)
        if where["dram"] + where["nvme"] and seconds + (from_drives if where["nvme"] else 0) > again:
            return False
        if service is None:
            return True
        seconds += from_drives + self.prompt_s(way, rates.new_tokens)
        return math.ceil(seconds * 1000) <= math.floor(service.first_token_s * 1000)
