"""Matched lines to a price book: one price per part, in whole cents, on the book's tax basis, with its evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from planner.errors import Problem
from planner.prices import PriceBook
from planner.quotes.cells import CellProblem
from planner.quotes.days import days_of, months_of
from planner.quotes.lines import CASES, Line, places
from planner.quotes.matching import Match
from planner.quotes.sums import shown

_CENT = Decimal("0.01")


@dataclass(frozen=True)
class BookTerms:
    """What the written book says of itself, and what holds for every line that says nothing else.

    Attributes
    ----------
    currency, tax : str
        The book's basis.
    issued, last_day : date
        Of the quote.
    as_of : str
        Of the book.
    """

    id: str
    name: str
    region: str
    currency: str
    tax: str
    tax_name: str
    basis: str
    file: str
    sheets: tuple[str, ...]
    issued: date
    as_of: str
    last_day: date | None
    quote: str
    seller: str
    lead_time: str
    warranty: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Priced:
    """A price as it is written.

    Attributes
    ----------
    cents : mapping of str to int
        By price case.
    derived : str
        How it follows from the quote, where it does not stand there as it is.
    """

    part: str
    lines: tuple[Line, ...]
    cents: Mapping[str, int]
    derived: str
    how: str
    numbers: tuple[str, ...] = ()


@dataclass
class Prices:
    """Prices by part, and what keeps others from being written."""

    priced: list[Priced] = field(default_factory=list)
    problems: list[CellProblem] = field(default_factory=list)


def price_parts(matches: Sequence[Match], terms: BookTerms) -> Prices:
    """Return one price per part."""
    made = Prices()
    by_part: dict[str, list[Match]] = {}
    for match in matches:
        if match.target is not None and match.line.priced:
            by_part.setdefault(match.target.part, []).append(match)
    for part, found in by_part.items():
        prices = [price for match in found if (price := _price(part, match, terms, made.problems))]
        if not prices:
            continue
        if len({(tuple(price.cents.items())) for price in prices}) > 1:
            told = ", ".join(f"{shown(Decimal(p.cents['typical']) / 100)} in {p.lines[0].cell}" for p in prices)
            hint = f"keep one of them: --ignore {prices[1].lines[0].row} leaves out that row"
            made.problems.append(prices[1].lines[0].problem(f"'{part}' stands at several prices: {told}", hint))
            continue
        numbers = tuple(dict.fromkeys(number for price in prices for number in price.numbers))
        lines = tuple(line for price in prices for line in price.lines)
        made.priced.append(Priced(part, lines, prices[0].cents, prices[0].derived, prices[0].how, numbers))
    return made


def _price(part: str, match: Match, terms: BookTerms, problems: list[CellProblem]) -> Priced | None:
    line, pieces = match.line, match.target.pieces if match.target else 1
    if line.currency != terms.currency:
        problems.append(line.problem(f"the price is in {line.currency}, the book in {terms.currency}", _BOOK_HINT))
        return None
    values, told, fault = _values(line)
    if fault:
        problems.append(line.problem(fault, "write the price of one piece, or leave the row out with --ignore"))
        return None
    factor, step = _tax_factor(line, terms)
    if factor is None:
        problems.append(line.problem(step, _TAX_HINT))
        return None
    steps = [f"/ {line.qty} pieces"] if not (line.cases or line.unit) else []
    steps += [step] if step else []
    steps += [f"/ {pieces} pieces in one"] if pieces > 1 else []
    over, under = factor
    exact = {case: value * over / under / pieces for case, value in values.items()}
    cents = {case: int(value.quantize(_CENT, ROUND_HALF_UP) * 100) for case, value in exact.items()}
    rounded = ", rounded to a cent" if any(value * 100 != cents[case] for case, value in exact.items()) else ""
    if min(cents.values()) <= 0:
        problems.append(line.problem("the price is below a cent", "leave the row out with --ignore"))
        return None
    issued, ends = _days(line, terms)
    if ends is not None and ends < issued:
        problems.append(
            line.problem(f"the price ends on {ends}, before its own date {issued}", "correct one of the two")
        )
        return None
    if not cents["low"] <= cents["typical"] <= cents["high"]:
        problems.append(line.problem("low <= typical <= high does not hold", "correct the three prices"))
        return None
    derived = " ".join([f"{line.currency} {told}", *steps]) + rounded if steps or rounded else ""
    return Priced(part, (line,), cents, derived, match.how, match.numbers)


_BOOK_HINT = "write a book of its own currency: --book with an id of your own"
_TAX_HINT = "say the rate with --tax, such as --tax 'included 13%', or write a book on the quote's own basis"


def _values(line: Line) -> tuple[dict[str, Decimal], str, str]:
    """Return the price of a piece by case, the number it begins with, and what is wrong where there is none."""
    if line.cases:
        typical = line.cases.get("typical")
        if typical is None:
            return {}, "", "a low or high price without the typical one, which plans use"
        return {case: line.cases.get(case, typical) for case in CASES}, shown(typical), ""
    if line.unit:
        return dict.fromkeys(CASES, line.unit), shown(line.unit), ""
    amount = line.amount or Decimal(0)
    if line.qty:
        return dict.fromkeys(CASES, amount / line.qty), shown(amount), ""
    pieces = "no number of" if line.qty is None else line.qty
    return {}, "", f"{shown(amount)} for {pieces} pieces, and no price of one"


def _tax_factor(line: Line, terms: BookTerms) -> tuple[tuple[Decimal, Decimal] | None, str]:
    one = Decimal(1)
    if line.tax == terms.tax:
        return (one, one), ""
    holds = "with tax" if line.tax == "included" else "without tax"
    wanted = "with" if terms.tax == "included" else "without"
    if not line.rate:
        return None, f"the price is {holds}, the book's are {wanted}, and no rate is stated"
    percent = f"{(line.rate * 100).normalize():f} % tax"
    if line.tax == "included":
        return (one, 1 + line.rate), f"with {percent} / {1 + line.rate}"
    return (1 + line.rate, one), f"without tax x {1 + line.rate} for {percent}"


def source_id(terms: BookTerms) -> str:
    """Return the id under which the quote is named as a source."""
    word = re.sub(r"[^0-9A-Za-z]+", "-", terms.quote or terms.file).strip("-").lower() or "file"
    return f"quote-{word[:40]}-{terms.issued.isoformat()}"


def book_text(priced: Sequence[Priced], terms: BookTerms) -> str:
    """Return the price book as YAML."""
    source = source_id(terms)
    title = f"Quote {terms.quote}" if terms.quote else "Quote without a number"
    title += f" of {terms.seller}" if terms.seller else ""
    where = terms.file + (f", sheet {', '.join(terms.sheets)}" if any(terms.sheets) else "")
    lines = ["# yaml-language-server: $schema=../schema/prices.json", f"# Prices of {_comment(where)}.", "kind: prices"]
    head: dict[str, Any] = {
        "id": terms.id, "name": terms.name, "region": terms.region, "currency": terms.currency,
        "as_of": terms.as_of, "tax": terms.tax, "tax_name": terms.tax_name,
    }  # fmt: skip
    lines += [f"{key}: {_scalar(value)}" for key, value in head.items()]
    if terms.notes:
        lines.append(f"note: {_scalar('; '.join(terms.notes))}")
    document = {"id": source, "title": title, "where": where, "date": terms.issued.isoformat(), "grade": "A"}
    lines += ["documents:", "  - {" + ", ".join(f"{key}: {_scalar(value)}" for key, value in document.items()) + "}"]
    lines.append("prices:")
    for one in sorted(priced, key=lambda price: price.part):
        lines += _entry(one, terms, source)
    return "\n".join(lines) + "\n"


def _days(line: Line, terms: BookTerms) -> tuple[date, date | None]:
    """Return the date of a price and its last day."""
    issued, span = line.as_of or terms.issued, days_of(line.terms.get("valid_for", ""))
    return issued, line.valid_until or (issued + timedelta(days=span[0]) if span else terms.last_day)


def _entry(one: Priced, terms: BookTerms, source: str) -> list[str]:
    line = one.lines[0]
    issued, ends = _days(line, terms)
    quote = line.terms.get("quote") or terms.quote
    seller = line.terms.get("seller") or terms.seller
    found: dict[str, Any] = {"part": one.part}
    found |= {case: f"{terms.currency} {one.cents[case] // 100}.{one.cents[case] % 100:02d}" for case in CASES}
    found |= {"as_of": issued.isoformat()}
    found |= {"valid_until": ends.isoformat()} if ends else {}
    found |= {"quote": quote} if quote else {}
    found |= {"seller": seller} if seller else {}
    notes = [f"cell {', '.join(places(list(one.lines)))}: {line.text[:160]}"]
    warranty = line.terms.get("warranty") or terms.warranty
    months = months_of(warranty) if warranty else None
    found |= {"warranty": f"{months} months"} if months else {}
    notes += [f"warranty: {warranty[:80]}"] if warranty and not months else []
    text = [f"    {key}: {_scalar(value)}" for key, value in found.items()]
    if one.numbers:
        text.append(f"    part_numbers: [{', '.join(_scalar(number) for number in one.numbers)}]")
    text.append(f"    basis: {terms.basis}")
    lead = line.terms.get("lead_time") or terms.lead_time
    days = days_of(lead) if lead else None
    if days:
        derived = f", derived: {_scalar(days[1])}" if days[1] else ""
        text.append(
            f"    lead_time: {{time: {days[0]} days, sources: [{source}]{derived}, note: {_scalar(lead[:80])}}}"
        )
    notes += [f"lead time: {lead[:80]}"] if lead and not days else []
    if line.terms.get("note"):
        notes.append(line.terms["note"][:160])
    text += [f"    derived: {_scalar(one.derived)}"] if one.derived else []
    text += [f"    sources: [{source}]", f"    note: {_scalar('; '.join(notes))}"]
    return [text[0].replace("    part:", "  - part:", 1), *text[1:]]


def _comment(text: str) -> str:
    return re.sub(r"[^\x20-\x7e\u00a1-\uffef]", " ", text)


def _scalar(value: str) -> str:
    """Return text that YAML reads back as it is."""
    return json.dumps(value, ensure_ascii=not value.isprintable())


def check_text(text: str, priced: Sequence[Priced], currency: str) -> None:
    """Make sure that what was written reads back as what was meant.

    Raises
    ------
    AssertionError
        If it does not, which is a fault of ours.
    """
    from planner.documents import parse_document
    from planner.reading import read_record

    document = parse_document(text, "what was written")
    made, faults = read_record(document, document.data, PriceBook)
    problems: list[Problem] = [*document.problems, *faults]
    assert made is not None and not problems, problems
    for one in priced:
        price = made.find(one.part)
        assert price is not None and price.typical.currency == currency
        assert {case: getattr(price, case).cents for case in CASES} == dict(one.cents)
