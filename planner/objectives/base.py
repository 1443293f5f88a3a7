"""What an objective is: whole numbers per variable, less is better.

An objective says itself what dominance must compare for it (`uses`) and what a fleet has of it
(`value`), so that a new one is one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from planner.build import Build
from planner.hardware import Catalog
from planner.problem import Problem, Situation
from planner.program import Program
from planner.registry import Registry

Unit = Literal["cents", "nodes", "W", "parts", "sessions"]


class Objective(Protocol):
    """Something to have as little of as possible."""

    kind: str
    unit: Unit
    words: str

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return what one group takes of it, so that less is better.

        Dominance compares these, and cost, drivers and rules in any case.
        """
        ...

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Return what it counts per variable; may add variables and rows of its own."""
        ...

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return what a fleet has of it, from the counts alone and without the program."""
        ...


OBJECTIVES: Registry[Objective] = Registry("objective")


def by_part(at: Situation) -> bool:
    """Return whether distinct parts count: a build may then stand in only for one of the same parts."""
    return "parts" in at.scenario.objectives


def objective(cls: type) -> type:
    """Register an objective under its kind."""
    OBJECTIVES.register(cls.kind)(cls())  # type: ignore[attr-defined]
    return cls
