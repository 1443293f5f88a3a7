"""Families too small to tell an outlier."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, rule
from planner.lint.families import LEAST_MEMBERS, families


@rule
class SmallFamily:
    """Why some prices are not held against others."""

    name = "small-family"
    severity: Severity = "note"
    words = f"prices that price-outlier leaves out: fewer than {LEAST_MEMBERS} in their family"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each family in each book."""
        for book, name, members in families(stock):
            if len(members) < LEAST_MEMBERS:
                priced = members[0].priced
                count = f"{len(members)} price{'s' * (len(members) > 1)}"
                message = f"{count} of {name} in '{book}' not compared: {LEAST_MEMBERS} are needed to tell an outlier"
                yield Flaw(priced.entry, priced.path, message)
