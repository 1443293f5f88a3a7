"""How many sessions a KV pool serves where each stays with the pool that it was given.

Balanced placement sends a turn to any pool of its group with room. Sticky placement, as routers by
session or prefix do it, sends it to the pool that holds its cache, however full that is: of the
sessions in flight some find no slot although others are free.
"""

from __future__ import annotations

import math
from functools import lru_cache


def overflow(in_flight: int, share: float, slots: int) -> float:
    """Return the share of a pool's sessions in flight that find no slot, on average.

    Each of the sessions in flight is at this pool with probability `share`: X is binomial, and
    E[max(0, X - slots)] / E[X] of them wait.
    """
    mean = in_flight * share
    if mean <= 0:
        return 0.0
    if share >= 1:
        return max(0.0, 1 - slots / in_flight)
    missing = sum((slots - k) * _probability(in_flight, share, k) for k in range(min(slots, in_flight + 1)))
    return max(0.0, (mean - slots + missing) / mean)


def _probability(count: int, share: float, hits: int) -> float:
    ways = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
    return math.exp(ways + hits * math.log(share) + (count - hits) * math.log1p(-share))


@lru_cache(4096)
def sticky_sessions(open_sessions: int, in_flight: int, slots: int, most: float) -> int:
    """Return how many open sessions a pool may be given so that no more than `most` of those in flight wait.

    By bisection: more sessions wait the more there are. Rounded down.
    """
    if slots == 0:
        return 0
    low, high = 0, open_sessions
    while low < high:
        middle = (low + high + 1) // 2
        if overflow(in_flight, middle / open_sessions, slots) <= most:
            low = middle
        else:
            high = middle - 1
    return low
