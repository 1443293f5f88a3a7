"""Plans of rented instances against trying every fleet, in exact fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from planner.scenario_files import load_any
from planner.split.certificate import balance
from planner.split.planning import solve_split
from planner.split.problem import SplitProblem
from planner.split_scenario import SplitScenario
from tests.oracle.splits import cheapest, corner_prices, serves, sliced
from tests.unit.rented import example, instance, problem
from tests.unit.tiny import shelf


def shipped(name: str) -> SplitProblem:
    scenario = load_any(name, (), None, shelf())
    assert isinstance(scenario, SplitScenario)
    return SplitProblem.of(scenario, shelf().profiles[scenario.service.profile])


def drawn(seed: int) -> SplitProblem:
    """Two or three kinds on up to five buckets, small round numbers, so that fleets often fit exactly."""
    draw = random.Random(seed)
    kinds, buckets = draw.choice([2, 2, 3]), draw.randint(1, 5)
    numbers = [[[draw.choice([0, 1, 2, 3, 5, 10]) for _ in range(buckets)]] for _ in range(kinds)]
    numbers[0] = [[number or 1 for number in numbers[0][0]]]
    mix = [draw.randint(0, 4) for _ in range(buckets)]
    mix[0] += 1
    shares = [[Fraction(share, sum(mix)) for share in mix]]
    rate = draw.choice([sum(mix), draw.randint(1, 6), Fraction(draw.randint(1, 99), 7)])
    kind = [instance(f"k{i}", draw.randint(1, 30) * draw.choice([1, 10]), row) for i, row in enumerate(numbers)]
    return problem(*kind, rate=str(rate), mix=shares)


@pytest.mark.parametrize("name", ["melange-m1", "melange-m3", "melange-a-r10"])
def test_shipped_optimum_is_the_cheapest_of_all_fleets(name: str) -> None:
    asked = shipped(name)
    solved = solve_split(asked)
    limit = solved.outcome.value
    # Fleets below the optimum's cost only: none of them serves everything.
    prices = [asked.price(g) for g in range(len(asked.offers))]
    cheaper: list[list[int]] = [[]]
    for most in asked.most:
        cheaper = [
            [*fleet, n]
            for fleet in cheaper
            for n in range(most + 1)
            if sum(p * c for p, c in zip(prices, [*fleet, n], strict=False)) < limit
        ]
    for fleet in cheaper:
        assert balance(asked, dict(enumerate(fleet))).refuted


def test_example_by_brute_force() -> None:
    assert cheapest(example()) == (468, [(1, 1)])


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_small_instances_by_brute_force(seed: int, solver: str) -> None:
    asked = drawn(seed)
    cost, fleets = cheapest(asked)
    solved = solve_split(asked, solver)
    fleet = tuple(solved.counts.get(g, 0) for g in range(len(asked.offers)))
    assert solved.outcome.value == cost
    assert fleet in fleets
    assert sum(fleet) == min(map(sum, fleets))


@pytest.mark.parametrize("seed", range(20))
def test_every_fleet_is_proven_or_refuted_and_rightly_so(seed: int) -> None:
    asked = drawn(100 + seed)
    corners = corner_prices(asked)
    draw = random.Random(seed)
    for _ in range(6):
        fleet = tuple(draw.randint(0, most) for most in asked.most)
        split = balance(asked, dict(enumerate(fleet)))
        assert (split.proven, split.refuted) == (serves(asked, fleet, corners), not serves(asked, fleet, corners))


def test_slices_cost_more_than_a_free_split_and_come_down_to_it() -> None:
    # Mélange's README shows 6.70 for its example; thirds of a bucket are what the free split uses.
    assert [sliced(example(), factor) for factor in (1, 2, 3)] == [670, 569, 468]


@pytest.mark.parametrize("seed", range(10))
def test_no_slicing_beats_the_free_split(seed: int) -> None:
    asked = drawn(200 + seed)
    assert sliced(asked, 2) >= solve_split(asked).outcome.value
