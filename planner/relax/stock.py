"""Stock gives way in pieces, each part for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.constraints import FLEET_RULES
from planner.loading import Shelf
from planner.problem import Problem, Situation
from planner.program import Program
from planner.relax.base import Limit, Rule, counted, rule, with_limits
from planner.scenario import Scenario


@rule
class Stock(Limit):
    """limits.stock.PART."""

    path = "limits.stock"
    label = "stock"
    covers = ("limits.stock",)
    kind = "stock"

    def __init__(self, part: str = "") -> None:
        self.part = part
        self.path = f"limits.stock.{part}"
        self.label = f"stock of {part}"

    @classmethod
    def of(cls, scenario: Scenario, shelf: Shelf) -> Iterator[Rule]:
        """Yield one rule per part."""
        yield from (cls(part) for part in scenario.limits.stock)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether this part is limited."""
        return self.part in scenario.limits.stock

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with as many of this part as it takes."""
        rest = {part: count for part, count in scenario.limits.stock.items() if part != self.part}
        return with_limits(scenario, stock=rest)

    def asked(self, scenario: Scenario) -> int:
        """Return pieces."""
        return scenario.limits.stock[self.part]

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another stock of this part."""
        return with_limits(scenario, stock={**scenario.limits.stock, self.part: amount})

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return pieces."""
        return problem.part_terms_of(program, self.part)

    def used(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return the pieces that a fleet takes."""
        only = with_limits(scenario, stock={self.part: scenario.limits.stock[self.part]})
        limited = Problem(Situation.of(only), problem.builds, problem.pricing)
        return next(iter(FLEET_RULES[self.kind].check(limited, counts))).need

    def shown(self, amount: int, currency: str) -> str:
        """Return pieces."""
        return counted(amount, "piece", "pieces")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)
