"""Spare groups give way by whole groups."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.relax.base import Target, counted, rule, with_fleet
from planner.scenario import Scenario


@rule
class SpareGroups(Target):
    """fleet.spare_groups."""

    path = "fleet.spare_groups"
    label = "spare groups"
    covers = ("fleet.spare_groups",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether any group must be spare."""
        return scenario.fleet.spare_groups > 0

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without spare groups."""
        return with_fleet(scenario, spare_groups=0)

    def asked(self, scenario: Scenario) -> int:
        """Return groups."""
        return scenario.fleet.spare_groups

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with fewer of them."""
        return with_fleet(scenario, spare_groups=amount)

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return 0."""
        return 0

    def shown(self, amount: int, currency: str) -> str:
        """Return groups."""
        return counted(amount, "spare group", "spare groups")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        return f"keep {self.shown(amount, currency)} instead of {self.asked(scenario)}"
