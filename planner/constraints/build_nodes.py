"""At least m nodes of each build in use, so that no kind of machine stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class BuildNodes:
    """nodes * x >= m * used, for each build."""

    kind = "build_nodes"
    label = "nodes of each build in use"
    formula = "nodes * groups >= min_build_nodes * used, for each build"

    def active(self, at: Situation) -> bool:
        """Return whether there is a smallest number."""
        return at.scenario.fleet.min_build_nodes is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return nodes, more is better: groups of fewer nodes may not reach the number."""
        return (-build.n_nodes,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add a binary and a row per build."""
        least = problem.at.scenario.fleet.min_build_nodes or 0
        for i, build in enumerate(problem.builds):
            terms = {program.groups[i]: build.n_nodes, program.mark_used(i): -least}
            program.add_row(f"{self.kind}_{i}", terms, ">=", 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the nodes of the rarest build."""
        need = problem.at.scenario.fleet.min_build_nodes or 0
        nodes = [n * build.n_nodes for build, n in problem.fleet(counts).items()]
        yield Check(self.kind, self.label, need, min(nodes, default=0), "nodes", self.formula)
