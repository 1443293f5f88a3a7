"""Diagnoses of infeasible scenarios, held against the planner asked afresh."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest

from planner.loading import Shelf
from planner.planning import pricing_of, solve_scenario
from planner.relax import Diagnosis, Filter, Limit, diagnose, rules_of, without
from planner.relax.held import with_users
from planner.scenario import Override, Scenario
from planner.scenario_files import load_scenario
from tests.oracle.brute_force import TooLargeError
from tests.oracle.mutants import (
    Mutant,
    buyer_mutant,
    enumerated_cents,
    oracle_mutant,
    plan_cents,
    ruled_mutant,
    shipped_mutant,
    tiny_mutant,
)
from tests.unit import tiny

ORACLE = 34
TINY = 10
RULED = 12
BUYER = 36
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


TOLD: dict[int, Diagnosis] = {}


def told(scenario: Scenario, shelf: Shelf) -> Diagnosis:
    """Return the diagnosis of a mutant; mutants live as long as the tests, so that each is asked once."""
    if id(scenario) not in TOLD:
        TOLD[id(scenario)] = diagnose(scenario, shelf, pricing_of(scenario, shelf), time_limit_s=None)
    return TOLD[id(scenario)]


SEEN: Counter[str] = Counter()
"""How many answers were held against the enumeration of all fleets, and how many were too large for it."""


def cents(scenario: Scenario, shelf: Shelf, enumerate_it: bool) -> int | None:
    """Return the capex of the best plan, the planner asked afresh and held against the enumeration."""
    ours = plan_cents(scenario, shelf)
    if enumerate_it:
        try:
            theirs = enumerated_cents(scenario, shelf)
        except TooLargeError:
            SEEN["too large"] += 1
        else:
            SEEN["enumerated"] += 1
            assert ours == theirs
    return ours


def check_conflict(scenario: Scenario, shelf: Shelf, enumerate_it: bool = False) -> None:
    """Only these rules leave no plan; without any one of them there is one."""
    found, rules = told(scenario, shelf), rules_of(scenario, shelf)
    names = {one.path for one in found.conflict}
    assert found.minimal
    assert not found.not_tried
    others = [rule for rule in rules if rule.path not in names]
    assert cents(without(scenario, shelf, others), shelf, enumerate_it) is None
    if found.hopeless:
        assert not names
    for name in names:
        freed = [rule for rule in rules if rule.path not in names or rule.path == name]
        assert cents(without(scenario, shelf, freed), shelf, enumerate_it) is not None


def check_ways(scenario: Scenario, shelf: Shelf, enumerate_it: bool = False) -> None:
    """Each way out has exactly the price told, and a limit that gives way alone gives no more than it must."""
    found, rules = told(scenario, shelf), {rule.path: rule for rule in rules_of(scenario, shelf)}
    assert found.hopeless or found.ways_out
    for way in found.ways_out:
        assert way.nearest
        assert cents(way.scenario, shelf, enumerate_it) == way.capex_cents, way.words
        rule = rules[way.rules[0]]
        if len(way.rules) == 1 and isinstance(rule, Limit):
            less = rule.bent(scenario, rule.asked(way.scenario) - 1)
            assert cents(less, shelf, enumerate_it) is None, way.words
        # No part of a set of rules is enough.
        for name in way.rules if len(way.rules) > 1 else ():
            assert cents(without(scenario, shelf, [rules[name]]), shelf, enumerate_it) is None


def check_held(scenario: Scenario, shelf: Shelf, enumerate_it: bool = False) -> None:
    """With as many users as told there is a plan, with one more there is none."""
    held = told(scenario, shelf).held
    if held is None:
        assert told(scenario, shelf).hopeless
        return
    if held.users:
        assert cents(with_users(scenario, held.users), shelf, enumerate_it) is not None
    assert cents(with_users(scenario, held.users + 1), shelf, enumerate_it) is None


@pytest.mark.parametrize("number", range(ORACLE + TINY))
def test_random_scenarios(number: int) -> None:
    scenario, shelf = random_mutants()[number]
    check_conflict(scenario, shelf, enumerate_it=number < ORACLE)
    check_ways(scenario, shelf, enumerate_it=number < ORACLE)
    check_held(scenario, shelf, enumerate_it=number < ORACLE)


@lru_cache(maxsize=1)
def ruled_mutants() -> list[Mutant]:
    return first(ruled_mutant, RULED)  # type: ignore[return-value]


@pytest.mark.parametrize("number", range(RULED))
def test_random_scenarios_with_the_rules_of_a_buyer(number: int) -> None:
    scenario, shelf = ruled_mutants()[number]
    check_conflict(scenario, shelf, enumerate_it=True)
    check_ways(scenario, shelf, enumerate_it=True)
    check_held(scenario, shelf, enumerate_it=True)


@lru_cache(maxsize=1)
def buyer_mutants() -> list[Mutant]:
    return first(buyer_mutant, BUYER)  # type: ignore[return-value]


@pytest.mark.parametrize("number", range(BUYER))
def test_random_scenarios_beyond_the_rules_of_a_buyer(number: int) -> None:
    scenario, shelf = buyer_mutants()[number]
    check_conflict(scenario, shelf, enumerate_it=True)
    check_ways(scenario, shelf, enumerate_it=True)
    check_held(scenario, shelf, enumerate_it=True)


@pytest.mark.parametrize("number", range(SHIPPED))
def test_shipped_scenarios(number: int) -> None:
    (scenario, shelf), overrides = shipped_mutants()[number]
    check_conflict(scenario, shelf)
    check_ways(scenario, shelf)
    check_held(scenario, shelf)
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


def test_the_buyers_mutants_reach_every_rule_of_a_buyer() -> None:
    seen: Counter[str] = Counter()
    for scenario, shelf in (*ruled_mutants(), *buyer_mutants()):
        for one in told(scenario, shelf).conflict:
            seen[".".join(one.path.split(".")[:2])] += 1
    fleet = ("without_vendors", "vendors", "region", "spare_groups", "spare_nodes", "spare_racks", "min_build_nodes")
    limits = ("deliver_by", "minimum", "maximum", "sustained_power", "racks", "budget", "power")
    wanted = [*(f"fleet.{name}" for name in fleet), *(f"limits.{name}" for name in limits)]
    assert [name for name in wanted if not seen[name]] == [], seen


def test_most_answers_are_held_against_the_enumeration() -> None:
    scenario, shelf = buyer_mutants()[0]
    SEEN.clear()
    check_conflict(scenario, shelf, enumerate_it=True)
    assert SEEN["enumerated"] > SEEN["too large"]
