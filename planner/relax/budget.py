"""The budget gives way in cents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, rule, with_limits
from planner.scenario import Scenario
from planner.units import format_money


@rule
class Budget(Limit):
    """limits.budget."""

    path = "limits.budget"
    label = "budget"
    covers = ("limits.budget",)
    kind = "budget"
    objective = "capex"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether there is a budget."""
        return scenario.limits.budget is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without a budget."""
        return with_limits(scenario, budget=None)

    def asked(self, scenario: Scenario) -> int:
        """Return its cents."""
        assert scenario.limits.budget is not None
        return scenario.limits.budget.cents

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another budget."""
        assert scenario.limits.budget is not None
        return with_limits(scenario, budget=replace(scenario.limits.budget, cents=amount))

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return cents."""
        return problem.capex_terms_of(program)

    def shown(self, amount: int, currency: str) -> str:
        """Return money."""
        return format_money(amount, currency)

    def text(self, amount: int, currency: str) -> str:
        """Return money without separators."""
        return f"{currency} {amount // 100}.{amount % 100:02d}"
