"""Plans over parts and over undominated builds against the plan over every build listed, on the same instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from planner import planning, separation
from planner.candidates import Candidates
from planner.errors import InfeasibleError
from planner.formulation import separate
from planner.hardware import Chassis, Cpu
from planner.planning import Solved, solve_scenario
from planner.scenario import Fleet, Limits
from planner.units import Money
from planner.verify import verify
from tests.benchmarks.synthetic import Instance, Size, make_sized, with_tiers
from tests.oracle.campaign import answered, faults

BLOCK = 5
# Seed 17 takes minutes to prove: ten nodes at most, one spare, three builds of 810.
SEEDS = range(0, 17)
LONG_SEEDS = range(1_000, 1_200)
LISTED, APART = 10**9, -1


def blocks(seeds: range) -> list[range]:
    return [seeds[i : i + BLOCK] for i in range(0, len(seeds), BLOCK)]


def middle_sized(seed: int) -> Instance:
    """Some hundred builds per pool, and limits, racks, power supplies and drives that bind."""
    rng = Random(f"apart {seed}")
    size = Size(
        rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 2), rng.randint(2, 3), rng.randint(2, 4), (3, 4, 6)
    )
    placement = rng.choice(("pooled", "pooled", "pooled", "local"))
    case = placement + rng.choice(("", "", "-spare", "-kinds"))
    instance = make_sized(size, case, rng)
    scenario, catalog = instance.scenario, instance.shelf.catalog
    cluster = replace(catalog.cluster, rack_w=rng.choice((15_000, 24_000, 40_000)))
    gpus = {name: replace(part, power_w=rng.randint(500, 560)) for name, part in catalog.gpus().items()}
    chassis = {name: _tight(part, rng) for name, part in catalog.chassis().items()}
    parts = {**catalog.parts, "gpu": gpus, "chassis": chassis, "cpu": _slow(catalog.cpus(), seed)}
    limits = Limits(
        power_w=rng.randint(60, 400) * 1000 if rng.random() < 0.2 else None,
        rack_units=rng.randint(30, 200) if rng.random() < 0.2 else None,
        budget=Money("USD", rng.randint(150, 1_000) * 1_000_000) if rng.random() < 0.1 else None,
    )
    rates = scenario.workload.rates
    if rates is not None and rng.random() < 0.5:
        # Many turns: drives and fabric cards then limit what groups host.
        rates = replace(rates, turns_per_hour=rates.turns_per_hour * rng.choice((2, 4)), cold_fraction=Fraction(1, 2))
    scenario = replace(
        scenario,
        workload=replace(scenario.workload, users=round(20 * 2 ** rng.uniform(0, 6.5)), rates=rates),
        limits=limits,
        fleet=replace(_limited(scenario.fleet, seed), max_nodes=rng.randint(4, 20) if rng.random() < 0.15 else None),
        objective=rng.choice(("capex", "capex", "nodes")),
    )
    shelf = replace(instance.shelf, catalog=replace(catalog, cluster=cluster, parts=parts))
    if seed % 3 == 1:
        shelf = with_tiers(shelf, Random(f"tiers {seed}"), 0.7, 80)
    return Instance(scenario, shelf)


def _limited(fleet: Fleet, seed: int) -> Fleet:
    """Return the fleet with other numbers of kinds, and of spare groups where it is of one kind."""
    if fleet.max_builds is None:
        return fleet
    rng = Random(f"kinds {seed}")
    kinds = rng.choice((1, 1, 2, 3, 3))
    return replace(fleet, max_builds=kinds, spare_groups=rng.choice((0, 1, 2)) if kinds == 1 else fleet.spare_groups)


def _slow(cpus: Mapping[str, Cpu], seed: int) -> dict[str, Cpu]:
    """Return the processors, of every other instance with memory so slow that it limits what groups host."""
    rng = Random(f"memory {seed}")
    slow = seed % 2 == 1
    return {
        name: replace(cpu, speed_1dpc=rng.randint(100, 1600), speed_2dpc=rng.randint(60, 900)) if slow else cpu
        for name, cpu in cpus.items()
    }


def _tight(chassis: Chassis, rng: Random) -> Chassis:
    """Return the chassis with power supplies that bear some pairs of memory and drives, not all."""
    watts = chassis.base_w + chassis.n_gpus * rng.randint(500, 560) + 800 + rng.randint(150, 900)
    return replace(chassis, psus=4, spare_psus=0, psu_w=watts // 4)


def answer(instance: Instance) -> tuple[object, ...]:
    """Return status, both objectives and a proof that the plan holds; the status alone where there is none."""
    try:
        found = solve_scenario(instance.scenario, instance.shelf)
    except InfeasibleError:
        return ("infeasible",)
    verify(found.problem, found.outcome.counts)
    return (found.outcome.status, found.outcome.value, found.outcome.bound, found.capex, found.nodes)


def listed(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    """Return the answer over every build of every core, made before cores were compared."""
    find = planning.candidates_of

    def every(*words: object) -> Candidates:
        found = find(*words)  # type: ignore[arg-type]
        return replace(found, every=tuple(found.every))

    with monkeypatch.context() as patch:
        patch.setattr(separation, "PLAIN_UP_TO", LISTED)
        patch.setattr(planning, "candidates_of", every)
        return answer(instance)


def differing(seeds: range, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    found = []
    for seed in seeds:
        instance = middle_sized(seed)
        expected = listed(instance, monkeypatch)
        monkeypatch.setattr(separation, "PLAIN_UP_TO", APART)
        told = answer(instance)
        if told != expected:
            found.append((seed, told, expected))
    return found


@pytest.mark.parametrize("seeds", blocks(SEEDS), ids=str)
def test_parts_give_the_plan_of_all_builds(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    assert differing(seeds, monkeypatch) == []


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(LONG_SEEDS), ids=str)
def test_parts_give_the_plan_of_all_builds_long(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    assert differing(seeds, monkeypatch) == []


def pooled(seed: int) -> bool:
    known = answered(seed)
    return known is not None and known[0].scenario.tiers.placement == "pooled"


@pytest.mark.parametrize("seeds", [range(i, i + 25) for i in range(0, 100, 25)], ids=str)
def test_parts_give_the_best_of_all_fleets(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    # The same against the enumeration of every fleet: tiny instances with every rule.
    asked = []
    run = separation.Search.run

    def counted(*words: object) -> object:
        asked.append(words)
        return run(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(separation, "PLAIN_UP_TO", APART)
    monkeypatch.setattr(separation.Search, "run", counted)
    assert [fault for seed in seeds if pooled(seed) for fault in faults(seed, "highs")] == []
    assert asked


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(i, i + 25) for i in range(10_000, 12_000, 25)], ids=str)
def test_parts_give_the_best_of_all_fleets_long(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "PLAIN_UP_TO", APART)
    assert [fault for seed in seeds if pooled(seed) for fault in faults(seed, "highs")] == []


def test_the_instances_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cores are refined, builds limited by slots, pools passed over somewhere among the instances.
    told: list[Solved] = []
    exact, slots, asked, steps, narrowed = [], [], [], [], []
    tokens, add, run = separation.Parts.tokens, separate.add_slots, separation.Search.run
    step, without = separation.Search._step, separation.Parts.without

    def smaller(self: separation.Parts, *words: Any) -> separation.Parts:
        left = without(self, *words)
        narrowed.append(left.size < self.size)
        return left

    def seen(self: separation.Parts, some: set[int]) -> object:
        exact.append(len(some))
        return tokens(self, some)

    monkeypatch.setattr(separation, "PLAIN_UP_TO", APART)
    monkeypatch.setattr(separation.Parts, "tokens", seen)
    monkeypatch.setattr(separation.Parts, "without", smaller)
    monkeypatch.setattr(separate, "add_slots", lambda *words: (slots.append(1), add(*words))[1])
    monkeypatch.setattr(separation.Search, "run", lambda self, pools: (asked.extend(pools), run(self, pools))[1])
    monkeypatch.setattr(separation.Search, "_step", lambda self, pool: (steps.append(pool), step(self, pool))[1])
    for seed in SEEDS:
        try:
            instance = middle_sized(seed)
            told.append(solve_scenario(instance.scenario, instance.shelf))
        except InfeasibleError:
            continue
    assert any(exact)
    assert slots
    assert any(narrowed)
    assert len({id(pool) for pool in steps}) < len(asked)
    assert any(option.reach < part.at.open_parts for part in asked for option in part.hosts)
    assert {found.scenario.tiers.placement for found in told} == {"local", "pooled"}
