"""The builds worth offering to the solver.

For each core, memory and drives are chosen apart: each option's reach is known alone, and a
build's reach is the smallest. An option or build is dropped only if another is at least as good
in everything the program counts (dominance), so no optimum is lost; see docs/math.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add

from planner.build import Build, Core, node_power_w
from planner.constraints import FLEET_RULES, GROUP_LIMITS, reach
from planner.constraints.dram import tier_gib
from planner.constraints.first_token import core_seconds
from planner.constraints.nvme import tier_gb
from planner.cores import Offer, Rejections, cores, offer
from planner.costs import Pricing, group_drivers
from planner.dominance import undominated, undominated_within
from planner.eligibility import late_fault, region_fault
from planner.errors import InfeasibleError, PriceMissingError
from planner.hardware import Catalog, Chassis, Cpu, Dimm, OwnedMachine
from planner.loading import Shelf
from planner.objectives import OBJECTIVES
from planner.objectives.base import by_part
from planner.objectives.parts import distinct_parts
from planner.problem import Situation
from planner.scenario import Limits, Scenario

_NO_LIMIT = 10**12


@dataclass(frozen=True)
class Candidates:
    """What the optimiser chooses from.

    Attributes
    ----------
    builds : tuple of Build
        In canonical order, dominated ones left out.
    every : tuple of Build
        The same before builds on different machines were compared; for questions that exclude
        machines.
    rejected : Rejections
        Why others are not among them.
    considered : int
        Combinations of core, memory and drives that were legal before dominance.
    """

    builds: tuple[Build, ...]
    every: tuple[Build, ...]
    rejected: Rejections
    considered: int


@dataclass(frozen=True)
class _Half:
    """Memory or drives of a node: what they cost, draw and let a group host.

    Attributes
    ----------
    adds : tuple of int
        Coordinates that add up over the halves of a node; less is better.
    reach : int
        Open sessions that a group hosts as far as this half is concerned.
    read : int
        Bytes per second that the drives read: decides the first token.
    parts : tuple of str
        Its parts where their number counts; else empty.
    """

    build: Build
    adds: tuple[int, ...]
    reach: int
    read: int = 0
    parts: tuple[str, ...] = ()

    @property
    def vector(self) -> tuple[int, ...]:
        """What dominance compares; less is better."""
        return (*self.adds, -self.reach, -self.read)


@dataclass(frozen=True)
class _Way:
    """A core with what its own limits let it host and its part of the first token's time."""

    core: Core
    reach: int
    seconds: Fraction


def find_candidates(scenario: Scenario, shelf: Shelf, pricing: Pricing) -> Candidates:
    """Return the builds that the scenario allows, dominated ones left out.

    Raises
    ------
    InfeasibleError
        If no build can host a session; the message lists why.
    PriceMissingError
        If only missing prices stand in the way.
    """
    rejected = Rejections()
    found = offer(scenario, shelf)
    at = Situation.of(scenario)
    every: list[Build] = []
    considered = 0
    for ways in _by_machine(scenario, shelf, found, pricing, at, rejected):
        made, count = _machine_builds(ways, found, shelf.catalog, pricing, at, rejected)
        every += made
        considered += count
    if not every:
        _explain_empty(scenario, pricing, rejected)
    every.sort(key=lambda build: build.name)
    return Candidates(keep_best(every, at, shelf.catalog), tuple(every), rejected, considered)


def keep_best(builds: Sequence[Build], at: Situation, catalog: Catalog) -> tuple[Build, ...]:
    """Return the builds that no other dominates in anything that the program counts."""
    kinds = [distinct_parts(build) if by_part(at) else None for build in builds]
    kept = undominated_within(kinds, [build_vector(build, at, catalog) for build in builds])
    return tuple(builds[i] for i in kept)


