"""Parts without a price in any book: they are known, and cannot be offered."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, rule


@rule
class UnpricedPart:
    """A part that no book prices."""

    name = "unpriced-part"
    severity: Severity = "note"
    words = "a part without a price in any book: no plan offers it"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each part that is bought by itself."""
        # What rules of a book make is a price too.
        priced = {price.part for book in stock.catalog.books.values() for price in book.prices}
        for entry in stock.parts():
            if entry.record.id not in priced and not getattr(entry.record, "whole_system", False):
                yield Flaw(entry, ("id",), f"no book has a price for '{entry.record.id}'")
