"""Prices per GB far from those of the family: a slipped digit, a price of four, another currency.

Logarithms, so that half and double weigh alike; median and median absolute deviation, so that the odd price itself
does not widen what is usual.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log

from planner.lint.base import Flaw, Severity, Stock, number, rule
from planner.lint.families import LEAST_MEMBERS, deviation, families

_NORMAL = 1.4826
"""Median absolute deviation to standard deviation, of a normal distribution."""
_MOST_DEVIATIONS = 3.5
_LEAST_SPREAD = log(1.15)
"""Where all are nearly equal, prices up to 1.6 times as high or low are still usual."""


@rule
class PriceOutlier:
    """A price per GB unlike those of its family."""

    name = "price-outlier"
    severity: Severity = "warning"
    words = "a price per GB far from the median of its family (3.5 robust deviations)"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each family of five or more prices in each book."""
        for _, name, members in families(stock):
            if len(members) < LEAST_MEMBERS:
                continue
            logs = [log(member.per_gb) for member in members]
            middle, spread = deviation(logs)
            limit = _MOST_DEVIATIONS * max(_NORMAL * spread, _LEAST_SPREAD)
            for value, (priced, per_gb) in zip(logs, members, strict=True):
                if abs(value - middle) > limit:
                    usual = f"{number(exp(middle - limit))} to {number(exp(middle + limit))}"
                    message = (
                        f"'{priced.price.part}' costs {priced.book.currency} {number(per_gb)} per GB; the median of "
                        f"{len(logs)} {name} is {number(exp(middle))}, usual are {usual}"
                    )
                    hint = "check digits, pieces and currency; if it is right, say so in its note"
                    yield Flaw(priced.entry, (*priced.path, "typical"), message, hint)
