"""Diagnosis of the tiny world by hand: which rules, by how much, what each way out costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction

import pytest

from planner.constraints import FLEET_RULES, GROUP_LIMITS
from planner.engines import EngineShelf
from planner.loading import Shelf
from planner.problem import Problem
from planner.relax import RULES, Diagnosis, Limit, diagnose
from planner.relax.world import World
from planner.scenario import Fleet, Limits, Scenario, Service, Serving
from planner.scenario_files import setting_paths
from planner.units import Money
from planner.views.infeasible import conflict_words, diagnosis_data, infeasible_report
from tests.unit import tiny

SHELF = Shelf(tiny.catalog(), {"tiny": tiny.model()}, EngineShelf({"engine": tiny.engine()}, {"cache": tiny.offload()}))


def limited(reaches: Sequence[int] = (8,), fleet: Fleet | None = None, **limits: object) -> Problem:
    # Without targets: what the builds host is given by hand.
    load = tiny.workload(rates=None)
    at = tiny.scenario(limits=Limits(**limits), fleet=fleet or Fleet(), service=None, workload=load)  # type: ignore[arg-type]
    return tiny.problem(at, reaches)


def told(problem: Problem, time_limit_s: float | None = None) -> Diagnosis:
    """Diagnose where these builds are on offer, whatever the filters."""
    scenario = problem.at.scenario
    return diagnose(scenario, SHELF, problem.pricing, time_limit_s=time_limit_s, derive=lambda _: problem.builds)


ONE = [
    (limited(rack_units=8), "limits.rack_units", ("8 RU", "12 RU", "4 RU"), "12"),
    (limited(power_w=3000), "limits.power", ("3 kW", "3.15 kW", "150 W"), "3150 W"),
    (
        limited(budget=Money("USD", 2_932_611)),
        "limits.budget",
        ("USD 29,326.11", "USD 29,326.12", "USD 0.01"),
        "USD 29326.12",
    ),
    (limited(stock={"gpu": 5}), "limits.stock.gpu", ("5 pieces", "6 pieces", "1 piece"), "6"),
    (limited(fleet=Fleet(max_nodes=2)), "fleet.max_nodes", ("2 nodes", "3 nodes", "1 node"), "3"),
]


@pytest.mark.parametrize(("problem", "name", "words", "text"), ONE, ids=[name for _, name, _, _ in ONE])
def test_one_rule_is_to_blame(problem: Problem, name: str, words: tuple[str, ...], text: str) -> None:
    found = told(problem)
    assert [one.path for one in found.conflict] == [name]
    assert found.minimal
    assert [(one.path, one.words, one.enough) for one in found.shortfalls] == [(name, words, True)]
    (way,) = found.ways_out
    assert way.overrides == (f"{name}={text}",)
    # Three nodes at the price of three nodes, whatever the rule.
    assert (way.capex_cents, way.nodes) == (2_932_612, 3)


def test_either_of_two_rules_may_give_way() -> None:
    # 2 nodes fit the rack units and hold 20 sessions; one more must be spare.
    found = told(limited((10,), Fleet(spare_groups=1), rack_units=8))
    assert [one.path for one in found.conflict] == ["fleet.spare_groups", "limits.rack_units"]
    assert [way.overrides for way in found.ways_out] == [("fleet.spare_groups=0",), ("limits.rack_units=12",)]
    assert found.ways_out[0].words == "keep 0 spare groups instead of 1"
    assert found.ways_out[1].words == "raise the limit of rack units by 4 RU to 12 RU"


def test_two_rules_must_give_way_together() -> None:
    found = told(limited(rack_units=8, power_w=3000))
    # Either alone leaves no plan, so a minimal conflict has one rule, and each way out both.
    assert len(found.conflict) == 1
    (way,) = found.ways_out
    assert set(way.overrides) == {"limits.power=3150 W", "limits.rack_units=12"}
    assert [(one.path, one.enough) for one in found.shortfalls] == [
        ("limits.power", False),
        ("limits.rack_units", False),
    ]
    assert found.further == (("limits.rack_units",),)
    assert "No single rule" in text_of(found)


def test_three_rules_must_give_way_together() -> None:
    found = told(limited(fleet=Fleet(max_nodes=2), rack_units=8, power_w=3000))
    (way,) = found.ways_out
    assert set(way.overrides) == {"limits.power=3150 W", "limits.rack_units=12", "fleet.max_nodes=3"}


def test_as_many_spare_groups_as_can_be_kept() -> None:
    found = told(limited((10,), Fleet(spare_groups=5, max_nodes=4)))
    by_rule = {way.rules: way.overrides for way in found.ways_out}
    assert by_rule[("fleet.spare_groups",)] == ("fleet.spare_groups=2",)
    assert by_rule[("fleet.max_nodes",)] == ("fleet.max_nodes=7",)


def test_what_can_be_held_is_told_in_sessions_and_bytes() -> None:
    # Two nodes of 4 rack units hold 8 sessions each: those of 8 of the 10 users, with 2 sessions each.
    found = told(limited((8,), rack_units=8))
    held = found.held
    assert held is not None
    assert (held.users, held.asked_users, held.sessions, held.asked_sessions) == (8, 10, 16, 20)
    assert held.sure
    asked, some = held.tier_bytes["dram"]
    assert Fraction(some, asked) == Fraction(8, 10)
    text = text_of(found)
    assert "16 of 20 sessions can be held, those of 8 of 10 users: --set workload.users=8" in text
    assert "What can be held with no rule bent" in text
    data = diagnosis_data(found)["held"]
    assert data["tiers"]["dram"] == {"asked_bytes": asked, "held_bytes": some, "short_bytes": asked - some}


def test_nothing_can_be_held() -> None:
    found = told(limited((8,), rack_units=1))
    assert found.held is not None
    assert found.held.users == 0
    assert "not even one user's sessions" in text_of(found)


def test_shortfalls_stand_smallest_share_first() -> None:
    found = told(limited((10,), Fleet(spare_groups=1, max_nodes=2), rack_units=11, power_w=3000))
    shares = [one.share for one in found.shortfalls]
    assert shares == sorted(shares)
    assert len(shares) >= 2


def test_no_time_is_told() -> None:
    found = told(limited(rack_units=8), time_limit_s=-1)
    assert not found.minimal
    assert found.ways_out == ()
    assert set(found.not_tried) == {
        "whether serving.kv_formats matters", "whether limits.rack_units matters",
        "bending limits.rack_units", "bending serving.kv_formats", "how much of the load can be held",
    }  # fmt: skip
    text = text_of(found)
    assert "Not tried for want of time" in text
    assert "not tried for want of time" in conflict_words(found)


def test_hopeless_is_told() -> None:
    problem = limited(rack_units=8)
    scenario = problem.at.scenario
    found = diagnose(scenario, SHELF, problem.pricing, why=("a reason",), derive=lambda _: ())
    assert found.hopeless
    assert (found.conflict, found.ways_out) == ((), ())
    assert "even without any of its rules" in text_of(found)
    assert "a reason" in text_of(found)
    assert diagnosis_data(found)["feasible_without_rules"] is False


def text_of(found: Diagnosis) -> str:
    from planner.render import OUTPUTS

    return OUTPUTS["table"].render(infeasible_report(found))


def test_two_limits_are_weighed_in_thousandths() -> None:
    problem = limited((8, 10), rack_units=8, power_w=2000)
    scenario = problem.at.scenario
    world = World(scenario, SHELF, problem.pricing, derive=lambda _: problem.builds)
    limits = [rule for rule in world.rules if isinstance(rule, Limit) and rule.path.startswith("limits")]
    amounts = world.least(limits, *world.free([rule for rule in world.rules if rule not in limits]))
    # Two groups of ten, two head nodes of 200 W, two switches of 100 W; not three groups that draw less each.
    assert problem.builds[0].power_w < problem.builds[1].power_w
    assert amounts == {"limits.power": 2 * problem.builds[1].power_w + 600, "limits.rack_units": 8}


# Every rule is known.

NO_RULES = {
    "serving.custom_kv": "a format taken at its word is part of the question",
    "serving.draft_layers": "how an engine is started",
    "serving.draft": "how an engine is started",
    "serving.utilisation": "how an engine is started",
    "serving.placement": "how a router works",
    "serving.overflow": "how a router works",
    "serving.max_sequences": "how an engine is started",
    "serving.batched": "how an engine is started",
    "serving.accepted": "what drafts are known to yield",
    "service.measured": "what was measured",
    "service.prefill_ceiling": "how full GPUs may be planned, not what users get",
    "service.decode_ceiling": "how full GPUs may be planned, not what users get",
    "fleet.owned": "what is there already: it takes nothing away",
    "limits.rack_power": "what a rack of the site is",
    "limits.rack_height": "what a rack of the site is",
    "limits.drive_wear": "how much of a drive's rating is used up: turns per hour give way to it",
    "workload.rates": "the load; its turns per hour are the knob that prefill, links and drives turn on",
}
RULE_RECORDS = ("serving.", "service.", "fleet.", "limits.")
LOAD_OR_TIERS = {
    "sessions": "the load",
    "hbm": "the load",
    "dram": "the load",
    "nvme": "the load",
    "dram_pool": "the load",
    "nvme_pool": "the load",
    "owned": "what is there already",
    "worth": "what the tiers are for",
    "prompts": "the load",
}
HELD_BY = {
    "decode": "service.decode",
    "first_token": "service.first_token",
    "prefill": "workload.rates.turns_per_hour",
    "host_link": "workload.rates.turns_per_hour",
    "nvme_read": "workload.rates.turns_per_hour",
    "nvme_write": "workload.rates.turns_per_hour",
    "nvme_endurance": "workload.rates.turns_per_hour",
    "rewarm": "service.rewarm",
    "host_store": "workload.rates.turns_per_hour",
    "host_both": "workload.rates.turns_per_hour",
    "dram_bandwidth": "workload.rates.turns_per_hour",
    "fabric": "workload.rates.turns_per_hour",
    "transfer": "workload.rates.turns_per_hour",
    "prompt_slots": "workload.rates.turns_per_hour",
    "staging": "workload.rates.turns_per_hour",
    "handover": "service.first_token",
    "minimum": "limits.minimum",
    "build_nodes": "fleet.min_build_nodes",
    "gpu_models": "fleet.one_gpu_model",
    "spare_racks": "fleet.spare_racks",
}


def test_every_setting_that_is_a_rule_can_bend() -> None:
    covered = {path for kind in RULES.values() for path in kind.covers}
    settings = {path for path in setting_paths() if path.startswith(RULE_RECORDS)}
    known = {path for path in settings if any(path == c or path.startswith(f"{c}.") for c in (*covered, *NO_RULES))}
    assert settings - known == set()
    assert {path for path in covered if path.startswith(RULE_RECORDS)} <= settings


def test_every_constraint_is_held_by_a_rule_or_by_the_load() -> None:
    covered = {path for kind in RULES.values() for path in kind.covers}
    limits = {kind.kind for kind in RULES.values() if issubclass(kind, Limit)}
    assert set(FLEET_RULES) - limits - set(HELD_BY) - set(LOAD_OR_TIERS) == set()
    assert set(GROUP_LIMITS) - set(HELD_BY) - set(LOAD_OR_TIERS) == set()
    assert set(HELD_BY.values()) <= covered


FULL = tiny.scenario(
    limits=Limits(budget=Money("USD", 10_000_000), power_w=9000, rack_units=40, stock={"gpu": 4}),
    fleet=Fleet(gpus=("gpu",), chassis=("chassis",), max_builds=1, spare_groups=1, max_nodes=3, group_nodes=(1,)),
    serving=Serving(engines=("engine",), weights=("bf16",), kv_formats=("bf16",), layouts=("tp1",)),
    service=Service(decode_tokens_per_s=50, first_token_s=Fraction(1)),
)


def rules(scenario: Scenario) -> list[str]:
    return [rule.path for kind in RULES.values() for rule in kind.of(scenario, SHELF)]


def test_rules_of_a_full_scenario() -> None:
    # One GPU, chassis, engine, weight format in the catalogue: those filters keep nothing out.
    assert rules(FULL) == [
        "serving.layouts", "serving.kv_formats", "fleet.group_nodes", "service.first_token", "service.decode",
        "workload.rates.turns_per_hour", "fleet.spare_groups", "fleet.max_builds", "limits.stock.gpu",
        "fleet.max_nodes", "limits.rack_units", "limits.power", "limits.budget",
    ]  # fmt: skip


def test_a_dropped_rule_is_gone_or_at_its_loosest() -> None:
    loosest = ("service.first_token", "service.decode")
    for kind in RULES.values():
        for rule in kind.of(FULL, SHELF):
            dropped = rule.dropped(FULL, SHELF)
            assert (rule.path in rules(dropped)) == (rule.path == loosest[0]), rule.path
            assert [f.name for f in fields(dropped) if getattr(dropped, f.name) is not getattr(FULL, f.name)]
            others = [path for path in rules(FULL) if path not in (rule.path, *loosest)]
            assert [path for path in rules(dropped) if path not in (rule.path, *loosest)] == others


def test_without_anything_to_bend() -> None:
    free = replace(tiny.scenario(), service=None, workload=tiny.workload(rates=None))
    assert rules(replace(free, serving=replace(free.serving, custom_kv=None))) == ["serving.kv_formats"]


BUYER = [
    (limited(racks=1), "limits.racks", "limits.racks=2"),
    (limited(maximum={"gpu": 5}), "limits.maximum.gpu", "limits.maximum.gpu=6"),
    (limited(sustained_power_w=3000), "limits.sustained_power", "limits.sustained_power=3150 W"),
]


@pytest.mark.parametrize(("problem", "name", "override"), BUYER, ids=[name for _, name, _ in BUYER])
def test_one_rule_of_the_buyer_is_to_blame(problem: Problem, name: str, override: str) -> None:
    found = told(problem)
    assert [one.path for one in found.conflict] == [name]
    (way,) = found.ways_out
    assert (way.overrides, way.capex_cents, way.nodes) == ((override,), 2_932_612, 3)


LEAST = [
    (limited(fleet=Fleet(max_nodes=3), minimum={"gpu": 8}), "limits.minimum.gpu", "limits.minimum.gpu=6"),
    (limited(fleet=Fleet(max_nodes=3, min_build_nodes=5)), "fleet.min_build_nodes", "fleet.min_build_nodes=3"),
    (limited((10,), Fleet(max_nodes=4, spare_nodes=3)), "fleet.spare_nodes", "fleet.spare_nodes=2"),
]


@pytest.mark.parametrize(("problem", "name", "override"), LEAST, ids=[name for _, name, _ in LEAST])
def test_what_is_asked_at_least_gives_way_by_as_little_as_will_do(problem: Problem, name: str, override: str) -> None:
    found = told(problem)
    assert {one.path for one in found.conflict} == {name, "fleet.max_nodes"}
    assert (override,) in [way.overrides for way in found.ways_out]


def test_what_can_only_be_dropped() -> None:
    scenario = replace(FULL, fleet=Fleet(region="X", one_gpu_model=True), limits=Limits(deliver_by="2026-12"))
    free = {rule.path: rule.dropped(scenario, SHELF) for kind in RULES.values() for rule in kind.of(scenario, SHELF)}
    assert free["fleet.region"].fleet.region is None
    assert free["limits.deliver_by"].limits.deliver_by is None
    assert not free["fleet.one_gpu_model"].fleet.one_gpu_model
