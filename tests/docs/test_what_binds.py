"""The table of docs/howto/what-binds.md: the row binds, and capacity alone would have bought something else."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from planner.answer import Solved, machine_name
from planner.planning import solve_scenario
from planner.questions.explain import explain
from planner.scenario import Override
from planner.scenario_files import load_scenario
from planner.units import format_money
from tests.unit.test_worth import with_cache
from tests.unit.tiny import shelf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "what-binds.md"
LINE = re.compile(r"^\| `(?P<row>\w+)` \| `(?P<asked>[^`]+)` \| (?P<alone>[^|]+) \| (?P<all>[^|]+) \|", re.M)
CAPACITY = ("workload.rates=null", "service=null")
ROLES = {"transfer", "prompt_slots", "staging"}
GUARDS = {"host_store", "host_both", "first_token", "worth", "hbm", "dram", "nvme"} | ROLES
"""Rows that the page tells of in words: those of capacity, those met or not, and those that others precede."""


def table() -> list[object]:
    lines = [match.groupdict() for match in LINE.finditer(PAGE.read_text(encoding="utf-8"))]
    return [pytest.param(line, id=line["row"]) for line in lines]


def solved(asked: str, *more: str) -> Solved:
    name, *words = shlex.split(asked)
    variant = words[words.index("--variant") + 1] if "--variant" in words else None
    sets = [text for flag, text in pairwise(words) if flag == "--set"]
    return solve_scenario(
        load_scenario(name, [Override.parse(one) for one in (*sets, *more)], variant, shelf()), shelf()
    )


def said(found: Solved) -> str:
    words = []
    for build, count in found.fleet.items():
        drives = f", {build.drives} x {build.drive.id}" if build.drive else ""
        cards = f", {build.core.fabric_nics} x {build.core.fabric_nic.id}" if build.core.fabric_nic else ""
        machine = f"{count * build.n_nodes} x {machine_name(build)}"
        words.append(f"{machine} {build.core.layout.name}, {build.dimms} x {build.dimm.id}{drives}{cards}")
    return f"{' + '.join(words)}: {format_money(found.capex, found.problem.pricing.book.currency)}"


@pytest.mark.parametrize("line", table())
def test_row_binds_and_changes_the_plan(line: dict[str, str]) -> None:
    alone, every = solved(line["asked"], *CAPACITY), solved(line["asked"])
    assert (line["alone"], line["all"]) == (said(alone), said(every))
    assert line["alone"] != line["all"]
    assert every.outcome.status == "optimal"
    told = [each for one in explain(every) for each in one.limits if each.binding]
    assert line["row"] in {each.limit.kind for each in told}


def test_every_row_of_traffic_and_speed_is_in_the_table() -> None:
    from planner.constraints import GROUP_LIMITS

    found = {match["row"] for match in LINE.finditer(PAGE.read_text(encoding="utf-8"))}
    assert found == set(GROUP_LIMITS) - GUARDS


@pytest.mark.parametrize(("turns", "in_gpu", "kind"), [("2000", "99%", "host_store"), ("1800", "96%", "host_both")])
def test_stores_bind_where_answers_are_long_and_no_speed_is_promised(turns: str, in_gpu: str, kind: str) -> None:
    rates = {"turns_per_hour": turns, "in_gpu": in_gpu, "new": "16 tokens", "answer": "4Ki tokens"}
    overrides = [Override.parse(f"workload.rates.{key}={text}") for key, text in rates.items()]
    scenario = load_scenario("what-binds", [*overrides, Override.parse("service=null")], None, shelf())
    (one,) = explain(solve_scenario(scenario, shelf()))
    assert [each.limit.kind for each in one.limits if each.binding] == [kind]


def test_cards_between_roles_bind_where_links_are_driven_well() -> None:
    rates = {"turns_per_hour": "300", "new": "64 tokens", "answer": "50 tokens"}
    overrides = [Override.parse(f"workload.rates.{key}={text}") for key, text in rates.items()]
    overrides += [Override.parse("serving.roles=[split]"), Override.parse("limits.stock={}")]
    driven = {"host_link_fraction": Fraction(4, 5), "load_ceiling_fraction": Fraction(9, 10)}
    for changes, binding, cards in (({}, False, {2}), (driven, True, {2, 4})):
        found = with_cache(**changes)
        told = explain(solve_scenario(load_scenario("h20-or-h200", overrides, "scarce", found), found))
        assert {one.build.core.fabric_nics for one in told} == cards
        assert any(each.binding and each.limit.kind == "transfer" for one in told for each in one.limits) is binding
