"""Every command in every format: data on stdout, talk on stderr."""

from __future__ import annotations

import csv
import io
import json

import pytest

from planner import planning
from planner.loading import Shelf
from planner.plan import Plan
from planner.scenario import Scenario
from tests.cli.conftest import Command

REPORTS = {
    "plan": ("plan", "report-exact"),
    "bom": ("bom", "report-exact"),
    "nodes": ("nodes", "report-exact"),
    "nodes over": ("nodes", "report-exact", "--over", "workload.users=100,200"),
    "compare over": ("compare", "report-exact", "--over", "workload.users=100..200:100"),
    "compare variants": ("compare", "report-exact", "--variants", "bf16"),
    "explain": ("explain", "report-exact"),
    "pareto": ("pareto", "report-exact", "--over", "nodes,capex"),
    "alternatives": ("alternatives", "report-exact", "--within", "5%"),
    "demand": ("demand", "report-real"),
    "fit": ("fit", "--model", "glm-5", "--kv", "fp8_ds_mla", "--gpu", "h200-sxm"),
    "fit one": ("fit", "--model", "glm-5", "--kv", "fp8_ds_mla", "--gpu", "h200-sxm", "--layout", "tp8"),
    "catalog list": ("catalog", "list"),
    "catalog list gpu": ("catalog", "list", "gpu"),
    "catalog show": ("catalog", "show", "h200-sxm"),
    "model list": ("model", "list"),
    "model show": ("model", "show", "glm-5"),
}
FORMATS = ("table", "json", "csv", "md")


@pytest.fixture
def planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve each scenario once for all formats."""
    make, plans = planning.make_plan, {}

    def once(scenario: Scenario, shelf: Shelf, *rest: object, **more: object) -> Plan:
        key = (scenario.name, scenario.objective, scenario.applied, str(more))
        if key not in plans:
            plans[key] = make(scenario, shelf, *rest, **more)  # type: ignore[arg-type]
        return plans[key]

    monkeypatch.setattr(planning, "make_plan", once)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("words", REPORTS.values(), ids=REPORTS)
def test_every_format_of_every_report(command: Command, words: tuple[str, ...]) -> None:
    shown = {name: command(*words, "-f", name) for name in FORMATS}
    assert {done.code for done in shown.values()} == {0}
    assert {done.err for done in shown.values()} == {""}
    assert json.loads(shown["json"].out)
    rows = list(csv.reader(io.StringIO(shown["csv"].out)))
    assert len(rows) > 1
    assert {len(row) for row in rows} == {len(rows[0])}
    assert "| --" in shown["md"].out
    assert "----" in shown["table"].out
    assert command(*words).out == shown["table"].out
    assert all(done.out.endswith("\n") for done in shown.values())


def test_check_says_good_and_where_values_come_from(command: Command) -> None:
    done = command("check", "report-real")
    assert done.code == 0
    assert done.out.startswith("report-real: good")
    assert "workload.duty: sourced: kv-cache-tester" in done.err


@pytest.mark.parametrize("name", ["scenario", "catalog", "prices"])
def test_schema_is_json(command: Command, name: str) -> None:
    done = command("schema", name)
    assert (done.code, done.err) == (0, "")
    assert done.data["$defs"]


@pytest.mark.parametrize("name", ["scenario", "catalog", "prices"])
def test_schema_says_what_it_is_for(command: Command, name: str) -> None:
    assert command("schema", name).data["title"] == f"planner {name}"


def test_version_and_help(command: Command) -> None:
    assert command("--version").out.startswith("planner ")
    assert "Commands:" in command("-h").out
    bare = command()
    assert (bare.code, bare.out) == (2, "")


def test_plan_says_everything_the_issue_asks_for(command: Command) -> None:
    text = command("plan", "report-real").out
    wanted = (
        "Buy ", "Demand in ", "Nodes\n", "need", "have", "used", "<- binding", "capex_total", "sourced:", "assumed:",
        "spare groups cost", "runner-up on other GPUs", "at the mean context", "not included:", "Next\n",
    )  # fmt: skip
    assert [word for word in wanted if word not in text] == []
    assert "CAPACITY ONLY" not in text


def test_plan_without_rates_is_headed_capacity_only(command: Command) -> None:
    done = command("plan", "report-exact")
    assert "[CAPACITY ONLY]" in done.out.splitlines()[0]
    assert "no engine has the KV format 'report-int4'" in done.out


def test_catalog_show_sets_systems_against_their_parts(command: Command) -> None:
    data = command("catalog", "show", "dgx-h200", "-f", "json").data
    assert data["systems"]
    assert {"parts_total", "low", "high", "within"} <= set(data["systems"][0])


def test_compare_says_why_cost_does_not_scale_with_bytes(command: Command) -> None:
    data = command("compare", "report-real", "--over", "kv_format=fp8,fp8_ds_mla", "-f", "json").data
    assert [point["kv_format"] for point in data["points"]] == ["fp8", "fp8_ds_mla"]
    assert any("x the bytes per token" in line for line in data["why"])


def test_nodes_over_a_setting_never_costs_less(command: Command) -> None:
    points = command("nodes", "report-exact", "--over", "workload.users=50..400:50", "-f", "json").data["points"]
    costs = [point["capex_total"] for point in points]
    assert len(costs) == 8
    assert costs == sorted(costs)


def test_sweep_tells_points_without_a_plan(command: Command) -> None:
    data = command("nodes", "report-exact", "--over", "limits.rack_units=1,100", "-f", "json").data
    assert [point["status"] for point in data["points"]] == ["no plan", "optimal"]
    assert [point["over limits.rack_units"] for point in data["points"]] == [1, 100]
    assert "no plan meets together: limits.rack_units 1 RU" in data["points"][0]["reason"]
    assert data["points"][1]["reason"] is None


def test_overrides_travel_in_the_plan(command: Command) -> None:
    done = command("plan", "report-exact", "--set", "workload.users=100", "--variant", "bf16", "-f", "json")
    found = done.data["provenance"]
    assert found["overrides"] == ["variant bf16", "workload.users=100"]
    assert found["resolved"]["workload"]["users"] == 100
    assert {"planner", "solver", "catalog", "prices"} <= set(found)


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_solvers_agree(command: Command, solver: str) -> None:
    data = command("plan", "report-exact", "--solver", solver, "-f", "json").data
    assert (data["status"], data["cost"]["capex_total"]) == (
        "optimal", command("plan", "report-exact", "-f", "json").data["cost"]["capex_total"],
    )  # fmt: skip


@pytest.mark.parametrize("case", ["low", "high"])
def test_price_case_is_an_option(command: Command, case: str) -> None:
    by_option = command("plan", "report-real", "--price-case", case, "-f", "json").data["cost"]
    by_setting = command("plan", "report-real", "--set", f"finance.price_case={case}", "-f", "json").data["cost"]
    assert by_option == by_setting
    assert by_option["capex_total"] != command("plan", "report-real", "-f", "json").data["cost"]["capex_total"]
    rows = command("nodes", "report-real", "--price-case", case, "-f", "json")
    assert rows.code == 0


def test_a_price_case_that_is_none(command: Command) -> None:
    done = command("bom", "report-real", "--price-case", "typcal")
    assert (done.code, done.out) == (3, "")
    assert "expected low or typical or high" in done.err
    assert "did you mean 'typical'?" in done.err
