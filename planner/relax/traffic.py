"""Traffic, which prefill, links and drives must bear, gives way by whole turns per hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.loading import Shelf
from planner.problem import Problem
from planner.relax.base import Target, rule
from planner.scenario import Scenario
from planner.units import ceil


@rule
class Traffic(Target):
    """workload.rates.turns_per_hour."""

    path = "workload.rates.turns_per_hour"
    label = "turns per hour (prefill, links, drives)"
    covers = ("workload.rates.turns_per_hour",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether fewer turns could be planned for."""
        rates = scenario.workload.rates
        return rates is not None and rates.turns_per_hour > 1

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with one turn per hour and active session."""
        return self.bent(scenario, 1)

    def asked(self, scenario: Scenario) -> int:
        """Return turns, rounded up."""
        assert scenario.workload.rates is not None
        return ceil(scenario.workload.rates.turns_per_hour)

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with fewer turns."""
        load = scenario.workload
        assert load.rates is not None
        rates = replace(load.rates, turns_per_hour=Fraction(amount))
        return replace(scenario, workload=replace(load, rates=rates))

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return one turn."""
        return 1

    def shown(self, amount: int, currency: str) -> str:
        """Return turns."""
        return f"{amount:,} per hour"

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        return f"plan for {amount} turns per hour and active session instead of {self.asked(scenario)}"
