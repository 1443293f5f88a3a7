"""Stock: parts of which only so many can be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build, group_pieces
from planner.constraints.base import Check, fleet_rule
from planner.costs import bill
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class Stock:
    """sum pieces * x <= stock, for each part with a limit."""

    kind = "stock"
    label = "stock"
    formula = "sum(pieces of the part * groups) + pieces in cluster lines <= stock"

    def active(self, at: Situation) -> bool:
        """Return whether any part is limited."""
        return bool(at.scenario.limits.stock)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of it."""
        return tuple(group_pieces(build, part) for part in at.scenario.limits.stock)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row per limited part."""
        for part, most in problem.at.scenario.limits.stock.items():
            terms = problem.part_terms_of(program, part)
            program.add_row(f"{self.kind}_{part}", terms, "<=", most)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the pieces."""
        fleet = problem.fleet(counts)
        for part, most in problem.at.scenario.limits.stock.items():
            need = sum(n * group_pieces(build, part) for build, n in fleet.items())
            need += sum(line.qty for line in bill(problem.pricing, fleet) if not line.build and line.part == part)
            yield Check(self.kind, f"{self.label} of {part}", need, most, "pieces", self.formula)