def _by_machine(
    scenario: Scenario, shelf: Shelf, found: Offer, pricing: Pricing, at: Situation, rejected: Rejections
) -> Iterator[list[_Way]]:
    """Yield the ways to run the model on one machine in one KV format, worse ways left out.

    On the same machine and format all ways cost the same; they differ in what they host and in
    the first token's time only.
    """
    groups: dict[tuple[object, ...], list[_Way]] = {}
    for core in cores(scenario, shelf, found, rejected):
        hosted, kind = _core_reach(core, found, shelf.catalog, at)
        if hosted == 0:
            rejected.add("limits", f"{core.gpu.id} {core.layout.name}: hosts nothing under '{kind}'")
            continue
        seconds = core_seconds(core, found.cache, at) if GROUP_LIMITS["first_token"].active(at) else Fraction(0)
        if scenario.service is not None and seconds > scenario.service.first_token_s:
            rejected.add("first token", _late(core))
            continue
        fixed = tuple(_fixed_parts(core, shelf.catalog))
        if _not_to_be_had((*core.nics, _boot(core, shelf.catalog)), fixed, pricing, at, rejected, _owned(core)):
            continue
        stored = core.pool_key if at.pooled else (core.footprint.kv, core.footprint.copies)
        key = (core.chassis, core.gpu, core.system, core.n_nodes, core.fabric_nics, stored)
        groups.setdefault(key, []).append(_Way(core, min(hosted, at.open_parts), seconds))
    for ways in groups.values():
        rank = {seconds: i for i, seconds in enumerate(sorted({way.seconds for way in ways}))}
        yield [ways[i] for i in undominated([(-way.reach, rank[way.seconds]) for way in ways])]


def _not_to_be_had(
    inside: Iterable[str],
    paid: Iterable[str],
    pricing: Pricing,
    at: Situation,
    rejected: Rejections,
    owned: bool,
) -> bool:
    """Return whether region, delivery or a missing price keep parts out of a plan, and say why.

    `inside` is what stands in the machine, `paid` what is bought for it: a whole system is bought
    as one, and what is owned is there.
    """
    paid = tuple(paid)
    inside = paid if owned else inside
    here = region_fault(at.scenario.fleet.region, map(pricing.catalog.find, inside))
    late = late_fault(at.scenario.limits, pricing.book, paid)
    missing = pricing.unpriced(iter(paid))
    if here or late:
        rejected.add("region" if here else "delivery", here or late)
    elif missing:
        rejected.add_unpriced(missing)
    return bool(here or late or missing)


def _owned(core: Core) -> bool:
    return isinstance(core.system, OwnedMachine)


def _boot(core: Core, catalog: Catalog) -> str:
    return core.system.boot.part if core.system else catalog.cluster.boot_drive


def _late(core: Core) -> str:
    return f"{core.gpu.id} {core.layout.name}: first token later than promised"


def _fixed_parts(core: Core, catalog: Catalog) -> Iterator[str]:
    """Yield the parts that are paid for whatever memory and drives are chosen."""
    inside: dict[str, int] = {}
    if core.system is not None:
        yield core.system.id
        inside = {quantity.part: quantity.count for quantity in core.system.nics}
    else:
        yield from (core.chassis.id, core.gpu.id, catalog.cluster.boot_drive)
    yield from (part for part, count in core.nics.items() if count > inside.get(part, 0))


def _machine_builds(
    ways: Sequence[_Way], found: Offer, catalog: Catalog, pricing: Pricing, at: Situation,
    rejected: Rejections,
) -> tuple[list[Build], int]:  # fmt: skip
    blank = _blank(ways[0].core, found, catalog)
    hosts = _halves(_host_options(blank, catalog), "host", pricing, at, rejected)
    drives = _halves(_drive_options(blank, catalog, at), "drives", pricing, at, rejected)
    made: list[Build] = []
    for way in ways:
        some = _skyline([replace(h, reach=min(h.reach, way.reach)) for h in hosts])
        fast = [replace(d, reach=min(d.reach, way.reach)) for d in drives if _in_time(way, d, at)]
        if drives and not fast:
            rejected.add("first token", _late(way.core))
        made += _pairs(way, some, _skyline(fast), catalog, at, rejected)
    return [_with_costs(build, pricing, catalog, at) for build in made], len(hosts) * len(drives)


