"""Solvers behind one door: their names, one run of one program, and how a run is stopped.

With `planner.formulation.builder` the only importer of PuLP. A run has its own temporary folder
and its own processes, prints nothing, and ends early on Ctrl-C with the best it has.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pulp

from planner.errors import UsageError
from planner.formulation.builder import to_pulp
from planner.interrupts import interrupted, note
from planner.program import Program

Status = Literal["optimal", "feasible", "infeasible", "nothing"]
SHIPPED = ("highs", "cbc")
"""Solvers that come with the planner; each is the other's second opinion."""

_SHIPPED_AS = {"highs": "HiGHS", "cbc": "PULP_CBC_CMD"}
_POLL_S = 0.05
_GRACE_S = 5.0
_STDOUT = threading.Lock()


class SolverError(Exception):
    """A solver died or gave what cannot be read."""


@dataclass(frozen=True)
class Manner:
    """How a solver goes about it.

    Attributes
    ----------
    presolve : bool
        Whether HiGHS may rewrite the program first.
    gap : int
        How far above the bound an answer may be, in the objective's unit.
    """

    presolve: bool = True
    gap: int = 0


@dataclass(frozen=True)
class Answer:
    """What a solver says about one objective.

    Attributes
    ----------
    status : {'optimal', 'feasible', 'infeasible', 'nothing'}
        ``optimal`` only if the bound, where there is one, leaves less than one unit.
    values : list of int
        Of the program's variables, rounded.
    bound : float or None
        What no plan can be below, in the objective's own unit.
    hints : mapping of int to float
        Values of continuous variables, which nothing has checked; their `values` are 0.
    """

    status: Status
    values: list[int]
    bound: float | None = None
    hints: Mapping[int, float] = field(default_factory=dict)


