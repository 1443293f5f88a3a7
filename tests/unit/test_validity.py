"""Quotes that are past their last day, on days that the tests name."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.bill import CostLine, bill
from planner.errors import InputError
from planner.loading import load_shelf
from planner.validity import ExpiredQuote, expired_quotes, issue
from tests.unit import tiny


def lines(**terms: Any) -> tuple[CostLine, ...]:
    """A bill of two nodes whose GPU was quoted on these terms."""
    prices = tiny.pricing()
    some = (replace(price, **terms) if price.part == "gpu" else price for price in prices.book.prices)
    prices = replace(prices, book=replace(prices.book, prices=tuple(some)), _pieces={}, notes={})
    return bill(prices, {tiny.priced(tiny.build(), prices, 8): 2})


@pytest.mark.parametrize(
    ("valid_until", "day", "late"),
    [
        ("2026-12-20", date(2026, 12, 20), False),  # the last day counts
        ("2026-12-20", date(2026, 12, 21), True),
        ("2026-12", date(2026, 12, 31), False),
        ("2026-12", date(2027, 1, 1), True),
        ("2026", date(2026, 12, 31), False),
        (None, date(2099, 1, 1), False),
    ],
)
def test_the_last_day_counts(valid_until: str | None, day: date, late: bool) -> None:
    found = expired_quotes(lines(valid_until=valid_until, quote="Q-7", seller="Example"), day)
    assert found == ((ExpiredQuote("gpu", "Q-7", "Example", str(valid_until)),) if late else ())


def test_a_final_bill_names_each_expired_quote() -> None:
    late = lines(valid_until="2026-12-20", quote="Q-7")
    with pytest.raises(InputError) as told:
        issue(late, date(2027, 1, 2), final=True, allow_expired=False, book="mine")
    text = str(told.value)
    assert "price book mine: gpu: quote Q-7, valid until 2026-12-20; this bill is of 2027-01-02" in text
    assert "--prices" in text and "--allow-expired" in text
    allowed = issue(late, date(2027, 1, 2), final=True, allow_expired=True, book="mine")
    assert [one.part for one in allowed.expired] == ["gpu"]
    assert issue(late, date(2026, 12, 2), final=True, allow_expired=False, book="mine").expired == ()
    assert len(issue(late, date(2027, 1, 2), final=False, allow_expired=False, book="mine").expired) == 1


def test_a_quote_without_a_number_is_named_all_the_same() -> None:
    (found,) = expired_quotes(lines(valid_until="2026-12-20"), date(2027, 1, 2))
    assert str(found) == "gpu: a quote without a number, valid until 2026-12-20"


BOOK = """\
kind: prices
id: us-2026-11
name: Ours
region: US
currency: USD
as_of: "2026-12-01"
tax: excluded
documents:
  - {{id: our-quote, title: "Quote Q-17", where: "q.xlsx", date: "2026-11-20", grade: A}}
prices:
  - part: mi300x
    low: USD 11000
    typical: USD 11500
    high: USD 11500
    as_of: "2026-11-20"
    basis: contract
    {terms}
    sources: [our-quote]
"""


def book(folder: Path, terms: str) -> Path:
    path = folder / "ours.yaml"
    path.write_text(BOOK.format(terms=terms), encoding="utf-8")
    return path


def test_a_book_brings_its_documents_and_its_terms(tmp_path: Path) -> None:
    terms = "{quote: Q-17, seller: Example, part_numbers: [ABC-1], warranty: 3 years, valid_until: '2026-12-20'}"
    words = "\n    ".join(terms.strip("{}").split(", "))
    catalog = load_shelf((), [book(tmp_path, words)]).catalog
    price = catalog.books["us-2026-11"].find("mi300x")
    assert price is not None
    assert (price.quote, price.seller, price.part_numbers) == ("Q-17", "Example", ("ABC-1",))
    assert (price.warranty_months, price.valid_until) == (36, "2026-12-20")
    assert catalog.sources.by_id["our-quote"].title == "Quote Q-17"
    assert catalog.books["us-2026-11"].find("h200-sxm") is not None


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ("valid_until: '2026-02-30'", "'2026-02-30' is no day of the calendar"),
        ("warranty: 30 days", "'warranty': '30 days' has the unit 'days'; expected months"),
        ("warranty: 1.2 years", "not a whole number of months"),
    ],
)
def test_terms_that_cannot_be(tmp_path: Path, terms: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_shelf((), [book(tmp_path, terms)])
