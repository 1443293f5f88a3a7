"""What is minimised, in which order; ties always break the same way."""

from __future__ import annotations

from planner.formulation.rows import make_program
from planner.problem import Problem

Terms = dict[int, int]


CANONICAL_UP_TO = 250
"""Most builds for which the canonical order is solved for; beyond, that stage costs more than the
plan itself, and equal plans are told apart by the solver's own fixed order of search."""


def stages(problem: Problem) -> list[tuple[str, Terms]]:
    """Return the objectives in lexicographic order.

    The scenario's own comes first, then cost, then nodes, then the canonical order of builds: of
    equal plans the one whose builds come first by name, as the sum of their ranks. What is still
    equal then is left to the solver's own fixed order of search.
    """
    capex = ("capex", problem.capex_terms_of(make_program(problem)))
    nodes = ("nodes", node_terms(problem))
    own = {
        "capex": [capex, nodes],
        "tco": [("tco", tco_terms(problem)), capex, nodes],
        "nodes": [nodes, capex],
    }[problem.at.scenario.objective]
    if len(problem.builds) > CANONICAL_UP_TO:
        return own
    rank = {make_program(problem).groups[i]: i + 1 for i in range(len(problem.builds))}
    return [*own, ("canonical", rank)]


def node_terms(problem: Problem) -> Terms:
    """Return nodes per variable."""
    return {make_program(problem).groups[i]: build.n_nodes for i, build in enumerate(problem.builds)}


def tco_terms(problem: Problem) -> Terms:
    """Return capex plus the term's running cost."""
    program, years = make_program(problem), problem.pricing.finance.years
    terms = problem.capex_terms_of(program)
    for var, cents in problem.opex_terms_of(program).items():
        terms[var] = terms.get(var, 0) + years * cents
    return terms
