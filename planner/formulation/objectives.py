"""What is minimised, in which order; ties always break the same way."""

from __future__ import annotations

from planner.costs import cluster_line_power_w
from planner.formulation.problem import Problem

Terms = dict[int, int]


def stages(problem: Problem) -> list[tuple[str, Terms]]:
    """Return the objectives in lexicographic order.

    The scenario's own comes first, then cost, then nodes, then the canonical order of builds,
    which leaves one plan among equals.
    """
    capex = ("capex", problem.capex_terms_of(problem.program))
    nodes = ("nodes", _nodes(problem))
    order = ("canonical", _canonical(problem))
    own = {
        "capex": [capex, nodes],
        "tco": [("tco", _tco(problem)), capex, nodes],
        "nodes": [nodes, capex],
    }[problem.at.scenario.objective]
    return [*own, order]


def _nodes(problem: Problem) -> Terms:
    return {problem.program.groups[i]: build.n_nodes for i, build in enumerate(problem.builds)}


def _tco(problem: Problem) -> Terms:
    """Return capex plus the term's running cost, cluster items included, rounded up per piece."""
    program, pricing = problem.program, problem.pricing
    terms, years = dict(problem.capex_terms_of(program)), pricing.finance.years
    for i, build in enumerate(problem.builds):
        terms[program.groups[i]] += years * build.opex_cents
    for line in pricing.catalog.cluster.lines:
        watts = line.pieces * cluster_line_power_w(pricing, line)
        if line.id in program.lots and watts:
            var = program.lots[line.id]
            terms[var] = terms.get(var, 0) + years * pricing.opex_cents(watts)
    return terms


def _canonical(problem: Problem) -> Terms:
    return {problem.program.groups[i]: i + 1 for i in range(len(problem.builds))}
