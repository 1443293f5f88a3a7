"""Plans of rented instances: the program of Mélange's example, its answer, and the optima of all shipped ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from planner.formulation.builder import to_lp_text
from planner.render import OUTPUTS
from planner.scenario_files import load_any, shipped_scenarios
from planner.split.plan import SplitPlan
from planner.split.planning import make_split_plan
from planner.split.problem import SplitProblem
from planner.split.rows import fleet_program
from planner.split_scenario import SplitScenario
from planner.views.split import split_report
from tests.unit.tiny import shelf

Golden = Callable[[str, str], None]

OPTIMA = {
    "melange-m1": (4.68, {"a10g": 1, "a100-80gb": 1}),
    "melange-m3": (3.67, {"a100-80gb": 1}),
    "melange-m4": (889.3756, {"l4": 6, "a100-80gb": 233, "h100": 4}),
    "melange-a-r10": (14.5, {"b200": 2}),
    "melange-a-r50": (63.75, {"h200-sxm": 1, "b200": 8}),
    "melange-a-r200": (246.5, {"b200": 34}),
}
"""USD per hour and fleet, as two other solvers found them on the same instances."""


def asked(name: str) -> SplitScenario:
    found = load_any(name, (), None, shelf())
    assert isinstance(found, SplitScenario)
    return found


def plan(name: str, solver: str = "highs") -> SplitPlan:
    return make_split_plan(asked(name), shelf(), solver)


def test_every_shipped_split_has_its_optimum_here() -> None:
    assert {name for name in shipped_scenarios() if "melange" in name} == set(OPTIMA)


@pytest.mark.parametrize("solver", ["highs", "cbc"])
@pytest.mark.parametrize("name", OPTIMA)
def test_optimum(name: str, solver: str) -> None:
    cost, fleet = OPTIMA[name]
    found = plan(name, solver)
    assert (found.status, found.gap, found.verified) == ("optimal", 0, True)
    assert float(found.value / 100) == cost
    assert {row.instance.name: row.count for row in found.rented} == fleet
    assert found.load <= 1
    assert all(sum(one.shares.values()) == 1 and min(one.shares.values()) > 0 for one in found.served)
    assert sum(one.bucket.requests_per_s for one in found.served) == found.requests_per_s


def test_program_of_the_example(golden: Golden) -> None:
    scenario = asked("melange-m1")
    problem = SplitProblem.of(scenario, shelf().profiles[scenario.service.profile])
    split = fleet_program(problem)
    cost = {var: problem.price(g) for g, var in enumerate(split.groups)}
    golden("split/program.lp", to_lp_text(split.program, cost))


@pytest.mark.parametrize(("form", "suffix"), [("table", "txt"), ("csv", "csv"), ("md", "md")])
def test_answer_of_the_example(form: str, suffix: str, golden: Golden) -> None:
    golden(f"split/answer.{suffix}", OUTPUTS[form].render(split_report(plan("melange-m1"))))


def test_data_of_the_example(golden: Golden) -> None:
    data: dict[str, Any] = json.loads(OUTPUTS["json"].render(split_report(plan("melange-m1"))))
    for key in ("planner", "python", "solver", "catalog", "resolved"):
        data["provenance"].pop(key)
    golden("split/answer.json", json.dumps(data, indent=2, ensure_ascii=False) + "\n")
