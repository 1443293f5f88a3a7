"""Sheets of a quote as plain cells, and problems that name file, sheet and cell."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from planner.errors import Problem

MOST_ROWS = 20_000
MOST_COLUMNS = 500
MOST_CELLS = 100_000
MOST_BYTES = 20 * 2**20


class CellProblem(Problem):
    """A problem at a cell; `line` and `column` are its row and column."""

    def __str__(self) -> str:
        """Return ``file, sheet 'x', cell B12: message``, the hint on a line of its own."""
        place = self.file
        if self.line:
            place += f", cell {cell_name(self.line, self.column)}" if self.column else f", row {self.line}"
        return f"{place}: {self.message}" + (f"\n    {self.hint}" if self.hint else "")


def cell_name(row: int, column: int) -> str:
    """Return how spreadsheets call a cell: ``B12``."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


def clean(text: str) -> str:
    """Return text without control characters, lone surrogates and spaces at its ends; line ends become spaces."""
    kept = (" " if char in "\r\n\t\x0b\x0c\x85\u2028\u2029" else char for char in text)
    return "".join(char for char in kept if unicodedata.category(char) not in ("Cc", "Cs", "Cf")).strip()


@dataclass(frozen=True)
class Cell:
    """What stands in one cell.

    Attributes
    ----------
    value : str, Decimal, date or bool
        As stored; text is clean and never empty.
    no_value : bool
        Whether it is a formula whose file stores no value for it; then `value` is the formula's text.
    """

    value: str | Decimal | date | bool
    no_value: bool = False

    @property
    def text(self) -> str:
        """What a reader sees, about."""
        if isinstance(self.value, Decimal):
            return f"{self.value:f}"
        return self.value.isoformat() if isinstance(self.value, date) else str(self.value)


Area = tuple[int, int, int, int]
"""First row, first column, last row, last column."""


@dataclass(frozen=True)
class Sheet:
    """One sheet: cells by row and column, counted from 1; blank ones are left out.

    Attributes
    ----------
    file, name : str
        Of the file, and of the sheet; a text file's only sheet has no name.
    merged : tuple of Area
        Cells that are shown as one; the value stands in the first.
    hidden : bool
        Whether the sheet itself is hidden.
    note : str
        How it was read, such as the encoding of a text file.
    """

    file: str
    name: str
    cells: Mapping[tuple[int, int], Cell]
    merged: tuple[Area, ...] = ()
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    hidden: bool = False
    note: str = ""
    _rows: dict[int, dict[int, Cell]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Lay the cells out by row."""
        for (row, column), cell in sorted(self.cells.items()):
            self._rows.setdefault(row, {})[column] = cell

    @property
    def title(self) -> str:
        """The file, and the sheet where it has a name."""
        return f"{self.file}, sheet '{self.name}'" if self.name else self.file

    def row(self, row: int) -> Mapping[int, Cell]:
        """Return the cells of a row by column."""
        return self._rows.get(row, {})

    def rows(self) -> Iterator[tuple[int, Mapping[int, Cell]]]:
        """Yield the rows that hold anything."""
        yield from self._rows.items()

    def problem(self, row: int, column: int, message: str, hint: str = "") -> CellProblem:
        """Return a problem at a cell; column 0 means the row, row 0 the sheet."""
        return CellProblem(self.title, row, column, message, hint)
