"""Problem to counts: solvers behind one door, their answers never trusted.

With `planner.formulation.builder` the only importer of PuLP. A solver's "optimal" is believed
only together with its bound, and its values only after every row has been checked in integers.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pulp

from planner.errors import PlannerError, UnprovenError, UsageError
from planner.formulation.builder import to_pulp
from planner.formulation.objectives import stages
from planner.formulation.rows import make_program
from planner.problem import Problem
from planner.program import Program

Status = Literal["optimal", "feasible", "infeasible"]
SOLVERS = ("highs", "cbc")
_STDOUT = threading.Lock()


@dataclass(frozen=True)
class Outcome:
    """What a solver found.

    Attributes
    ----------
    status : {'optimal', 'feasible', 'infeasible'}
        ``optimal`` only if the bound leaves less than one unit of the objective.
    counts : mapping of int to int
        Build to groups, zero counts left out.
    value, bound : int
        Of the scenario's own objective, in its unit (cents or nodes).
    solver : str
        Name and version.
    seconds : float
        Wall time of all stages.
    """

    status: Status
    counts: Mapping[int, int]
    value: int = 0
    bound: int = 0
    solver: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class _Answer:
    status: Status | Literal["nothing"]
    values: list[int]
    bound: float | None


def solve(
    problem: Problem, solver: str = "highs", time_limit_s: float | None = None, below: int | None = None
) -> Outcome:
    """Return the optimal counts, or the best found within the time limit.

    Parameters
    ----------
    below : int or None
        Only plans whose own objective is below this are of interest; without any the outcome is
        infeasible.

    Raises
    ------
    UsageError
        If the solver is unknown.
    UnprovenError
        If the time limit struck before any plan was found.
    PlannerError
        If every solver's answer fails the check in integers.
    """
    if solver not in SOLVERS:
        raise UsageError(f"unknown solver '{solver}'; known: {', '.join(SOLVERS)}")
    start = time.monotonic()
    program = _copy(make_program(problem))
    first: tuple[int, int, Status] | None = None
    values: list[int] = []
    for name, terms in stages(problem):
        if first is None and below is not None:
            program.add_row("below", terms, "<=", below - 1)
        left = None if time_limit_s is None else max(0.1, time_limit_s - (time.monotonic() - start))
        answer = _checked(program, terms, solver, left)
        if answer.status == "infeasible" and first is None:
            return Outcome("infeasible", {}, solver=version(solver), seconds=time.monotonic() - start)
        if answer.status == "nothing" and first is None:
            raise UnprovenError("no plan was found in time; allow more with --time-limit, or try --solver cbc")
        if answer.status in ("infeasible", "nothing"):
            # Time ran out between two objectives, or the solver lost a plan that it had: keep it.
            break
        values = answer.values
        value = sum(c * values[i] for i, c in terms.items())
        if first is None:
            first = (value, _bound(answer, value), "optimal" if answer.status == "optimal" else "feasible")
        if answer.status == "feasible":
            break
        program.add_row(f"keep_{name}", terms, "<=", value)
    assert first is not None
    counts = {i: values[var] for i, var in enumerate(make_program(problem).groups) if values[var]}
    return Outcome(first[2], counts, first[0], first[1], version(solver), time.monotonic() - start)


def optimise(program: Program, terms: Mapping[int, int], solver: str, limit: float | None) -> _Answer:
    """Minimise one objective over a program; the values hold in integers, the bound is the solver's."""
    return _checked(program, terms, solver, limit)


def _copy(program: Program) -> Program:
    return Program(
        list(program.variables), list(program.rows), list(program.groups),
        dict(program.used), dict(program.racks), dict(program.lots),
    )  # fmt: skip


def _bound(answer: _Answer, value: int) -> int:
    if answer.status == "optimal" or answer.bound is None:
        return value if answer.status == "optimal" else 0
    return min(value, int(answer.bound))


