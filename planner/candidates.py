"""The builds worth offering to the solver.

For each core, memory and drives are chosen apart: each option's reach is known alone, and a
build's reach is the smallest. An option, a core or a build is dropped only if another is at least
as good in everything the program counts (dominance), so no optimum is lost; see docs/math.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from planner import dominance
from planner.build import Build, Core
from planner.constraints import FLEET_RULES, GROUP_LIMITS, reach
from planner.constraints.base import limits_of
from planner.constraints.first_token import core_seconds
from planner.constraints.worth import load_seconds, recompute_seconds
from planner.cores import Offer, Offered, Rejections, cores, offer
from planner.costs import Pricing, group_drivers
from planner.engines import Cache
from planner.errors import InfeasibleError, PriceMissingError
from planner.halves import HalfShelf, Halves, blank_build, not_to_be_had, paid_cents, pooled_kinds, populations
from planner.hardware import Catalog, Gpu
from planner.lazy import Lazy
from planner.loading import Shelf
from planner.objectives import OBJECTIVES
from planner.objectives.base import by_part
from planner.objectives.parts import distinct_parts
from planner.problem import Situation
from planner.roles import concerns
from planner.scenario import Limits, Scenario
from planner.volume import group_paid, volume_counts

if TYPE_CHECKING:
    import numpy

__all__ = ["Candidates", "Offers", "Way", "find_candidates", "keep_best", "limiting_kind", "populations"]
_NO_LIMIT = 10**12


@dataclass(frozen=True)
class Candidates:
    """What the optimiser chooses from.

    Attributes
    ----------
    builds : sequence of Build
        In canonical order, dominated ones left out; made when first looked at.
    every : sequence of Build
        The same before builds on different machines were compared; for questions that exclude
        machines.
    rejected : Rejections
        Why others are not among them.
    considered : int
        Combinations of core, memory and drives that were legal before dominance.
    """

    builds: Sequence[Build]
    every: Sequence[Build]
    rejected: Rejections
    considered: int


@dataclass(frozen=True)
class Way:
    """One way to run the model on one machine.

    Attributes
    ----------
    halves : Halves
        Memory and drives that fit the machine.
    reach : int
        What the core's own limits let it host, in parts.
    drive_seconds : Fraction or None
        What the first token, and prefilling a session again, leave for the drives; None where neither
        is asked for.
    late : str
        Why slower drives are not offered.
    fixed : tuple of int
        Cents (two) and watts of one node without processors, memory and data drives.
    """

    core: Core
    reach: int
    drive_seconds: Fraction | None
    late: str
    fixed: tuple[int, int, int]
    halves: Halves
    _made: dict[tuple[int, int], Build] = field(default_factory=dict)

    @property
    def hosts(self) -> list[int]:
        """Which of the hosts are worth pairing."""
        return self.halves.hosts_within(self.reach)

    @property
    def drives(self) -> list[int]:
        """Which of the drives are worth pairing and fast enough."""
        return self.halves.drives_within(self.reach, self.drive_seconds)

    def most_watts(self, rack_w: int) -> int:
        """Return the watts that a node may draw: of its power supplies, of a rack."""
        return min(self.core.chassis.power_limit_w, rack_w)


class Offers(Lazy[Build]):
    """All ways with the memory and drives that fit; builds are made of them where looked at."""

    def __init__(self, ways: Sequence[Way], at: Situation, pricing: Pricing) -> None:
        super().__init__(self._all)
        self.ways, self.at, self.pricing = ways, at, pricing

    @property
    def rack(self) -> tuple[int, int]:
        """Rack units and watts that one rack offers to nodes."""
        return rack_offers(self.pricing.catalog, self.at.scenario.limits)

    def __bool__(self) -> bool:
        """Return whether there is any way to run the model; asks for no builds."""
        return bool(self.ways)

    def _all(self) -> Sequence[Build]:
        made = [build for way in self.ways for build in self._builds(way)]
        return sorted(made, key=lambda build: build.name)

    def without(self, gpus: Collection[Gpu]) -> Offers:
        """Return what is on offer without machines with these GPUs."""
        return Offers([way for way in self.ways if way.core.gpu not in gpus], self.at, self.pricing)

    def pools(self) -> list[Offers]:
        """Return what is on offer by what it stores, the leanest first."""
        parts: dict[object, list[Way]] = {}
        for way in sorted(self.ways, key=lambda way: way.core.pool_key):
            parts.setdefault(way.core.pool_key, []).append(way)
        return [Offers(part, self.at, self.pricing) for part in parts.values()]

    def best(self, at: Situation) -> tuple[Build, ...]:
        """Return the builds that no other dominates under the rules of `at`."""
        made = [build for way in self.best_ways(at) for build in self._builds(way)]
        return keep_best(sorted(made, key=lambda build: build.name), at, self.pricing.catalog)

    def best_ways(self, at: Situation) -> list[Way]:
        """Return the ways that no other with the same memory and drives dominates."""
        families: dict[int, list[Way]] = {}
        for way in self.ways:
            families.setdefault(id(way.halves), []).append(way)
        kept: list[Way] = []
        for ways in families.values():
            ways.sort(key=lambda way: way.core.name)
            vectors = [self._way_vector(way, at) for way in ways]
            kinds = [distinct_parts(self.bare(way)) if by_part(at) else None for way in ways]
            kept += [ways[i] for i in dominance.undominated_within(kinds, vectors)]
        return kept

    def _way_vector(self, way: Way, at: Situation) -> tuple[int, ...]:
        """Return all that the program counts of a core; what hosts and drives add is the same for all.

        Of its watts only what they leave for pairs counts, by power supplies and by each class of
        rack, and only within the watts that pairs have; where watts themselves are counted, those,
        and where racks may be lost with the nodes in them, only the same watts compare.
        """
        catalog, halves = self.pricing.catalog, way.halves
        height, rack_w = self.rack
        build = replace(self.bare(way), reach=min(way.reach, halves.most_reach))
        drivers = group_drivers(build, catalog).values()
        rules = [use for rule in FLEET_RULES.values() if rule.active(at) for use in rule.uses(build, at)]
        least, most = halves.watts
        tallest = height // way.core.chassis.rack_units
        left = [way.core.chassis.power_limit_w, *(rack_w // size for size in range(1, tallest + 1))]
        room = (-min(max(watts - way.fixed[2], least - 1), most) for watts in left)
        watts = way.fixed[2] if {"tco", "power"} & set(at.scenario.objectives) else 0
        same = (way.fixed[2], -way.fixed[2]) if at.scenario.fleet.spare_racks else ()
        in_time = halves.n_in_time(way.drive_seconds)
        pieces = volume_counts(self.pricing, ((part, n) for _, part, n in self.pricing.bought(build)))
        return (*way.fixed[:2], *pieces, watts, *same, -build.reach, -in_time, *room, *drivers, *rules)

    def bare(self, way: Way) -> Build:
        """Return a build of this way without memory and drives."""
        some = way.halves.hosts[0].build
        return replace(
            some, core=way.core, dimms=0, drive=None, drives=0, reach=way.reach,
            power_w=way.core.n_nodes * way.fixed[2],
        )  # fmt: skip

    def pairs(self, way: Way) -> list[tuple[int, int]]:
        """Return the pairs of host and drives that no other pair on this way dominates."""
        import numpy

        hosts, drives = way.hosts, way.drives
        height, rack_w = self.rack
        if not hosts or not drives or height < way.core.chassis.rack_units:
            return []
        sums, reaches = _pair_table(way, hosts, drives)
        watts = way.fixed[2] + sums[:, 2]
        legal = numpy.flatnonzero(watts <= way.most_watts(rack_w))
        racks = numpy.minimum(height // way.core.chassis.rack_units, rack_w // watts[legal])
        # Nodes that share a rack are lost with it: fewer are better then, too.
        lost = racks if self.at.scenario.fleet.spare_racks else 0 * racks
        vectors = numpy.column_stack((sums[legal], -reaches[legal], -racks, lost))
        kinds = [(way.halves.hosts[host].kinds, way.halves.drives[drive].kinds) for host in hosts for drive in drives]
        places = [int(legal[i]) for i in dominance.undominated_within([kinds[i] for i in legal], vectors)]
        return [(hosts[place // len(drives)], drives[place % len(drives)]) for place in places]

    def _builds(self, way: Way) -> list[Build]:
        return [self.build(way, host, drive) for host, drive in self.pairs(way)]

    def build(self, way: Way, host: int, drive: int) -> Build:
        """Return the build of a pair with its cost; the same one whenever asked."""
        if (host, drive) not in way._made:
            one, other = way.halves.hosts[host], way.halves.drives[drive]
            watts = way.fixed[2] + one.adds[2] + other.adds[2]
            made = replace(
                one.build, core=way.core, drive=other.build.drive, drives=other.build.drives,
                reach=min(way.reach, one.reach, other.reach), power_w=way.core.n_nodes * watts,
            )  # fmt: skip
            way._made[host, drive] = _with_costs(made, self.pricing, self.at)
        return way._made[host, drive]

    def count_faults(self, rejected: Rejections) -> int:
        """Count pairs beyond power supplies and racks, and ways that are too slow; return how many ways are left."""
        left = 0
        rack = self.rack
        for way in self.ways:
            in_time = way.halves.n_in_time(way.drive_seconds)
            slow = len(way.halves.drives) - in_time
            if slow and (not in_time or way.late != _late(way.core)):
                rejected.add("first token", way.late, 1 if way.late == _late(way.core) else slow)
            pairs = len(way.halves.hosts) * in_time
            if pairs:
                left += _heavy_pairs(way, in_time, rack, rejected) < pairs
        return left


def _pair_table(way: Way, hosts: list[int], drives: list[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the sums of what adds up, and the reaches, of every pair; hosts vary slowest."""
    import numpy

    host_adds = numpy.array([way.halves.hosts[i].adds for i in hosts], dtype=numpy.int64)
    drive_adds = numpy.array([way.halves.drives[i].adds for i in drives], dtype=numpy.int64)
    host_reach = numpy.array([min(way.reach, way.halves.hosts[i].reach) for i in hosts], dtype=numpy.int64)
    drive_reach = numpy.array([way.halves.drives[i].reach for i in drives], dtype=numpy.int64)
    sums = (host_adds[:, None, :] + drive_adds[None, :, :]).reshape(len(hosts) * len(drives), -1)
    return sums, numpy.minimum(host_reach[:, None], drive_reach[None, :]).ravel()


