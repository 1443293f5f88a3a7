"""One GPU model in the whole plan gives way to two or more: it can only be dropped."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.relax.base import Target, counted, rule, with_fleet
from planner.scenario import Scenario


@rule
class OneGpuModel(Target):
    """fleet.one_gpu_model."""

    path = "fleet.one_gpu_model"
    label = "rule of one GPU model"
    covers = ("fleet.one_gpu_model",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether there may be but one."""
        return scenario.fleet.one_gpu_model

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""
        return self.bent(scenario, 2)

    def asked(self, scenario: Scenario) -> int:
        """Return 1."""
        return 1

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with one GPU model or with any number of them."""
        return with_fleet(scenario, one_gpu_model=amount < 2)

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return 2, which stands for any number."""
        return 2

    def shown(self, amount: int, currency: str) -> str:
        """Return models."""
        return counted(amount, "GPU model", "GPU models")

    def text(self, amount: int, currency: str) -> str:
        """Return whether there may be but one."""
        return "true" if amount < 2 else "false"

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        return f"drop the {self.label}"
