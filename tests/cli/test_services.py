"""Plans of several services on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]
NAME = "two-services"


def test_plan_tells_services_apart(command: Command) -> None:
    done = command("plan", NAME)
    assert done.code == 0
    said = ("Demand of agents", "Demand of chat", "open sessions, 1 group(s) lost, chat", "site power", "- agents: ")
    assert [text for text in said if text not in done.out] == []


def test_json_adds_up_over_services(command: Command) -> None:
    data = command("plan", NAME, "-f", "json").data
    services = data["services"]
    assert [one["name"] for one in services] == ["agents", "chat"]
    assert sum(one["n_nodes"] for one in services) == data["n_nodes"]
    assert {node["service"] for node in data["nodes"]} == {"agents", "chat"}
    for state, total in data["demand"]["sessions"].items():
        assert sum(one["demand"]["sessions"][state] for one in services) == total
    power = next(row for row in data["constraints"] if row["kind"] == "power")
    assert (power["service"], power["have"]) == (None, 64_000)
    assert power["need"] == data["power_w"]


def test_bill_of_materials_is_one(command: Command) -> None:
    plan, bom = command("plan", NAME, "-f", "json").data, command("bom", NAME, "-f", "json").data
    assert bom["capex_total"] == plan["cost"]["capex_total"]
    lines = [line["extended_price"] + line["tax"] for line in bom["bom"]]
    assert round(sum(lines), 2) == bom["capex_total"]


def test_demand_and_check_go_service_by_service(command: Command) -> None:
    demand, checked = command("demand", NAME, "-f", "json").data, command("check", NAME)
    assert list(demand["services"]) == ["agents", "chat"]
    assert checked.code == 0
    assert "chat: model Qwen3-235B-A22B" in checked.out
    alone = command("demand", f"{NAME}#chat", "-f", "json").data
    assert alone["sessions"] == demand["services"]["chat"]["sessions"]
    assert command("demand", NAME, "-f", "csv").out.startswith("service,")


def test_nodes_over_a_setting_of_one_service(command: Command) -> None:
    done = command("nodes", NAME, "--over", "services.chat.workload.users=60,120", "-f", "json")
    assert done.code == 0
    assert [point["status"] for point in done.data["points"]] == ["optimal", "optimal"]


def test_only_what_is_common_gives_way(command: Command) -> None:
    done = command("plan", NAME, "--set", "limits.power=30 kW", "--time-limit", "120", "-f", "json")
    assert done.code == 4
    assert [rule["rule"] for rule in done.data["conflict"]] == ["limits.power"]
    (way,) = done.data["ways_out"]
    again = command("plan", NAME, "--set", way["set"][0], "-f", "json")
    assert again.data["cost"]["capex_total"] == way["capex_total"]


def test_wrong_services_are_told(command: Command) -> None:
    done = command("plan", NAME, "--set", "services.agent.workload.users=7")
    assert (done.code, done.out) == (3, "")
    assert "did you mean 'agents'?" in done.err
