"""What is minimised, in which order; ties always break the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.objectives import OBJECTIVES
from planner.problem import Problem
from planner.program import Program

Terms = dict[int, int]


CANONICAL_UP_TO = 250
"""Most builds for which the canonical order is solved for; beyond, that stage costs more than the
plan itself, and equal plans are told apart by the solver's own fixed order of search."""


@dataclass(frozen=True)
class Stage:
    """One objective in its turn.

    Attributes
    ----------
    own : bool
        Whether the scenario asks for it; else it breaks ties.
    least : int
        What no values within the variables' bounds can be below.
    """

    kind: str
    terms: Mapping[int, int]
    own: bool
    least: int


def stages(problem: Problem, program: Program) -> list[Stage]:
    """Return the objectives in lexicographic order; may add variables and rows to the program.

    The scenario's own come first, then cost, then nodes, then the canonical order of builds: of
    equal plans the one whose builds come first by name, as the sum of their ranks. What is still
    equal then is left to the solver's own fixed order of search.
    """
    own = problem.at.scenario.objectives
    kinds = [*own, *(kind for kind in ("capex", "nodes") if kind not in own)]
    found = [(kind, OBJECTIVES[kind].terms(program, problem)) for kind in kinds]
    if len(problem.builds) <= CANONICAL_UP_TO:
        found.append(("canonical", {program.groups[i]: i + 1 for i in range(len(problem.builds))}))
    return [Stage(kind, terms, kind in own, _least(program, terms)) for kind, terms in found]


def _least(program: Program, terms: Terms) -> int:
    bounds = program.variables
    return sum(value * (bounds[i].lower if value > 0 else bounds[i].upper) for i, value in terms.items())
