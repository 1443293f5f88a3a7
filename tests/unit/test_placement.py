"""Sessions placed for good: how many wait, against exact fractions and the published shares."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from planner.placement import overflow, sticky_sessions


def exact(in_flight: int, share: Fraction, slots: int) -> Fraction:
    wait = sum(
        (x - slots) * math.comb(in_flight, x) * share**x * (1 - share) ** (in_flight - x)
        for x in range(slots + 1, in_flight + 1)
    )
    return wait / (in_flight * share)


@pytest.mark.parametrize(
    "case", [(10, Fraction(1, 4), 3), (59, Fraction(1, 2), 30), (7, Fraction(1), 7), (7, Fraction(1), 5)]
)
def test_overflow_is_that_of_the_binomial(case: tuple[int, Fraction, int]) -> None:
    in_flight, share, slots = case
    assert overflow(in_flight, float(share), slots) == pytest.approx(float(exact(*case)), abs=1e-12)


@pytest.mark.parametrize(("slots", "share"), [(2, 0.27), (3, 0.22)])
def test_full_pools_of_a_large_fleet(slots: int, share: float) -> None:
    # 200 pools, each with as many sessions in flight as slots on average.
    assert overflow(200 * slots, 1 / 200, slots) == pytest.approx(share, abs=0.005)


def test_a_pool_is_given_the_most_of_which_few_wait() -> None:
    given = sticky_sessions(2000, 59, 12, 0.05)
    assert overflow(59, given / 2000, 12) <= 0.05 < overflow(59, (given + 1) / 2000, 12)
    # Balanced, twelve slots serve 12 x 2,000 / 59 = 406 sessions.
    assert given < 406
    assert sticky_sessions(2000, 59, 59, 0.05) == 2000
    assert sticky_sessions(2000, 59, 0, 0.05) == 0
    grown = [sticky_sessions(2000, 59, slots, 0.05) for slots in range(1, 60)]
    assert grown == sorted(grown)
