"""The door to the solvers: names, what is here, and an exact second opinion."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from planner import proof, solvers
from planner.errors import UsageError
from planner.planning import make_plan
from planner.proof import check_here, prove
from planner.scenario import Fleet
from planner.scenario_files import load_scenario
from planner.solve import solve
from planner.solvers import check_solver, version
from tests.unit import tiny

needs_ortools = pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="the extra 'prove'")


@pytest.mark.parametrize("name", ["highs", "HiGHS", "cbc", "CBC"])
def test_shipped_solvers_are_always_here(name: str) -> None:
    check_solver(name)
    assert solve(tiny.problem(), name).status == "optimal"
    assert "through PuLP" in version(name) or "bundled with PuLP" in version(name)


def test_absent_solver_names_what_is_here() -> None:
    with pytest.raises(UsageError, match=r"--solver mosek: not found on this machine .*there are: highs, cbc"):
        check_solver("mosek")


def test_unknown_solver_names_what_could_be() -> None:
    with pytest.raises(UsageError, match=r"--solver nope: unknown; there are: highs, cbc.*; PuLP can also use.*gurobi"):
        check_solver("nope")


def test_cbc_tells_its_bound_when_stopped() -> None:
    log = "Result - Stopped on time limit\n\nObjective value:  4451.0\nLower bound:      4405.643\nGap: 0.01\n"
    assert solvers._dual_bound(None, "cbc", log) == 4405.643
    assert solvers._dual_bound(None, "cbc", "") is None


def test_proof_without_the_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'kv-hardware-planner\[prove\]'"):
        check_here()
    with pytest.raises(UsageError):
        make_plan(load_scenario("report-real"), tiny.shelf(), exactly=True)


@needs_ortools
def test_exactly_proven_is_said_only_of_the_same_value() -> None:
    problem = tiny.problem(tiny.scenario(objective="nodes", fleet=Fleet(spare_groups=1)), (8, 12))
    outcome = solve(problem)
    own = outcome.goals[:1]
    done = prove([problem], problem, outcome.counts, own, 30)
    assert (done.proven, done.better) == (True, False)
    assert done.words.startswith("exactly proven: CP-SAT")
    worse = prove([problem], problem, outcome.counts, [replace(own[0], value=own[0].value + 1)], 30)
    assert (worse.proven, worse.better) == (False, True)
    better = prove([problem], problem, outcome.counts, [replace(own[0], value=own[0].value - 1)], 30)
    assert not better.proven
    late = prove([problem], problem, outcome.counts, own, 0)
    assert (late.proven, late.better) == (False, False)
    assert "did not finish within 0 s" in late.words
