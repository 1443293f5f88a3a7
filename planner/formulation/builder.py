"""A program handed to PuLP: one of the two modules that import it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pulp

from planner.program import Program


def to_pulp(program: Program, objective: Mapping[int, int]) -> tuple[pulp.LpProblem, list[pulp.LpVariable], int]:
    """Return the program as PuLP sees it, its variables, and the unit of its objective.

    The objective is divided by the greatest common divisor of its coefficients (the unit), so
    that two different plans differ by at least 1.
    """
    unit = math.gcd(*objective.values()) or 1
    problem = pulp.LpProblem("plan", pulp.LpMinimize)
    kinds = {"integer": pulp.LpInteger, "continuous": pulp.LpContinuous}
    variables = [
        problem.add_variable(v.name, lowBound=v.lower, upBound=v.upper, cat=kinds[v.kind]) for v in program.variables
    ]
    terms = [(variables[i], value // unit) for i, value in objective.items() if value]
    problem.setObjective(pulp.LpAffineExpression(terms))
    senses = {">=": pulp.LpConstraintGE, "<=": pulp.LpConstraintLE}
    for row in program.rows:
        expression = pulp.LpAffineExpression([(variables[i], value) for i, value in row.terms.items()])
        problem.addConstraint(pulp.LpConstraint(expression, senses[row.sense], row.name, row.rhs))
    for mixed in program.mixed_rows:
        expression = pulp.LpAffineExpression([(variables[i], float(value)) for i, value in mixed.terms.items()])
        problem.addConstraint(pulp.LpConstraint(expression, senses[mixed.sense], mixed.name, float(mixed.rhs)))
    return problem, variables, unit


def to_lp_text(program: Program, objective: Mapping[int, int]) -> str:
    """Return the program in the LP format, for reading and for golden tests."""
    import tempfile
    from pathlib import Path

    problem, _, _ = to_pulp(program, objective)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.lp"
        problem.writeLP(str(path))
        return path.read_text(encoding="utf-8")
