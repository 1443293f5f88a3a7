"""The sum of many contexts: far less than all at their longest, a little more than all at their mean.

N contexts of mean m and deviation s take no more than N m + z s sqrt(N) in a share q of all cases, with z
the normal quantile of q. All bounds are in whole bytes, rounded to the careful side.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from statistics import NormalDist

from planner.units import ceil

_FINE = 10**4


@lru_cache(maxsize=64)
def quantile(share: Fraction) -> Fraction:
    """Return the normal quantile of a share above one half, rounded up to a ten-thousandth."""
    return Fraction(ceil(Fraction(NormalDist().inv_cdf(float(share))) * _FINE), _FINE)


def sum_bytes(sessions: int, mean_bytes: int, spread_bytes: int) -> int:
    """Return what so many contexts take together.

    Parameters
    ----------
    mean_bytes : int
        One at the mean.
    spread_bytes : int
        Quantile times deviation of one; 0 where all are alike.
    """
    square = sessions * spread_bytes**2
    root = isqrt(square)
    return sessions * mean_bytes + root + (root * root < square)


def most_sessions(have_bytes: int, mean_bytes: int, spread_bytes: int) -> int:
    """Return how many contexts fit together, by halving: their sum rises with their number."""
    low, high = 0, max(0, have_bytes) // mean_bytes if mean_bytes else 0
    while low < high:
        middle = (low + high + 1) // 2
        fits = sum_bytes(middle, mean_bytes, spread_bytes) <= have_bytes
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def fitting_bytes(have_bytes: int, mean_bytes: int, spread_bytes: int) -> int:
    """Return what a tier may be planned for at the mean: that of the contexts that fit together.

    Where fewer are held, they fit as well, so that a need that is straight in their number can be held
    against it.
    """
    return have_bytes if not spread_bytes else most_sessions(have_bytes, mean_bytes, spread_bytes) * mean_bytes