def _heavy_pairs(way: Way, in_time: int, rack: tuple[int, int], rejected: Rejections) -> int:
    """Count the pairs that no power supply or no rack bears, by why; with the drives in time only."""
    chassis, base, halves = way.core.chassis, way.fixed[2], way.halves
    height, rack_w = rack
    if height < chassis.rack_units:
        rejected.add("power", f"{chassis.id}: a node of {chassis.rack_units} RU does not fit a rack of {height} RU")
        return len(halves.hosts) * in_time
    most = way.most_watts(rack_w)
    if base + halves.watts[1] <= most:
        return 0
    beyond, heavy = (halves.n_beyond(watts - base, in_time) for watts in (chassis.power_limit_w, most))
    if beyond:
        words = f"builds beyond its power supplies' {chassis.power_limit_w} W are not offered"
        rejected.add("power", f"{chassis.id}: {words}", beyond)
    if heavy > beyond:
        least = base + halves.watts[0]
        words = f"nodes of {least} W and more do not fit a rack of {rack_w} W"
        rejected.add("power", f"{chassis.id}: {words}", heavy - beyond)
    return heavy


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
    families: dict[tuple[object, ...], Halves] = {}
    halves_of = HalfShelf(found, shelf.catalog, pricing, at)
    every: list[Way] = []
    considered = 0
    for stored, ways in _by_machine(scenario, shelf, halves_of, rejected):
        core = ways[0].core
        family = (core.chassis, core.system, core.n_nodes, stored)
        if family not in families:
            families[family] = halves_of.find(core)
        halves = families[family]
        rejected.merge(halves.rejected)
        considered += len(halves.hosts) * len(halves.drives)
        every += [replace(way, halves=halves, _made={}) for way in ways if halves.hosts]
    offers = Offers(every, at, pricing)
    if not offers.count_faults(rejected):
        _explain_empty(scenario, pricing, rejected)
    return Candidates(Lazy(lambda: offers.best(at)), offers, rejected, considered)


