"""Sustained site power: mean watts of nodes and cluster items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.costs import fleet_power_w
from planner.problem import Problem, Situation
from planner.program import Program
from planner.units import ceil


@fleet_rule
class SustainedPower:
    """average load * (sum watts * x + cluster items) <= limit."""

    kind = "sustained"
    label = "site power (mean)"
    formula = "average_load * (sum(group watts * groups) + sum(item watts * items)) <= limit"

    def active(self, at: Situation) -> bool:
        """Return whether the site has a limit."""
        return at.scenario.limits.sustained_power_w is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of it."""
        return (build.power_w,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row over peak watts: load * W <= limit where W <= floor(limit / load)."""
        limit, load = problem.at.scenario.limits.sustained_power_w or 0, problem.pricing.finance.average_load_fraction
        if load:
            program.add_row(self.kind, problem.power_terms_of(program), "<=", limit // load)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Add up the watts again from the parts."""
        peak = fleet_power_w(problem.pricing, problem.fleet(counts))
        need = ceil(problem.pricing.finance.average_load_fraction * peak)
        limit = problem.at.scenario.limits.sustained_power_w or 0
        yield Check(self.kind, self.label, need, limit, "W", self.formula)
