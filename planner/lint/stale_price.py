"""Prices that have grown old."""

from __future__ import annotations

from collections.abc import Iterator

from planner.hardware import Dimm, Drive, Gpu, Part, System
from planner.lint.base import Flaw, Severity, Stock, days_since, rule

_MEMORY_DAYS = 60
"""DRAM and flash were seen to double within a quarter."""
_GPU_DAYS = 180
_OTHER_DAYS = 365


def most_days(part: Part | None) -> int:
    """Return how old the price of a part may be."""
    if isinstance(part, Dimm | Drive):
        return _MEMORY_DAYS
    return _GPU_DAYS if isinstance(part, Gpu | System) else _OTHER_DAYS


@rule
class StalePrice:
    """A price older than its kind stays true."""

    name = "stale-price"
    severity: Severity = "warning"
    words = "a price older than 60 days (DIMMs, drives), 180 days (GPUs, whole systems) or 365 days (the rest)"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each price; where only a month or a year is known, at its first day."""
        for priced in stock.prices():
            price = priced.price
            days, most = days_since(price.as_of, stock.day), most_days(stock.catalog.find(price.part))
            if days > most:
                upto = "" if price.as_of.count("-") == 2 else "up to "
                message = f"the price of '{price.part}' as of {price.as_of} is {upto}{days} days old; {most} are usual"
                yield Flaw(priced.entry, (*priced.path, "as_of"), message, "ask again, or look it up again")