def keep_best(builds: Sequence[Build], at: Situation, catalog: Catalog) -> tuple[Build, ...]:
    """Return the builds that no other dominates in anything that the program counts."""
    if isinstance(builds, Offers):
        return builds.best(at)
    kinds = [distinct_parts(build) if by_part(at) else None for build in builds]
    kept = dominance.undominated_within(kinds, [build_vector(build, at, catalog) for build in builds])
    return tuple(builds[i] for i in kept)


def _stored(core: Core, halves_of: HalfShelf) -> object:
    """Return all of a core that memory and drives see of it, beside its machine."""
    size = core.footprint
    what = core.pool_key if halves_of.at.pooled else (size.kv, size.copies)
    return (core.role, what if core.role == "both" else core.pair_key, halves_of.loads(core))


def _by_machine(
    scenario: Scenario, shelf: Shelf, halves_of: HalfShelf, rejected: Rejections
) -> Iterator[tuple[object, list[Way]]]:
    """Yield what memory and drives see of the ways to run the model on one machine in one KV format, and the ways.

    On the same machine and format all ways cost the same; they differ in what they host and in
    the first token's time only. Worse ways are left out.
    """
    found, pricing, at = halves_of.found, halves_of.pricing, halves_of.at
    groups: dict[tuple[object, ...], list[Way]] = {}
    settled: set[Offered] = set()
    for core in cores(scenario, shelf, found, rejected, settled):
        hosted, kind = _core_reach(core, found, shelf.catalog, at)
        if hosted == 0:
            rejected.add("limits", f"{core.gpu.id} {core.layout.name}: hosts nothing under '{kind}'")
            continue
        left, late = _left_for_drives(core, found.cache, at)
        if left is not None and left < 0:
            rejected.add("first token", late)
            continue
        inside = (*core.nics, core.system.boot.part if core.system else shelf.catalog.cluster.boot_drive)
        if not_to_be_had(inside, _fixed_parts(core, shelf.catalog), core, pricing, at, rejected):
            machine = (core.system.id,) if core.system else (core.chassis.id, core.gpu.id)
            if pricing.unpriced(iter(machine)):
                # It could run the model, but has no price: how well is of no interest.
                settled.add((core.chassis, core.gpu, core.system))
            continue
        key = (core.chassis, core.gpu, core.system, core.n_nodes, core.fabric_nics, _stored(core, halves_of))
        fixed = _fixed(blank_build(core, found, shelf.catalog), pricing, at)
        groups.setdefault(key, []).append(Way(core, min(hosted, at.open_parts), left, late, fixed, _NONE))
    for (*_, stored), ways in groups.items():
        # Either all ways have a time or none has.
        rank = {left: -i for i, left in enumerate(sorted({way.drive_seconds or Fraction(0) for way in ways}))}
        vectors = [(-way.reach, rank[way.drive_seconds or Fraction(0)]) for way in ways]
        yield stored, [ways[i] for i in dominance.undominated(vectors)]


