"""No plan is an answer: a report on standard output, talk on standard error, exit code 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]
PLAN = ("plan", "report-as-written")
LONG = ("--time-limit", "120")


@pytest.mark.parametrize("name", ["plan", "bom", "nodes"])
def test_a_report_on_standard_output(command: Command, name: str) -> None:
    done = command(name, "report-as-written", "--set", "limits.power=4 kW", *LONG)
    assert done.code == 4
    assert done.err == "planner: report-as-written: no plan meets all rules together\n"
    said = (
        "Rules that conflict",
        "limits.power",
        "4 kW",
        "Shortfalls, the smallest first",
        "Ways out",
        "--set limits.",
    )
    assert [text for text in said if text not in done.out] == []


CASES = {
    "budget": (("limits.budget=USD 100k",), {"limits.budget"}),
    "stock": (("gpus=h200-sxm", "limits.stock.h200-sxm=7"), {"fleet.gpus", "limits.stock.h200-sxm"}),
    "layout": (("serving.layouts=tp1",), {"serving.layouts"}),
    "vendors": (("fleet.vendors=[AMD]",), {"fleet.vendors"}),
    "without": (("fleet.without_vendors=[NVIDIA, AMD]",), {"fleet.without_vendors"}),
    "region": (("fleet.region=CN", "fleet.gpus=[b300]"), {"fleet.region", "fleet.gpus"}),
    "delivery": (("limits.deliver_by=2026-12-05",), {"limits.deliver_by"}),
    "late parts": (("limits.deliver_by=2026-12-05", "limits.lead_time=60 d"), {"limits.deliver_by"}),
    "racks": (("limits.racks=1", "limits.rack_power=13 kW", "gpus=h200-sxm"), {"limits.racks"}),
    "spares": (("fleet.spare_nodes=2", "fleet.max_nodes=2"), {"fleet.spare_nodes", "fleet.max_nodes"}),
    "minimum": (
        ("limits.minimum.b300=17", "fleet.max_nodes=2", "gpus=b300"),
        {"limits.minimum.b300", "fleet.max_nodes"},
    ),
    "sustained": (("limits.sustained_power=5 kW",), {"limits.sustained_power"}),
    "four at once": (
        ("gpus=h200-sxm", "fleet.max_nodes=1", "limits.power=10 kW", "fleet.without_vendors=[Supermicro]"),
        {"limits.power"},
    ),
}


@pytest.mark.parametrize(("sets", "conflict"), CASES.values(), ids=CASES)
def test_json_names_the_conflict_and_the_ways_out(command: Command, sets: tuple[str, ...], conflict: set[str]) -> None:
    given = [word for text in sets for word in ("--set", text)]
    done = command(*PLAN, *given, *LONG, "-f", "json")
    assert done.code == 4
    data = done.data
    assert (data["status"], data["conflict_minimal"], data["not_tried"]) == ("infeasible", True, [])
    assert {rule["rule"] for rule in data["conflict"]} == conflict
    # Each way out has a rule of the conflict, and each rule of the conflict a way out.
    assert {rule for way in data["ways_out"] for rule in way["rules"]} >= conflict
    assert all(conflict & set(way["rules"]) for way in data["ways_out"])
    for way in data["ways_out"]:
        pasted = [word for text in way["set"] for word in ("--set", text)]
        plan = command(*PLAN, *given, *pasted, "-f", "json")
        assert (plan.code, plan.data["cost"]["capex_total"]) == (0, way["capex_total"])
        assert plan.data["n_nodes"] == way["n_nodes"]


@pytest.mark.parametrize(
    ("name", "text", "conflict"),
    [
        ("qwen3-235b", "fleet.max_nodes=1", ["fleet.spare_groups", "fleet.max_nodes"]),
        ("pooled-deepseek", "limits.budget=USD 150k", ["limits.budget"]),
        ("report-real", "fleet.vendors=[AMD]", ["fleet.vendors"]),
    ],
)
def test_every_shipped_scenario_is_diagnosed_to_the_end(
    command: Command, name: str, text: str, conflict: list[str]
) -> None:
    data = command("plan", name, "--set", text, *LONG, "-f", "json").data
    assert ([rule["rule"] for rule in data["conflict"]], data["not_tried"]) == (conflict, [])
    assert data["conflict_minimal"]
    way = data["ways_out"][0]
    pasted = [word for change in way["set"] for word in ("--set", change)]
    plan = command("plan", name, "--set", text, *pasted, "-f", "json")
    assert (plan.code, plan.data["cost"]["capex_total"]) == (0, way["capex_total"])


def test_why_no_build_can_host_a_session(command: Command) -> None:
    done = command("plan", "report-real", "--set", "gpus=h200-sxm", "--set", "kv_format=nvfp4_ds_mla", *LONG)
    assert done.code == 4
    assert "exists on sm100, sm103 only" in done.out
    assert "allow GPU" in done.out


def test_a_deadline_is_kept_and_told(command: Command) -> None:
    done = command("plan", "report-real", "--set", "limits.power=10 kW", "--time-limit", "0.01")
    assert done.code in (4, 6)


def test_rows_name_the_conflict(command: Command) -> None:
    done = command("compare", "report-as-written", "--over", "limits.power=4 kW,40 kW", *LONG)
    assert done.code == 0
    assert "no plan meets together: limits.power 4 kW" in done.out


def test_markdown_and_csv(command: Command) -> None:
    assert command(*PLAN, "--set", "limits.power=4 kW", *LONG, "-f", "md").code == 4
    done = command(*PLAN, "--set", "limits.power=4 kW", *LONG, "-f", "csv")
    assert done.out.splitlines()[0].startswith("rules,words,set,capex_total")
