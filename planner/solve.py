"""Problem to counts: objectives one after another, and no solver's answer trusted.

A solver's "optimal" is believed only together with its bound, and its values only after every row
has been checked in integers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from planner.constraints import FLEET_RULES
from planner.errors import InterruptedPlanError, PlannerError, UnprovenError
from planner.formulation.objectives import CANONICAL_UP_TO, Stage, stages
from planner.formulation.rows import make_program
from planner.interrupts import held, interrupted
from planner.objectives import OBJECTIVES
from planner.plan import Goal
from planner.problem import Problem
from planner.program import Program
from planner.solvers import SHIPPED, Answer, Manner, SolverError, check_solver, run, version

Status = Literal["optimal", "feasible", "infeasible"]
_LEAST_STAGE_S = 0.1
_STOPPED = "interrupted before a plan was found"
_NOTHING = "no plan was found in time; allow more with --time-limit, or try --solver cbc"


@dataclass(frozen=True)
class Outcome:
    """What a solver found.

    Attributes
    ----------
    status : {'optimal', 'feasible', 'infeasible'}
        ``optimal`` only if each of the scenario's objectives is.
    counts : mapping of int to int
        Build to groups, zero counts left out; of a bare program variable to value.
    value, bound : int
        Of the scenario's first objective, in its unit.
    solver : str
        Name and version.
    seconds : float
        Wall time of all stages.
    goals : tuple of Goal
        The scenario's objectives and those that break ties, as far as they were reached.
    hints : mapping of int to float
        Values of continuous variables, which nothing has checked.
    tiers : mapping of str to int
        The tier at which each part with volume prices is bought, where that is not the ordinary price.
    """

    status: Status
    counts: Mapping[int, int]
    value: int = 0
    bound: int = 0
    solver: str = ""
    seconds: float = 0.0
    goals: tuple[Goal, ...] = ()
    hints: Mapping[int, float] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)


def solve(
    problem: Problem, solver: str = "highs", time_limit_s: float | None = None, below: int | None = None,
) -> Outcome:  # fmt: skip
    """Return the optimal counts, or the best found within the time limit or until Ctrl-C.

    Parameters
    ----------
    below : int or None
        Only plans whose first objective is below this are of interest; without any the outcome
        is infeasible.

    Raises
    ------
    UsageError
        If the solver is unknown, or not on this machine.
    UnprovenError
        If the time limit struck before any plan was found; its kind InterruptedPlanError if Ctrl-C did.
    PlannerError
        If every solver's answer fails the check in integers.
    """
    check_solver(solver)
    with held():
        start = time.monotonic()
        program = copy_of(make_program(problem))
        todo = stages(problem, program)
        if below is not None:
            program.add_row("below", todo[0].terms, "<=", below - 1)
        deadline = None if time_limit_s is None else start + time_limit_s
        goals, values = _in_order(program, todo, solver, deadline)
        seconds = time.monotonic() - start
    if not goals:
        return Outcome("infeasible", {}, solver=version(solver), seconds=seconds)
    own = [goals[i].status if i < len(goals) else "feasible" for i, stage in enumerate(todo) if stage.own]
    counts = {i: values[var] for i, var in enumerate(program.groups) if values[var]}
    status: Status = "optimal" if set(own) == {"optimal"} else "feasible"
    tiers = {each.part: each.tier for var, each in program.volumes.items() if values[var]}
    return Outcome(
        status, counts, goals[0].value, goals[0].bound, version(solver), seconds, tuple(goals), tiers=tiers
    )  # fmt: skip


def as_bought(problem: Problem, outcome: Outcome) -> Problem:
    """Return the problem at the tiers of volume prices at which the plan is bought.

    Each part at its cheapest is right where only one kind of money is asked. Where others are limits or further
    objectives, a plan may have to buy at another tier: the one that the program chose.
    """
    if not problem.pricing.book.tiered:
        return problem
    counts, asked = outcome.counts, len(problem.at.scenario.objectives)
    values = {goal.kind: OBJECTIVES[goal.kind].value(problem, counts) for goal in outcome.goals[:asked]}
    as_good = all(values[goal.kind] == goal.value for goal in outcome.goals[:asked])
    within = all(OBJECTIVES[kind].value(problem, counts) <= most for kind, most in problem.caps.items())
    rules = (rule for rule in FLEET_RULES.values() if rule.active(problem.at))
    if as_good and within and all(check.met for rule in rules for check in rule.check(problem, counts)):
        return problem
    return replace(problem, pricing=replace(problem.pricing, tiers=outcome.tiers))


def _in_order(
    program: Program, todo: Sequence[Stage], solver: str, deadline: float | None
) -> tuple[list[Goal], list[int]]:
    """Minimise one objective after another; no goals where there is no plan."""
    goals: list[Goal] = []
    values: list[int] = []
    for stage in todo:
        if interrupted():
            break
        left = None if deadline is None else max(_LEAST_STAGE_S, deadline - time.monotonic())
        if goals and stage.kind == "nodes" and not stage.own and len(program.groups) > CANONICAL_UP_TO:
            answer = _fewer(program, todo[0].terms, stage.terms, values, solver, left)
        else:
            answer = _checked(program, stage.terms, solver, left)
        if not goals and answer.status == "infeasible":
            return [], []
        if answer.status in ("infeasible", "nothing"):
            # Time ran out between two objectives, or the solver lost a plan that it had: keep it.
            break
        values = answer.values
        value = sum(c * values[i] for i, c in stage.terms.items())
        status: Literal["optimal", "feasible"] = "optimal" if answer.status == "optimal" else "feasible"
        goals.append(Goal(stage.kind, value, _bound(stage, answer, value), status))
        if status == "feasible":
            break
        program.add_row(f"keep_{stage.kind}", stage.terms, "<=", value)
    if not goals and interrupted():
        raise InterruptedPlanError(_STOPPED)
    if not goals:
        raise UnprovenError(_NOTHING)
    return _all_valued(goals, todo, values), values


def _fewer(
    program: Program, first: Mapping[int, int], terms: Mapping[int, int], values: list[int], solver: str,
    left: float | None,
) -> Answer:  # fmt: skip
    """Return the least of `terms` among values that are as good in the first objective as `values`.

    The first objective is minimised with a row that asks for less, until nothing is left: solvers bound cost far
    better than nodes.
    """
    deadline = None if left is None else time.monotonic() + left
    while True:
        value = sum(c * values[i] for i, c in terms.items())
        asked = copy_of(program)
        asked.add_row("fewer", terms, "<=", value - 1)
        rest = None if deadline is None else max(_LEAST_STAGE_S, deadline - time.monotonic())
        answer = _checked(asked, first, solver, rest)
        if answer.status == "infeasible":
            return Answer("optimal", values, float(value))
        if answer.status == "nothing":
            return Answer("feasible", values)
        values = answer.values


def minimise(
    program: Program, terms: Mapping[int, int], solver: str = "highs", time_limit_s: float | None = None
) -> Outcome:
    """Return the answer to a bare program and one objective; its counts are by variable.

    Rows in whole numbers are checked here. What the mixed rows mean, the caller proves from the counts.

    Raises
    ------
    UsageError, UnprovenError, InterruptedPlanError, PlannerError
        As `solve` does.
    """
    check_solver(solver)
    start = time.monotonic()
    with held():
        answer = _checked(program, terms, solver, time_limit_s)
    if answer.status == "nothing" and interrupted():
        raise InterruptedPlanError(_STOPPED)
    if answer.status == "nothing":
        raise UnprovenError(_NOTHING)
    counts = {i: value for i, value in enumerate(answer.values) if value}
    value = sum(c * counts.get(i, 0) for i, c in terms.items())
    bound = _bound(Stage("program", terms, own=True, least=0), answer, value)
    seconds = time.monotonic() - start
    return Outcome(answer.status, counts, value, bound, version(solver), seconds, hints=answer.hints)


def least(
    program: Program, terms: Mapping[int, int], solver: str = "highs", time_limit_s: float | None = None
) -> list[int] | None:
    """Return values of least `terms`, of no terms any that hold; None where the rows contradict each other.

    Raises
    ------
    UnprovenError
        If the time limit struck first.
    """
    answer = _checked(program, terms, solver, time_limit_s)
    if answer.status not in ("optimal", "infeasible"):
        raise UnprovenError("stopped before proof")
    return answer.values if answer.status == "optimal" else None


def optimise(program: Program, terms: Mapping[int, int], solver: str, limit: float | None, gap: int = 0) -> Answer:
    """Minimise one objective over a program over parts; the values hold in integers, the bound is the solver's.

    An answer that is no more than `gap` above the bound is good enough.

    Such a program has totals beside their shares. HiGHS's presolve puts the shares in the place of
    the totals, which are what is worth branching on; without it proofs take a third to a half.
    """
    return _checked(program, terms, solver, limit, Manner(presolve=False, gap=gap))


def least_possible(problem: Problem) -> int:
    """Return what the first objective cannot be below, whatever is bought."""
    return stages(problem, copy_of(make_program(problem)))[0].least


def _all_valued(goals: list[Goal], todo: Sequence[Stage], values: Sequence[int]) -> list[Goal]:
    """Return the goals with those of the scenario that were not begun, at what the plan has of them."""
    for stage in todo[len(goals) :]:
        if stage.own:
            value = sum(c * values[i] for i, c in stage.terms.items())
            goals.append(Goal(stage.kind, value, min(value, stage.least), "feasible"))
    return goals


def copy_of(program: Program) -> Program:
    """Return a program to which rows can be added without touching the first."""
    return Program(
        list(program.variables), list(program.rows), list(program.groups),
        dict(program.used), dict(program.racks), dict(program.lots), dict(program.beyond), dict(program.volumes),
        list(program.mixed_rows),
    )  # fmt: skip


def _bound(stage: Stage, answer: Answer, value: int) -> int:
    if answer.status == "optimal":
        return value
    if answer.bound is None or not math.isfinite(answer.bound):
        return min(value, stage.least)
    return min(value, max(stage.least, math.floor(answer.bound)))


def _checked(
    program: Program, terms: Mapping[int, int], solver: str, limit: float | None, how: Manner | None = None
) -> Answer:
    """Solve, and hold the values against every row in integers; ask another solver if they fail."""
    faults = []
    for name in (solver, *(other for other in SHIPPED if other != solver)):
        try:
            answer = run(program, terms, name, limit, how)
        except SolverError as died:
            faults.append(f"{name}: {died}")
            continue
        if answer.status in ("infeasible", "nothing"):
            return answer
        fault = row_fault(program, answer.values)
        if not fault:
            return answer
        faults.append(f"{name}: {fault}")
        if interrupted():
            return Answer("nothing", [])
    raise PlannerError("no solver's answer holds in integers: " + "; ".join(faults))


def row_fault(program: Program, values: list[int]) -> str:
    """Return the first bound or row that whole `values` break, empty where all hold; mixed rows are not looked at."""
    for variable, value in zip(program.variables, values, strict=True):
        if variable.kind == "integer" and not variable.lower <= value <= variable.upper:
            return f"{variable.name} = {value} is out of bounds"
    for row in program.rows:
        total = sum(c * values[i] for i, c in row.terms.items())
        if (total < row.rhs) if row.sense == ">=" else (total > row.rhs):
            return f"{row.name}: {total} {row.sense} {row.rhs} does not hold"
    return ""
