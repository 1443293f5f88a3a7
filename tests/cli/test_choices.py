"""Objectives in order, fronts, alternatives and proofs on the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]


def test_objectives_in_order(command: Command) -> None:
    done = command("plan", "report-real", "--set", "objective=[nodes, capex]", "-f", "json")
    goals = [done.data["objective"], *done.data["objective"]["then"]]
    assert (done.code, [goal["kind"] for goal in goals]) == (0, ["nodes", "capex"])
    assert goals[0]["value"] == done.data["n_nodes"]
    assert goals[1]["value"] == done.data["cost"]["capex_total"]
    assert [goal["currency"] for goal in goals] == [None, "USD"]
    assert "the fewest nodes, then the least capex within" in command(
        "plan", "report-real", "--set", "objective=[nodes, capex]"
    ).out  # fmt: skip


@pytest.mark.parametrize("text", ["cost", "[]", "[capex, capex]", "[capex, x]", "parts", "3"])
def test_what_is_no_objective(command: Command, text: str) -> None:
    done = command("plan", "report-real", "--set", f"objective={text}")
    assert (done.code, done.out) == (3, "")
    assert "expected one of capex, tco, nodes, power, or a list of different ones" in done.err


def test_capital_costs_and_rack_units_are_rented(command: Command) -> None:
    words = ("plan", "report-real", "--set", "objective=tco", "-f", "json")
    free = command(*words).data["cost"]
    dear = command(
        *words, "--set", "finance.discount_rate=8 %", "--set", "finance.colocation_per_ru=USD 25/RU/month"
    ).data
    cost = dear["cost"]
    assert cost["discount_rate"] == 0.08
    assert free["tco_total"] == pytest.approx(free["capex_total"] + 4 * free["opex_per_year"])
    # Services are paid yearly; the rest is an annuity over four years.
    factor = 4 * 0.08 / (1 - 1.08**-4)
    yearly = sum(line["extended_price"] for line in dear["bom"] if line["item"] == "support")
    once = cost["capex_total"] - yearly
    assert cost["tco_total"] == pytest.approx(factor * once + yearly + 4 * cost["opex_per_year"], abs=1)
    text = command(*words[:-2], "--set", "finance.discount_rate=8 %").out
    assert "cost of capital at 8 %, 4 years" in text


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("finance.discount_rate=101 %", "above 100 %"),
        ("finance.colocation_per_ru=EUR 20/RU/month", "one plan has one currency"),
        ("finance.colocation_per_ru=USD 20/kW/month", "expected money per RU/month"),
    ],
)
def test_money_that_is_refused(command: Command, setting: str, words: str) -> None:
    done = command("plan", "report-real", "--set", setting)
    assert done.code == 3
    assert words in done.err


def test_front(command: Command) -> None:
    found = command("pareto", "report-real", "--over", "nodes,capex", "-f", "json").data
    points = [(point["over nodes"], point["over capex"]) for point in found["points"]]
    assert found["whole"] is True
    assert points == sorted(set(points))
    assert [capex for _, capex in points] == sorted((capex for _, capex in points), reverse=True)
    assert {point["status"] for point in found["points"]} == {"optimal"}
    cut = command("pareto", "report-real", "--points", "1", "-f", "json")
    assert (cut.code, len(cut.data["points"]), cut.data["whole"]) == (0, 1, False)


@pytest.mark.parametrize("over", ["capex", "capex,capex", "capex,parts", "capex,nodes,power", ","])
def test_front_over_something_else(command: Command, over: str) -> None:
    done = command("pareto", "report-real", "--over", over)
    assert (done.code, done.out) == (2, "")
    assert "--over" in done.err


def test_front_and_alternatives_of_nothing(command: Command) -> None:
    for words in (("pareto", "report-real"), ("alternatives", "report-real")):
        done = command(*words, "--set", "limits.budget=USD 1000")
        assert done.code == 4
        assert "limits.budget" in done.out
        assert "no plan" in done.err


def test_alternatives(command: Command) -> None:
    found = command("alternatives", "report-real", "--within", "10%", "-f", "json").data
    best = found["best"]["capex_total"]
    assert found["cap"]["value"] == pytest.approx(best * 1.1, abs=0.01)
    others = {each["virtue"]: each for each in found["alternatives"]}
    assert list(others) == ["nodes", "vendor", "parts", "power", "headroom", "lead_time"]
    for each in others.values():
        if each["capex_total"] is None:
            assert each["same_as_best"]
        else:
            assert best <= each["capex_total"] <= found["cap"]["value"]
            assert each["price"] == pytest.approx(each["capex_total"] - best)
            assert each["has"] > each["best_has"] if each["virtue"] == "headroom" else each["has"] < each["best_has"]


def test_shortest_lead_time(command: Command) -> None:
    words = ("alternatives", "report-real", "--within", "20%")
    unknown = command(*words, "-f", "json").data
    assert "mi300x" in unknown["without_lead_time"]
    assert next(each for each in unknown["alternatives"] if each["virtue"] == "lead_time")["best_has"] is None
    assert "no lead time is known for cx7-2x200, " in command(*words).out
    words = (*words, "--set", "limits.lead_time=16 weeks")
    known = command(*words, "-f", "json").data
    soon = next(each for each in known["alternatives"] if each["virtue"] == "lead_time")
    # The large modules take 36 weeks, everything else here 16 at most.
    assert (known["without_lead_time"], soon["best_has"], soon["has"]) == ([], 252, 112)
    assert soon["status"] == "optimal"
    assert soon["price"] > 0
    assert "112 days" in command(*words).out


@pytest.mark.parametrize("share", ["10", "x", "", "-5%"])
def test_alternatives_within_something_else(command: Command, share: str) -> None:
    done = command("alternatives", "report-real", "--within", share)
    assert (done.code, done.out) == (2, "")


def test_absent_and_unknown_solver(command: Command) -> None:
    for name in ("mosek", "nope"):
        done = command("plan", "report-real", "--solver", name)
        assert (done.code, done.out) == (2, "")
        assert f"--solver {name}" in done.err
        assert "highs, cbc" in done.err


@pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="the extra 'prove'")
@pytest.mark.parametrize("name", ["report-real", "pooled-deepseek"])
def test_exactly_proven(command: Command, name: str) -> None:
    done = command("plan", name, "--prove", "-f", "json")
    assert done.code == 0
    assert done.data["provenance"]["proof"].startswith("exactly proven: CP-SAT")
