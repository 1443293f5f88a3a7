"""The same integer program once more, by a solver that computes in whole numbers alone.

CP-SAT of OR-tools is optional and imported where it is used. A plan is exactly proven only if
CP-SAT finished with the same value of each of the scenario's objectives; everything else is told
as what it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from planner.errors import UsageError
from planner.formulation.objectives import Stage, stages
from planner.formulation.rows import make_program
from planner.formulation.separate import make_separate
from planner.formulation.tokens import Parts
from planner.interrupts import held
from planner.plan import Goal
from planner.problem import Problem
from planner.program import Program
from planner.solve import copy_of
from planner.solvers import watched

LIMIT_S = 60.0
"""How long it may take where no time limit is given."""


@dataclass(frozen=True)
class Proof:
    """What came of it.

    Attributes
    ----------
    proven : bool
        Whether each objective was proven.
    better : bool
        Whether it found something better: the plan is not optimal.
    words : str
        For the reader.
    """

    proven: bool
    better: bool
    words: str


def check_here() -> None:
    """Raise UsageError unless CP-SAT is installed."""
    if find_spec("ortools") is None:
        raise UsageError("--prove needs OR-tools, which is optional: pip install 'kv-hardware-planner[prove]'")


def prove(
    parts: Sequence[Problem], mine: Problem, counts: Mapping[int, int], goals: Sequence[Goal], limit_s: float
) -> Proof:
    """Prove that no plan of any part beats `goals`, which `counts` of the part `mine` reach.

    Raises
    ------
    UsageError
        If OR-tools is not installed.
    """
    check_here()
    from importlib.metadata import version

    name = f"CP-SAT {version('ortools')}"
    deadline = time.monotonic() + limit_s
    with held():
        for turn, goal in enumerate(goals):
            for part in parts:
                own = part is mine
                verdict = _ask(part, turn, goals, counts if own else None, deadline - time.monotonic())
                told = _told(verdict, goal, own, limit_s)
                if told is not None:
                    return Proof(False, verdict.better_than(goal.value), f"{name} {told}")
    return Proof(True, False, f"exactly proven: {name}, in whole numbers, finished with the same optimum")


def prove_apart(pools: Sequence[Parts], goal: Goal, limit_s: float) -> Proof:
    """Prove that no plan beats a goal where builds were too many to list: by the program over their parts.

    What that program allows is never worse than the best plan (docs/math/scale.md), so where it has
    nothing better there is no better plan. Where it has, the cores in it are told exactly and it is
    asked again; if they already are, nothing is shown.

    Raises
    ------
    UsageError
        If OR-tools is not installed.
    """
    check_here()
    from importlib.metadata import version

    name = f"CP-SAT {version('ortools')}"
    deadline = time.monotonic() + limit_s
    with held():
        for pool in pools:
            verdict = _refined(pool, goal, deadline)
            if verdict.status != "INFEASIBLE":
                return Proof(False, False, f"{name} {_open_words(verdict, goal, limit_s)}")
    words = "in whole numbers, finished: not even the program over parts has anything better"
    return Proof(True, False, f"exactly proven: {name}, {words}")


def _refined(pool: Parts, goal: Goal, deadline: float) -> _Verdict:
    """Return INFEASIBLE where no plan of a pool is better than the goal; else what was left open."""
    exact: set[int] = set()
    while True:
        made = make_separate(pool, pool.tokens(exact))
        if made is None:
            return _Verdict("INFEASIBLE")
        stage = Stage(goal.kind, made.stages()[0], own=True, least=0)
        made.program.add_row("better", stage.terms, "<=", goal.value - 1)
        left_s = deadline - time.monotonic()
        verdict = _run(made.program, stage, None, left_s) if left_s > 0 else _Verdict("UNKNOWN")
        taken = zip(made.tokens, made.cores, strict=True) if verdict.values else ()
        loose = {token.way for token, var in taken if verdict.values[var] and not token.exact}
        if not loose:
            return verdict
        exact |= loose


def _open_words(verdict: _Verdict, goal: Goal, limit_s: float) -> str:
    stands = "the solver's bound (floating point) stands"
    if verdict.status in ("OPTIMAL", "FEASIBLE"):
        return f"left open whether less {goal.kind} is possible: the program over parts is too coarse here; {stands}"
    return f"did not finish within {limit_s:.0f} s; {stands}"


@dataclass(frozen=True)
class _Verdict:
    status: str
    value: int | None = None
    bound: int | None = None
    values: tuple[int, ...] = ()

    def better_than(self, value: int) -> bool:
        return self.value is not None and self.value < value


def _told(verdict: _Verdict, goal: Goal, own: bool, limit_s: float) -> str | None:
    """Return why this is no proof; None where it is one."""
    if verdict.better_than(goal.value):
        return f"found a plan with {goal.kind} {verdict.value} instead of {goal.value}: please report this"
    if verdict.status == "OPTIMAL" and verdict.value == goal.value:
        return None
    if verdict.status == "INFEASIBLE" and not own:
        return None
    if verdict.status in ("FEASIBLE", "UNKNOWN"):
        best = "no plan" if verdict.value is None else f"{goal.kind} {verdict.value}"
        bound = "" if verdict.bound is None else f" and showed that none is below {verdict.bound}"
        return (
            f"did not finish within {limit_s:.0f} s: it held {best}{bound}; the solver's bound (floating point) stands"
        )
    return f"answered {verdict.status} to {goal.kind}; the solver's bound (floating point) stands"


def _ask(part: Problem, turn: int, goals: Sequence[Goal], counts: Mapping[int, int] | None, left_s: float) -> _Verdict:
    """Minimise one objective over one part, the earlier ones kept at what they are.

    Of a part that the plan is not from, only something better is of interest.
    """
    program = copy_of(make_program(part))
    found = {stage.kind: stage for stage in stages(part, program) if stage.own}
    for goal in goals[:turn]:
        program.add_row(f"keep_{goal.kind}", found[goal.kind].terms, "<=", goal.value)
    now = found[goals[turn].kind]
    if counts is None:
        program.add_row("better", now.terms, "<=", goals[turn].value - 1)
    if left_s <= 0:
        return _Verdict("UNKNOWN")
    return _run(program, now, counts, left_s)


def _run(program: Program, stage: Stage, counts: Mapping[int, int] | None, left_s: float) -> _Verdict:
    from ortools.sat.python import cp_model

    model: Any = cp_model.CpModel()
    variables = [model.new_int_var(v.lower, v.upper, v.name) for v in program.variables]

    def total(terms: Mapping[int, int], unit: int = 1) -> Any:
        return cp_model.LinearExpr.weighted_sum([variables[i] for i in terms], [c // unit for c in terms.values()])

    for row in program.rows:
        if row.sense == ">=":
            model.add(total(row.terms) >= row.rhs)
        else:
            model.add(total(row.terms) <= row.rhs)
    unit = math.gcd(*stage.terms.values()) or 1
    model.minimize(total(stage.terms, unit))
    for i, group in enumerate(program.groups):
        if counts is not None:
            model.add_hint(variables[group], counts.get(i, 0))
    solver: Any = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = left_s
    solver.parameters.random_seed = 1
    solver.parameters.catch_sigint_signal = False
    status: list[Any] = []
    watched(lambda: status.append(solver.solve(model)), solver.stop_search)
    name = str(solver.status_name(status[0]))
    value = round(solver.objective_value) * unit if name in ("OPTIMAL", "FEASIBLE") else None
    bound = math.ceil(solver.best_objective_bound - 1e-6) * unit if name == "FEASIBLE" else None
    values = tuple(int(solver.value(one)) for one in variables) if value is not None else ()
    return _Verdict(name, value, bound, values)
