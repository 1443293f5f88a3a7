"""The most nodes give way by whole nodes."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, counted, per_group, rule, with_fleet
from planner.scenario import Scenario


@rule
class MostNodes(Limit):
    """fleet.max_nodes."""

    path = "fleet.max_nodes"
    label = "limit of nodes"
    covers = ("fleet.max_nodes",)
    kind = "nodes"
    objective = "nodes"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether there is a limit."""
        return scenario.fleet.max_nodes is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""
        return with_fleet(scenario, max_nodes=None)

    def asked(self, scenario: Scenario) -> int:
        """Return nodes."""
        return scenario.fleet.max_nodes or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another limit."""
        return with_fleet(scenario, max_nodes=amount)

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return nodes."""
        return per_group(program, problem, lambda build: build.n_nodes)

    def shown(self, amount: int, currency: str) -> str:
        """Return nodes."""
        return counted(amount, "node", "nodes")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)
