"""Workbooks (.xlsx) to sheets. Nothing in them is run, followed or believed: limits first, stored values only."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from planner.errors import InputError
from planner.quotes.cells import MOST_CELLS, MOST_COLUMNS, MOST_ROWS, Area, Cell, CellProblem, Sheet, clean

MOST_PARTS = 2_000
MOST_UNPACKED = 64 * 2**20
_SIGNIFICANT = 15
"""Digits that spreadsheet programs keep; what a double holds beyond them is noise of its own."""
_AREA = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")


def read_workbook(content: bytes, file: str) -> list[Sheet]:
    """Return the sheets of a workbook.

    Raises
    ------
    InputError
        If it is none, is protected, or is larger than any quote.
    """
    _check_package(content, file)
    import openpyxl

    try:
        with warnings.catch_warnings():
            # Of parts that are not read anyway: styles, extensions, printer settings.
            warnings.simplefilter("ignore")
            values = openpyxl.load_workbook(io.BytesIO(content), data_only=True, keep_links=False)
            formulas = openpyxl.load_workbook(io.BytesIO(content), keep_links=False)
            return [_sheet(sheet, formulas[sheet.title], file) for sheet in values.worksheets]
    except Exception as fault:
        # The library raises whatever a broken part makes it run into.
        raise _refused(
            file, f"cannot be read as a workbook: {type(fault).__name__}: {clean(str(fault))[:120]}"
        ) from None


def _refused(file: str, message: str, hint: str = "save it again as .xlsx, or as CSV") -> InputError:
    return InputError([CellProblem(file, 0, 0, message, hint)])


def _check_package(content: bytes, file: str) -> None:
    """Refuse what would take the machine's memory before the library sees it."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise _refused(file, "is an old .xls file or protected by a password", "save it as .xlsx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            parts = package.infolist()
            if len(parts) > MOST_PARTS:
                raise _refused(file, f"has {len(parts):,} parts; a quote has at most {MOST_PARTS:,}")
            unpacked = sum(part.file_size for part in parts)
            if unpacked > MOST_UNPACKED:
                raise _refused(file, f"unpacks to {unpacked // 2**20} MiB; at most {MOST_UNPACKED // 2**20} are read")
            for part in parts:
                if part.filename.endswith((".xml", ".rels", ".vml")):
                    _check_part(package.read(part), part.filename, file)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError) as fault:
        raise _refused(file, f"is no workbook: {clean(str(fault))[:120]}") from None
    except Exception as fault:
        if isinstance(fault, InputError):
            raise
        raise _refused(file, f"is no workbook: {type(fault).__name__}") from None


def _check_part(content: bytes, name: str, file: str) -> None:
    for encoding in ("ascii", "utf-16-le", "utf-16-be"):
        if "<!DOCTYPE".encode(encoding) in content or "<!ENTITY".encode(encoding) in content:
            raise _refused(file, f"declares entities of its own in {name}")
    if "worksheets/" in name and name.endswith(".xml"):
        _check_sheet(content, name, file)


def _check_sheet(content: bytes, name: str, file: str) -> None:
    from xml.etree.ElementTree import iterparse

    cells = covered = 0
    for _, element in iterparse(io.BytesIO(content)):
        tag = element.tag.rsplit("}", 1)[-1]
        if tag == "c":
            cells += 1
        elif tag == "mergeCell":
            area = _area(element.get("ref", ""))
            if area is None:
                raise _refused(file, f"merges cells in a way that is not understood, in {name}")
            covered += (area[2] - area[0] + 1) * (area[3] - area[1] + 1)
        if cells > MOST_CELLS or covered > MOST_CELLS:
            raise _refused(file, f"has more than {MOST_CELLS:,} cells in {name}")
        if tag in ("row", "c"):
            element.clear()


def _area(ref: str) -> Area | None:
    match = _AREA.fullmatch(ref)
    if match is None:
        return None
    columns = [_column(word) for word in (match[1], match[3] or match[1])]
    rows = [int(word) for word in (match[2], match[4] or match[2])]
    return min(rows), min(columns), max(rows), max(columns)


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _sheet(values: Any, formulas: Any, file: str) -> Sheet:
    if values.max_row > MOST_ROWS or values.max_column > MOST_COLUMNS:
        size = f"{values.max_row:,} rows and {values.max_column:,} columns"
        raise ValueError(
            f"sheet '{values.title}' reaches over {size}; at most {MOST_ROWS:,} and {MOST_COLUMNS} are read"
        )
    return Sheet(
        file=file,
        name=clean(values.title),
        cells=dict(_cells(values, formulas)),
        merged=tuple((a.min_row, a.min_col, a.max_row, a.max_col) for a in values.merged_cells.ranges),
        hidden_rows=frozenset(row for row, form in values.row_dimensions.items() if form.hidden or form.height == 0),
        hidden_columns=frozenset(_hidden_columns(values)),
        hidden=values.sheet_state != "visible",
    )


def _hidden_columns(values: Any) -> Iterator[int]:
    for form in values.column_dimensions.values():
        if form.hidden and form.min and form.max:
            yield from range(form.min, min(form.max, MOST_COLUMNS) + 1)


def _cells(values: Any, formulas: Any) -> Iterator[tuple[tuple[int, int], Cell]]:
    for row in formulas.iter_rows():
        for written in row:
            if written.value is None:
                continue
            stored = values.cell(written.row, written.column).value
            is_formula = written.data_type == "f"
            if is_formula and stored is None:
                text = getattr(written.value, "text", None) or written.value
                yield (written.row, written.column), Cell(clean(str(text)) or "=", no_value=True)
                continue
            value = _plain(stored)
            if value is not None:
                yield (written.row, written.column), Cell(value)


def _plain(value: Any) -> str | Decimal | date | bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 10**30 else str(value)[:40]
    if isinstance(value, float):
        number = Decimal(f"{value:.{_SIGNIFICANT}g}")
        return number if number.is_finite() and abs(number.adjusted()) < 30 else str(value)
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    return clean(str(value)) or None
