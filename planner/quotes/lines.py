"""The rows below the headers: lines with prices, sections, sums; each number exact and with its cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

from planner.quotes.cells import Cell, CellProblem, Sheet, cell_name
from planner.quotes.days import days_of, parse_day
from planner.quotes.numbers import (
    POINT_CURRENCIES,
    NumberError,
    Style,
    decimal_style,
    parse_amount,
    parse_quantity,
    wide,
)
from planner.quotes.statements import is_term
from planner.quotes.table import Column, Table
from planner.quotes.words import header, is_chinese, is_section, is_tax, is_total, money_unit, rate_of

NAME_FIELDS = ("part", "maker_number", "number", "name", "description")
CASES = ("low", "typical", "high")
_NOTHING = frozenset(
    {"-", "--", "—", "–", "/", "n/a", "na", "none", "included", "incl", "incl.", "inc", "free", "no charge", "nc",
     "含", "已含", "包含", "免费", "赠送", "无", "标配"}
)  # fmt: skip
"""What stands for no price of its own."""


@dataclass(frozen=True)
class Line:
    """A line of a quote that names something.

    Attributes
    ----------
    names : tuple of (str, str)
        Field and text of each cell that says what it is.
    qty : int or None
        Pieces.
    unit, amount : Decimal or None
        In units of the currency; None where there is none.
    cases : mapping of str to Decimal
        Prices low, typical and high of a filled-in template.
    price_column : int
        Where its price stands.
    """

    sheet: Sheet
    row: int
    names: tuple[tuple[str, str], ...]
    section: str
    qty: int | None
    unit: Decimal | None
    amount: Decimal | None
    cases: Mapping[str, Decimal]
    price_column: int
    currency: str
    tax: str
    rate: Decimal | None
    as_of: date | None = None
    valid_until: date | None = None
    terms: Mapping[str, str] = field(default_factory=dict)

    @property
    def priced(self) -> bool:
        """Whether it has a price of its own."""
        return bool(self.unit or self.amount or self.cases)

    @property
    def total(self) -> Decimal | None:
        """What its pieces come to; None where that cannot be said."""
        if self.amount is not None:
            return self.amount
        return self.qty * self.unit if self.qty is not None and self.unit is not None else None

    @property
    def text(self) -> str:
        """What it says it is, for messages."""
        return " | ".join(dict.fromkeys(text for _, text in self.names))

    @property
    def cell(self) -> str:
        """The cell of its price."""
        return cell_name(self.row, self.price_column)

    def problem(self, message: str, hint: str = "", column: int | None = None) -> CellProblem:
        """Return a problem with this line."""
        return self.sheet.problem(self.row, self.price_column if column is None else column, message, hint)


@dataclass(frozen=True)
class Sum:
    """A line that sums others up, heads a section with its sum, or is the tax on others."""

    sheet: Sheet
    row: int
    column: int
    kind: Literal["total", "tax", "section"]
    text: str
    amount: Decimal
    rate: Decimal | None = None


@dataclass
class Read:
    """What a table holds.

    Attributes
    ----------
    entries : list of Line and Sum
        In the order of the rows.
    remarks : list of str
        What a reader should know, and what could not be checked.
    """

    entries: list[Line | Sum] = field(default_factory=list)
    problems: list[CellProblem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        """The lines without the sums."""
        return [entry for entry in self.entries if isinstance(entry, Line)]


@dataclass(frozen=True)
class Basis:
    """What holds for numbers where their column does not say.

    Attributes
    ----------
    hidden : str
        ``take`` or ``skip`` hidden rows; empty where that is not said.
    one_table : bool
        Whether the caller says that this table is the one that counts.
    ignored : callable
        Whether the caller leaves out a row, by its place and texts.
    """

    currency: str
    power: int
    tax: str
    rate: Decimal | None
    style: Style
    hidden: str
    one_table: bool
    ignored: Callable[[Sheet, int, list[str]], bool]


def read_lines(table: Table, columns: list[Column], basis: Basis) -> Read:
    """Return the lines and sums of a table; all that cannot be read is told."""
    reader = _Reader(table, {column.header.field: column for column in columns}, basis)
    for row, cells in table.sheet.rows():
        if row >= table.first and not reader.ended:
            reader.row(row, cells)
    return reader.read


class _Reader:
    def __init__(self, table: Table, by_field: Mapping[str, Column], basis: Basis) -> None:
        self.table, self.sheet, self.by_field, self.basis = table, table.sheet, by_field, basis
        self.read = Read()
        self.section, self.ended = "", False
        self.style = basis.style or self._style()
        self.spans = {  # First row of vertically merged cells by column.
            (row, column): top
            for top, left, bottom, right in table.sheet.merged
            if bottom > top and left == right and top >= table.first
            for column in (left,)
            for row in range(top, bottom + 1)
        }

    def _style(self) -> Style:
        money = [c for name, c in self.by_field.items() if name in ("unit_price", "amount", "list_price", *CASES)]
        values = [
            cell.value
            for row, cells in self.sheet.rows()
            if row >= self.table.first
            for column in money
            if (cell := cells.get(column.number))
        ]
        found = decimal_style(value for value in values if isinstance(value, str))
        if found:
            return found
        words = " ".join(column.words for column in self.by_field.values())
        return "point" if is_chinese(words) or self._currency({}) in POINT_CURRENCIES else ""

    def row(self, row: int, cells: Mapping[int, Cell]) -> None:
        texts = [cell.text for cell in cells.values() if isinstance(cell.value, str) and not cell.no_value]
        if self.basis.ignored(self.sheet, row, texts) or self._repeats_headers(row, cells):
            return
        if row in self.sheet.hidden_rows and not self._hidden_taken(row, cells):
            return
        numbers = {name for name in ("unit_price", "amount", "qty", "list_price", *CASES) if self._has(cells, name)}
        label = next(iter(texts), "")
        if not numbers:
            self._text_row(row, cells, label)
        elif not numbers & {"unit_price", *CASES} and any(map(is_total, texts)):
            self._sum(row, cells, "total", next(filter(is_total, texts)))
        elif not numbers & {"unit_price", *CASES} and any(map(is_tax, texts)):
            self._sum(row, cells, "tax", next(filter(is_tax, texts)))
        elif not numbers & {"unit_price", "qty", *CASES} and is_section(label):
            self.section = " ".join(texts)[:80]
            self._sum(row, cells, "section", self.section)
        else:
            self._line(row, cells)

    def _has(self, cells: Mapping[int, Cell], name: str) -> bool:
        column = self.by_field.get(name)
        cell = cells.get(column.number) if column else None
        if cell is None or not isinstance(cell.value, str):
            return cell is not None
        return not (is_total(cell.value) or is_tax(cell.value) or _nothing(cell.value))

    def _repeats_headers(self, row: int, cells: Mapping[int, Cell]) -> bool:
        """Return whether a row has the headers once more; those of another table are told."""
        known = {n: one for n, cell in cells.items() if isinstance(cell.value, str) and (one := header(cell.value))}
        if len(known) < 3 or len(known) < len(cells):
            return False
        here = {column.number: column.header.field for column in self.table.columns}
        other = next((n for n, one in known.items() if here.get(n) != one.field), None)
        if other is not None and self.basis.one_table:
            self.ended = True
            self.read.remarks.append(f"{self.sheet.title}: the table under row {row} was not read")
        elif other is not None:
            message = "another table begins here, with other columns"
            hint = f"say which counts: --table {self.table.top} or --table {row}"
            self.read.problems.append(self.sheet.problem(row, other, message, hint))
        return True

    def _hidden_taken(self, row: int, cells: Mapping[int, Cell]) -> bool:
        if self.basis.hidden == "take":
            return True
        if self._has(cells, "unit_price") or self._has(cells, "amount"):
            if self.basis.hidden == "skip":
                self.read.remarks.append(f"row {row} of {self.sheet.title} is hidden and left out")
            else:
                hint = "say what becomes of hidden rows: --hidden take or --hidden skip"
                self.read.problems.append(self.sheet.problem(row, 0, "is hidden, and has a price", hint))
        return False

    def _text_row(self, row: int, cells: Mapping[int, Cell], label: str) -> None:
        """Take a row without numbers for a heading, a remark, or something that is in another's price."""
        names = () if is_term(label) else self._names(row, cells)
        if is_section(label) or len(cells) == 1:
            self.section = label[:80] if label and not is_total(label) else self.section
        elif names and not any(map(is_total, (text for _, text in names))):
            self._add(row, cells, names, None, None, None, {})

    def _line(self, row: int, cells: Mapping[int, Cell]) -> None:
        names = self._names(row, cells)
        values = {name: self._money(row, cells, name) for name in ("unit_price", "amount", "list_price", *CASES)}
        unit = values["unit_price"] if "unit_price" in self.by_field else values["list_price"]
        cases = {case: value for case in CASES if (value := values[case])}
        qty = self._qty(row, cells)
        if not names and (unit or values["amount"] or cases):
            message = "a price without a word on what it is for"
            column = next((c.number for n in ("unit_price", "amount") if (c := self.by_field.get(n))), 0)
            self.read.problems.append(self.sheet.problem(row, column, message, "leave the row out with --ignore"))
        elif names:
            self._add(row, cells, names, qty, unit, values["amount"], cases)

    def _add(
        self, row: int, cells: Mapping[int, Cell], names: tuple[tuple[str, str], ...], qty: int | None,
        unit: Decimal | None, amount: Decimal | None, cases: Mapping[str, Decimal],
    ) -> None:  # fmt: skip
        order = ("typical", "unit_price", "list_price") if unit or cases else ("amount",)
        column = next((c for name in order if (c := self.by_field.get(name))), None)
        column = column or next(iter(self.by_field.values()))
        for name in ("unit_price", "amount"):
            spot = self.by_field.get(name)
            if spot and (self.spans.get((row, spot.number), row) != row or self._covers(row, spot.number)):
                message = "one price is merged over several lines"
                self.read.problems.append(
                    self.sheet.problem(
                        row, spot.number, message, "ask for a price of each, or leave the row out with --ignore"
                    )
                )
                break
        days = {name: self._day(row, cells, name) for name in ("as_of", "valid_until")}
        span = self._text(row, cells, "valid_until") if days["valid_until"] is None else ""
        terms = {n: t for n in ("quote", "seller", "lead_time", "warranty", "note") if (t := self._text(row, cells, n))}
        terms |= {"valid_for": span} if span else {}
        self.read.entries.append(
            Line(
                self.sheet, row, names, self.section, qty, unit, amount, cases, column.number, self._currency(cells),
                column.header.tax or self.basis.tax, self._rate(cells, column), days["as_of"], days["valid_until"],
                terms,
            )
        )  # fmt: skip

    def _covers(self, row: int, column: int) -> bool:
        """Return whether a merged cell begins here that covers further rows with something in them."""
        return any(
            top == row and left <= column <= right and any(self.sheet.row(r) for r in range(top + 1, bottom + 1))
            for top, left, bottom, right in self.sheet.merged
        )

    def _names(self, row: int, cells: Mapping[int, Cell]) -> tuple[tuple[str, str], ...]:
        found = []
        for column in self.table.of(*NAME_FIELDS):
            cell = cells.get(column.number)
            if cell is None:
                continue
            if cell.no_value:
                self._no_value(row, column, cell)
            elif not isinstance(cell.value, bool | date):
                found.append((column.header.field, cell.text))
        return tuple(found)

    def _no_value(self, row: int, column: Column, cell: Cell) -> None:
        message = f"is the formula '{cell.text[:60]}', and the file holds no value of it"
        hint = "open the file in a spreadsheet program and save it there, or write the number"
        self.read.problems.append(self.sheet.problem(row, column.number, message, hint))

    def _cell(self, row: int, cells: Mapping[int, Cell], name: str) -> tuple[Column, Cell] | None:
        """Return the cell of a field; one merged over several rows counts for each, but for money."""
        column = self.by_field.get(name)
        if column is None:
            return None
        cell = cells.get(column.number)
        top = self.spans.get((row, column.number))
        if cell is None and top is not None and name not in ("unit_price", "amount", "qty", "list_price", *CASES):
            cell = self.sheet.row(top).get(column.number)
        return (column, cell) if cell is not None else None

    def _money(self, row: int, cells: Mapping[int, Cell], name: str) -> Decimal | None:
        found = self._cell(row, cells, name)
        if found is None:
            return None
        column, cell = found
        if cell.no_value and name == "amount" and self._has(cells, "unit_price"):
            place = f"{self.sheet.title}, cell {cell_name(row, column.number)}"
            self.read.remarks.append(f"{place}: a formula without a stored value; this amount was not checked")
            return None
        if cell.no_value:
            self._no_value(row, column, cell)
            return None
        if not self._has(cells, name):
            return None
        try:
            return self._number(cell, column, cells)
        except NumberError as fault:
            hint = "write the number, say --decimal point or comma, or leave the row out with --ignore"
            self.read.problems.append(self.sheet.problem(row, column.number, str(fault), hint))
            return None

    def _number(self, cell: Cell, column: Column, cells: Mapping[int, Cell]) -> Decimal:
        power = column.header.power if column.header.power is not None else self.basis.power
        if isinstance(cell.value, Decimal):
            value = cell.value.scaleb(power)
        elif isinstance(cell.value, bool | date):
            raise NumberError(f"'{cell.text}' is no number")
        else:
            amount = parse_amount(cell.value, self.style)
            value = amount.value if amount.scaled else amount.value.scaleb(power)
            currency = self._currency(cells)
            if amount.currency and currency and amount.currency != currency:
                raise NumberError(f"'{cell.text}' is in {amount.currency}, the quote in {currency}")
        if value < 0:
            raise NumberError(f"'{cell.text}' is negative: what it takes off is of no part")
        if value >= 10**12:
            raise NumberError(f"'{cell.text}' is out of all proportion")
        return value

    def _currency(self, cells: Mapping[int, Cell]) -> str:
        column = self.by_field.get("currency")
        cell = cells.get(column.number) if column else None
        if cell is not None:
            return money_unit(cell.text)[0] or cell.text
        for name in ("typical", "unit_price", "amount", "list_price"):
            money = self.by_field.get(name)
            if money and money.header.currency:
                return money.header.currency
        if self.basis.currency:
            return self.basis.currency
        return next(filter(None, (self._written(cells, name) for name in ("unit_price", "amount"))), "")

    def _written(self, cells: Mapping[int, Cell], name: str) -> str:
        column = self.by_field.get(name)
        cell = cells.get(column.number) if column else None
        return money_unit(cell.text)[0] if cell and isinstance(cell.value, str) else ""

    def _rate(self, cells: Mapping[int, Cell], column: Column) -> Decimal | None:
        spot = self.by_field.get("tax_rate")
        cell = cells.get(spot.number) if spot else None
        if cell is not None and isinstance(cell.value, Decimal):
            return cell.value if cell.value < 1 else cell.value / 100
        found = rate_of(f"tax {cell.text}") if cell is not None else None
        return found or column.header.rate or self.basis.rate

    def _qty(self, row: int, cells: Mapping[int, Cell]) -> int | None:
        found = self._cell(row, cells, "qty")
        if found is None:
            return None
        column, cell = found
        if cell.no_value:
            self._no_value(row, column, cell)
            return None
        if isinstance(cell.value, str) and _nothing(cell.text):
            return None
        try:
            if isinstance(cell.value, bool | date):
                raise NumberError(f"'{cell.text}' is no whole number of pieces")
            return parse_quantity(cell.text)
        except NumberError as fault:
            self.read.problems.append(
                self.sheet.problem(row, column.number, str(fault), "correct it, or --ignore the row")
            )
            return None

    def _day(self, row: int, cells: Mapping[int, Cell], name: str) -> date | None:
        found = self._cell(row, cells, name)
        if found is None or (isinstance(found[1].value, str) and _nothing(found[1].text)):
            return None
        if isinstance(found[1].value, date):
            return found[1].value
        if name == "valid_until" and days_of(found[1].text) and not re.search(r"\d{4}", found[1].text):
            return None  # So many days after the quote, whose date is known where the book is made.
        try:
            return parse_day(found[1].text)
        except NumberError as fault:
            self.read.problems.append(self.sheet.problem(row, found[0].number, str(fault), "write it as 2026-11-20"))
            return None

    def _text(self, row: int, cells: Mapping[int, Cell], name: str) -> str:
        found = self._cell(row, cells, name)
        if found is None or found[1].no_value or isinstance(found[1].value, bool):
            return ""
        # A plain number gets the unit of its header: 8 under "Lead time (weeks)".
        unit = found[0].words if isinstance(found[1].value, Decimal) and name in ("lead_time", "warranty") else ""
        return f"{found[1].text} {_unit_in(unit)}".strip()

    def _sum(self, row: int, cells: Mapping[int, Cell], kind: Literal["total", "tax", "section"], text: str) -> None:
        spot = self.by_field.get("amount") or self.by_field.get("unit_price")
        if spot is None or spot.number not in cells:
            others = [c for c, cell in cells.items() if isinstance(cell.value, Decimal)]
            if not others:
                return
            spot = Column(others[-1], spot.header if spot else self.table.columns[0].header, "")
        cell = cells[spot.number]
        place = f"{self.sheet.title}, cell {cell_name(row, spot.number)}"
        if cell.no_value:
            self.read.remarks.append(f"{place}: a formula without a stored value; this sum was not checked")
            return
        try:
            amount = self._number(cell, spot, {})
        except NumberError as fault:
            self.read.remarks.append(f"{place}: {fault}; this sum was not checked")
            return
        self.read.entries.append(Sum(self.sheet, row, spot.number, kind, text, amount, rate_of(text)))


def _nothing(text: str) -> bool:
    return wide(text).casefold() in _NOTHING


def _unit_in(words: str) -> str:
    low = wide(words).casefold()
    return next((unit for unit in ("week", "month", "year", "周", "月", "年", "天", "day") if unit in low), "")


def places(lines: list[Line]) -> Iterator[str]:
    """Yield where prices stand: ``G7``, with the sheet where there are several."""
    several = len({line.sheet.name for line in lines}) > 1
    yield from (f"{line.sheet.name}!{line.cell}" if several else line.cell for line in lines)
