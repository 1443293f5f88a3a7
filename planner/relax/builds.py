"""The most distinct builds give way by whole builds."""

from __future__ import annotations

from collections.abc import Mapping

from planner.loading import Shelf
from planner.problem import Problem
from planner.program import Program
from planner.relax.base import Limit, counted, rule, with_fleet
from planner.scenario import Scenario


@rule
class MostBuilds(Limit):
    """fleet.max_builds."""

    path = "fleet.max_builds"
    label = "limit of distinct builds"
    covers = ("fleet.max_builds",)
    kind = "builds"

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether there is a limit."""
        return scenario.fleet.max_builds is not None

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""
        return with_fleet(scenario, max_builds=None)

    def asked(self, scenario: Scenario) -> int:
        """Return builds."""
        return scenario.fleet.max_builds or 0

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another limit."""
        return with_fleet(scenario, max_builds=amount)

    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return one per build in use; adds the binaries that say so."""
        return {program.mark_used(i): 1 for i in range(len(problem.builds))}

    def shown(self, amount: int, currency: str) -> str:
        """Return builds."""
        return counted(amount, "build", "builds")

    def text(self, amount: int, currency: str) -> str:
        """Return the number."""
        return str(amount)