def _pairs(
    way: _Way, hosts: Sequence[_Half], drives: Sequence[_Half], catalog: Catalog, at: Situation,
    rejected: Rejections,
) -> list[Build]:  # fmt: skip
    pairs = [(host, drive) for host in hosts for drive in drives]
    legal = []
    vectors = []
    parts = []
    for host, drive in pairs:
        build = _join(way.core, host, drive)
        fault = _machine_fault(build, catalog, at.scenario.limits)
        if fault:
            rejected.add("power", fault)
            continue
        legal.append(build)
        parts.append((host.parts, drive.parts))
        adds = tuple(map(add, host.adds, drive.adds))
        per = racks_per(build, catalog, at.scenario.limits)
        # Nodes that share a rack are lost with it: fewer are better then, too.
        vectors.append((*adds, -build.reach, -per, per if at.scenario.fleet.spare_racks else 0))
    return [legal[i] for i in undominated_within(parts, vectors)]


def _in_time(way: _Way, half: _Half, at: Situation) -> bool:
    limit = GROUP_LIMITS["first_token"]
    return not limit.active(at) or limit.have(replace(half.build, core=way.core), at) >= 0


def _with_costs(build: Build, pricing: Pricing, catalog: Catalog, at: Situation) -> Build:
    return replace(
        build,
        cost_cents=pricing.group_cents(build),
        opex_cents=pricing.opex_cents(build.power_w, build.n_nodes * build.core.chassis.rack_units),
        tco_cents=pricing.group_tco_cents(build),
        racks_per=racks_per(build, catalog, at.scenario.limits),
    )


def _blank(core: Core, found: Offer, catalog: Catalog) -> Build:
    cpu = next(iter(catalog.cpus().values()))
    dimm = next(iter(catalog.dimms().values()))
    boot = catalog.drives()[catalog.cluster.boot_drive]
    return Build(core, found.cache, cpu, dimm, 0, None, 0, boot)


def _host_options(blank: Build, catalog: Catalog) -> Iterator[Build]:
    system, chassis = blank.core.system, blank.core.chassis
    if system is not None:
        cpu, dimm = catalog.cpus()[system.cpu], catalog.dimms()[system.dimms.part]
        boot = catalog.drives()[system.boot.part]
        counts = [system.dimms.count]
        if isinstance(system, OwnedMachine) and system.upgrade:
            counts += [count for count in populations(chassis, cpu, dimm) if count > system.dimms.count]
        for count in counts:
            yield replace(blank, cpu=cpu, dimm=dimm, dimms=count, boot=boot)
        return
    for cpu in catalog.cpus().values():
        if cpu.platform in chassis.cpu_platforms:
            for dimm in catalog.dimms().values():
                for count in populations(chassis, cpu, dimm):
                    yield replace(blank, cpu=cpu, dimm=dimm, dimms=count)


def populations(chassis: Chassis, cpu: Cpu, dimm: Dimm) -> tuple[int, ...]:
    """Return the balanced DIMM counts: one or two on every channel of every socket."""
    if dimm.capacity_bytes > chassis.max_dimm_bytes:
        return ()
    channels = chassis.n_cpus * cpu.memory_channels
    counts = [channels] + ([2 * channels] if cpu.speed_2dpc else [])
    return tuple(count for count in counts if count <= chassis.dimm_slots)


def _drive_options(blank: Build, catalog: Catalog, at: Situation) -> Iterator[Build]:
    system, chassis = blank.core.system, blank.core.chassis
    if system is not None:
        for inside in system.drives[:1]:
            yield replace(blank, drive=catalog.drives()[inside.part], drives=inside.count)
        if not system.drives:
            yield blank
        if isinstance(system, OwnedMachine) and system.upgrade and at.scenario.tiers.nvme != "none":
            yield from _added_drives(blank, system, catalog)
        return
    if at.scenario.tiers.nvme == "none":
        yield blank
        return
    for drive in catalog.drives().values():
        if drive.role == "data" and set(drive.form_factors) & set(chassis.drive_form_factors):
            for count in range(1, chassis.drive_bays + 1):
                yield replace(blank, drive=drive, drives=count)


