"""Caps: at most so much of an objective, as whole-number rows, and what they mean for bounds."""

from __future__ import annotations

from planner.build import Build
from planner.costs import Pricing
from planner.objectives import OBJECTIVES
from planner.problem import Problem
from planner.program import Program
from planner.volume import group_paid


def add_caps(program: Program, problem: Problem) -> None:
    """Add a row for each cap."""
    for kind, most in problem.caps.items():
        program.add_row(f"cap_{kind}", OBJECTIVES[kind].terms(program, problem), "<=", most)


def most_within_caps(problem: Problem, build: Build, most: int) -> int:
    """Return a bound on the groups of one build under the caps.

    `most` groups are enough for a fleet that only has to hold the load. Where headroom is wanted
    more are worth having, and the caps alone set the bound.
    """
    if not problem.caps:
        return most
    each = least_of(problem.pricing, build)
    under = [most_of // each[kind] for kind, most_of in problem.caps.items() if each.get(kind)]
    if "headroom" in problem.at.scenario.objectives and under:
        return min(under)
    return min([most, *under])


def least_of(pricing: Pricing, build: Build) -> dict[str, int]:
    """Return what one group has of each objective that adds up over groups, at the least."""
    paid = group_paid(pricing, build)
    return {"capex": paid.least_cents, "tco": paid.least_tco_cents, "nodes": build.n_nodes, "power": build.power_w}
