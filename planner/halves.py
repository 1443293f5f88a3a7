"""Memory and drives of a node, each looked at alone: what they cost, draw and let a group host.

They depend on the chassis and on what a session takes, not on the GPUs: machines that differ in
GPUs only share one `Halves`, so that a catalogue of many GPUs asks for each population once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from planner import dominance, topology
from planner.build import Build, Core
from planner.constraints import GROUP_LIMITS
from planner.constraints.base import GroupLimit, hosted, limits_of
from planner.constraints.dram import tier_gib
from planner.constraints.first_token import read_seconds
from planner.constraints.nvme import tier_gb
from planner.cores import Offer, Rejections
from planner.costs import Pricing
from planner.eligibility import late_fault, region_fault
from planner.hardware import Catalog, Chassis, Cpu, Dimm, OwnedMachine
from planner.objectives.base import by_part
from planner.problem import Situation
from planner.roles import DECODE, PREFILL
from planner.volume import volume_counts


@dataclass(frozen=True)
class Half:
    """Memory or drives of a node.

    Attributes
    ----------
    build : Build
        With the memory or the drives; its core is of the same machine, no more.
    adds : tuple of int
        Coordinates that add up over the halves of a node, less is better: cents (two), watts, less
        the GiB and the GB of its pooled tiers, less watts where a rack may be lost, less what the
        drives of a decode group read, pieces of each part in short supply, less pieces of each part
        of which a least number is asked.
    reach : int
        Open sessions that a group hosts as far as this half is concerned, in parts.
    read : int
        Bytes per second that the drives read.
    seconds : Fraction
        To read one session from the drives; 0 where no first token is promised.
    pieces : tuple of (str, int)
        Parts that are paid for, by node; none in a whole system.
    kinds : tuple of str
        Those parts where their number counts; else empty. Only halves of the same are compared.
    """

    build: Build
    adds: tuple[int, ...]
    reach: int
    read: int = 0
    seconds: Fraction = Fraction(0)
    pieces: tuple[tuple[str, int], ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass
class Halves:
    """What can be put into one chassis; populations that are worse in all respects left out.

    Attributes
    ----------
    rejected : Rejections
        Why other populations are not among them, counted for one machine.
    """

    hosts: Sequence[Half]
    drives: Sequence[Half]
    rejected: Rejections
    _kept: dict[tuple[int, int, bool], list[int]] = field(default_factory=dict)
    _weights: dict[int, list[int]] = field(default_factory=dict)

    @cached_property
    def reaches(self) -> tuple[list[int], list[int]]:
        """Different reaches of the hosts and of the drives, rising."""
        return sorted({half.reach for half in self.hosts}), sorted({half.reach for half in self.drives})

    @cached_property
    def most_reach(self) -> int:
        """Parts beyond which a core's own reach changes nothing."""
        return min((reaches[-1] for reaches in self.reaches if reaches), default=0)

    @cached_property
    def watts(self) -> tuple[int, int]:
        """Least and most watts of a pair."""
        pairs = [[half.adds[2] for half in halves] for halves in (self.hosts, self.drives) if halves]
        return sum(map(min, pairs)), sum(map(max, pairs))

    @cached_property
    def _by_speed(self) -> list[int]:
        return sorted(range(len(self.drives)), key=lambda i: self.drives[i].seconds)

    @cached_property
    def _seconds(self) -> list[Fraction]:
        return [self.drives[i].seconds for i in self._by_speed]

    def n_in_time(self, seconds: Fraction | None) -> int:
        """Return how many of the drives, the fastest, deliver a session in so many seconds."""
        return len(self.drives) if seconds is None else bisect_right(self._seconds, seconds)

    def n_beyond(self, watts: int, in_time: int) -> int:
        """Return how many pairs of a host and one of the fastest `in_time` drives draw more watts."""
        if in_time not in self._weights:
            self._weights[in_time] = sorted(self.drives[i].adds[2] for i in self._by_speed[:in_time])
        drives = self._weights[in_time]
        light = sum(bisect_right(drives, watts - host) * count for host, count in self._host_watts.items())
        return len(self.hosts) * in_time - light

    @cached_property
    def _host_watts(self) -> Counter[int]:
        return Counter(half.adds[2] for half in self.hosts)

    def hosts_within(self, most: int) -> list[int]:
        """Return the hosts that differ on a core that hosts `most` parts."""
        key = (bisect_left(self.reaches[0], most), 0, True)
        if key not in self._kept:
            self._kept[key] = _differing(self.hosts, range(len(self.hosts)), most)
        return self._kept[key]

    def drives_within(self, most: int, seconds: Fraction | None) -> list[int]:
        """Return the drives that differ on a core that hosts `most` parts and waits so long for drives."""
        # Which of them dominate others depends on where `most` lies among their reaches, no further.
        key = (bisect_left(self.reaches[1], most), self.n_in_time(seconds), False)
        if key not in self._kept:
            self._kept[key] = _differing(self.drives, sorted(self._by_speed[: key[1]]), most)
        return self._kept[key]


