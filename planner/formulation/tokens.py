"""The parts of a pooled problem, counted apart: cores as tokens, memory and drives as options.

A token is a core with what its groups may be given: the set of memory options, the set of drive
options, the reach and the share of a rack that count. A *loose* token promises the best that any
pair gives; *exact* tokens of one core promise only what every allowed pair keeps. See docs/math.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from planner.build import Core
from planner.candidates import Offers, Way
from planner.constraints import FLEET_RULES
from planner.costs import group_drivers
from planner.halves import Half
from planner.problem import Situation
from planner.volume import Paid, paid_for

SEPARABLE = {"sessions", "dram_pool", "nvme_pool", "budget", "power", "rack_units", "nodes", "builds"}
"""Fleet rules that add over the parts of a group (or, the last, that counts them)."""


@dataclass(frozen=True)
class Option:
    """Memory or drives of all nodes of a group; the same parts are one option on every chassis.

    Attributes
    ----------
    cents, units, watts : int
        Of one group: cost, GiB or GB of the pooled tier, peak power.
    paid : Paid
        How the cost splits where prices depend on how many are bought.
    reach : int
        In parts.
    """

    paid: Paid
    units: int
    watts: int
    reach: int
    n_nodes: int

    @property
    def cents(self) -> int:
        """Cost of one group at ordinary prices."""
        return self.paid.cents


@dataclass(frozen=True)
class Token:
    """A core with a promise: its groups reach so much and share racks so, with these options.

    Attributes
    ----------
    way : int
        The core, by its place.
    hosts, drives : frozenset of int
        Options it may be given.
    """

    way: int
    paid: Paid
    reach: int
    racks: int
    hosts: frozenset[int]
    drives: frozenset[int]
    exact: bool

    @property
    def cents(self) -> int:
        """Cost of one group at ordinary prices."""
        return self.paid.cents


@dataclass
class Parts:
    """A pooled problem taken apart.

    Attributes
    ----------
    ways : list of Way
        Cores that no other on the same chassis dominates.
    hosts, drives : list of Option
        Memory and drives of all chassis.
    host_of, drive_of : list of dict
        Per way: option to the half that it is there.
    """

    offers: Offers
    at: Situation
    ways: list[Way]
    hosts: list[Option] = field(default_factory=list)
    drives: list[Option] = field(default_factory=list)
    host_of: list[dict[int, int]] = field(default_factory=list)
    drive_of: list[dict[int, int]] = field(default_factory=list)
    _paid: dict[Core, Paid] = field(default_factory=dict)

    @classmethod
    def of(cls, offers: Offers, at: Situation) -> Parts:
        """Return the parts of what is on offer."""
        parts = cls(offers, at, [way for way in offers.best_ways(at) if way.hosts and way.drives])
        hosts, drives = _Options(parts, parts.hosts), _Options(parts, parts.drives)
        for way in parts.ways:
            parts.host_of.append(hosts.of(way, way.halves.hosts, way.hosts))
            parts.drive_of.append(drives.of(way, way.halves.drives, way.drives))
        return parts

    def _option(self, way: Way, half: Half) -> Option:
        n, pricing = way.core.n_nodes, self.offers.pricing
        rows = [(part, n * count) for part, count in half.pieces]
        cents = sum(count * pricing.piece_cents(part) for part, count in rows)
        units = max(0, -half.adds[3]) + max(0, -half.adds[4])
        return Option(paid_for(pricing, rows, {}, cents, cents), n * units, n * half.adds[2], half.reach, n)

    @staticmethod
    def separable(at: Situation) -> bool:
        """Return whether costs and every active rule add over the parts."""
        rules = {rule.kind for rule in FLEET_RULES.values() if rule.active(at)}
        plain = at.scenario.objectives in (("capex",), ("nodes",))
        return at.pooled and plain and rules <= SEPARABLE

    @property
    def pairs(self) -> int:
        """Pairs of memory and drives over all cores."""
        return sum(len(hosts) * len(drives) for hosts, drives in zip(self.host_of, self.drive_of, strict=True))

    @property
    def size(self) -> int:
        """Pairs of cores and options."""
        return sum(len(some) for of in (self.host_of, self.drive_of) for some in of)

    def core_paid(self, way: Way) -> Paid:
        """Return the cost of one group without memory and data drives."""
        if way.core not in self._paid:
            pricing, bare, n = self.offers.pricing, self.offers.bare(way), way.core.n_nodes
            bought = (row for row in pricing.bought(bare) if row[0] not in ("cpu", "dimm", "drive"))
            rows, drivers = [(part, n * count) for _, part, count in bought], group_drivers(bare, pricing.catalog)
            cents = sum(count * pricing.piece_cents(part) for part, count in rows) + pricing.linear_cents(drivers)
            self._paid[way.core] = paid_for(pricing, rows, drivers, cents, cents)
        return self._paid[way.core]

    def room(self, way: Way, racks: int) -> int:
        """Return the watts that memory and drives of a group may draw, if so many nodes are to share a rack."""
        limit = min(way.core.chassis.power_limit_w, self.offers.rack[1] // racks)
        return way.core.n_nodes * (limit - way.fixed[2])

    def tallest(self, way: Way) -> int:
        """Return the nodes that share a rack by their height alone."""
        return self.offers.rack[0] // way.core.chassis.rack_units

    def tokens(self, exact: Iterable[int]) -> list[Token]:
        """Return the tokens of all ways: exact ones of those in `exact`, a loose one of each other."""
        taken = set(exact)
        return self._undominated([token for i in range(len(self.ways)) for token in self._tokens_of(i, i in taken)])

    def _tokens_of(self, i: int, exact: bool) -> list[Token]:
        if not self.host_of[i] or not self.drive_of[i]:
            return []
        return self._exact(i) if exact else self._loose(i)

    def without(
        self, exact: Iterable[int], tokens: Collection[Token], hosts: Collection[int], drives: Collection[int]
    ) -> Parts:
        """Return the parts without these options, and without the ways of which no other token is left.

        `tokens` are some of those that `exact` gives.
        """
        taken, gone = set(exact), set(tokens)
        ways = {token.way for token in gone}
        ways = {i for i in ways if gone.issuperset(self._tokens_of(i, i in taken))}

        def left(of: list[dict[int, int]], some: Collection[int]) -> list[dict[int, int]]:
            return [
                {} if i in ways else {option: half for option, half in mine.items() if option not in some}
                for i, mine in enumerate(of)
            ]

        return replace(self, host_of=left(self.host_of, hosts), drive_of=left(self.drive_of, drives))

    def _loose(self, i: int) -> list[Token]:
        """Return one token that promises the best of all legal pairs at once."""
        way, hosts, drives = self.ways[i], self.host_of[i], self.drive_of[i]
        least = min(self.hosts[h].watts for h in hosts), min(self.drives[d].watts for d in drives)
        racks = max((s for s in range(1, self.tallest(way) + 1) if self.room(way, s) >= sum(least)), default=0)
        if not racks:
            return []
        room = self.room(way, 1)
        light = frozenset(h for h in hosts if self.hosts[h].watts + least[1] <= room)
        slim = frozenset(d for d in drives if self.drives[d].watts + least[0] <= room)
        reaches = [self.hosts[h].reach for h in light], [self.drives[d].reach for d in slim]
        reach = min(way.reach, *map(max, reaches))
        heavy = max(self.hosts[h].watts for h in light) + max(self.drives[d].watts for d in slim)
        exact = heavy <= self.room(way, racks) and reach <= min(map(min, reaches))
        return [Token(i, self.core_paid(way), reach, racks, light, slim, exact)]

    def _exact(self, i: int) -> list[Token]:
        """Return tokens whose options may be paired freely, and that cover every legal pair."""
        way, found = self.ways[i], []
        reaches = self._reaches(i)
        paid = self.core_paid(way)
        for racks in range(1, self.tallest(way) + 1):
            for hosts, drives in self._split(i, self.room(way, racks)):
                for reach in reaches:
                    wide = frozenset(h for h in hosts if self.hosts[h].reach >= reach)
                    fast = frozenset(d for d in drives if self.drives[d].reach >= reach)
                    if wide and fast:
                        found.append(Token(i, paid, reach, racks, wide, fast, True))
        return found

    def _reaches(self, i: int) -> list[int]:
        """Return the different reaches of the pairs of a core, rising."""
        way, hosts, drives = self.ways[i], self.host_of[i], self.drive_of[i]
        single = {self.hosts[h].reach for h in hosts} | {self.drives[d].reach for d in drives} | {way.reach}
        most = min(way.reach, max(self.hosts[h].reach for h in hosts), max(self.drives[d].reach for d in drives))
        return sorted(reach for reach in single if reach <= most)

    def _split(self, i: int, room: int) -> list[tuple[frozenset[int], frozenset[int]]]:
        """Return products of options that together are all pairs within `room` watts."""
        hosts, drives = self.host_of[i], self.drive_of[i]
        split: dict[frozenset[int], frozenset[int]] = {}
        for watts in sorted({self.hosts[h].watts for h in hosts}):
            slim = frozenset(d for d in drives if self.drives[d].watts <= room - watts)
            if slim:
                # Of equal drives the widest choice of hosts: it comes last.
                split[slim] = frozenset(h for h in hosts if self.hosts[h].watts <= watts)
        return [(light, slim) for slim, light in split.items()]

    def _undominated(self, tokens: Sequence[Token]) -> list[Token]:
        """Return tokens without those that another, with as wide a choice, is as good as."""
        rows = [self._vector(token) for token in tokens]
        order = sorted(range(len(tokens)), key=lambda t: (rows[t], -len(tokens[t].hosts), -len(tokens[t].drives), t))
        kept: list[int] = []
        for t in order:
            if not any(self._covers(tokens[k], tokens[t], rows[k], rows[t]) for k in kept):
                kept.append(t)
        return [tokens[t] for t in sorted(kept)]

    def _covers(self, one: Token, other: Token, row: tuple[int, ...], other_row: tuple[int, ...]) -> bool:
        """Return whether every group of `other` may as well be one of `one`."""
        if not (one.hosts >= other.hosts and one.drives >= other.drives):
            return False
        return all(a <= b for a, b in zip(row, other_row, strict=True))

    def _vector(self, token: Token) -> tuple[int, ...]:
        way = self.ways[token.way]
        drivers = group_drivers(self.offers.bare(way), self.offers.pricing.catalog).values()
        height = way.core.n_nodes * way.core.chassis.rack_units
        watts = way.core.n_nodes * way.fixed[2] if self.at.scenario.limits.power_w is not None else 0
        return (token.paid.rest_cents, *token.paid.pieces, *drivers, height, watts, -token.reach, -token.racks)


@dataclass
class _Options:
    """Options met so far; ways with the same halves have the same."""

    parts: Parts
    options: list[Option]
    _place: dict[object, int] = field(default_factory=dict)
    _met: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)

    def of(self, way: Way, halves: Sequence[Half], some: list[int]) -> dict[int, int]:
        """Return the options of a way, each with the half that it is there."""
        key = id(halves), id(some)
        if key not in self._met:
            self._met[key] = {self._place_of(way, halves[i]): i for i in some}
        return self._met[key]

    def _place_of(self, way: Way, half: Half) -> int:
        key = _key(way, half)
        if key not in self._place:
            self._place[key] = len(self.options)
            self.options.append(self.parts._option(way, half))
        return self._place[key]


def _key(way: Way, half: Half) -> object:
    system = way.core.system.id if way.core.system and not half.pieces else ""
    return (way.core.n_nodes, half.pieces, system, half.adds, half.reach, half.seconds)
