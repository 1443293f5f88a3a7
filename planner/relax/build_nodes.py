"""The fewest nodes of each build in use give way by whole nodes."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.relax.base import Target, counted, rule, with_fleet
from planner.scenario import Scenario


@rule
class BuildNodes(Target):
    """fleet.min_build_nodes."""

    path = "fleet.min_build_nodes"
    label = "fewest nodes of each build"
    covers = ("fleet.min_build_nodes",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether one node of a build is too few."""
        return (scenario.fleet.min_build_nodes or 0) > 1

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""
        return with_fleet(scenario, min_build_nodes=None)

    def asked(self, scenario: Scenario) -> int:
        """Return nodes."""
        return scenario.fleet.min_build_nodes or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with fewer of them."""
        return with_fleet(scenario, min_build_nodes=amount)

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return 1: every build in use has a node."""
        return 1

    def shown(self, amount: int, currency: str) -> str:
        """Return nodes."""
        return counted(amount, "node", "nodes")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        return f"lower the {self.label} to {self.shown(amount, currency)}"
