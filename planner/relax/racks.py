"""The most racks give way by whole racks."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, counted, rule, with_limits
from planner.scenario import Scenario


@rule
class MostRacks(Limit):
    """limits.racks."""

    path = "limits.racks"
    label = "limit of racks"
    covers = ("limits.racks",)
    kind = "racks"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether there is a limit."""
        return scenario.limits.racks is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""
        return with_limits(scenario, racks=None)

    def asked(self, scenario: Scenario) -> int:
        """Return racks."""
        return scenario.limits.racks or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another limit."""
        return with_limits(scenario, racks=amount)

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return racks."""
        return dict.fromkeys(program.racks.values(), 1)

    def shown(self, amount: int, currency: str) -> str:
        """Return racks."""
        return counted(amount, "rack", "racks")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)
