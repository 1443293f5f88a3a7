"""Documents that nobody could look up again, or that contradict others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.catalog_checks import named_sources
from planner.evidence import Source
from planner.lint.base import Flaw, Severity, Stock, rule


def uses(stock: Stock) -> Counter[str]:
    """Return how often values and prices name each source, those of grade D beside a better one left out."""
    by_id = stock.catalog.sources.by_id
    count: Counter[str] = Counter()
    groups: dict[tuple[int, object], list[str]] = {}
    for entry in stock.loaded.entries.values():
        for path, name in named_sources(entry.record):
            groups.setdefault((id(entry), path), []).append(name)
    for names in groups.values():
        better = any(by_id[name].grade != "D" for name in names)
        count.update(name for name in names if by_id[name].grade != "D" or not better)
    return count


def weakness(source: Source) -> str:
    """Return why a source is weak, empty where it is not."""
    if source.grade == "D":
        return "contradicts others (grade D)"
    return "" if source.where or source.date else "has neither address nor date"


@rule
class WeakSource:
    """A source of grade D, or one without address and date."""

    name = "weak-source"
    severity: Severity = "warning"
    words = "a source of grade D that stands alone behind a value, or one with neither address nor date"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each source in use."""
        count = uses(stock)
        for name, entry in sorted(stock.loaded.sources.items()):
            why = weakness(entry.record)
            if why and count[name]:
                message = f"'{name}' {why}; {count[name]} values and prices name it"
                yield Flaw(entry, (), message, "find the document again, or another that says the same")
