"""The report of a scenario without a plan, in every format."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.relax import diagnose
from planner.render import OUTPUTS
from planner.scenario import Fleet
from planner.views.infeasible import infeasible_report
from tests.unit.test_relax import SHELF, limited

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_report(name: str, golden: Golden) -> None:
    problem = limited((10,), Fleet(spare_groups=2, max_nodes=3), rack_units=10, power_w=3200)
    scenario = problem.at.scenario
    found = diagnose(scenario, SHELF, problem.pricing, time_limit_s=None, derive=lambda _: problem.builds)
    golden(f"infeasible/report{OUTPUTS[name].suffixes[0]}", OUTPUTS[name].render(infeasible_report(found)))
