"""The price of another book, in this book's currency, on its tax basis, with its markup."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from planner.errors import nearest
from planner.estimates.base import Known, oldest, rule, whole
from planner.hardware import Part
from planner.prices import Estimate, Exchange, Price, PriceBook, VolumePrice
from planner.units import Money, format_share


@rule
class Convert:
    """price * rate * (1 + tax) * (1 + markup), rounded to whole units."""

    kind = "convert"

    def faults(self, estimate: Estimate, known: Known) -> Iterator[tuple[str, str]]:
        """Yield a book or a rate that is not there or of other currencies, and a tax that is missing or idle."""
        if estimate.book is None:
            yield "rule", "rule 'convert' needs 'book: ...', the book whose prices are converted"
            return
        other, book = known.books.get(estimate.book), known.book
        if other is None:
            yield "book", f"unknown price book '{estimate.book}'; {nearest(estimate.book, known.books)}"
            return
        yield from _exchange_faults(estimate, known, {other.currency, book.currency})
        if (other.tax != book.tax) != (estimate.tax_fraction is not None):
            same = "the same" if other.tax == book.tax else "not the same"
            words = "leave 'tax' out" if other.tax == book.tax else "say with 'tax: ... %' what lies between"
            yield "rule", f"prices of '{other.id}' are with tax {other.tax}, here {book.tax}: {same}; {words}"

    def price(self, estimate: Estimate, part: Part, known: Known) -> Price | None:
        """Return the other book's price, converted; its lead time and tiers come with it."""
        assert estimate.book is not None, "checked when loaded"
        other = known.books[estimate.book]
        found = other.find(part.id)
        if found is None:
            return None
        exchange = known.exchanges[estimate.exchange] if estimate.exchange else None
        factor, words = _factor(estimate, other, known.book, exchange)

        def converted(money: Money) -> Money:
            return whole(money.cents * factor, known.book.currency)

        def cases(price: Price | VolumePrice) -> dict[str, Any]:
            return {case: converted(getattr(price, case)) for case in ("low", "typical", "high")}

        doubt = found.evidence.kind == "assumed" or (exchange and exchange.evidence["rate"].kind == "assumed")
        sources = (*found.sources, *(exchange.evidence["rate"].sources if exchange else ()))
        return replace(
            found,
            **cases(found),
            volume=tuple(replace(tier, **cases(tier)) for tier in found.volume),
            as_of=oldest(found.as_of, *([exchange.as_of] if exchange else [])),
            basis="indicative",
            # What a quote promises there, nobody promises here.
            valid_until=None,
            quote=None,
            seller=None,
            part_numbers=(),
            warranty_months=None,
            estimate=self.kind,
            sources=tuple(dict.fromkeys(sources)),
            derived="" if doubt else words,
            assumed=f"{words}; what it is made of is assumed itself" if doubt else "",
            note=f"{estimate.assumed}; there: {found.note}" if found.note else estimate.assumed,
        )


def _exchange_faults(estimate: Estimate, known: Known, currencies: set[str]) -> Iterator[tuple[str, str]]:
    if estimate.exchange is None:
        if len(currencies) > 1:
            yield "rule", f"converting between {' and '.join(sorted(currencies))} needs 'exchange: ...'"
        return
    exchange = known.exchanges.get(estimate.exchange)
    if exchange is None:
        yield "exchange", f"unknown exchange '{estimate.exchange}'; {nearest(estimate.exchange, known.exchanges)}"
    elif exchange.rate <= 0:
        yield "exchange", f"'{exchange.id}' has the rate 0"
    elif {exchange.base, exchange.quote} != currencies:
        between = " and ".join(sorted(currencies))
        yield "exchange", f"'{exchange.id}' is between {exchange.base} and {exchange.quote}, not {between}"


def _factor(estimate: Estimate, other: PriceBook, book: PriceBook, exchange: Exchange | None) -> tuple[Fraction, str]:
    """Return what the other book's prices are multiplied with, and the formula in words."""
    factor, words = Fraction(1), [f"price in {other.id}"]
    if exchange is not None:
        forward = exchange.base == other.currency
        factor *= exchange.rate if forward else 1 / exchange.rate
        rate = f"{float(exchange.rate):g} {exchange.quote} per {exchange.base} of {exchange.as_of}"
        words.append(f"{'x' if forward else '/'} {rate}")
    if estimate.tax_fraction is not None:
        added = book.tax == "included"
        factor *= 1 + estimate.tax_fraction if added else 1 / (1 + estimate.tax_fraction)
        words.append(f"{'x' if added else '/'} {float(1 + estimate.tax_fraction):g} for {book.tax_name}")
    if estimate.markup_fraction:
        factor *= 1 + estimate.markup_fraction
        words.append(f"+ {format_share(estimate.markup_fraction)}")
    return factor, " ".join(words)
