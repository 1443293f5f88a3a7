"""Fewest nodes."""

from __future__ import annotations

from collections.abc import Mapping

from planner.build import Build
from planner.hardware import Catalog
from planner.objectives.base import objective
from planner.problem import Problem, Situation
from planner.program import Program


@objective
class Nodes:
    """sum nodes * x."""

    kind = "nodes"
    unit = "nodes"
    words = "the fewest nodes"

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return the nodes of one group."""
        return (build.n_nodes,)

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Return nodes per group."""
        return {program.groups[i]: build.n_nodes for i, build in enumerate(problem.builds)}

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Count the nodes."""
        return sum(n * build.n_nodes for build, n in problem.fleet(counts).items())
