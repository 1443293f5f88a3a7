"""Caps: at most so much of an objective, as whole-number rows, and what they mean for bounds."""

from __future__ import annotations

from planner.build import Build
from planner.objectives import OBJECTIVES
from planner.problem import Problem
from planner.program import Program

PER_GROUP = {"capex": "cost_cents", "tco": "tco_cents", "nodes": "n_nodes", "power": "power_w"}


def add_caps(program: Program, problem: Problem) -> None:
    """Add a row for each cap."""
    for kind, most in problem.caps.items():
        program.add_row(f"cap_{kind}", OBJECTIVES[kind].terms(program, problem), "<=", most)


def most_within_caps(problem: Problem, build: Build, most: int) -> int:
    """Return a bound on the groups of one build under the caps.

    `most` groups are enough for a fleet that only has to hold the load. Where headroom is wanted
    more are worth having, and the caps alone set the bound.
    """
    each: dict[str, int] = {kind: getattr(build, name) for kind, name in PER_GROUP.items()}
    under = [most_of // each[kind] for kind, most_of in problem.caps.items() if each.get(kind)]
    if "headroom" in problem.at.scenario.objectives and under:
        return min(under)
    return min([most, *under])