def _differing(halves: Sequence[Half], some: Sequence[int], most: int) -> list[int]:
    vectors = [(*halves[i].adds, -min(halves[i].reach, most)) for i in some]
    return [some[j] for j in dominance.undominated_within([halves[i].kinds for i in some], vectors)]


@dataclass(frozen=True)
class _Priced:
    """Memory or drives as they are in every node of a chassis, whatever is stored in them.

    Attributes
    ----------
    cents : tuple of int
        Two, see `paid_cents`.
    rows : tuple of (str, int)
        Parts that are paid for.
    counts : tuple of int
        Coordinates of dominance: pieces in short supply, less pieces of which a least number is asked.
    """

    build: Build
    rows: tuple[tuple[str, int], ...]
    cents: tuple[int, int]
    watts: int
    read: int
    kinds: tuple[str, ...]
    counts: tuple[int, ...]


@dataclass
class HalfShelf:
    """Finds halves; what they cost and draw is asked for once per chassis."""

    found: Offer
    catalog: Catalog
    pricing: Pricing
    at: Situation
    _slowest: dict[tuple[object, ...], int] = field(default_factory=dict)
    _priced: dict[tuple[object, ...], tuple[list[_Priced], Rejections]] = field(default_factory=dict)
    _haves: dict[tuple[object, ...], list[list[int]]] = field(default_factory=dict)

    def loads(self, core: Core) -> tuple[Fraction, ...]:
        """Return what a session of this core asks of host memory by its layout or speed; 0 where that never binds.

        Each rank pulls its copy, and prompts stay as long as they take: cores that differ in it do not share
        their memory's reach, unless even the least memory bears all open sessions.
        """
        blank = blank_build(core, self.found, self.catalog)
        kinds = ("dram_bandwidth", "staging")
        return tuple(self._load(limit, blank) for limit in limits_of(core.role, self.at) if limit.kind in kinds)

    def _load(self, limit: GroupLimit, blank: Build) -> Fraction:
        core = blank.core
        stored = core.footprint.staged_bytes if limit.kind == "staging" else 0
        key = (limit.kind, stored, core.chassis, core.system, core.n_nodes)
        if key not in self._slowest:
            options = (replace(build, core=core) for build in _host_options(blank, self.catalog))
            self._slowest[key] = min((limit.have(build, self.at) for build in options), default=0)
        need = limit.need(blank, self.at)
        return need if need * self.at.open > self._slowest[key] else Fraction(0)

    def find(self, core: Core) -> Halves:
        """Return the priced memory and drives that let a group on this core's chassis host anything."""
        blank, rejected = blank_build(core, self.found, self.catalog), Rejections()
        hosts = self._halves(blank, "host", rejected)
        drives = self._halves(blank, "drives", rejected)
        return Halves(hosts, drives, rejected)

    def _halves(self, blank: Build, depends: str, rejected: Rejections) -> list[Half]:
        """Return the options that host anything, dominated ones left out."""
        priced, faults = self._priced_of(blank, depends)
        rejected.merge(faults)
        # What a session needs of a limit depends on what is stored, never on how much memory or how many drives.
        limits = _limits(depends, blank.core.role, self.at)
        needs = [limit.need(blank, self.at) for limit in limits]
        kept = []
        for one, haves in zip(priced, self._haves_of(blank, depends, limits), strict=True):
            bounds = [hosted(have, need, self.at) for have, need in zip(haves, needs, strict=True)]
            most = min([self.at.open_parts, *(bound for bound in bounds if bound is not None)])
            if most == 0:
                build = one.build
                what = f"{build.dimms} x {build.dimm.id}" if depends == "host" else f"{build.drives} drives"
                rejected.add("limits", f"{build.core.chassis.id}: {what} host nothing")
            else:
                kept.append(_half(one, blank.core, depends, most, self.at))
        vectors = [(*half.adds, -half.reach, -half.read) for half in kept]
        return [kept[i] for i in dominance.undominated_within([half.kinds for half in kept], vectors)]

    def _haves_of(self, blank: Build, depends: str, limits: Sequence[GroupLimit]) -> list[list[int]]:
        """Return what each option offers under each limit, asked once for all cores that do not differ in it."""
        core = blank.core
        sized = core.footprint if SIZED & {limit.kind for limit in limits} else None
        key = (core.chassis, core.system, depends, core.role, core.n_nodes, sized)
        if key not in self._haves:
            options = (replace(one.build, core=core) for one in self._priced_of(blank, depends)[0])
            self._haves[key] = [[limit.have(build, self.at) for limit in limits] for build in options]
        return self._haves[key]

    def _priced_of(self, blank: Build, depends: str) -> tuple[list[_Priced], Rejections]:
        key = (blank.core.chassis, blank.core.system, depends, blank.core.role == PREFILL)
        if key not in self._priced:
            options = (
                _host_options(blank, self.catalog)
                if depends == "host"
                else _drive_options(blank, self.catalog, self.at)
            )
            rejected = Rejections()
            self._priced[key] = list(_price(options, depends, self.pricing, self.at, rejected)), rejected
        return self._priced[key]