_NONE = Halves((), (), Rejections())


def _left_for_drives(core: Core, cache: Cache, at: Situation) -> tuple[Fraction | None, str]:
    """Return the time that is left for reading a session from drives, and why slower ones are left out."""
    found: list[tuple[Fraction, str]] = []
    if GROUP_LIMITS["first_token"].active(at):
        assert at.scenario.service is not None
        # The estimate is rounded up to milliseconds, the target down: what is left for the drives is exact.
        target = Fraction(int(at.scenario.service.first_token_s * 1000), 1000)
        found.append((target - core_seconds(core, cache, at), _late(core)))
    if GROUP_LIMITS["worth"].active(at) and concerns("worth", core.role):
        again, load = recompute_seconds(core, at), load_seconds(core, cache, at)
        if load > again:
            words = (
                f"host memory loads slower than its GPUs recompute: {float(load):.2g} s against {float(again):.2g} s"
            )
            found.append((again - load, f"{core.gpu.id} {core.layout.name}: {words}"))
        elif at.flows.from_nvme:
            words = f"drives that take over {float(again - load):.2g} s load slower than its GPUs recompute"
            found.append((again - load, f"{core.gpu.id} {core.layout.name}: {words} ({float(again):.2g} s)"))
    return min(found, default=(None, ""))


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


def _fixed(blank: Build, pricing: Pricing, at: Situation) -> tuple[int, int, int]:
    """Return cents (two, see `paid_cents`) and watts of a node without processors, memory and data drives."""
    core, chassis = blank.core, blank.core.chassis
    rows = [(part, count) for kind, part, count in pricing.bought(blank) if kind not in ("cpu", "dimm", "drive")]
    watts = chassis.base_w + chassis.n_gpus * core.gpu.power_w + core.nic_power_w
    return *paid_cents(rows, pricing, at), watts + chassis.boot_drives * blank.boot.power_w


def _with_costs(build: Build, pricing: Pricing, at: Situation) -> Build:
    paid = group_paid(pricing, build)
    return replace(
        build,
        cost_cents=paid.cents,
        tco_cents=paid.tco_cents,
        rest_cents=paid.rest_cents,
        rest_tco_cents=paid.rest_tco_cents,
        volume_pieces=paid.pieces,
        opex_cents=pricing.opex_cents(build.power_w, build.n_nodes * build.core.chassis.rack_units),
        racks_per=racks_per(build, pricing.catalog, at.scenario.limits),
    )


def _core_reach(core: Core, found: Offer, catalog: Catalog, at: Situation) -> tuple[int, str]:
    blank = blank_build(core, found, catalog)
    bounds = [(_NO_LIMIT, "")]
    for limit in limits_of(core.role, at):
        if limit.depends == "core":
            bound = reach(limit, blank, at)
            if bound is not None:
                bounds.append((bound, limit.kind))
    return min(bounds)


def limiting_kind(build: Build, at: Situation) -> str:
    """Return the group limit that decides the reach of `build`, the first of several.

    Empty where the group could host all open sessions.
    """
    bounds = []
    for order, limit in enumerate(limits_of(build.core.role, at)):
        if limit.kind not in pooled_kinds(at):
            bound = reach(limit, build, at)
            if bound is not None:
                bounds.append((bound, order, limit.kind))
    least = min(bounds, default=(at.open_parts, 0, ""))
    return least[2] if least[0] < at.open_parts else ""


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
    return (build.rest_cents, *build.volume_pieces, *goals, *drivers, -build.racks_per, *rules)


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
