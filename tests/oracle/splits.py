"""The cheapest fleet by trying all of them, and splits in exact fractions by another way than the planner's.

Whether a fleet serves everything is decided by duality alone: it does if and only if no prices of
load make the buckets dearer than what the fleet has to give. The best prices lie where, for each
step from one instance to the next, some bucket costs the same at both; those are tried all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from planner.split.problem import SplitProblem

Fleet = tuple[int, ...]


def corner_prices(problem: SplitProblem) -> list[tuple[Fraction, ...]]:
    """All prices at which instances in use hang together through buckets that cost the same at two of them."""
    n = len(problem.offers)
    found = set()
    for used in range(1, n + 1):
        for some in itertools.combinations(range(n), used):
            for prices in _spanning(problem, some):
                found.add(tuple(prices.get(g, Fraction(0)) for g in range(n)))
    return sorted(found)


def _spanning(problem: SplitProblem, some: tuple[int, ...]) -> Iterator[dict[int, Fraction]]:
    partial = [{some[0]: Fraction(1)}]
    while partial:
        prices = partial.pop()
        if len(prices) == len(some):
            yield prices
            continue
        for new in some:
            if new not in prices:
                ratios = {
                    prices[g] * problem.loads[g][b] / problem.loads[new][b]
                    for g in prices
                    for b in problem.loads[g]
                    if b in problem.loads[new]
                }
                partial += [prices | {new: ratio} for ratio in ratios]


def need(problem: SplitProblem, fleet: Fleet, prices: tuple[Fraction, ...]) -> Fraction:
    """What all buckets cost, each at its cheapest server in the fleet."""
    return sum(
        (
            min(prices[g] * problem.loads[g][b] for g, n in enumerate(fleet) if n and b in problem.loads[g])
            for b in range(len(problem.buckets))
        ),
        Fraction(0),
    )


def serves(problem: SplitProblem, fleet: Fleet, corners: list[tuple[Fraction, ...]]) -> bool:
    """Whether a fleet serves everything."""
    for b in range(len(problem.buckets)):
        if not any(n and b in problem.loads[g] for g, n in enumerate(fleet)):
            return False
    return all(
        need(problem, fleet, prices) <= sum(p * n for p, n in zip(prices, fleet, strict=True)) for prices in corners
    )


def cheapest(problem: SplitProblem) -> tuple[int, list[Fleet]]:
    """The least cost, in `money_cents`, and all fleets of that cost that serve everything."""
    corners = corner_prices(problem)
    every = itertools.product(*(range(most + 1) for most in problem.most))
    prices = [problem.price(g) for g in range(len(problem.offers))]
    ordered = sorted((sum(p * n for p, n in zip(prices, fleet, strict=True)), fleet) for fleet in every)
    best: int | None = None
    fleets = []
    for cost, fleet in ordered:
        if best is not None and cost > best:
            break
        if serves(problem, fleet, corners):
            best = cost
            fleets.append(fleet)
    assert best is not None
    return best, fleets


def sliced(problem: SplitProblem, factor: int) -> int:
    """The least cost where each bucket is cut into equal slices that go whole to one kind, as Mélange does."""
    best = sum(problem.price(g) * n for g, n in enumerate(problem.most)) + 1
    offers = range(len(problem.offers))
    choices = [
        [c for c in itertools.product(range(factor + 1), repeat=len(offers)) if sum(c) == factor
         and all(not n or b in problem.loads[g] for g, n in enumerate(c))]
        for b in range(len(problem.buckets))
    ]  # fmt: skip
    for chosen in itertools.product(*choices):
        loads = [
            sum((Fraction(c[g], factor) * problem.loads[g][b] for b, c in enumerate(chosen) if c[g]), Fraction(0))
            for g in offers
        ]
        best = min(best, sum(problem.price(g) * -(-load.numerator // load.denominator) for g, load in enumerate(loads)))
    return best