def _added_drives(blank: Build, system: OwnedMachine, catalog: Catalog) -> Iterator[Build]:
    """Yield more of the drives that an owned machine has, or any where it has none, in its free bays."""
    chassis = blank.core.chassis
    for drive in catalog.drives().values():
        inside = {quantity.part: quantity.count for quantity in system.drives}
        fits = drive.role == "data" and set(drive.form_factors) & set(chassis.drive_form_factors)
        if fits and (drive.id in inside or not inside):
            for count in range(inside.get(drive.id, 0) + 1, chassis.drive_bays + 1):
                yield replace(blank, drive=drive, drives=count)


def _halves(
    options: Iterable[Build], depends: str, pricing: Pricing, at: Situation, rejected: Rejections
) -> list[_Half]:
    """Return the priced options that host anything, dominated ones left out."""
    kept = []
    for build in options:
        rows = _paid_parts(build, depends)
        inside = (build.cpu.id, build.dimm.id) if depends == "host" else ((build.drive.id,) if build.drive else ())
        if _not_to_be_had(inside, (part for part, count in rows if count), pricing, at, rejected, _owned(build.core)):
            continue
        hosted = _reach(build, depends, at)
        if hosted == 0:
            what = f"{build.dimms} x {build.dimm.id}" if depends == "host" else f"{build.drives} drives"
            rejected.add("limits", f"{build.core.chassis.id}: {what} host nothing")
        else:
            read = build.drives * build.drive.read_bytes_per_s if build.drive else 0
            parts = tuple(part for part, count in rows if count) if by_part(at) else ()
            kept.append(_Half(build, _adds(build, depends, rows, pricing, at), hosted, read, parts))
    return _skyline(kept)


def _paid_parts(build: Build, depends: str) -> list[tuple[str, int]]:
    if build.core.system is not None:
        if depends == "host":
            return [(build.dimm.id, build.added_dimms)] if build.added_dimms else []
        return [(build.drive.id, build.added_drives)] if build.drive and build.added_drives else []
    if depends == "host":
        return [(build.cpu.id, build.core.chassis.n_cpus), (build.dimm.id, build.dimms)]
    return [(build.drive.id, build.drives)] if build.drive else []


def _adds(
    build: Build, depends: str, rows: Sequence[tuple[str, int]], pricing: Pricing, at: Situation
) -> tuple[int, ...]:
    cents = sum(count * pricing.cents(part) for part, count in rows)
    tax = sum(count * pricing.tax_on(pricing.cents(part)) for part, count in rows)
    pieces = dict(rows)
    if depends == "host":
        watts = build.core.chassis.n_cpus * build.cpu.power_w + build.dimms * build.dimm.power_w
        pool = (-tier_gib(build, at), 0) if at.pooled else (0, 0)
    else:
        watts = build.drives * build.drive.power_w if build.drive else 0
        pool = (0, -tier_gb(build)) if at.pooled else (0, 0)
    limits = at.scenario.limits
    most = tuple(pieces.get(part, 0) for part in (*limits.stock, *limits.maximum))
    least = tuple(-pieces.get(part, 0) for part in limits.minimum)
    # Fewer watts let more nodes share a rack, and be lost with it.
    warm = -watts if at.scenario.fleet.spare_racks else 0
    return (cents, tax, watts, warm, *pool, *most, *least)


def _reach(build: Build, depends: str, at: Situation) -> int:
    skipped = _pooled_kinds(at) | {"first_token"}
    bounds = [
        reach(limit, build, at)
        for limit in GROUP_LIMITS.values()
        if limit.depends == depends and limit.kind not in skipped and limit.active(at)
    ]
    return min([at.open_parts, *(b for b in bounds if b is not None)])


def _pooled_kinds(at: Situation) -> set[str]:
    return {"dram", "nvme"} if at.pooled else set()


