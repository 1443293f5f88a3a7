"""What a lint rule is: it looks at a loaded catalogue on a day, and yields what a careful reader would object to.

What makes a catalogue unusable is refused on loading. Rules are for the rest: values that can be read but hardly be
true, prices that have grown old, parts that nothing takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from planner.catalog_checks import Entry
from planner.documents import Document, Key, Mark
from planner.hardware import Catalog
from planner.loading import PART_KINDS, Loaded
from planner.prices import Price, PriceBook
from planner.reading import Apart, take_apart
from planner.registry import Registry

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


class Flaw(NamedTuple):
    """Something to object to.

    Attributes
    ----------
    entry : Entry
        Where.
    path : tuple
        Of the value below the entry.
    message : str
        What was found and what was expected.
    hint : str
        What to do; may be empty.
    """

    entry: Entry
    path: Key
    message: str
    hint: str = ""


class Priced(NamedTuple):
    """A price with its book, and where it stands."""

    book: PriceBook
    price: Price
    entry: Entry
    path: Key


@dataclass(frozen=True)
class Stock:
    """All that rules look at.

    Attributes
    ----------
    loaded : Loaded
        The catalogue with the places of its entries.
    day : date
        The day that ages are counted to.
    """

    loaded: Loaded
    day: date

    @property
    def catalog(self) -> Catalog:
        """Parts, prices, cluster rules, sources."""
        return self.loaded.shelf.catalog

    def entries(self, *kinds: str) -> Iterator[Entry]:
        """Yield the entries of these kinds, in order of kind and id."""
        found = self.loaded.entries
        yield from (found[key] for key in sorted(found) if key[0] in kinds)

    def parts(self) -> Iterator[Entry]:
        """Yield the entries of all kinds of parts."""
        yield from self.entries(*PART_KINDS)

    def prices(self) -> Iterator[Priced]:
        """Yield every price of every book with the file that it came from."""
        yield from self._prices

    @cached_property
    def _prices(self) -> tuple[Priced, ...]:
        return tuple(found for entry in self.entries("prices") for found in _prices(entry))

    @cached_property
    def _apart(self) -> dict[int, Apart]:
        return {}

    def apart(self, entry: Entry) -> Apart:
        """Return what an entry's file says, evidence taken apart."""
        known = self._apart
        if id(entry) not in known:
            known[id(entry)] = take_apart(entry.document, entry.data, entry.path)
        return known[id(entry)]


def _prices(entry: Entry) -> Iterator[Priced]:
    """Yield the prices of a book, each with the layer that it stands in."""
    places: dict[str, tuple[Entry, Key]] = {}
    layer: Entry | None = entry
    while layer is not None:
        for i, price in enumerate(layer.data.get("prices", ())):
            places.setdefault(str(price["part"]).strip(), (layer, ("prices", i)))
        layer = layer.below
    yield from (Priced(entry.record, price, *places[price.part]) for price in entry.record.prices)


class Rule(Protocol):
    """One thing to look for.

    Attributes
    ----------
    name : str
        How findings are called.
    severity : {'error', 'warning', 'note'}
        An error is wrong, a warning is likely wrong or needs care, a note is worth knowing.
    words : str
        What it looks for, in one line.
    """

    name: str
    severity: Severity
    words: str

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Yield what it objects to."""
        ...


RULES: Registry[Rule] = Registry("lint rule")


def rule(cls: type) -> type:
    """Register a rule under its name."""
    RULES.register(cls.name)(cls())  # type: ignore[attr-defined]
    return cls


@dataclass(frozen=True)
class Finding:
    """What a rule found, with its place.

    Attributes
    ----------
    subject : str
        Kind and id of the entry.
    """

    rule: str
    severity: Severity
    place: Mark
    subject: str
    message: str
    hint: str


def findings(stock: Stock) -> list[Finding]:
    """Return what all rules find: errors first, then by place."""
    found = [_finding(each, flaw) for each in RULES.values() for flaw in each.check(stock)]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.place, one.rule, one.message))


def _finding(rule: Rule, flaw: Flaw) -> Finding:
    place = place_of(flaw.entry.document, (*flaw.entry.path, *flaw.path))
    record = flaw.entry.record
    subject = f"{getattr(record, 'kind', 'source')} {record.id}"
    return Finding(rule.name, rule.severity, place, subject, flaw.message, flaw.hint)


def place_of(document: Document, path: Key) -> Mark:
    """Return the place of the value at a path; of one with evidence that of the number itself."""
    inner: Key = (*path, "value")
    return document.marks.get(inner) or document.mark(path)


def days_since(day: str, now: date) -> int:
    """Return how many days ago a date such as ``2026-08``, ``2026`` or ``2026-08-22`` may have been: its first day."""
    year, month, last = (*(int(word) for word in day.split("-")), 1, 1)[:3]
    return (now - date(year, month, last)).days


def number(value: Any) -> str:
    """Return a number for reading, such as ``1,979`` or ``0.4``."""
    return f"{float(value):,.3g}" if abs(value) < 1000 else f"{float(value):,.0f}"