def _checked(program: Program, terms: Mapping[int, int], solver: str, limit: float | None) -> _Answer:
    """Solve, and hold the values against every row in integers; ask the other solver if they fail."""
    faults = []
    for name in (solver, *(other for other in SOLVERS if other != solver)):
        try:
            answer = _run(program, terms, name, limit)
        except pulp.PulpSolverError as died:
            faults.append(f"{name}: {died}")
            continue
        if answer.status in ("infeasible", "nothing"):
            return answer
        fault = row_fault(program, answer.values)
        if not fault:
            return answer
        faults.append(f"{name}: {fault}")
    raise PlannerError("no solver's answer holds in integers: " + "; ".join(faults))


def row_fault(program: Program, values: list[int]) -> str:
    """Return the first bound or row that `values` break, empty where all hold."""
    for variable, value in zip(program.variables, values, strict=True):
        if not variable.lower <= value <= variable.upper:
            return f"{variable.name} = {value} is out of bounds"
    for row in program.rows:
        total = sum(c * values[i] for i, c in row.terms.items())
        if (total < row.rhs) if row.sense == ">=" else (total > row.rhs):
            return f"{row.name}: {total} {row.sense} {row.rhs} does not hold"
    return ""


def _run(program: Program, terms: Mapping[int, int], solver: str, limit: float | None) -> _Answer:
    problem, variables, unit = to_pulp(program, terms)
    start = time.monotonic()
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        engine = _engine(solver, limit)
        engine.tmpDir = folder
        problem.solve(engine)
    # PuLP leaves variables that stand in no row and not in the objective without a value.
    values = [
        variable.lower if found.varValue is None else round(found.varValue)
        for variable, found in zip(program.variables, variables, strict=True)
    ]
    bound = _dual_bound(problem, solver)
    if problem.status == pulp.LpStatusOptimal and problem.sol_status == pulp.LpSolutionOptimal:
        value = sum(c // unit * values[i] for i, c in terms.items())
        proven = bound is None or bound > value - 1
        return _Answer("optimal" if proven else "feasible", values, None if bound is None else bound * unit)
    if problem.sol_status == pulp.LpSolutionIntegerFeasible:
        return _Answer("feasible", values, None if bound is None else bound * unit)
    # CBC may call a problem infeasible when its time is up; well before that it has proved it.
    early = limit is None or time.monotonic() - start < limit / 2
    if problem.status == pulp.LpStatusInfeasible and (early or solver == "highs"):
        return _Answer("infeasible", [], None)
    return _Answer("nothing", [], None)


def _engine(solver: str, limit: float | None) -> Any:
    # Objective values are whole, so an absolute gap of one half proves the optimum.
    common = {"msg": False, "gapRel": 0.0, "gapAbs": 0.5, "threads": 1, "timeLimit": limit}
    if solver == "highs":
        return pulp.HiGHS(**common, random_seed=1)
    # CBC 2.10.3's integer preprocessing cuts off optima (19 for 15 on five variables and as many
    # rows: tests/oracle keeps the case); without it the answers held on every instance tried.
    options = ["preprocess off"]
    return pulp.COIN_CMD(path=pulp.apis.PULP_CBC_CMD.pulp_cbc_path, options=options, **common)


def _dual_bound(problem: Any, solver: str) -> float | None:
    if solver != "highs":
        return None
    return float(problem.solverModel.getInfo().mip_dual_bound)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Send the file descriptor of stdout to nowhere: HiGHS greets there whatever it is told."""
    with _STDOUT:
        if sys.stdout is not None:
            sys.stdout.flush()
        try:
            kept = os.dup(1)
        except OSError:
            # Standard output is closed: nothing can be printed there.
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)


def version(solver: str) -> str:
    """Return the solver's name with its version."""
    from importlib.metadata import version as installed

    if solver == "highs":
        return f"HiGHS {installed('highspy')} through PuLP {installed('pulp')}"
    return f"CBC bundled with PuLP {installed('pulp')}"