def blank_build(core: Core, found: Offer, catalog: Catalog) -> Build:
    """Return a build without memory and data drives."""
    cpu = next(iter(catalog.cpus().values()))
    dimm = next(iter(catalog.dimms().values()))
    boot = core.system.boot.part if core.system else catalog.cluster.boot_drive
    return Build(core, found.cache, cpu, dimm, 0, None, 0, catalog.drives()[boot])


def _host_options(blank: Build, catalog: Catalog) -> Iterator[Build]:
    system, chassis = blank.core.system, blank.core.chassis
    if system is not None:
        cpu, dimm = catalog.cpus()[system.cpu], catalog.dimms()[system.dimms.part]
        counts = [system.dimms.count]
        if isinstance(system, OwnedMachine) and system.upgrade:
            counts += [count for count in populations(chassis, cpu, dimm) if count > system.dimms.count]
        for count in counts:
            yield replace(blank, cpu=cpu, dimm=dimm, dimms=count)
        return
    for cpu in catalog.cpus().values():
        if cpu.platform in chassis.cpu_platforms:
            for dimm in catalog.dimms().values():
                for count in populations(chassis, cpu, dimm):
                    yield replace(blank, cpu=cpu, dimm=dimm, dimms=count)


def populations(chassis: Chassis, cpu: Cpu, dimm: Dimm) -> tuple[int, ...]:
    """Return the balanced DIMM counts: one or two on every channel of every socket."""
    if dimm.capacity_bytes > chassis.max_dimm_bytes or dimm.generation != cpu.memory_generation:
        return ()
    channels = chassis.n_cpus * cpu.memory_channels
    counts = [channels] + ([2 * channels] if cpu.speed_2dpc else [])
    return tuple(count for count in counts if count <= chassis.dimm_slots)


def _drive_options(blank: Build, catalog: Catalog, at: Situation) -> Iterator[Build]:
    system, chassis = blank.core.system, blank.core.chassis
    unused = at.scenario.tiers.nvme == "none" or blank.core.role == PREFILL
    if system is not None:
        for inside in system.drives[:1]:
            yield replace(blank, drive=catalog.drives()[inside.part], drives=inside.count)
        if not system.drives:
            yield blank
        if isinstance(system, OwnedMachine) and system.upgrade and not unused:
            yield from _added_drives(blank, system, catalog)
        return
    if unused:
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


def not_to_be_had(
    inside: Iterable[str], paid: Iterable[str], core: Core, pricing: Pricing, at: Situation, rejected: Rejections
) -> bool:
    """Return whether region, delivery or a missing price keep parts out of a plan, and say why.

    `inside` is what stands in the machine, `paid` what is bought for it: a whole system is bought
    as one, and what is owned is there.
    """
    paid = tuple(paid)
    inside = paid if isinstance(core.system, OwnedMachine) else inside
    here = region_fault(at.scenario.fleet.region, map(pricing.catalog.find, inside))
    late = late_fault(at.scenario.limits, pricing.book, paid)
    missing = pricing.unpriced(iter(paid))
    if here or late:
        rejected.add("region" if here else "delivery", here or late)
    elif missing:
        rejected.add_unpriced(missing)
    return bool(here or late or missing)


