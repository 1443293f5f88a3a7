"""What a quote says outside its table: number, dates, currency, unit, tax, delivery, warranty, seller."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from planner.quotes.cells import Cell, CellProblem, Sheet
from planner.quotes.days import days_of, months_of, parse_day
from planner.quotes.numbers import NumberError, wide
from planner.quotes.table import Table
from planner.quotes.words import money_unit, rate_of, tax_of

_WORDS = (
    (
        "quote",
        r"(sales |price )?(quote|quotation|proposal|offer|estimate)( (no|number|#|id|ref))?"
        r"|报价(单)?(编?号)|单号|方案编号|报价编码",
    ),
    (
        "valid_until",
        r"((quote|price|prices|offer|quotation) )?(is |are )?"
        r"(valid( (until|through|till|thru|to|for))?|validity( period)?|expir(es|y|ation)( date| on| by)?)"
        r"|(本?报价|价格)?(有效期|有效期至|有效期限|有效日期|有效至)",
    ),
    (
        "issued",
        r"((quote|quotation|issue|price|offer|created|issued) )?date( (issued|created))?"
        r"|date of (quote|quotation)|(issued|created|quoted)( on)?|报价(日期|时间)|日期|制单日期|制表日期",
    ),
    ("currency", r"(quote |price )?currency|(报价)?(币种|货币)"),
    ("unit", r"(金额|货币|价格|报价)?单位|(amounts|prices|all amounts|all prices) (are )?in"),
    ("tax", r"tax|taxes|vat|gst|sales tax|(tax|vat) (rate|basis)|税率|增值税(税?率)?|税|含税|是否含税"),
    ("lead_time", r"lead time|delivery( time)?|货期|交货期|交期|供货(周期|期)|交货时间|交付周期"),
    ("warranty", r"warranty( period)?|质保(期|期限)?|保修(期)?|维保(期)?"),
    (
        "seller",
        r"seller|supplier|vendor|reseller|from|sold by|报价(单位|方|公司)|供应商|卖方|供货(单位|商)",
    ),
)
_KEYS = tuple((name, re.compile(pattern)) for name, pattern in _WORDS)
_FREE_VALID = re.compile(
    r"(?:valid (?:until|through|till|thru|to|for)|expires (?:on )?|有效期(?:至|为|到)?|有效至)"
    r"\s*:?\s*(.{2,24}?)(?:[.,;。]|\s{2}|$)"
)
_MOST_TEXT = 1_000
_FREE_CURRENCY = re.compile(r"(prices|amounts|quoted|报价|价格|金额|单位|计价|结算)")


@dataclass(frozen=True)
class Statement:
    """One thing that a quote says, and where."""

    field: str
    value: Any
    sheet: Sheet
    row: int
    column: int


@dataclass(frozen=True)
class Terms:
    """What holds for the whole of a quote, as far as it says so; None and empty where it does not.

    Attributes
    ----------
    power : int or None
        Amounts count 10 ** power of the currency's unit.
    rate : Decimal or None
        Of the tax.
    lead_time, warranty : str
        As written.
    """

    quote: str = ""
    issued: date | None = None
    valid_until: date | None = None
    validity_days: int | None = None
    currency: str = ""
    power: int | None = None
    tax: str = ""
    rate: Decimal | None = None
    lead_time: str = ""
    warranty: str = ""
    seller: str = ""

    def last_day(self, issued: date | None) -> date | None:
        """Return the last day of the quote: as stated, or so many days after it was issued."""
        if self.valid_until is None and self.validity_days and issued:
            return issued + timedelta(days=self.validity_days)
        return self.valid_until


def terms_of(sheets: Iterable[Sheet], tables: Iterable[Table]) -> tuple[Terms, list[CellProblem]]:
    """Return what the sheets say outside their tables, and where they contradict themselves."""
    problems: list[CellProblem] = []
    inside = {id(table.sheet): table for table in tables}
    found: dict[str, Statement] = {}
    for sheet in sheets:
        for one in _statements(sheet, inside.get(id(sheet)), problems):
            first = found.setdefault(one.field, one)
            if one.field == "rate" and first.value != one.value:
                # Goods and services differ; a price that has to be converted will ask for its own.
                found["rate"] = replace(one, value=None)
            elif first.value != one.value:
                what = one.field.replace("_", " ")
                message = f"{what} is {one.value} here, {first.value} in row {first.row} of {first.sheet.title}"
                problems.append(sheet.problem(one.row, one.column, message, _way_out(one.field)))
    return Terms(**{name: one.value for name, one in found.items()}), problems


def _way_out(field: str) -> str:
    option = {"quote": "--quote", "issued": "--date", "valid_until": "--valid-until", "currency": "--currency",
              "tax": "--tax", "rate": "--tax", "seller": "--seller"}.get(field)  # fmt: skip
    return f"say which holds with {option}" if option else "correct the file"


def _statements(sheet: Sheet, table: Table | None, problems: list[CellProblem]) -> Iterator[Statement]:
    for row, cells in sheet.rows():
        if table is not None and table.top <= row < table.first:
            continue
        in_table = table is not None and row >= table.first and _is_line(table, row)
        columns = list(cells)
        for i, column in enumerate(columns):
            cell = cells[column]
            if in_table or not isinstance(cell.value, str):
                continue
            after = cells[columns[i + 1]] if i + 1 < len(columns) else None
            for field, value in _read(cell.value, after, problems, sheet, row, column):
                yield Statement(field, value, sheet, row, column)


def _is_line(table: Table, row: int) -> bool:
    """Return whether a row below the headers is one of the table's lines, not a remark under it."""
    cells = table.sheet.row(row)
    numbers = table.of("unit_price", "amount", "qty", "typical", "list_price")
    return any(column.number in cells for column in numbers)


