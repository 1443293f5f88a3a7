"""Exchange rates that have grown old."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, days_since, rule

_MOST_DAYS = 90


@rule
class StaleRate:
    """An exchange rate that may have moved since."""

    name = "stale-rate"
    severity: Severity = "warning"
    words = f"an exchange rate older than {_MOST_DAYS} days"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each rate; where only a month or a year is known, at its first day."""
        for entry in stock.entries("exchange"):
            days = days_since(entry.record.as_of, stock.day)
            if days > _MOST_DAYS:
                message = f"the rate '{entry.record.id}' as of {entry.record.as_of} is up to {days} days old"
                yield Flaw(entry, ("as_of",), message, "look it up again; what was converted with it follows")