def run(
    program: Program, terms: Mapping[int, int], solver: str, limit_s: float | None, how: Manner | None = None
) -> Answer:
    """Minimise `terms` with one solver.

    Raises
    ------
    SolverError
        If the solver died.
    UsageError
        If there is no such solver here.
    """
    problem, variables, unit = to_pulp(program, terms)
    start = time.monotonic()
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="planner-", ignore_cleanup_errors=True) as folder, _quiet():
        engine = _engine(solver, limit_s, Path(folder), stop, how or Manner(), unit)
        with _children(folder) as children:
            _watched(lambda: problem.solve(engine), stop, children)
        log = Path(folder) / "log"
        bound = _dual_bound(problem, solver, log.read_text(errors="replace") if log.is_file() else "")
    found = _found(problem)
    if _scip_says(problem) == "userinterrupt":
        note()
    values, hints = _values(program, variables)
    scaled = None if bound is None else bound * unit
    if found and problem.status == pulp.LpStatusOptimal and problem.sol_status == pulp.LpSolutionOptimal:
        value = sum(c // unit * values[i] for i, c in terms.items())
        proven = bound is None or bound > value - 1
        return Answer("optimal" if proven else "feasible", values, scaled, hints)
    if found and problem.sol_status == pulp.LpSolutionIntegerFeasible:
        # Some stop on their own where the gap left is below one unit, and call it a limit.
        value = sum(c // unit * values[i] for i, c in terms.items())
        return Answer("optimal" if bound is not None and bound > value - 1 else "feasible", values, scaled)
    # A solver may call a problem infeasible when its time is up; well before that it has proved it.
    early = (limit_s is None or time.monotonic() - start < limit_s / 2) and not interrupted()
    bounded = _scip_says(problem) in ("infeasible", "inforunbd")
    if bounded or (problem.status == pulp.LpStatusInfeasible and (early or solver == "highs")):
        return Answer("infeasible", [])
    return Answer("nothing", [], scaled)


def row_prices(program: Program, terms: Mapping[int, int]) -> list[float]:
    """Return the dual values of the rows without whole numbers; empty where that has no optimum. Not exact."""
    problem, _, unit = to_pulp(program, terms)
    with _quiet():
        problem.solve(pulp.HiGHS(msg=False, mip=False, threads=1))
    if problem.status != pulp.LpStatusOptimal:
        return []
    kept = problem.constraints()
    return [float(row.pi or 0.0) * unit for row in kept[: len(program.rows)]]


def _values(program: Program, variables: list[Any]) -> tuple[list[int], dict[int, float]]:
    values, hints = [], {}
    for i, (variable, got) in enumerate(zip(program.variables, variables, strict=True)):
        # PuLP leaves variables that stand in no row and not in the objective without a value.
        value = variable.lower if got.varValue is None else got.varValue
        if variable.kind == "continuous":
            hints[i] = float(value)
        values.append(0 if variable.kind == "continuous" else round(value))
    return values, hints


def _found(problem: Any) -> bool:
    """Return whether there is a solution; stopped in time HiGHS hands out zeros where it has none."""
    info = getattr(getattr(problem, "solverModel", None), "getInfo", None)
    return info is None or int(info().primal_solution_status) == 2


def _scip_says(problem: Any) -> str:
    """Return the status of SCIP's Python interface, whose variables are all bounded; else nothing."""
    model: Any = getattr(problem, "solverModel", None)
    return str(model.getStatus()) if hasattr(model, "getStatus") else ""


# -- stopping --------------------------------------------------------------------------------


def watched(work: Callable[[], object], stop: Callable[[], object]) -> None:
    """Do `work` in a thread, so that the main one hears Ctrl-C; then call `stop` and wait for its end.

    Raises
    ------
    KeyboardInterrupt
        If the work does not end soon after it was stopped.
    """
    fault: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as raised:
            fault.append(raised)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    while thread.is_alive() and not interrupted():
        thread.join(_POLL_S)
    if thread.is_alive():
        stop()
        thread.join(_GRACE_S)
        if thread.is_alive():
            raise KeyboardInterrupt
    if fault:
        raise fault[0]


def _watched(work: Callable[[], object], stop: threading.Event, children: list[subprocess.Popen[Any]]) -> None:
    def end() -> None:
        stop.set()
        for child in children:
            _signal(child, signal.SIGINT)

    try:
        watched(work, end)
    except pulp.PulpSolverError as died:
        raise SolverError(str(died)) from died
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, IndexError) as died:
        raise SolverError(f"{type(died).__name__}: {died}") from died
    finally:
        for child in children:
            _signal(child, getattr(signal, "SIGKILL", signal.SIGTERM))


def _signal(child: subprocess.Popen[Any], number: int) -> None:
    """Signal a child and what it started."""
    if child.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, number)
            else:
                child.terminate()


@contextlib.contextmanager
def _children(folder: str) -> Iterator[list[subprocess.Popen[Any]]]:
    """Start what a solver starts in a group and a folder of its own, and remember it.

    PuLP starts solvers by the standard module and keeps no hold of them, so that it must be done
    there. Runs stand in line for standard output, so that no two are here at once.
    """
    children: list[subprocess.Popen[Any]] = []
    plain: Any = subprocess.Popen

    class Kept(plain):  # type: ignore[misc]
        def __init__(self, *args: Any, **more: Any) -> None:
            if os.name == "posix":
                more.setdefault("process_group", 0)
            more["cwd"] = more.get("cwd") or folder
            super().__init__(*args, **more)
            children.append(self)

    subprocess.Popen = Kept  # type: ignore[misc]
    try:
        yield children
    finally:
        subprocess.Popen = plain  # type: ignore[misc]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Send the file descriptor of stdout to nowhere: solvers greet there whatever they are told."""
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


# -- names and settings ----------------------------------------------------------------------


def check_solver(name: str) -> None:
    """Raise UsageError unless the solver is here."""
    if name.casefold() not in SHIPPED:
        with _quiet():
            _pulp_name(name)


