"""Spare groups, nodes and racks give way by whole ones."""

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


@rule
class SpareNodes(SpareGroups):
    """fleet.spare_nodes."""

    path = "fleet.spare_nodes"
    label = "spare nodes"
    covers = ("fleet.spare_nodes",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether any node must be spare."""
        return scenario.fleet.spare_nodes > 0

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without spare nodes."""
        return with_fleet(scenario, spare_nodes=0)

    def asked(self, scenario: Scenario) -> int:
        """Return nodes."""
        return scenario.fleet.spare_nodes

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with fewer of them."""
        return with_fleet(scenario, spare_nodes=amount)

    def shown(self, amount: int, currency: str) -> str:
        """Return nodes."""
        return counted(amount, "spare node", "spare nodes")


@rule
class SpareRacks(SpareGroups):
    """fleet.spare_racks."""

    path = "fleet.spare_racks"
    label = "spare racks"
    covers = ("fleet.spare_racks",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether a rack must be spare."""
        return scenario.fleet.spare_racks > 0

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without spare racks."""
        return with_fleet(scenario, spare_racks=0)

    def asked(self, scenario: Scenario) -> int:
        """Return racks."""
        return scenario.fleet.spare_racks

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with fewer of them."""
        return with_fleet(scenario, spare_racks=amount)

    def shown(self, amount: int, currency: str) -> str:
        """Return racks."""
        return counted(amount, "spare rack", "spare racks")
