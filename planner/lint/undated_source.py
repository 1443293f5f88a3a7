"""Documents with an address and no date: nobody can tell whether the page still says so."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, rule
from planner.lint.weak_source import uses, weakness


@rule
class UndatedSource:
    """A source that says where, and not when."""

    name = "undated-source"
    severity: Severity = "note"
    words = "a source without a date, or with a date and no address"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each source in use."""
        count = uses(stock)
        for name, entry in sorted(stock.loaded.sources.items()):
            source = entry.record
            if count[name] and not weakness(source) and not (source.date and source.where):
                lacks = "date" if not source.date else "address"
                yield Flaw(entry, (), f"'{name}' has no {lacks}; {count[name]} values and prices name it")
