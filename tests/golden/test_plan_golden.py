"""The plan of `report-real` in its key figures.

The file's `why` list says why the values moved, newest first; a change adds a line to it by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.planning import make_plan
from planner.views.plan import plan_data
from tests.unit.tiny import shelf, shipped

Golden = Callable[[str, str], None]
FILE = Path(__file__).parent / "files" / "report-real.json"


def node_figures(node: dict[str, Any]) -> dict[str, Any]:
    keys = ("count", "chassis", "system", "gpu", "dimms", "drives", "hosts", "limited_by", "unit_cost")
    return {key: node[key] for key in keys} | {"layout": node["layout"]["name"], "kv": node["layout"]["kv_format"]}


def key_figures(data: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: data[key] for key in ("status", "verified", "n_nodes", "n_gpus", "racks", "power_w", "spare_cost")},
        "gap": data["objective"]["gap"],
        "nodes": [node_figures(node) for node in data["nodes"]],
        "cost": {k: v for k, v in data["cost"].items() if k != "not_included"},
        "rows": {row["kind"]: [row["need"], row["have"], row["unit"]] for row in data["constraints"]},
        "binding": [row["kind"] for row in data["constraints"] if row["binding"]],
        "kv_bytes_per_token": data["demand"]["kv"]["bytes_per_token"],
        "sessions": data["demand"]["sessions"],
        "runner_up": data["runner_up"],
        "at_mean_context": data["at_mean_context"],
    }


def test_plan_of_report_real(golden: Golden, update_golden: bool) -> None:
    figures = key_figures(plan_data(make_plan(shipped("report-real"), shelf())))
    why = json.loads(FILE.read_text(encoding="utf-8"))["why"] if FILE.is_file() else ["2026-11-30: first values"]
    golden("report-real.json", json.dumps({"why": why, **figures}, indent=2, ensure_ascii=False) + "\n")
    if update_golden:
        pytest.skip("written anew: say in its 'why' list what moved the values")


def test_golden_plan_says_why_it_moved() -> None:
    why = json.loads(FILE.read_text(encoding="utf-8"))["why"]
    assert why
    assert all(isinstance(line, str) and line[:4].isdigit() and ": " in line for line in why)
