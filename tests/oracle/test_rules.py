"""The buyer's rules against the enumeration: instances that draw them, each rule near what binds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from planner import dominance
from tests.oracle.campaign import answered, faults, solved, value_of
from tests.oracle.rules import RULES_FROM
from tests.oracle.test_plans import agrees_on_any_counts, blocks, solver_of

SEEDS = range(RULES_FROM, RULES_FROM + 300)
LONG_SEEDS = range(RULES_FROM + 300, RULES_FROM + 3_000)
FLEET = (
    *("min_build_nodes", "one_gpu_model", "vendors", "without_vendors", "region", "spare_nodes", "spare_racks"),
    "owned",
)
LIMITS = ("minimum", "maximum", "sustained_power_w", "racks", "rack_power_w", "rack_height", "deliver_by")


@pytest.mark.parametrize("seeds", blocks(SEEDS), ids=str)
def test_plan_is_the_best_of_all_fleets(seeds: range) -> None:
    assert [fault for seed in seeds for fault in faults(seed, solver_of(seed))] == []


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(LONG_SEEDS), ids=str)
def test_plan_is_the_best_of_all_fleets_long(seeds: range) -> None:
    assert [fault for seed in seeds for fault in faults(seed, solver_of(seed))] == []


@pytest.mark.parametrize("seeds", blocks(SEEDS)[::4], ids=str)
def test_dominance_loses_nothing(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [known for seed in seeds if (known := answered(seed)) is not None and len(known[2].builds) <= 60]
    with_it = [found and value_of(found) for found in (solved(known[0], "highs") for known in cases)]
    monkeypatch.setattr(dominance, "undominated", lambda vectors: list(range(len(vectors))))
    without = [found and value_of(found) for found in (solved(known[0], "highs") for known in cases)]
    assert with_it == without


@pytest.mark.parametrize("seeds", blocks(SEEDS)[1::4], ids=str)
def test_verify_agrees_on_any_counts(seeds: range) -> None:
    agrees_on_any_counts(seeds)


def test_the_instances_reach_every_rule() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        known = answered(seed)
        if known and known[2].best:
            scenario = known[0].scenario
            seen.update(name for name in FLEET if getattr(scenario.fleet, name))
            seen.update(name for name in LIMITS if getattr(scenario.limits, name))
            seen[f"spare_racks {scenario.fleet.spare_racks}"] += 1
    assert all(seen[name] >= 2 for name in (*FLEET, *LIMITS, "spare_racks 1", "spare_racks 2")), seen


def test_the_second_rack_costs_more_somewhere() -> None:
    dearer = 0
    for seed in SEEDS:
        known = answered(seed)
        if known and known[2].best and known[0].scenario.fleet.spare_racks == 2:
            scenario = known[0].scenario
            one = replace(scenario, fleet=replace(scenario.fleet, spare_racks=1))
            found = solved(replace(known[0], scenario=one), "highs")
            assert found is not None
            assert value_of(found) <= known[2].best
            dearer += value_of(found) < known[2].best
    assert dearer >= 2
