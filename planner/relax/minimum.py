"""The fewest pieces of a part give way piece by piece, each part for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.constraints import FLEET_RULES
from planner.loading import Shelf
from planner.problem import Problem, Situation
from planner.relax.base import Rule, Target, counted, rule, with_limits
from planner.scenario import Scenario


@rule
class Minimum(Target):
    """limits.minimum.PART."""

    path = "limits.minimum"
    label = "minimum"
    covers = ("limits.minimum",)

    def __init__(self, part: str = "") -> None:
        self.part = part
        self.path = f"limits.minimum.{part}"
        self.label = f"minimum of {part}"

    @classmethod
    def of(cls, scenario: Scenario, shelf: Shelf) -> Iterator[Rule]:
        """Yield one rule per part of which any are asked for."""
        yield from (cls(part) for part, least in scenario.limits.minimum.items() if least)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether any of this part are asked for."""
        return scenario.limits.minimum.get(self.part, 0) > 0

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with as few of this part as may be."""
        rest = {part: count for part, count in scenario.limits.minimum.items() if part != self.part}
        return with_limits(scenario, minimum=rest)

    def asked(self, scenario: Scenario) -> int:
        """Return pieces."""
        return scenario.limits.minimum[self.part]

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with fewer of this part."""
        return with_limits(scenario, minimum={**scenario.limits.minimum, self.part: amount})

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return the pieces that a fleet has, at most those asked for."""
        only = with_limits(scenario, minimum={self.part: self.asked(scenario)})
        limited = Problem(Situation.of(only), problem.builds, problem.pricing)
        return min(self.asked(scenario), next(iter(FLEET_RULES["minimum"].check(limited, counts))).have)

    def shown(self, amount: int, currency: str) -> str:
        """Return pieces."""
        return counted(amount, "piece", "pieces")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        return f"lower the {self.label} to {self.shown(amount, currency)}"
