"""Prefill and decode groups: what is refused, what is offered, what a plan says of them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from planner.answer import Solved
from planner.errors import InfeasibleError, InputError, PlannerError
from planner.planning import finish_plan, solve_scenario
from planner.problem import Situation
from planner.questions.alternatives import VIRTUES, alternatives
from planner.questions.explain import explain
from planner.render.report import Text
from planner.roles import concerns
from planner.scenario import Override
from planner.scenario_files import load_scenario
from planner.verify import verify
from planner.views.explain import explain_report
from planner.views.plan import plan_data, plan_report
from planner.worth import worth_of
from tests.unit import tiny
from tests.unit.test_constraints import SPLIT as SPLITTING

SPLIT = Override.parse("serving.roles=[both, split]")


@cache
def scarce() -> Solved:
    """Eight H200, and 800 sessions with long prompts."""
    return solve_scenario(tiny.shipped("h20-or-h200", "scarce"), tiny.shelf())


def test_the_strong_prefill_for_those_with_memory() -> None:
    gpus = {build.core.role: build.core.gpu.id for build in scarce().fleet}
    assert gpus == {"decode": "h20-141", "prefill": "h200-sxm"}


def test_no_plan_without_them() -> None:
    both = load_scenario("h20-or-h200", [Override.parse("serving.roles=[both]")], "scarce", tiny.shelf())
    with pytest.raises(InfeasibleError):
        solve_scenario(both, tiny.shelf())


def test_a_plan_says_who_does_what() -> None:
    plan = finish_plan(scarce(), tiny.shelf(), compare=False)
    assert {node["role"] for node in plan_data(plan)["nodes"]} == {"decode", "prefill"}
    mix = next(block for block in plan_report(plan).blocks if getattr(block, "title", "") == "Nodes")
    assert mix.columns[0] == "role"  # type: ignore[union-attr]
    kinds = {check.kind for check in plan.checks}
    assert {"prompts", "handover", "transfer", "prompt_slots", "staging"} <= kinds


def test_the_bill_holds_the_cards_of_the_transfer() -> None:
    plan = finish_plan(scarce(), tiny.shelf(), compare=False)
    nic = tiny.shelf().catalog.cluster.fabric_nic
    assert all(group.nics[nic] >= 2 for group in plan.groups)


def test_decode_groups_alone_are_not_shown_as_a_plan() -> None:
    problem, counts = scarce().problem, scarce().outcome.counts
    decode = {i: n for i, n in counts.items() if problem.builds[i].core.role == "decode"}
    with pytest.raises(PlannerError, match="hosts 0 of 800"):
        verify(problem, decode)


def test_without_the_setting_all_do_both() -> None:
    found = solve_scenario(tiny.shipped("h20-or-h200"), tiny.shelf())
    assert {build.core.role for build in found.candidates.builds} == {"both"}
    assert "role" not in plan_data(finish_plan(found, tiny.shelf(), compare=False))["nodes"][0]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("serving.roles=[]", "is empty"),
        ("serving.roles=[prefill]", "expected one of both, split"),
        ("workload.rates=null", "need 'workload.rates'"),
        ("tiers.placement=pooled", "not modelled with pooled tiers"),
        ("service.rewarm=10 min", "'service.rewarm' are not modelled together: drop 'service.rewarm'"),
    ],
)
def test_what_is_refused(override: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_scenario("h20-or-h200", [SPLIT, Override.parse(override)], None, tiny.shelf())


def test_no_plan_of_roles_says_how_soon_it_is_warm_again() -> None:
    plan = finish_plan(scarce(), tiny.shelf(), compare=False)
    assert [one.rewarm for one in plan.services] == [None]


def test_groups_of_one_role_are_not_held_against_their_own_recompute() -> None:
    at = Situation.of(tiny.scenario(serving=SPLITTING))
    worths = {role: bool(worth_of(tiny.build(one=tiny.core(role=role)), at)) for role in ("both", "decode", "prefill")}
    assert worths == {"both": True, "decode": False, "prefill": False}
    assert {role: concerns("worth", role) for role in worths} == worths


def test_pairs_are_told_what_they_leave_of_the_first_token() -> None:
    plan = finish_plan(scarce(), tiny.shelf(), compare=False)
    pair = next(check for check in plan.checks if check.kind == "handover" and check.unit == "ms")
    rows = next(block for block in plan_report(plan).blocks if getattr(block, "title", "") == "Rows")
    told = next(row for row in rows.rows if row[0] == pair.label)  # type: ignore[union-attr]
    assert 0 < pair.need < pair.have
    assert told[2] == f"{pair.slack:,} ms to spare"


def test_a_prefill_group_says_that_it_prefills() -> None:
    told = explain_report("", explain(scarce()))
    words = [block.lines[2] for block in told.blocks if isinstance(block, Text) and len(block.lines) == 3]
    assert sorted(line.split(" up to ")[0] for line in words) == [
        "a group hosts", "a group hosts", "a group prefills the turns of",
    ]  # fmt: skip


def test_headroom_is_no_alternative_where_sessions_have_two_places() -> None:
    found = alternatives(tiny.shipped("h20-or-h200", "scarce"), tiny.shelf(), Fraction(0))
    assert {other.virtue for other in found.others} == set(VIRTUES) - {"headroom"}