def _read(
    text: str, after: Cell | None, problems: list[CellProblem], sheet: Sheet, row: int, column: int
) -> Iterator[tuple[str, Any]]:
    words = wide(re.sub(r"\s{2,}", "\t", text[:_MOST_TEXT]).replace("\t", " ; "))
    for segment in re.split(r"\s*;\s*|\.\s+(?=[A-Z])|。|(?<=\d)\s+(?=[\u3400-\u9fff]{2,6}:)", words):
        key, _, value = segment.strip(" ()[]").partition(":")
        field = _key(key)
        told = value.strip() or (after.text if after is not None and _key(after.text) is None else "")
        if field is None or not told:
            yield from _free(segment)
            continue
        try:
            yield from _value(field, told, after if not value.strip() else None)
        except NumberError as fault:
            problems.append(sheet.problem(row, column, f"{field.replace('_', ' ')}: {fault}", _way_out(field)))


def is_term(text: str) -> bool:
    """Return whether a text is the name of a term, with its value behind it or in the next cell."""
    return _key(wide(text[:_MOST_TEXT]).partition(":")[0]) is not None


def _key(words: str) -> str | None:
    bare = re.sub(r"[^\w#]+|_", " ", words.casefold()).strip()
    bare = bare.replace(" ", "") if re.search(r"[\u3400-\u9fff]", bare) else bare
    return next((name for name, pattern in _KEYS if pattern.fullmatch(bare)), None)


def _value(field: str, told: str, cell: Cell | None) -> Iterator[tuple[str, Any]]:
    if field == "issued":
        yield field, cell.value if cell and isinstance(cell.value, date) else parse_day(told)
    elif field == "valid_until":
        span = (
            None
            if cell and isinstance(cell.value, date)
            else re.search(r"(天|日|周|月|day|week|month)", told.casefold())
        )
        days = days_of(told) if span and not re.search(r"\d{4}", told) else None
        if days is not None:
            yield "validity_days", days[0]
        else:
            yield field, cell.value if cell and isinstance(cell.value, date) else parse_day(told)
    elif field in ("currency", "unit"):
        currency, power = money_unit(told)
        if currency:
            yield "currency", currency
        if power is not None:
            yield "power", power
    elif field == "tax":
        words = f"tax {told}" if not tax_of(told) else told
        if tax_of(words):
            yield "tax", tax_of(words)
        if (rate := rate_of(f"tax {told}")) is not None:
            yield "rate", rate
    elif field == "lead_time":
        yield field, told
    elif field == "warranty":
        if months_of(told) is not None:
            yield field, told
    else:
        yield field, told[:80]


def _free(words: str) -> Iterator[tuple[str, Any]]:
    """Read sentences: ``Prices exclude sales tax.``, ``报价有效期30天``, ``(单位:万元)``."""
    low = words.casefold()
    if tax_of(low) and re.search(r"价|报|含|price|amount|quot|total|tax|vat", low):
        yield "tax", tax_of(low)
        if (rate := rate_of(low)) is not None:
            yield "rate", rate
    match = _FREE_VALID.search(low)
    if match:
        days = days_of(match[1])
        if days is not None and not re.search(r"\d{4}", match[1]):
            yield "validity_days", days[0]
        else:
            with contextlib.suppress(NumberError):
                yield "valid_until", parse_day(match[1])
    if _FREE_CURRENCY.search(low) and len(low) <= 120:
        currency, power = money_unit(words)
        if currency:
            yield "currency", currency
        if power is not None and re.search(r"单位", low):
            yield "power", power
