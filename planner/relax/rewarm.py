"""The time to be warm again after a loss gives way in whole seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.rewarm import rewarm_seconds
from planner.loading import Shelf
from planner.problem import Problem
from planner.relax.base import FAR, Target, rule
from planner.scenario import Scenario
from planner.units import ceil


@rule
class RewarmTime(Target):
    """service.rewarm."""

    path = "service.rewarm"
    label = "time to be warm again"
    covers = ("service.rewarm",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether a time is promised."""
        service = scenario.service
        return service is not None and service.rewarm_s is not None and scenario.workload.rates is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without a promise."""
        assert scenario.service is not None
        return replace(scenario, service=replace(scenario.service, rewarm_s=None))

    def asked(self, scenario: Scenario) -> int:
        """Return seconds, rounded down."""
        assert scenario.service is not None
        return int(scenario.service.rewarm_s or 0)

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another time."""
        assert scenario.service is not None
        return replace(scenario, service=replace(scenario.service, rewarm_s=Fraction(amount)))

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return the time of the worst loss of a fleet; without end where the rest cannot."""
        times = [rewarm_seconds(problem, counts, build) for build in problem.fleet(counts)]
        return max(FAR if time is None else ceil(time) for time in times)

    def shown(self, amount: int, currency: str) -> str:
        """Return seconds."""
        return f"{amount:,} s"

    def text(self, amount: int, currency: str) -> str:
        """Return seconds."""
        return f"{amount} s"

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        asked = self.shown(self.asked(scenario), currency)
        return f"allow {self.shown(amount, currency)} to be warm again after a loss instead of {asked}"
