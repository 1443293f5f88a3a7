"""Roles of groups are opened to those that do both."""

from __future__ import annotations

from typing import Any

from planner.build import Build
from planner.loading import Shelf
from planner.relax.base import Filter, rule, with_serving
from planner.roles import BOTH
from planner.scenario import Scenario


@rule
class Roles(Filter):
    """serving.roles."""

    path = "serving.roles"
    label = "roles"
    covers = ("serving.roles",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return what groups may do."""
        return scenario.serving.roles

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return groups of both roles where they are left out."""
        return () if BOTH in scenario.serving.roles else (BOTH,)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these roles."""
        return with_serving(scenario, roles=values)

    def value(self, build: Build) -> Any:
        """Return the word for the build's role."""
        return BOTH if build.core.role == BOTH else "split"
