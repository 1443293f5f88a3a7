"""Where the table of a sheet is, and what its columns hold: headers of one to three rows, merged or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from planner.errors import nearest
from planner.quotes.cells import Cell, CellProblem, Sheet, cell_name
from planner.quotes.words import FIELDS, Header, header, money_unit, rate_of, tax_of

_MOST_HEADERS = 3
_SEARCHED_ROWS = 400
_PRICES = frozenset({"unit_price", "amount", "typical", "list_price"})
_NAMES = frozenset({"part", "maker_number", "number", "description", "name"})
_SEVERAL = frozenset(
    {"number", "maker_number", "description", "name", "brand", "note", "ignored", "discount", "list_price"}
)
"""Fields of which a table may have several columns; of the rest the one that counts must be clear."""


@dataclass(frozen=True)
class Column:
    """A column of the table: its header, and where and how that is written."""

    number: int
    header: Header
    words: str


@dataclass(frozen=True)
class Table:
    """Rows below headers.

    Attributes
    ----------
    top, first : int
        First row of the headers, first row below them.
    columns : tuple of Column
        Those whose header is known.
    unknown : tuple of str
        Headers that are not.
    """

    sheet: Sheet
    top: int
    first: int
    columns: tuple[Column, ...]
    unknown: tuple[str, ...] = ()

    def of(self, *fields: str) -> tuple[Column, ...]:
        """Return the columns of these fields, in the order of the fields."""
        return tuple(column for field in fields for column in self.columns if column.header.field == field)


def find_table(sheet: Sheet, named: Mapping[str, int], row: int | None = None) -> Table | None:
    """Return the table whose headers say most; None where no row is the head of a price list.

    `named` gives fields that the caller says to be in a column, by number; `row` the first row of its headers.
    """
    rows = [row for row, _ in sheet.rows()][:_SEARCHED_ROWS]
    heads = [row] if row is not None else [row for row in rows if _has_header(sheet, row)]
    best: tuple[tuple[int, int, int, int], Table] | None = None
    for top in heads or (rows if named else []):
        for height in range(1, _MOST_HEADERS + 1):
            if height > 1 and not _has_header(sheet, top + height - 1):
                break
            table = _table(sheet, top, height, named)
            fields = {column.header.field for column in table.columns}
            if not fields & _PRICES or not fields & _NAMES:
                continue
            heads_said = [(c.header.tax, c.header.currency, c.header.rate, c.header.power) for c in table.columns]
            said = sum(part not in ("", None) for parts in heads_said for part in parts)
            rank = (len(fields), said, -height, -top)
            if best is None or rank > best[0]:
                best = rank, table
    return best[1] if best else None


def other_tables(table: Table) -> list[int]:
    """Return the rows above a table that are the head of another price list, such as a summary."""
    found = []
    for row, cells in table.sheet.rows():
        fields = {one.field for cell in cells.values() if isinstance(cell.value, str) and (one := header(cell.value))}
        if row < table.top and fields & _PRICES and fields & _NAMES and _has_header(table.sheet, row):
            found.append(row)
    return found


def _has_header(sheet: Sheet, row: int) -> bool:
    """Return whether at least half of a row's cells are headers, and none is a number."""
    words = [cell.value for cell in sheet.row(row).values()]
    known = [word for word in words if isinstance(word, str) and header(word)]
    return bool(known) and 2 * len(known) >= len(words) and all(isinstance(word, str) for word in words)


def _table(sheet: Sheet, top: int, height: int, named: Mapping[str, int]) -> Table:
    columns, unknown = [], []
    width = range(1, max((column for _, column in sheet.cells), default=0) + 1)
    texts = {column: list(_texts(sheet, top, height, column)) for column in width}
    said = {number: field for field, number in named.items()}
    for number, words in texts.items():
        found = _header(words)
        if number in said:
            found = Header(said[number]) if found is None else Header(
                said[number], found.tax, found.power, found.currency, found.rate
            )  # fmt: skip
        if found is not None:
            columns.append(Column(number, found, " ".join(words)))
        elif words:
            unknown.append(f"{cell_name(top, number)} '{' '.join(words)[:40]}'")
    return Table(sheet, top, top + height, tuple(columns), tuple(unknown))


