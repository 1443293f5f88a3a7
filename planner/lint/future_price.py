"""Prices of a day that has not come."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, days_since, rule


@rule
class FuturePrice:
    """A date that cannot be: most often a slipped digit."""

    name = "future-price"
    severity: Severity = "warning"
    words = "a price as of a day after the day of the check"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each price."""
        for priced in stock.prices():
            if days_since(priced.price.as_of, stock.day) < 0:
                message = f"the price of '{priced.price.part}' is as of {priced.price.as_of}, after {stock.day}"
                yield Flaw(priced.entry, (*priced.path, "as_of"), message, "correct the date")
