"""Plans of two services against the enumeration of their fleets together."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest

from planner.scenario import services_of
from tests.oracle.brute_force import TooLargeError
from tests.oracle.campaign import solved, value_of
from tests.oracle.instances import Instance
from tests.oracle.joint import JointOracle, joint_instance
from tests.oracle.legal import Own, key_of

BLOCK = 20
SEEDS = range(0, 200)
LONG_SEEDS = range(1_000, 3_000)


def blocks(seeds: range) -> list[range]:
    return [seeds[i : i + BLOCK] for i in range(0, len(seeds), BLOCK)]


@lru_cache(maxsize=4096)
def answered(seed: int) -> tuple[Instance, JointOracle] | None:
    """Return the instance of `seed` with its enumerated answer; None where it has too many fleets."""
    instance = joint_instance(seed)
    oracle = JointOracle(instance)
    try:
        oracle.solve()
    except TooLargeError:
        return None
    return instance, oracle


def faults(seed: int) -> list[str]:
    """Return all in which planner and enumeration differ on one instance."""
    known = answered(seed)
    if known is None:
        return []
    instance, oracle = known
    found = solved(instance, "cbc" if seed % 4 == 3 else "highs")
    if found is None or oracle.best is None:
        best = None if found is None else value_of(found)
        return [] if best == oracle.best else [f"seed {seed}: planner {best}, enumeration {oracle.best}"]
    legal = {build.key: build for builds in oracle.builds.values() for build in builds}
    fleets: dict[str, tuple[Own, ...]] = dict.fromkeys(oracle.services, ())
    for build, count in found.fleet.items():
        label = build.core.service
        fleets[label] += (legal[(*key_of(build), label)],) * count
    totals = oracle.whole.totals(oracle.together(fleets))
    told = [
        (found.outcome.status, "optimal", "status"),
        (value_of(found), oracle.best, "best value"),
        (value_of(found), oracle.whole.value(totals), "cost of the planner's own fleet"),
        (oracle.holds(fleets), True, "the planner's fleet holds both loads"),
        (oracle.allowed(fleets, totals), True, "the planner's fleet keeps the rules"),
    ]
    return [
        f"seed {seed}: {what}: planner {ours}, enumeration {theirs}" for ours, theirs, what in told if ours != theirs
    ]


@pytest.mark.parametrize("seeds", blocks(SEEDS), ids=str)
def test_plan_is_the_best_of_all_fleets(seeds: range) -> None:
    assert [fault for seed in seeds for fault in faults(seed)] == []


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(LONG_SEEDS), ids=str)
def test_plan_is_the_best_of_all_fleets_long(seeds: range) -> None:
    assert [fault for seed in seeds for fault in faults(seed)] == []


def test_the_instances_reach_every_rule() -> None:
    # A campaign proves nothing about what its instances never contain.
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        known = answered(seed)
        if known is None:
            seen["too large"] += 1
            continue
        instance, oracle = known
        if oracle.best is None:
            seen["no plan"] += 1
            continue
        scenario = instance.scenario
        seen[f"{'shared' if oracle.shared else 'own'} tiers"] += 1
        seen[scenario.objective if isinstance(scenario.objective, str) else "several"] += 1
        for one in services_of(scenario):
            seen[one.tiers.placement] += 1
            seen["spare groups"] += bool(one.fleet.spare_groups)
            seen["one GPU model"] += one.fleet.one_gpu_model
        seen["several groups"] += len(oracle.together(oracle.best_fleets)) > 2
        seen["spare racks"] += bool(scenario.fleet.spare_racks)
        for name in ("budget", "power_w", "rack_units", "racks", "stock"):
            seen[name] += bool(getattr(scenario.limits, name))
        seen["max_nodes"] += scenario.fleet.max_nodes is not None
        seen["max_builds"] += scenario.fleet.max_builds is not None
    assert seen.pop("too large") < len(SEEDS) // 2
    assert min(seen.values()) >= 3, seen
