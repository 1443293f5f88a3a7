"""How much of the catalogue was read, follows from what was read, or is our judgement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from planner.catalog_checks import Entry
from planner.lint.base import Stock
from planner.loading import KINDS

GPU_KEYS = ("memory", "memory_bandwidth", "power")
"""What a plan rests on most: the values with a target."""
GPU_TARGET_PERCENT = 10


@dataclass(frozen=True)
class Share:
    """Values of one kind of entry by where they come from.

    Attributes
    ----------
    kind : str
        Of entry; ``all`` for everything.
    """

    kind: str
    sourced: int
    derived: int
    assumed: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.sourced + self.derived + self.assumed

    def percent(self, what: str) -> float:
        """Return the share of ``sourced``, ``derived`` or ``assumed`` in percent; 0 of nothing."""
        count: int = getattr(self, what)
        return 100 * count / self.total if self.total else 0.0


def shares(stock: Stock) -> list[Share]:
    """Return the shares of each kind of entry that states evidence, then of all together."""
    found = {kind: Counter(word for entry in stock.entries(kind) for word in _kinds(stock, entry)) for kind in KINDS}
    rows = [_share(kind, count) for kind, count in found.items() if count]
    return [*rows, _share("all", sum(found.values(), Counter()))]


def gpu_share(stock: Stock) -> Share:
    """Return the share of GPUs' memory, bandwidth and power together."""
    words = (word for entry in stock.entries("gpu") for word in _kinds(stock, entry, GPU_KEYS))
    return _share("gpu memory, bandwidth, power", Counter(words))


def _share(kind: str, count: Counter[str]) -> Share:
    return Share(kind, count["sourced"], count["derived"], count["assumed"])


def _kinds(stock: Stock, entry: Entry, keys: tuple[str, ...] | None = None) -> Iterator[str]:
    """Yield the kind of evidence of each value of an entry, or of those under some keys."""
    if entry.record.kind == "prices":
        for price in entry.record.prices:
            yield price.evidence.kind
        return
    apart = stock.apart(entry)
    for path, evidence in apart.evidence.items():
        if keys is None or path in keys:
            yield evidence.kind
    if getattr(entry.record, "source", ()):
        # A plain number comes from the document behind the whole entry.
        yield from ("sourced" for path in apart.bare if keys is None or path[0] in keys)
    for line in getattr(entry.record, "lines", ()):
        yield "assumed" if line.assumed else "sourced"