def _core_reach(core: Core, found: Offer, catalog: Catalog, at: Situation) -> tuple[int, str]:
    blank = _blank(core, found, catalog)
    bounds = [(_NO_LIMIT, "")]
    for limit in GROUP_LIMITS.values():
        if limit.depends == "core" and limit.active(at):
            bound = reach(limit, blank, at)
            if bound is not None:
                bounds.append((bound, limit.kind))
    return min(bounds)


def _skyline(halves: Sequence[_Half]) -> list[_Half]:
    kept = undominated_within([half.parts for half in halves], [half.vector for half in halves])
    return [halves[i] for i in kept]


def _join(core: Core, host: _Half, drive: _Half) -> Build:
    other = drive.build
    build = host.build
    power = node_power_w(core, build.cpu, build.dimm, build.dimms, other.drive, other.drives, build.boot)
    return replace(
        build, core=core, drive=other.drive, drives=other.drives,
        reach=min(host.reach, drive.reach), power_w=core.n_nodes * power,
    )  # fmt: skip


def limiting_kind(build: Build, at: Situation) -> str:
    """Return the group limit that decides the reach of `build`, the first of several.

    Empty where the group could host all open sessions.
    """
    bounds = []
    for order, limit in enumerate(GROUP_LIMITS.values()):
        if limit.kind not in _pooled_kinds(at) and limit.active(at):
            bound = reach(limit, build, at)
            if bound is not None:
                bounds.append((bound, order, limit.kind))
    least = min(bounds, default=(at.open_parts, 0, ""))
    return least[2] if least[0] < at.open_parts else ""


def _machine_fault(build: Build, catalog: Catalog, limits: Limits) -> str:
    chassis, watts = build.core.chassis, build.power_w // build.n_nodes
    if watts > chassis.power_limit_w:
        return f"{chassis.id}: builds beyond its power supplies' {chassis.power_limit_w} W are not offered"
    if racks_per(build, catalog, limits) < 1:
        height, most = rack_offers(catalog, limits)
        if chassis.rack_units > height:
            return f"{chassis.id}: a node of {chassis.rack_units} RU does not fit a rack of {height} RU"
        return f"{chassis.id}: a node of {watts} W does not fit a rack of {most} W"
    return ""


def rack_offers(catalog: Catalog, limits: Limits) -> tuple[int, int]:
    """Return the rack units and the watts that one rack offers to nodes."""
    rack = catalog.cluster
    return limits.rack_height or rack.rack_units, limits.rack_power_w or rack.rack_w


def racks_per(build: Build, catalog: Catalog, limits: Limits) -> int:
    """Return how many nodes of this build share a rack."""
    height, watts = rack_offers(catalog, limits)
    return min(height // build.core.chassis.rack_units, watts * build.n_nodes // build.power_w)


def build_vector(build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
    """Return all that the program counts of one group, each so that less is better."""
    goals = [use for kind in at.scenario.objectives for use in OBJECTIVES[kind].uses(build, at, catalog)]
    drivers = group_drivers(build, catalog).values()
    rules = [use for rule in FLEET_RULES.values() if rule.active(at) for use in rule.uses(build, at)]
    return (build.cost_cents, *goals, *drivers, -build.racks_per, *rules)


def _explain_empty(scenario: Scenario, pricing: Pricing, rejected: Rejections) -> None:
    lines = [f"  - {reason} ({count}x)" for reason, count in rejected.weightiest(12)]
    if rejected.unpriced:
        # Builds that only lack a price would have been offered.
        parts = "".join(f"\n  - {part}" for part in list(rejected.unpriced)[:12])
        raise PriceMissingError(
            f"{scenario.name}: no build can be priced; price book '{pricing.book.id}' lacks{parts}\n"
            f"add prices with --prices FILE, or allow other machines in 'fleet'"
        )
    lines.insert(0, f"{scenario.name}: no build can host a session. Why:")
    raise InfeasibleError("\n".join(lines))
