"""The time to the first token gives way in milliseconds, tried in steps of a hundredth of what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.handover import slowest_ms
from planner.loading import Shelf
from planner.problem import Problem, Situation
from planner.relax.base import FAR, Target, rule
from planner.scenario import Scenario


@rule
class FirstTokenTime(Target):
    """service.first_token."""

    path = "service.first_token"
    label = "time to the first token"
    covers = ("service.first_token",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether a time is promised and can be estimated."""
        return scenario.service is not None and scenario.workload.rates is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with as much time as it takes."""
        return self.bent(scenario, FAR)

    def asked(self, scenario: Scenario) -> int:
        """Return milliseconds, rounded down."""
        assert scenario.service is not None
        return int(scenario.service.first_token_s * 1000)

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another time."""
        assert scenario.service is not None
        return replace(scenario, service=replace(scenario.service, first_token_s=Fraction(amount, 1000)))

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return the time of the slowest build in a fleet, or of its slowest pair."""
        return slowest_ms(problem.fleet(counts), Situation.of(scenario))

    def reached(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int], amount: int) -> int:
        """Return the time of the slowest build in a fleet."""
        return self.loosest(scenario, problem, counts)

    def shown(self, amount: int, currency: str) -> str:
        """Return seconds with every millisecond that counts."""
        return f"{amount / 1000:,.10g} s"

    def text(self, amount: int, currency: str) -> str:
        """Return milliseconds."""
        return f"{amount} ms"

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        asked = self.shown(self.asked(scenario), currency)
        return f"allow {self.shown(amount, currency)} to the first token instead of {asked}"
