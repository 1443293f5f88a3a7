"""Plans of random tiny instances against the enumeration of every build and every fleet."""

from __future__ import annotations

from collections import Counter

import pytest

from planner import dominance, solve
from planner.errors import PlannerError
from planner.verify import verify
from tests.oracle.campaign import answered, faults, solved, value_of
from tests.oracle.legal import key_of
from tests.oracle.rules import RULES_FROM

BLOCK = 25
SEEDS = range(0, 625)
LONG_SEEDS = range(10_000, 15_000)


def blocks(seeds: range) -> list[range]:
    return [seeds[i : i + BLOCK] for i in range(0, len(seeds), BLOCK)]


def solver_of(seed: int) -> str:
    return "cbc" if seed % 4 == 3 else "highs"


@pytest.mark.parametrize("seeds", blocks(SEEDS), ids=str)
def test_plan_is_the_best_of_all_fleets(seeds: range) -> None:
    # Same feasibility, same optimum, and the fleet itself is legal and as cheap as it says.
    assert [fault for seed in seeds for fault in faults(seed, solver_of(seed))] == []


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(LONG_SEEDS), ids=str)
def test_plan_is_the_best_of_all_fleets_long(seeds: range) -> None:
    assert [fault for seed in seeds for fault in faults(seed, solver_of(seed))] == []


def _without_dominance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dominance, "undominated", lambda vectors: list(range(len(vectors))))


@pytest.mark.parametrize("seeds", blocks(SEEDS)[::4], ids=str)
def test_dominance_loses_nothing(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    # The optimum over the builds on offer is that over all legal builds.
    cases = [known for seed in seeds if (known := answered(seed)) is not None and len(known[2].builds) <= 60]
    with_it = [found and value_of(found) for found in (solved(known[0], "highs") for known in cases)]
    _without_dominance(monkeypatch)
    without = [found and value_of(found) for found in (solved(known[0], "highs") for known in cases)]
    assert with_it == without


@pytest.mark.parametrize("seeds", blocks(SEEDS)[2::4], ids=str)
def test_every_legal_build_is_met(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without dominance the candidates are exactly the builds that the enumeration finds legal.
    _without_dominance(monkeypatch)
    for seed in seeds:
        known = answered(seed)
        found = known and solved(known[0], "highs")
        if known and found:
            kv = {build.core.footprint.kv.name for build in found.candidates.builds}
            pooled = known[1].pooled
            legal = {build.key for build in known[2].builds if not pooled or build.kv in kv}
            assert {key_of(build) for build in found.candidates.builds} == legal, seed


def test_the_instances_reach_every_rule() -> None:
    # A campaign proves nothing about what its instances never contain.
    seen: Counter[str] = Counter()
    for seed in SEEDS[:300]:
        known = answered(seed)
        if known is None:
            seen["too large"] += 1
            continue
        instance, oracle, answer = known
        scenario = instance.scenario
        if answer.best is None:
            seen["infeasible" if answer.builds else "no build"] += 1
            continue
        seen.update(["feasible", scenario.objective, scenario.tiers.placement, f"price {scenario.finance.price_case}"])
        seen.update([f"dram {scenario.tiers.dram}", f"nvme {scenario.tiers.nvme}"])
        seen[f"spare {scenario.fleet.spare_groups}"] += 1
        seen["several groups"] += len(answer.fleet) > 1
        seen["mixed"] += len({build.key for build in answer.fleet}) > 1
        seen["two nodes"] += any(build.nodes > 1 for build in answer.fleet)
        seen["whole system"] += any(build.key[0] == "system" for build in answer.fleet)
        for name in ("budget", "power_w", "rack_units", "stock"):
            seen[name] += bool(getattr(scenario.limits, name))
        for name in ("max_nodes", "max_builds"):
            seen[name] += getattr(scenario.fleet, name) is not None
        seen["service"] += scenario.service is not None
        seen["rates"] += scenario.workload.rates is not None
        seen["racks"] += oracle.totals(answer.fleet).racks > 1
        seen["tax"] += oracle.tax(10_000) > 0
        engine, gpus = oracle.engine, oracle.catalog.gpus()
        seen.update([engine.paging.style, f"null {engine.paging.null_blocks}"])
        seen["reserve" if engine.reserve else "utilisation"] += 1
        seen["batches"] += len(engine.runtime.batches) > 1
        seen["tables"] += engine.runtime.position_bytes > 0
        seen["seen by engines"] += any(gpus[str(build.key[2])].visible_bytes is not None for build in answer.fleet)
    assert seen["too large"] < 60
    assert seen["feasible"] > 100
    assert min(seen[name] for name in ("infeasible", "no build", "mixed", "several groups")) >= 5, seen
    assert min(seen.values()) >= 5, seen


@pytest.mark.parametrize("seeds", blocks(SEEDS)[1::4], ids=str)
def test_verify_agrees_on_any_counts(seeds: range) -> None:
    agrees_on_any_counts(seeds)


def agrees_on_any_counts(seeds: range) -> None:
    # The exact check passes exactly the counts that the enumeration allows: the plan's, one group
    # fewer, one more, one swapped, none.
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


def _nearby(counts: dict[int, int], n_builds: int) -> list[dict[int, int]]:
    found = [counts, {}]
    for i in counts:
        fewer = {j: n - (j == i) for j, n in counts.items() if n - (j == i)}
        found += [fewer, {**counts, i: counts[i] + 1}]
        found += [{**fewer, j: fewer.get(j, 0) + 1} for j in range(min(n_builds, 6)) if j != i]
    return found


ONCE_WRONG = {
    74: "a percentage line whose low is 0 %",
    444: "a boot drive without a price beside a whole system",
    2557: "in a pool, a group of two nodes against a group of one",
    3354: "fewest nodes in a pool, two formats with as many nodes at another price",
    10679: "fewest nodes in a pool, two layouts with as many nodes at another price",
    11464: "in a pool, a layout that only serves together with others of its kind",
    10579: "CBC dies on an infeasible program",
    11475: "in a pool, the first token of a session that lies on another node",
}


@pytest.mark.parametrize("solver", ["highs", "cbc"])
@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_plans_that_once_were_wrong(seed: int, solver: str) -> None:
    assert faults(seed, solver) == []


@pytest.mark.parametrize("seeds", [range(0, 60), range(RULES_FROM, RULES_FROM + 60)], ids=str)
def test_fewest_nodes_of_equal_cost_are_found_by_asking_for_fewer(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where builds are too many for the canonical order.
    asked: list[int] = []
    fewer = solve._fewer
    monkeypatch.setattr(solve, "CANONICAL_UP_TO", -1)
    monkeypatch.setattr(solve, "_fewer", lambda *words: (asked.append(1), fewer(*words))[1])
    assert [fault for seed in seeds for fault in faults(seed, "highs")] == []
    assert asked
