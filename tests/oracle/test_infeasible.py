"""Diagnoses of infeasible scenarios, held against the planner asked afresh."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest

from planner.loading import Shelf
from planner.planning import pricing_of, solve_scenario
from planner.relax import Diagnosis, Filter, Limit, diagnose, rules_of, without
from planner.scenario import Override, Scenario
from planner.scenario_files import load_scenario
from tests.oracle.mutants import Mutant, has_no_plan, oracle_mutant, ruled_mutant, shipped_mutant, tiny_mutant
from tests.unit import tiny

ORACLE = 34
TINY = 10
RULED = 12
SHIPPED = 6


def first(made: object, most: int) -> list[object]:
    """Return the first mutants that have no plan."""
    found: list[object] = []
    for seed in range(400):
        one = made(seed)  # type: ignore[operator]
        if one is not None:
            found.append(one)
        if len(found) == most:
            break
    return found


@lru_cache(maxsize=1)
def random_mutants() -> list[Mutant]:
    return [*first(oracle_mutant, ORACLE), *first(tiny_mutant, TINY)]  # type: ignore[list-item]


@lru_cache(maxsize=1)
def shipped_mutants() -> list[tuple[Mutant, list[Override]]]:
    return first(lambda seed: shipped_mutant(seed, tiny.shelf()), SHIPPED)  # type: ignore[return-value]


def told(scenario: Scenario, shelf: Shelf) -> Diagnosis:
    return diagnose(scenario, shelf, pricing_of(scenario, shelf), time_limit_s=None)


def check_conflict(scenario: Scenario, shelf: Shelf) -> None:
    """Only these rules leave no plan; without any one of them there is one."""
    found, rules = told(scenario, shelf), rules_of(scenario, shelf)
    names = {one.path for one in found.conflict}
    assert found.minimal
    others = [rule for rule in rules if rule.path not in names]
    assert has_no_plan(without(scenario, shelf, others), shelf)
    if found.hopeless:
        assert not names
    for name in names:
        freed = [rule for rule in rules if rule.path not in names or rule.path == name]
        solve_scenario(without(scenario, shelf, freed), shelf)


def check_ways(scenario: Scenario, shelf: Shelf) -> None:
    """Each way out has exactly the price told, and a limit that gives way alone gives no more than it must."""
    found, rules = told(scenario, shelf), {rule.path: rule for rule in rules_of(scenario, shelf)}
    assert found.hopeless or found.ways_out
    for way in found.ways_out:
        assert solve_scenario(way.scenario, shelf).capex == way.capex_cents, way.words
        rule = rules[way.rules[0]]
        if len(way.rules) == 1 and isinstance(rule, Limit):
            assert has_no_plan(rule.bent(scenario, rule.asked(way.scenario) - 1), shelf), way.words
        # No part of a set of rules is enough.
        for name in way.rules if len(way.rules) > 1 else ():
            assert has_no_plan(without(scenario, shelf, [rules[name]]), shelf)


@pytest.mark.parametrize("number", range(ORACLE + TINY))
def test_random_scenarios(number: int) -> None:
    scenario, shelf = random_mutants()[number]
    check_conflict(scenario, shelf)
    check_ways(scenario, shelf)


@lru_cache(maxsize=1)
def ruled_mutants() -> list[Mutant]:
    return first(ruled_mutant, RULED)  # type: ignore[return-value]


@pytest.mark.parametrize("number", range(RULED))
def test_random_scenarios_with_the_rules_of_a_buyer(number: int) -> None:
    scenario, shelf = ruled_mutants()[number]
    check_conflict(scenario, shelf)
    check_ways(scenario, shelf)


@pytest.mark.parametrize("number", range(SHIPPED))
def test_shipped_scenarios(number: int) -> None:
    (scenario, shelf), overrides = shipped_mutants()[number]
    check_conflict(scenario, shelf)
    check_ways(scenario, shelf)
    for way in told(scenario, shelf).ways_out:
        # As pasted after the same command.
        pasted = [*overrides, *(Override.parse(text) for text in way.overrides)]
        again = load_scenario(scenario.name, pasted, None, shelf)
        assert solve_scenario(again, shelf).capex == way.capex_cents, way.overrides


def test_the_mutants_reach_every_sort_of_rule() -> None:
    # A campaign proves nothing about what its scenarios never contain.
    seen: Counter[str] = Counter()
    for scenario, shelf in random_mutants():
        found = told(scenario, shelf)
        rules = {rule.path: rule for rule in rules_of(scenario, shelf)}
        seen["several rules in a conflict"] += len(found.conflict) > 1
        seen["two rules of a way out"] += any(len(way.rules) == 2 for way in found.ways_out)
        seen["several ways out"] += len(found.ways_out) > 1
        for one in found.conflict:
            seen[one.path.removesuffix(f".{one.path.split('.')[-1]}") if "stock" in one.path else one.path] += 1
            seen["filter"] += isinstance(rules[one.path], Filter)
    wanted = ("limits.budget", "limits.power", "limits.rack_units", "limits.stock", "fleet.max_nodes", "filter")
    assert min(seen[name] for name in (*wanted, "fleet.spare_groups", "several ways out")) >= 2, seen
    assert min(seen[name] for name in ("several rules in a conflict", "two rules of a way out")) >= 2, seen
