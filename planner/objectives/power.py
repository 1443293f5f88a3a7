"""Lowest peak power, cluster items included."""

from __future__ import annotations

from collections.abc import Mapping

from planner.build import Build
from planner.costs import fleet_power_w
from planner.hardware import Catalog
from planner.objectives.base import objective
from planner.problem import Problem, Situation
from planner.program import Program


@objective
class Power:
    """sum watts * x + cluster items."""

    kind = "power"
    unit = "W"
    words = "the least peak power"

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return the watts of one group."""
        return (build.power_w,)

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Return watts per group, rack and lot."""
        return problem.power_terms_of(program)

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Add up the watts again from the parts."""
        return fleet_power_w(problem.pricing, problem.fleet(counts))
