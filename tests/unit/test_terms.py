"""What limits say number by number adds up to what they compute."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.constraints import GROUP_LIMITS
from planner.constraints.base import limits_of
from planner.constraints.terms import total
from planner.planning import solve_scenario
from planner.problem import Situation
from planner.questions.explain import explain, letters
from planner.scenario import Override, Tiers
from planner.scenario_files import load_scenario
from tests.unit import tiny
from tests.unit.test_constraints import POOLED, SPLIT
from tests.unit.tiny import shelf


@pytest.mark.parametrize("kind", list(GROUP_LIMITS))
@pytest.mark.parametrize("pooled", [False, True])
def test_terms_of_a_build_by_hand(kind: str, pooled: bool) -> None:
    at = Situation.of(tiny.scenario(tiers=POOLED) if pooled else tiny.scenario())
    core = tiny.core(fabric_nic=tiny.FABRIC, fabric_nics=2) if pooled else tiny.core()
    limit, build = GROUP_LIMITS[kind], tiny.build(one=core)
    if limit.active(at):
        terms = limit.terms(build, at)
        assert (math.floor(total(terms.have)), total(terms.need)) == (limit.have(build, at), limit.need(build, at))


TIERS = {
    "local": tiny.scenario().tiers,
    "without drives": Tiers(cache="cache", nvme="none"),
    "without tiers": Tiers(cache="cache", dram="none", nvme="none"),
}


@pytest.mark.parametrize("tiers", TIERS.values(), ids=TIERS)
@pytest.mark.parametrize("role", ["both", "decode", "prefill"])
def test_terms_of_groups_of_a_role(role: str, tiers: Tiers) -> None:
    rates = replace(tiny.workload().rates, in_gpu_fraction=Fraction(1, 5))
    at = Situation.of(tiny.scenario(serving=SPLIT, tiers=tiers, workload=tiny.workload(rates=rates)))
    cards = {} if role == "both" else {"fabric_nic": tiny.FABRIC, "fabric_nics": 2}
    build, told = tiny.build(one=tiny.core(role=role, **cards)), set()
    for limit in limits_of(role, at):
        terms, told = limit.terms(build, at), told | {limit.kind}
        assert math.floor(total(terms.have)) == limit.have(build, at), limit.kind
        assert total(terms.need) == limit.need(build, at), limit.kind
    assert {"host_link", "host_store", "host_both", "dram_bandwidth", "first_token"} <= told
    assert ("transfer" in told, "prompt_slots" in told) == (role != "both", role == "prefill")


def test_the_busier_direction_of_a_transfer_is_told() -> None:
    rates = replace(tiny.workload().rates, new_tokens=2_000)
    at = Situation.of(tiny.scenario(serving=SPLIT, workload=tiny.workload(rates=rates)))
    build = tiny.build(one=tiny.core(role="decode", fabric_nic=tiny.FABRIC, fabric_nics=2))
    (need,) = GROUP_LIMITS["transfer"].terms(build, at).need
    assert (need.words, need.value) == ("prompts", GROUP_LIMITS["transfer"].need(build, at))


def test_terms_of_sessions_placed_for_good() -> None:
    at, build = Situation.of(tiny.scenario(serving=replace(tiny.scenario().serving, placement="sticky"))), tiny.build()
    terms = GROUP_LIMITS["hbm"].terms(build, at)
    assert total(terms.have) == GROUP_LIMITS["hbm"].have(build, at)
    assert total(terms.need) == 1


@pytest.mark.parametrize(
    ("name", "variant"), [("report-real", None), ("two-services", None), ("h20-or-h200", "scarce")]
)
def test_terms_of_builds_of_a_plan(name: str, variant: str | None) -> None:
    scenario = load_scenario(name, [Override.parse("limits.power=62 kW")], variant, shelf())
    for one in explain(solve_scenario(scenario, shelf())):
        assert sum(each.binding for each in one.limits) <= 1
        for each in one.limits:
            assert (math.floor(total(each.terms.have)), total(each.terms.need)) == (each.have, each.need), each
            assert each.used_fraction is None or each.used_fraction <= 1


def test_letters_go_on_after_z() -> None:
    assert letters(28)[-3:] == ["Z", "A2", "B2"]
