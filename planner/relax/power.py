"""The power limit gives way in watts."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, rule, with_limits
from planner.scenario import Scenario


@rule
class Power(Limit):
    """limits.power."""

    path = "limits.power"
    label = "power limit"
    covers = ("limits.power",)
    kind = "power"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether the site has a limit."""
        return scenario.limits.power_w is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without a power limit."""
        return with_limits(scenario, power_w=None)

    def asked(self, scenario: Scenario) -> int:
        """Return its watts."""
        return scenario.limits.power_w or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another limit."""
        return with_limits(scenario, power_w=amount)

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return peak watts."""
        return problem.power_terms_of(program)

    def shown(self, amount: int, currency: str) -> str:
        """Return kilowatts with every watt that counts."""
        return f"{amount / 1000:,.10g} kW" if amount >= 1000 else f"{amount} W"

    def text(self, amount: int, currency: str) -> str:
        """Return kilowatts or watts."""
        return f"{amount // 1000} kW" if amount % 1000 == 0 else f"{amount} W"
