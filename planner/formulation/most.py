"""How many groups of a core, or with an option, a plan over parts can need: bounds of its variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.constraints.pools import POOLS
from planner.formulation.tokens import Option, Parts, Token
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
    """

    parts: Parts
    needs: Needs
    tokens: Sequence[Token]
    known: int | None

    def of_token(self, token: Token) -> int:
        """Return a bound: so many groups of it hold the load alone, whatever their options."""
        hosts, drives = [self.parts.hosts[h] for h in token.hosts], [self.parts.drives[d] for d in token.drives]
        way = self.parts.ways[token.way]
        reach = min(way.reach, *(option.reach for option in (*hosts, *drives)))
        most = self.needs.groups(reach, min(h.units for h in hosts), min(d.units for d in drives))
        cents = token.cents + min(h.cents for h in hosts) + min(d.cents for d in drives)
        return self._limited(most, way.core.n_nodes, cents)

    def of_option(self, option: int, hosts: bool) -> int:
        """Return a bound: so many groups with it hold the load alone, whatever their cores."""
        mine = (self.parts.hosts if hosts else self.parts.drives)[option]
        takers = [token for token in self.tokens if option in (token.hosts if hosts else token.drives)]
        others = [self._others(token, hosts) for token in takers]
        beside = [option for some in others for option in some]
        reach = min(self.parts.ways[token.way].reach for token in takers)
        reach = min(reach, mine.reach, *(option.reach for option in beside))
        units = mine.units, min(option.units for option in beside)
        most = self.needs.groups(reach, *(units if hosts else units[::-1]))
        cents = [token.cents + min(o.cents for o in some) for token, some in zip(takers, others, strict=True)]
        return self._limited(most, mine.n_nodes, mine.cents + min(cents))

    def _others(self, token: Token, hosts: bool) -> list[Option]:
        """Return drives that stand beside memory, or memory beside drives."""
        if hosts:
            return [self.parts.drives[d] for d in token.drives]
        return [self.parts.hosts[h] for h in token.hosts]

    def _limited(self, most: int, n_nodes: int, cents: int) -> int:
        """Return the bound with what the fleet's nodes, and a plan that is known, leave of it."""
        scenario = self.parts.at.scenario
        if scenario.fleet.max_nodes is not None:
            most = min(most, scenario.fleet.max_nodes // n_nodes)
        if self.known is not None:
            most = min(most, self.known // (n_nodes if scenario.objectives == ("nodes",) else max(1, cents)))
        return most
