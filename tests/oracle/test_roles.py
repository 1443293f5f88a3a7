"""Plans with prefill and decode groups against the enumeration of every group and every fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pytest

from planner.errors import PlannerError
from planner.verify import verify
from tests.oracle.brute_force import Answer, TooLargeError
from tests.oracle.campaign import fleet_of, solved, value_of
from tests.oracle.instances import Instance
from tests.oracle.joint_roles import JointRoleOracle, joint_role_instance
from tests.oracle.legal import key_of
from tests.oracle.roles import RoleOracle, role_instance
from tests.oracle.test_plans import _nearby, _without_dominance

BLOCK = 20
SEEDS = (*range(160), *range(220, 240))
"""The last ones for a fleet of all three roles."""
LONG_SEEDS = range(1_000, 3_000)


def blocks(seeds: Sequence[int]) -> list[range]:
    firsts = (seeds[i] for i in range(0, len(seeds), BLOCK))
    return [range(first, first + BLOCK) for first in firsts]


@lru_cache(maxsize=4096)
def answered(seed: int) -> tuple[Instance, RoleOracle, Answer] | None:
    """Return the instance of `seed` with its enumerated answer; None where it has too many fleets."""
    instance = role_instance(seed)
    oracle = RoleOracle(instance)
    try:
        return instance, oracle, oracle.solve()
    except TooLargeError:
        return None


def faults(seed: int) -> list[str]:
    """Return all in which planner and enumeration differ on one instance."""
    known = answered(seed)
    if known is None:
        return []
    instance, oracle, answer = known
    found = solved(instance, "cbc" if seed % 4 == 3 else "highs")
    if found is None or answer.best is None:
        best = None if found is None else value_of(found)
        return [] if best == answer.best else [f"seed {seed}: planner {best}, enumeration {answer.best}"]
    legal = {build.key: build for build in answer.builds}
    fleet = fleet_of(found, legal)
    totals = oracle.totals(fleet)
    told = [
        (found.outcome.status, "optimal", "status"),
        (value_of(found), answer.best, "best value"),
        (value_of(found), oracle.value(totals), "cost of the planner's own fleet"),
        (oracle.holds(fleet), True, "the planner's fleet holds the load"),
        (oracle.allowed(fleet, totals), True, "the planner's fleet keeps the rules"),
    ]
    for build in found.candidates.builds:
        own = legal[key_of(build)]
        told.append(((build.reach, build.power_w, build.racks_per), (own.reach, own.watts, own.racks_per), build.name))
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


@pytest.mark.parametrize("seeds", blocks(SEEDS)[::4], ids=str)
def test_every_legal_build_is_met(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without dominance the candidates are exactly the builds that the enumeration finds legal.
    _without_dominance(monkeypatch)
    for seed in seeds:
        known = answered(seed)
        found = known and solved(known[0], "highs")
        if known and found:
            assert {key_of(build) for build in found.candidates.builds} == {own.key for own in known[2].builds}, seed


@pytest.mark.parametrize("seeds", blocks(SEEDS)[1::4], ids=str)
def test_verify_agrees_on_any_counts(seeds: range) -> None:
    # The exact check passes exactly the counts that the enumeration allows.
    for seed in seeds:
        known = answered(seed)
        found = known and solved(known[0], "highs")
        if not (known and found):
            continue
        legal = {build.key: build for build in known[2].builds}
        for counts in _nearby(dict(found.outcome.counts), len(found.problem.builds)):
            fleet = tuple(legal[key_of(found.problem.builds[i])] for i, n in counts.items() for _ in range(n))
            good = bool(fleet) and known[1].holds(fleet) and known[1].allowed(fleet, known[1].totals(fleet))
            try:
                verify(found.problem, counts)
                passed = True
            except PlannerError:
                passed = False
            assert passed == good, (seed, counts)


@pytest.mark.parametrize("seeds", blocks(SEEDS)[2::4], ids=str)
def test_more_roles_never_cost_more(seeds: range) -> None:
    for seed in seeds:
        known = answered(seed)
        if known is None or known[2].best is None:
            continue
        scenario = known[0].scenario
        values = {}
        for roles in (("both",), ("split",), ("both", "split")):
            serving = replace(scenario.serving, roles=roles)
            found = solved(replace(known[0], scenario=replace(scenario, serving=serving)), "highs")
            values[roles] = None if found is None else value_of(found)
        single = [value for roles, value in values.items() if len(roles) == 1 and value is not None]
        if single:
            assert (free := values["both", "split"]) is not None and free <= min(single), seed


@lru_cache(maxsize=256)
def together(seed: int) -> tuple[Instance, JointRoleOracle] | None:
    """Return an instance of two services with its enumerated answer; None where it has too many fleets."""
    instance = joint_role_instance(seed)
    oracle = JointRoleOracle(instance)
    try:
        oracle.solve()
    except TooLargeError:
        return None
    return instance, oracle


def joint_faults(seed: int) -> list[str]:
    """Return all in which planner and enumeration of two services differ."""
    known = together(seed)
    if known is None:
        return []
    instance, oracle = known
    found = solved(instance, "cbc" if seed % 4 == 3 else "highs")
    if found is None or oracle.best is None:
        best = None if found is None else value_of(found)
        return [] if best == oracle.best else [f"seed {seed}: planner {best}, enumeration {oracle.best}"]
    legal = {build.key: build for builds in oracle.builds.values() for build in builds}
    fleets = {
        label: tuple(
            legal[(*key_of(build), label)]
            for build, count in found.fleet.items()
            if build.core.service == label
            for _ in range(count)
        )
        for label in oracle.services
    }
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


@pytest.mark.parametrize("seeds", blocks(range(40)), ids=str)
def test_plan_of_two_services_is_the_best_of_all_fleets(seeds: range) -> None:
    assert [fault for seed in seeds for fault in joint_faults(seed)] == []


def test_the_instances_reach_every_rule() -> None:
    # A campaign proves nothing about what its instances never contain.
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        known = answered(seed)
        if known is None:
            seen["too large"] += 1
            continue
        instance, _, answer = known
        scenario = instance.scenario
        if answer.best is None:
            seen["no plan"] += 1
            continue
        roles = Counter(own.role for own in answer.fleet)
        chosen = len(scenario.serving.roles) > 1
        seen["split is chosen"] += chosen and roles["prefill"] > 0
        seen["both are chosen"] += chosen and roles["both"] > 0
        seen["split is all there is"] += not chosen
        seen["several of a role"] += max(roles["decode"], roles["prefill"]) > 1
        seen["all three roles"] += len(roles) == 3
        gpus = {role: {own.key[2] for own in answer.fleet if own.role == role} for role in ("decode", "prefill")}
        seen["GPUs differ"] += bool(gpus["decode"]) and gpus["decode"] != gpus["prefill"]
        seen["spare groups"] += bool(scenario.fleet.spare_groups) and roles["prefill"] > 0
        seen["spare racks"] += bool(scenario.fleet.spare_racks) and roles["prefill"] > 0
        seen["two nodes"] += any(own.nodes > 1 and own.role != "both" for own in answer.fleet)
        seen["a target"] += scenario.service is not None and roles["prefill"] > 0
        for name in ("budget", "power_w", "rack_units", "stock"):
            seen[name] += bool(getattr(scenario.limits, name))
    assert seen.pop("too large") < len(SEEDS) // 2
    assert seen.pop("all three roles") >= 1
    assert min(seen.values()) >= 3, seen
