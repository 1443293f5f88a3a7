"""What a rule for missing prices is, and how a book is filled by its rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from planner.errors import nearest
from planner.hardware import Part
from planner.prices import Estimate, Exchange, Price, PriceBook
from planner.registry import Registry
from planner.units import Money

Parts = Mapping[str, Mapping[str, Part]]
"""Parts by kind, then by id."""


@dataclass(frozen=True)
class Known:
    """What a rule may look at.

    Attributes
    ----------
    book : PriceBook
        The book that is filled, with what earlier rules made.
    books : mapping of str to PriceBook
        The others, filled already.
    """

    book: PriceBook
    books: Mapping[str, PriceBook]
    parts: Parts
    exchanges: Mapping[str, Exchange]


class Rule(Protocol):
    """Makes the price of one part, or none."""

    kind: str

    def faults(self, estimate: Estimate, known: Known) -> Iterator[tuple[str, str]]:
        """Yield the key and the words of each thing that an entry of this rule lacks."""
        ...

    def price(self, estimate: Estimate, part: Part, known: Known) -> Price | None:
        """Return the price of `part`; None where nothing is known to make it from."""
        ...


RULES: Registry[Rule] = Registry("rule for missing prices")


def rule(cls: type) -> type:
    """Register a rule under its kind."""
    RULES.register(cls.kind)(cls())  # type: ignore[attr-defined]
    return cls


def with_estimates(
    books: Mapping[str, PriceBook], parts: Parts, exchanges: Mapping[str, Exchange]
) -> dict[str, PriceBook]:
    """Return the books with a price by rule for each part that has none and that a rule has an answer for.

    A book that another is converted from is filled first; `estimate_faults` refuses circles.
    """
    filled: dict[str, PriceBook] = {}

    def fill(name: str) -> None:
        if name in filled:
            return
        for estimate in books[name].estimates:
            if estimate.book is not None:
                fill(estimate.book)
        filled[name] = _filled(Known(books[name], filled, parts, exchanges))

    for name in books:
        fill(name)
    return filled


def _filled(known: Known) -> PriceBook:
    book = known.book
    for estimate in book.estimates:
        missing = [part for kind in estimate.kinds for part in known.parts[kind].values() if book.find(part.id) is None]
        found = (RULES[estimate.rule].price(estimate, part, replace(known, book=book)) for part in missing)
        made = tuple(price for price in found if price is not None)
        book = replace(book, prices=(*book.prices, *made)) if made else book
    return book


def estimate_faults(
    book: PriceBook, books: Mapping[str, PriceBook], parts: Parts, exchanges: Mapping[str, Exchange]
) -> Iterator[tuple[int, str, str, str]]:
    """Yield the place among a book's rules, the key, what is wrong and what to do."""
    known = Known(book, books, parts, exchanges)
    for i, estimate in enumerate(book.estimates):
        for kind in estimate.kinds:
            if kind not in parts:
                yield i, "kinds", f"unknown kind '{kind}'", nearest(kind, parts)
        if estimate.rule != "convert":
            for key in ("book", "exchange", "tax_fraction"):
                if getattr(estimate, key) is not None:
                    shown = key.removesuffix("_fraction")
                    yield i, shown, f"rule '{estimate.rule}' takes no '{shown}'", "only 'convert' does"
        yield from ((i, key, words, "") for key, words in RULES[estimate.rule].faults(estimate, known))
    circle = _circle(book.id, books)
    if circle:
        yield 0, "book", f"books are converted from each other in a circle: {' from '.join(circle)}", ""


def _circle(start: str, books: Mapping[str, PriceBook]) -> list[str]:
    """Return the books from `start` back to itself by which it is converted; none where there are none."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        book = books.get(path[-1])
        for other in {estimate.book for estimate in book.estimates} if book else ():
            if other == start:
                return [*path, start]
            if other is not None and other not in seen:
                seen.add(other)
                paths.append([*path, other])
    return []


def whole(amount_cents: Fraction, currency: str) -> Money:
    """Return an estimated amount in whole units of the currency, halves up: cents would feign precision."""
    return Money(currency, 100 * ((amount_cents + 50) // 100))


def oldest(*days: str) -> str:
    """Return the earliest of days that may be written as ``2026`` or ``2026-08``, each as late as it may be."""
    return min(days, key=lambda day: (day + "-12-31")[:10] if len(day) == 4 else (day + "-31")[:10])
