"""Rack units give way by whole units."""

from __future__ import annotations

from collections.abc import Mapping

from planner.constraints.rack_units import group_rack_units
from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, per_group, rule, with_limits
from planner.scenario import Scenario


@rule
class RackUnits(Limit):
    """limits.rack_units."""

    path = "limits.rack_units"
    label = "limit of rack units"
    covers = ("limits.rack_units",)
    kind = "rack_units"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether there is a limit."""
        return scenario.limits.rack_units is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""
        return with_limits(scenario, rack_units=None)

    def asked(self, scenario: Scenario) -> int:
        """Return rack units."""
        return scenario.limits.rack_units or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another limit."""
        return with_limits(scenario, rack_units=amount)

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return heights."""
        return per_group(program, problem, group_rack_units)

    def shown(self, amount: int, currency: str) -> str:
        """Return rack units."""
        return f"{amount:,} RU"

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)
