"""Stock and maximum give way in pieces, each part for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from planner.build import Build, bought_pieces, group_pieces
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
    key: Literal["stock", "maximum"] = "stock"

    def __init__(self, part: str = "") -> None:
        self.part = part
        self.path = f"limits.{self.key}.{part}"
        self.label = f"{self.key} of {part}"

    def most(self, scenario: Scenario) -> Mapping[str, int]:
        """Return the most of each part that has a limit."""
        return scenario.limits.stock

    def pieces(self, build: Build, part: str) -> int:
        """Return what one group takes of it: what is owned is not bought."""
        return bought_pieces(build, part)

    @classmethod
    def of(cls, scenario: Scenario, shelf: Shelf) -> Iterator[Rule]:
        """Yield one rule per part."""
        yield from (cls(part) for part in cls().most(scenario))

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether this part is limited."""
        return self.part in self.most(scenario)

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with as many of this part as it takes."""
        rest = {part: count for part, count in self.most(scenario).items() if part != self.part}
        return with_limits(scenario, **{self.key: rest})

    def asked(self, scenario: Scenario) -> int:
        """Return pieces."""
        return self.most(scenario)[self.part]

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another number of this part."""
        return with_limits(scenario, **{self.key: {**self.most(scenario), self.part: amount}})

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return pieces."""
        return problem.part_terms_of(program, self.part, self.pieces)

    def used(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return the pieces that a fleet takes."""
        only = with_limits(scenario, **{self.key: {self.part: self.asked(scenario)}})
        limited = Problem(Situation.of(only), problem.builds, problem.pricing)
        return next(iter(FLEET_RULES[self.kind].check(limited, counts))).need

    def shown(self, amount: int, currency: str) -> str:
        """Return pieces."""
        return counted(amount, "piece", "pieces")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)


@rule
class Maximum(Stock):
    """limits.maximum.PART."""

    path = "limits.maximum"
    label = "maximum"
    covers = ("limits.maximum",)
    kind = "maximum"
    key = "maximum"

    def most(self, scenario: Scenario) -> Mapping[str, int]:
        """Return the most of each part that is wanted."""
        return scenario.limits.maximum

    def pieces(self, build: Build, part: str) -> int:
        """Return what one group holds, owned or not."""
        return group_pieces(build, part)
