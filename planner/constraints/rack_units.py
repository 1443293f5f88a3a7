"""Rack units of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


def group_rack_units(build: Build) -> int:
    """Return the height of one group."""
    return build.n_nodes * build.core.chassis.rack_units


@fleet_rule
class RackUnits:
    """sum height * x <= limit."""

    kind = "rack_units"
    label = "rack units (nodes)"
    formula = "sum(nodes * height * groups) <= limit"

    def active(self, at: Situation) -> bool:
        """Return whether there is a limit."""
        return at.scenario.limits.rack_units is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of it."""
        return (group_rack_units(build),)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row."""
        terms = {program.groups[i]: group_rack_units(b) for i, b in enumerate(problem.builds)}
        program.add_row(self.kind, terms, "<=", problem.at.scenario.limits.rack_units or 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Add up the heights."""
        need = sum(n * group_rack_units(build) for build, n in problem.fleet(counts).items())
        yield Check(self.kind, self.label, need, problem.at.scenario.limits.rack_units or 0, "RU", self.formula)