def _texts(sheet: Sheet, top: int, height: int, column: int) -> Iterator[str]:
    seen: set[str] = set()
    for row in range(top, top + height):
        cell = sheet.row(row).get(column) or _merged(sheet, row, column)
        if cell is not None and isinstance(cell.value, str) and cell.value not in seen:
            seen.add(cell.value)
            yield cell.value


def _merged(sheet: Sheet, row: int, column: int) -> Cell | None:
    for top, left, bottom, right in sheet.merged:
        if top <= row <= bottom and left <= column <= right:
            return sheet.row(top).get(left)
    return None


def _header(words: list[str]) -> Header | None:
    """Return what headers above each other mean together: ``报价`` over ``单价``."""
    found = [one for word in words if (one := header(word))]
    if not found:
        return None
    # The lowest is the column's own; those above, and all words together, add tax, unit and currency.
    own = found[-1]
    for other in (header(" ".join(words)), *reversed(found), *map(_loose, reversed(words))):
        if other is not None:
            power = own.power if own.power is not None else other.power
            rate: Decimal | None = own.rate if own.rate is not None else other.rate
            own = Header(own.field, own.tax or other.tax, power, own.currency or other.currency, rate)
    return own


def _loose(words: str) -> Header | None:
    """Return tax, unit and currency of words that are no header by themselves."""
    currency, power = money_unit(words)
    return Header("", tax_of(words), power, currency, rate_of(words))


def price_columns(table: Table, tax: str) -> tuple[list[Column], list[CellProblem]]:
    """Return the columns that prices are taken from, and where it is not clear which they are.

    Of prices with and without tax, those on the basis `tax` are taken.
    """
    problems: list[CellProblem] = []
    chosen = []
    for field in ("unit_price", "amount", "qty", "currency", "valid_until", "lead_time", "warranty", "quote", "part",
                  "low", "typical", "high", "tax_rate", "tax_amount"):  # fmt: skip
        columns = list(table.of(field))
        if len(columns) > 1 and tax:
            columns = [c for c in columns if c.header.tax == tax] or [c for c in columns if not c.header.tax] or columns
        visible = [c for c in columns if c.number not in table.sheet.hidden_columns]
        columns = visible or columns
        if len(columns) > 1 and field not in _SEVERAL:
            where = " and ".join(f"{cell_name(table.top, c.number)} '{c.words[:40]}'" for c in columns)
            hint = f"say which with --column {field}={cell_name(1, columns[0].number)[:-1]}, or the tax with --tax"
            problems.append(table.sheet.problem(table.top, columns[1].number, f"two columns of {field}: {where}", hint))
        chosen += columns[:1]
    if not table.of("unit_price", "amount", "typical"):
        chosen += table.of("list_price")[:1]
    return chosen, problems


def parse_columns(words: Iterable[str]) -> tuple[dict[str, int], list[str]]:
    """Return field to column number from ``unit_price=F``, and what is wrong with the others."""
    found, faults = {}, []
    for text in words:
        field, _, letters = text.partition("=")
        field, letters = field.strip().replace(" ", "_"), letters.strip().upper()
        if field not in FIELDS:
            faults.append(f"--column '{text}': unknown field; {nearest(field, FIELDS)}")
        elif not (letters.isascii() and letters.isalpha() and len(letters) <= 3):
            faults.append(f"--column '{text}': expected FIELD=LETTER, such as unit_price=F")
        else:
            number = 0
            for letter in letters:
                number = number * 26 + ord(letter) - ord("A") + 1
            found[field] = number
    twice = [number for number, count in Counter(found.values()).items() if count > 1]
    faults += [f"--column: {cell_name(1, number)[:-1]} is named twice" for number in twice]
    return found, faults