def _price(
    options: Iterable[Build], depends: str, pricing: Pricing, at: Situation, rejected: Rejections
) -> Iterator[_Priced]:
    """Yield the options that are to be had, with what they cost and draw."""
    for build in options:
        rows = tuple(_paid_parts(build, depends))
        inside = (build.cpu.id, build.dimm.id) if depends == "host" else ((build.drive.id,) if build.drive else ())
        if not_to_be_had(inside, (part for part, count in rows if count), build.core, pricing, at, rejected):
            continue
        read = topology.drive_read(build.core.chassis, build.drive, build.drives).bytes_per_s
        kinds = tuple(part for part, count in rows if count) if by_part(at) else ()
        cents, counts = paid_cents(rows, pricing, at), (*volume_counts(pricing, rows), *_counts(dict(rows), at))
        yield _Priced(build, rows, cents, _watts(build, depends), read, kinds, counts)


def _half(one: _Priced, core: Core, depends: str, most: int, at: Situation) -> Half:
    if depends == "host":
        pool = (-tier_gib(replace(one.build, core=core), at), 0) if at.pooled else (0, 0)
    else:
        pool = (0, -tier_gb(one.build)) if at.pooled else (0, 0)
    # Fewer watts let more nodes share a rack, and be lost with it.
    warm = -one.watts if at.scenario.fleet.spare_racks else 0
    timed = depends == "drives" and any(GROUP_LIMITS[kind].active(at) for kind in TIMES)
    # What drives leave of the first token's time is the prefill groups'.
    promised = core.role == DECODE and depends == "drives" and GROUP_LIMITS["first_token"].active(at)
    fast = -one.read if promised else 0
    adds = (*one.cents, one.watts, *pool, warm, fast, *one.counts)
    seconds = read_seconds(core, one.build, one.read, at) if timed else Fraction(0)
    return Half(one.build, adds, most, one.read, seconds, one.rows, one.kinds)


def _paid_parts(build: Build, depends: str) -> list[tuple[str, int]]:
    if build.core.system is not None:
        if depends == "host":
            return [(build.dimm.id, build.added_dimms)] if build.added_dimms else []
        return [(build.drive.id, build.added_drives)] if build.drive and build.added_drives else []
    if depends == "host":
        return [(build.cpu.id, build.core.chassis.n_cpus), (build.dimm.id, build.dimms)]
    return [(build.drive.id, build.drives)] if build.drive else []


def _watts(build: Build, depends: str) -> int:
    if depends == "host":
        return build.core.chassis.n_cpus * build.cpu.power_w + build.dimms * build.dimm.power_w
    return build.drives * build.drive.power_w if build.drive else 0


def _counts(pieces: dict[str, int], at: Situation) -> tuple[int, ...]:
    limits = at.scenario.limits
    most = (pieces.get(part, 0) for part in (*limits.stock, *limits.maximum))
    return (*most, *(-pieces.get(part, 0) for part in limits.minimum))


def paid_cents(rows: Iterable[tuple[str, int]], pricing: Pricing, at: Situation) -> tuple[int, int]:
    """Return what parts cost, percentage lines and tax included, as coordinates of dominance.

    Over the term what is paid at once weighs more than what is paid later: they are apart there. Parts
    whose price depends on how many are bought are left out: their pieces are compared.
    """
    tiered = {price.part for price in pricing.book.tiered}
    splits = [(count, *pricing.piece_split(part)) for part, count in rows if part not in tiered]
    once = sum(count * at_once for count, at_once, _ in splits)
    yearly = sum(count * later for count, _, later in splits)
    if "tco" in at.scenario.objectives:
        return once, yearly
    return once + pricing.finance.years * yearly, 0


SIZED = {"dram", "nvme", "staging"}
"""Limits whose offer depends on what is stored; that of others of memory and drives only on machine and nodes."""

TIMES = {"first_token", "worth"}
"""Limits that a core and its drives meet together or not, however many sessions are hosted."""


def pooled_kinds(at: Situation) -> set[str]:
    """Return the group limits that a pool turns into fleet rules."""
    return {"dram", "nvme"} if at.pooled else set()


def _limits(depends: str, role: str, at: Situation) -> list[GroupLimit]:
    """Return the limits that bound what memory, or drives, let a group host."""
    skipped = pooled_kinds(at) | TIMES
    return [limit for limit in limits_of(role, at) if limit.depends == depends and limit.kind not in skipped]
