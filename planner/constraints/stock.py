"""Stock: parts of which only so many can be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


def group_pieces(build: Build, part: str) -> int:
    """Return how many of `part` one group takes; a whole system counts as itself and its parts."""
    inside = sum(count for _, name, count in build.parts() if name == part)
    if build.core.system is not None and build.core.system.id == part:
        inside += 1
    return build.n_nodes * inside


@fleet_rule
class Stock:
    """sum pieces * x <= stock, for each part with a limit."""

    kind = "stock"
    label = "stock"
    formula = "sum(pieces of the part * groups) <= stock"

    def active(self, at: Situation) -> bool:
        """Return whether any part is limited."""
        return bool(at.scenario.limits.stock)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row per limited part."""
        for part, most in problem.at.scenario.limits.stock.items():
            terms = {program.groups[i]: group_pieces(b, part) for i, b in enumerate(problem.builds)}
            program.add_row(f"{self.kind}_{part}", terms, "<=", most)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the pieces."""
        fleet = problem.fleet(counts)
        for part, most in problem.at.scenario.limits.stock.items():
            need = sum(n * group_pieces(build, part) for build, n in fleet.items())
            yield Check(self.kind, f"{self.label} of {part}", need, most, "pieces", self.formula)
