"""Site power: peak watts of nodes and cluster items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.costs import fleet_power_w
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class Power:
    """sum watts * x + cluster items <= limit."""

    kind = "power"
    label = "site power (peak)"
    formula = "sum(group watts * groups) + sum(item watts * items) <= limit"

    def active(self, at: Situation) -> bool:
        """Return whether the site has a limit."""
        return at.scenario.limits.power_w is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of it."""
        return (build.power_w,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row."""
        program.add_row(self.kind, problem.power_terms_of(program), "<=", problem.at.scenario.limits.power_w or 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Add up the watts again from the parts."""
        need = fleet_power_w(problem.pricing, problem.fleet(counts))
        yield Check(self.kind, self.label, need, problem.at.scenario.limits.power_w or 0, "W", self.formula)
