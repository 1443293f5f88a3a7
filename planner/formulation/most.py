"""How many groups of a core, or with an option, a plan over parts can need: bounds of its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.constraints.pools import POOLS
from planner.formulation.tokens import Parts, Token
from planner.problem import Problem
from planner.units import ceil_div

_MANY = 10**5
"""Groups that no plan has; only where an option gives nothing to a pool that needs it."""


@dataclass(frozen=True)
class Needs:
    """What the fleet must hold: parts of sessions, GiB, GB; 0 where a tier is not used."""

    sessions: int
    gib: int
    gb: int
    spares: int

    @classmethod
    def of(cls, parts: Parts) -> Needs:
        """Return what the fleet of one pool must hold."""
        at, bare = parts.at, parts.offers.bare(parts.ways[0])
        gib, gb = (pool.need_units(bare, at) if pool.active(at) else 0 for pool in POOLS)
        return cls(at.open_parts, gib, gb, Problem(at, (), parts.offers.pricing).spares)

    def groups(self, reach: int, gib: int, gb: int) -> int:
        """Return how many groups that host and give so much each hold the load alone, spares included."""
        return max(_groups(self.sessions, reach), _groups(self.gib, gib), _groups(self.gb, gb)) + self.spares


@dataclass(frozen=True)
class Caps:
    """Bounds of the groups of some tokens, memory and drive options, found by other means; none of the rest."""

    tokens: Mapping[Token, int] = field(default_factory=dict)
    hosts: Mapping[int, int] = field(default_factory=dict)
    drives: Mapping[int, int] = field(default_factory=dict)

    @property
    def gone(self) -> tuple[list[Token], list[int], list[int]]:
        """Tokens, memory and drive options of which there is none."""
        hosts, drives = ([o for o, most in some.items() if not most] for some in (self.hosts, self.drives))
        return [token for token, most in self.tokens.items() if not most], hosts, drives


class _Least(NamedTuple):
    cents: int
    units: int
    reach: int


def _groups(need: int, least: int) -> int:
    return 0 if need <= 0 else ceil_div(need, least) if least > 0 else _MANY


@dataclass(frozen=True)
class Most:
    """Bounds of the groups in a plan that is no worse than one that is known.

    Attributes
    ----------
    tokens : sequence of Token
        Those that are left.
    known : int or None
        The first objective of the best plan so far.
    caps : Caps
        Bounds found by other means.
    """

    parts: Parts
    needs: Needs
    tokens: Sequence[Token]
    known: int | None
    caps: Caps = field(default_factory=Caps)
    _known_least: dict[tuple[bool, frozenset[int]], _Least] = field(default_factory=dict)

    def of_token(self, token: Token) -> int:
        """Return a bound: so many groups of it hold the load alone, whatever their options."""
        hosts, drives, way = (
            self._least(True, token.hosts),
            self._least(False, token.drives),
            self.parts.ways[token.way],
        )
        most = self.needs.groups(min(way.reach, hosts.reach, drives.reach), hosts.units, drives.units)
        most = min(most, self.caps.tokens.get(token, most))
        return self._limited(most, way.core.n_nodes, token.paid.least_cents + hosts.cents + drives.cents)

    def of_driver(self, drivers: Sequence[int]) -> int | None:
        """Return a bound of what all groups add to a driver, each token so much of it; None where no cost is known."""
        if self.known is None or self.parts.at.scenario.objectives == ("nodes",):
            return None
        least = (
            token.paid.least_cents + self._least(True, token.hosts).cents + self._least(False, token.drives).cents
            for token in self.tokens
        )
        return max((self.known * n // max(1, cents) for n, cents in zip(drivers, least, strict=True)), default=0)

    def of_option(self, option: int, hosts: bool) -> int:
        """Return a bound: so many groups with it hold the load alone, whatever their cores."""
        mine = (self.parts.hosts if hosts else self.parts.drives)[option]
        takers = [token for token in self.tokens if option in (token.hosts if hosts else token.drives)]
        # Drives stand beside memory, memory beside drives.
        beside = [self._least(not hosts, token.drives if hosts else token.hosts) for token in takers]
        reach = min(mine.reach, *(self.parts.ways[token.way].reach for token in takers), *(o.reach for o in beside))
        units = mine.units, min(others.units for others in beside)
        most = self.needs.groups(reach, *(units if hosts else units[::-1]))
        most = min(most, (self.caps.hosts if hosts else self.caps.drives).get(option, most))
        cents = min(token.paid.least_cents + others.cents for token, others in zip(takers, beside, strict=True))
        return self._limited(most, mine.n_nodes, mine.paid.least_cents + cents)

    def _least(self, hosts: bool, some: frozenset[int]) -> _Least:
        """Return what any of some options costs, gives and reaches at the least: cores share such sets."""
        key = hosts, some
        if key not in self._known_least:
            options = [(self.parts.hosts if hosts else self.parts.drives)[o] for o in some]
            cents, units = min(o.paid.least_cents for o in options), min(o.units for o in options)
            self._known_least[key] = _Least(cents, units, min(o.reach for o in options))
        return self._known_least[key]

    def _limited(self, most: int, n_nodes: int, cents: int) -> int:
        """Return the bound with what the fleet's nodes, and a plan that is known, leave of it."""
        scenario = self.parts.at.scenario
        if scenario.fleet.max_nodes is not None:
            most = min(most, scenario.fleet.max_nodes // n_nodes)
        if self.known is not None:
            most = min(most, self.known // (n_nodes if scenario.objectives == ("nodes",) else max(1, cents)))
        return most
