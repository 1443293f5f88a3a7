"""Same question, same bytes: over processes and over solvers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.scenario_files import load_scenario, shipped_scenarios
from tests.property.worlds import shelf, solved

ROOT = Path(__file__).parents[2]


def _plan(hash_seed: str, *sets: str) -> bytes:
    command = [sys.executable, "-m", "planner", "plan", "report-exact", "-f", "json", *sets]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout


def test_fresh_processes_write_the_same_bytes() -> None:
    first = _plan("0")
    assert first.startswith(b"{")
    assert _plan("1") == _plan("4242") == first


@pytest.mark.parametrize("name", [name for name in shipped_scenarios() if not name.startswith("melange-")])
def test_both_solvers_give_the_same_value_on_shipped_scenarios(name: str) -> None:
    # Both plans pass the exact check; the value is the same, to the cent.
    asked = load_scenario(name)
    values = {
        solver: found and found.outcome.value
        for solver in ("highs", "cbc")
        for found in [solved(asked, shelf(), solver)]
    }
    assert values["highs"] is not None and values["highs"] == values["cbc"]
