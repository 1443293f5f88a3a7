"""Pooled tiers: host memory and drives of all nodes together hold the fleet's sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
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


class _Pool(ABC):
    """sum nodes * tier size * x - loss >= need / usable, in whole GiB or GB."""

    kind = ""
    label = ""
    tier = ""
    unit_bytes = 1
    unit: Unit = "B"
    formula = "sum(nodes * tier * groups) - sum of the k largest in use >= (sessions * stored + prefixes) / usable"

    def active(self, at: Situation) -> bool:
        """Return whether this tier is pooled and in use."""
        return at.pooled and getattr(at.scenario.tiers, self.tier) != "none"

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
        total = self.stored(at) * size.stored_bytes + size.prefix_bytes
        return ceil(Fraction(total, self.unit_bytes) / build.cache.usable_fraction)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add the covering row with the loss of spare groups."""
        if problem.builds:
            capacities = [max(0, self.units(b, problem.at)) for b in problem.builds]
            need = self.need_units(problem.builds[0], problem.at)
            add_covering_rows(program, self.kind, capacities, need, problem.spares)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Sum what survives the worst loss."""
        capacities = [max(0, self.units(b, problem.at)) for b in problem.builds]
        need = self.need_units(problem.builds[0], problem.at) * self.unit_bytes
        have = surviving(capacities, counts, problem.spares) * self.unit_bytes
        yield Check(self.kind, self.label, need, have, self.unit, self.formula)


@fleet_rule
class PooledDram(_Pool):
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
class PooledNvme(_Pool):
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


POOLS: tuple[_Pool, ...] = (PooledDram(), PooledNvme())
