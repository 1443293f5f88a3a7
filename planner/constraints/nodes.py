"""Most nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class MostNodes:
    """sum nodes * x <= max_nodes."""

    kind = "nodes"
    label = "nodes"
    formula = "sum(nodes * groups) <= max_nodes"

    def active(self, at: Situation) -> bool:
        """Return whether there is a limit."""
        return at.scenario.fleet.max_nodes is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of it."""
        return (build.n_nodes,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row."""
        terms = {program.groups[i]: b.n_nodes for i, b in enumerate(problem.builds)}
        program.add_row(self.kind, terms, "<=", problem.at.scenario.fleet.max_nodes or 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the nodes."""
        need = sum(n * build.n_nodes for build, n in problem.fleet(counts).items())
        yield Check(self.kind, self.label, need, problem.at.scenario.fleet.max_nodes or 0, "nodes", self.formula)
