"""Quotes that have run out."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, days_since, rule


@rule
class ExpiredQuote:
    """A quote that the seller need not keep any more."""

    name = "expired-quote"
    severity: Severity = "warning"
    words = "a price whose valid_until has passed"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each price with an end; where only a month or a year is known, its last day counts."""
        for priced in stock.prices():
            until = priced.price.valid_until
            if until is None:
                continue
            whole = until.count("-") == 2
            year, *rest = (int(word) for word in until.split("-"))
            after = until if whole else f"{year + rest[0] // 12}-{rest[0] % 12 + 1:02d}" if rest else f"{year + 1}"
            days = days_since(after, stock.day) + (not whole)
            if days > 0:
                message = f"the quote for '{priced.price.part}' ended {days} days ago ({until})"
                yield Flaw(priced.entry, (*priced.path, "valid_until"), message, "ask for a new one")
