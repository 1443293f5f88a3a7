"""The limit of mean power gives way in watts."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, rule, with_limits
from planner.scenario import Scenario


@rule
class SustainedPower(Limit):
    """limits.sustained_power."""

    path = "limits.sustained_power"
    label = "limit of mean power"
    covers = ("limits.sustained_power",)
    kind = "sustained"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether the site has a limit."""
        return scenario.limits.sustained_power_w is not None and scenario.finance.average_load_fraction > 0

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without a power limit."""
        return with_limits(scenario, sustained_power_w=None)

    def asked(self, scenario: Scenario) -> int:
        """Return its watts."""
        return scenario.limits.sustained_power_w or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another limit."""
        return with_limits(scenario, sustained_power_w=amount)

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return peak watts."""
        return problem.power_terms_of(program)

    def room(self, scenario: Scenario) -> int:
        """Return the peak watts whose mean is within the limit."""
        return int(self.asked(scenario) // scenario.finance.average_load_fraction)

    def shown(self, amount: int, currency: str) -> str:
        """Return kilowatts with every watt that counts."""
        return f"{amount / 1000:,.10g} kW" if amount >= 1000 else f"{amount} W"

    def text(self, amount: int, currency: str) -> str:
        """Return kilowatts or watts."""
        return f"{amount // 1000} kW" if amount % 1000 == 0 else f"{amount} W"
