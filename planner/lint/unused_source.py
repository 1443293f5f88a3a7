"""Documents that no value of the catalogue names; scenarios, which are files apart, may."""

from __future__ import annotations

from collections.abc import Iterator

from planner.catalog_checks import named_sources
from planner.lint.base import Flaw, Severity, Stock, rule


@rule
class UnusedSource:
    """A source behind nothing."""

    name = "unused-source"
    severity: Severity = "note"
    words = "a source that no value and no price of the catalogue names"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each source."""
        used = {name for entry in stock.loaded.entries.values() for _, name in named_sources(entry.record)}
        for name, entry in sorted(stock.loaded.sources.items()):
            if name not in used:
                yield Flaw(entry, (), f"no entry of the catalogue names the source '{name}'; scenarios may")
