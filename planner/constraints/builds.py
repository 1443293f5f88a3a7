"""At most K distinct builds, so that a fleet can be operated and kept in spares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class DistinctBuilds:
    """x <= U * used, sum used <= K."""

    kind = "builds"
    label = "distinct builds"
    formula = "groups <= upper * used; sum(used) <= max_builds"

    def active(self, at: Situation) -> bool:
        """Return whether their number is limited."""
        return at.scenario.fleet.max_builds is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return nothing: a build that replaces another keeps their number."""
        return ()

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add a binary per build and one row over them."""
        used = {program.mark_used(i): 1 for i in range(len(problem.builds))}
        program.add_row(self.kind, used, "<=", problem.at.scenario.fleet.max_builds or 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the builds in use."""
        need = len(problem.fleet(counts))
        yield Check(self.kind, self.label, need, problem.at.scenario.fleet.max_builds or 0, "builds", self.formula)