def _pulp_name(name: str) -> str:
    """Return what PuLP calls a solver that is here.

    A name is PuLP's own (``SCIP_CMD``) or that of its family (``scip``: the first one here).
    """
    word = name.casefold()
    if word in _SHIPPED_AS:
        return _SHIPPED_AS[word]
    known = list(dict.fromkeys(pulp.listSolvers()))
    meant = [known_name for known_name in known if word in (known_name.casefold(), known_name.casefold().split("_")[0])]
    for each in meant:
        if pulp.getSolver(each, msg=False).available():
            return str(each)
    there = [each for each in pulp.listSolvers(onlyAvailable=True) if each not in _SHIPPED_AS.values()]
    here = ", ".join([*SHIPPED, *there])
    if meant:
        raise UsageError(f"--solver {name}: not found on this machine (sought: {', '.join(meant)}); there are: {here}")
    more = ", ".join(sorted({each.split("_")[0].casefold() for each in known} - {"pulp", "coin", "highs"}))
    raise UsageError(f"--solver {name}: unknown; there are: {here}; PuLP can also use, once installed: {more}")


def _engine(solver: str, limit_s: float | None, folder: Path, stop: threading.Event, how: Manner, unit: int) -> Any:
    # Objective values are whole, so an absolute gap of one half proves the optimum.
    common = {"msg": False, "gapRel": 0.0, "gapAbs": max(0.5, how.gap / unit), "timeLimit": limit_s}
    if solver.casefold() == "highs":
        return pulp.HiGHS(
            **common, threads=1, random_seed=1, presolve="choose" if how.presolve else "off",
            callbackTuple=(_stopper(stop), None),
            callbacksToActivate=[pulp.HiGHS.hscb.HighsCallbackType.kCallbackMipInterrupt],
        )  # fmt: skip
    if solver.casefold() == "cbc":
        # CBC 2.10.3's integer preprocessing cuts off optima (19 for 15 on five variables and as many
        # rows: tests/oracle keeps the case); without it the answers held on every instance tried.
        # It runs on one thread anyway; told so, it stalled for 10 s in 5 of 120 runs.
        path = pulp.apis.PULP_CBC_CMD.pulp_cbc_path
        engine = pulp.COIN_CMD(path=path, options=["preprocess off"], logPath=str(folder / "log"), **common)
    else:
        name, known = _pulp_name(solver), common | {"threads": 1}
        taken = inspect.signature(type(pulp.getSolver(name, msg=False)).__init__).parameters
        engine = pulp.getSolver(name, **{key: value for key, value in known.items() if key in taken})
    engine.tmpDir = str(folder)
    return engine


def _stopper(stop: threading.Event) -> Callable[..., None]:
    def callback(_kind: object, _words: object, _seen: object, answer: Any, _data: object) -> None:
        answer.user_interrupt = stop.is_set()

    return callback


def _dual_bound(problem: Any, solver: str, log: str) -> float | None:
    """Return what the solver has shown that no solution can be below; None where it does not tell."""
    if solver.casefold() == "cbc":
        told = [line.split(":")[1] for line in log.splitlines() if line.startswith("Lower bound:")]
        return float(told[-1]) if told else None
    model: Any = getattr(problem, "solverModel", None)
    with contextlib.suppress(Exception):
        if hasattr(model, "getInfo"):
            return float(model.getInfo().mip_dual_bound)
        if hasattr(model, "getDualbound"):
            return float(model.getDualbound())
        if hasattr(model, "ObjBound"):
            return float(model.ObjBound)
    return None


def version(solver: str) -> str:
    """Return the solver's name with its version."""
    from importlib.metadata import version as installed

    through = f"PuLP {installed('pulp')}"
    if solver.casefold() == "highs":
        return f"HiGHS {installed('highspy')} through {through}"
    if solver.casefold() == "cbc":
        return f"CBC 2.10.3 bundled with {through}"
    name = _pulp_name(solver)
    module = {"SCIP_PY": "pyscipopt", "GUROBI": "gurobipy", "CPLEX_PY": "cplex", "MOSEK": "mosek"}.get(name)
    with contextlib.suppress(ImportError):
        return f"{name} ({module} {installed(module)}) through {through}" if module else f"{name} through {through}"
    return f"{name} through {through}"
