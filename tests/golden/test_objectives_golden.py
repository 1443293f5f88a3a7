"""One golden program per objective, under caps on two others: what is minimised, and its rows and binaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from planner.formulation.builder import to_lp_text
from planner.formulation.objectives import stages
from planner.formulation.rows import make_program
from planner.objectives import OBJECTIVES
from planner.problem import Problem, Situation
from planner.solve import copy_of
from tests.unit import tiny

Golden = Callable[[str, str], None]
FILES = Path(__file__).parent / "files" / "objectives"
CAPS = {"capex": 4_000_000, "nodes": 5}


def problem_of(kind: str) -> Problem:
    problem = tiny.problem(tiny.scenario(), (8, 12), tiny.catalog(tiny.LINES[:1]))
    at = Situation.of(replace(problem.at.scenario, objective=kind))
    return replace(problem, at=at, caps={name: most for name, most in CAPS.items() if name != kind})


@pytest.mark.parametrize("kind", list(OBJECTIVES))
def test_program_of_an_objective(kind: str, golden: Golden) -> None:
    problem = problem_of(kind)
    program = copy_of(make_program(problem))
    first = stages(problem, program)[0]
    assert (first.kind, first.own) == (kind, True)
    caps = {row.name.partition("_")[2] for row in program.rows if "_cap_" in row.name}
    assert caps == {f"cap_{name}" for name in problem.caps}
    golden(f"objectives/{kind}.lp", to_lp_text(program, first.terms))


def test_every_objective_has_a_program(update_golden: bool) -> None:
    if not update_golden:
        assert {path.stem for path in FILES.glob("*.lp")} == set(OBJECTIVES)
