"""Stock and maximum: parts of which only so many can be had, or only so many are wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from planner.bill import bill
from planner.build import Build, bought_pieces, group_pieces
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


class _Most(ABC):
    """sum pieces * x <= most, for each part with a limit."""

    kind = ""
    label = ""
    formula = "sum(pieces of the part * groups) + pieces in cluster lines <= limit"

    def pieces(self, build: Build, part: str) -> int:
        """Return how many of a part one group takes of the limit."""
        return group_pieces(build, part)

    @abstractmethod
    def most(self, at: Situation) -> Mapping[str, int]:
        """Return the most of each part that has a limit."""

    def active(self, at: Situation) -> bool:
        """Return whether any part is limited."""
        return bool(self.most(at))

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of it."""
        return tuple(self.pieces(build, part) for part in self.most(at))

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row per limited part."""
        for part, most in self.most(problem.at).items():
            terms = problem.part_terms_of(program, part, self.pieces)
            program.add_row(f"{self.kind}_{part}", terms, "<=", most)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the pieces."""
        fleet = problem.fleet(counts)
        for part, most in self.most(problem.at).items():
            need = sum(n * self.pieces(build, part) for build, n in fleet.items())
            need += sum(line.qty for line in bill(problem.pricing, fleet) if not line.build and line.part == part)
            yield Check(self.kind, f"{self.label} of {part}", need, most, "pieces", self.formula)


@fleet_rule
class Stock(_Most):
    """What can be had; what is owned is not bought."""

    kind = "stock"
    label = "stock"
    formula = "sum(pieces of the part * groups) + pieces in cluster lines <= stock"

    def pieces(self, build: Build, part: str) -> int:
        """Return what is bought of a part for one group."""
        return bought_pieces(build, part)

    def most(self, at: Situation) -> Mapping[str, int]:
        """Return the stock."""
        return at.scenario.limits.stock


@fleet_rule
class Maximum(_Most):
    """What is wanted at most."""

    kind = "maximum"
    label = "most"
    formula = "sum(pieces of the part * groups) + pieces in cluster lines <= maximum"

    def most(self, at: Situation) -> Mapping[str, int]:
        """Return the maximum."""
        return at.scenario.limits.maximum
