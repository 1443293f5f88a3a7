"""Pooled tiers: host memory and drives of all nodes together hold the fleet's sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Check, Unit, fleet_rule
from planner.constraints.dram import GIB, tier_gib
from planner.constraints.nvme import GB, tier_gb
from planner.constraints.sessions import add_covering_rows, surviving
from planner.demand import dram_sessions, nvme_sessions
from planner.problem import Problem, Situation
from planner.program import Program
from planner.units import ceil


@dataclass(frozen=True)
class Pooled:
    """One pool of a tier.

    Attributes
    ----------
    name : str
        Of its row.
    places, units : tuple of int
        The builds that add to it, by index, and what one group of each adds, in whole units.
    need : int
        Its least size, in whole units.
    spares : int
        Groups that may be lost.
    services : tuple of str
        Whose it is.
    """

    name: str
    places: tuple[int, ...]
    units: tuple[int, ...]
    need: int
    spares: int
    services: tuple[str, ...]

    @property
    def service(self) -> str:
        """The one whose it is; empty where it is shared."""
        return self.services[0] if len(self.services) == 1 else ""


class Pool(ABC):
    """sum nodes * tier size * x - loss >= need / usable, in whole GiB or GB."""

    kind = ""
    label = ""
    tier = ""
    unit_bytes = 1
    unit: Unit = "B"
    formula = "sum(nodes * tier * groups) - sum of the k largest in use >= (sessions * stored + prefixes) / usable"

    def active(self, at: Situation) -> bool:
        """Return whether this tier is pooled and in use, by any service."""
        return any(
            one.scenario.tiers.placement == "pooled" and getattr(one.scenario.tiers, self.tier) != "none"
            for one in at.services
        )

    @abstractmethod
    def units(self, build: Build, at: Situation) -> int:
        """Return what one group adds to the pool, in whole units."""

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group adds; more is better."""
        return (-self.units(build, at),)

    @abstractmethod
    def stored(self, at: Situation) -> int:
        """Return the sessions that the pool holds."""

    def need_units(self, build: Build, at: Situation) -> int:
        """Return the pool's size, rounded up; all builds of a pooled problem share one format."""
        size = build.core.footprint
        total = size.held_bytes(self.stored(at)) + size.prefix_bytes
        return ceil(Fraction(total, self.unit_bytes) / build.cache.usable_fraction)

    def pooled(self, problem: Problem) -> Iterator[Pooled]:
        """Yield each pool: one per service that has one, one in all for those that share theirs."""
        having = [share for share in problem.shares() if share.places and self.active(share.at)]
        sharing = [share for share in having if share.at.scenario.tiers.shared]
        alone = [(share,) for share in having if not share.at.scenario.tiers.shared]
        for shares in (*alone, tuple(sharing)) if sharing else alone:
            places = tuple(i for share in shares for i in share.places)
            units = tuple(max(0, self.units(problem.builds[i], problem.at_of(problem.builds[i]))) for i in places)
            need = sum(self.need_units(problem.builds[share.places[0]], share.at) for share in shares)
            name = shares[0].named(self.kind) if len(shares) == 1 else f"{self.kind}_shared"
            services = tuple(share.at.label for share in shares)
            yield Pooled(name, places, units, need, max(share.at.spares for share in shares), services)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add the covering row of each pool with the loss of spare groups."""
        for pool in self.pooled(problem):
            groups = [program.groups[i] for i in pool.places]
            add_covering_rows(program, pool.name, pool.units, pool.need, pool.spares, groups=groups)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Sum what survives the worst loss."""
        for pool in self.pooled(problem):
            own = {k: counts[i] for k, i in enumerate(pool.places) if counts.get(i)}
            have = surviving(pool.units, own, pool.spares) * self.unit_bytes
            need = pool.need * self.unit_bytes
            yield Check(self.kind, self.label, need, have, self.unit, self.formula, service=pool.service)


@fleet_rule
class PooledDram(Pool):
    """Host memory of the fleet as one pool."""

    kind = "dram_pool"
    label = "host memory (pooled)"
    tier = "dram"
    unit_bytes = GIB

    def units(self, build: Build, at: Situation) -> int:
        """Return GiB of one group."""
        return build.n_nodes * tier_gib(build, at)

    def stored(self, at: Situation) -> int:
        """Return the sessions in host memory."""
        return dram_sessions(at.scenario, at.sessions)


@fleet_rule
class PooledNvme(Pool):
    """Drives of the fleet as one pool."""

    kind = "nvme_pool"
    label = "drives (pooled)"
    tier = "nvme"
    unit_bytes = GB

    def units(self, build: Build, at: Situation) -> int:
        """Return GB of one group."""
        return build.n_nodes * tier_gb(build)

    def stored(self, at: Situation) -> int:
        """Return the sessions on drives."""
        return nvme_sessions(at.scenario, at.sessions)


POOLS: tuple[Pool, ...] = (PooledDram(), PooledNvme())
