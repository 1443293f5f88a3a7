"""Text files (.csv, .tsv) to a sheet: the encoding and the sign between columns are found, or asked for."""

from __future__ import annotations

import codecs
import csv
import io
import re

from planner.errors import InputError
from planner.quotes.cells import MOST_CELLS, MOST_COLUMNS, MOST_ROWS, Cell, CellProblem, Sheet, clean
from planner.quotes.words import header

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SIGNS = (",", ";", "\t", "|")
_QUOTED = re.compile(r'="(.*)"')
_GUARDED = re.compile(r"'[=+\-@\t\r]")


def read_text(content: bytes, file: str, encoding: str = "") -> Sheet:
    """Return the sheet of a text file.

    Raises
    ------
    InputError
        If its encoding is not known, or it is larger than any quote.
    """
    text, used = _decode(content, file, encoding)
    if "\x00" in text:
        raise _refused(file, "is no text file", "quotes are read from .xlsx and .csv")
    rows = max(_readings(text, file), key=_score)
    if len(rows) > MOST_ROWS or any(len(row) > MOST_COLUMNS for row in rows) or sum(map(len, rows)) > 5 * MOST_CELLS:
        raise _refused(file, f"has over {MOST_ROWS:,} rows or {MOST_COLUMNS} columns", "cut it down to the quote")
    cells = {
        (i, j): Cell(text) for i, row in enumerate(rows, 1) for j, word in enumerate(row, 1) if (text := _plain(word))
    }
    return Sheet(file, "", cells, note=f"read as {used}")


def _refused(file: str, message: str, hint: str) -> InputError:
    return InputError([CellProblem(file, 0, 0, message, hint)])


def _decode(content: bytes, file: str, encoding: str) -> tuple[str, str]:
    marked = next((name for mark, name in _MARKS if content.startswith(mark)), "")
    for name in (encoding,) if encoding else (marked,) if marked else ("utf-8", "gb18030"):
        try:
            return content.decode(name), name.removesuffix("-sig")
        except LookupError:
            raise _refused(file, f"the encoding '{name}' is not known", "such as utf-8, gb18030, cp1252") from None
        except (UnicodeError, ValueError):
            continue
    hint = "say which with --encoding, such as cp1252, or save it as UTF-8"
    raise _refused(file, f"is not {encoding or marked or 'UTF-8 or GB 18030'} text", hint)


def _readings(text: str, file: str) -> list[list[list[str]]]:
    """Return the rows as each sign between columns makes them."""
    found, faults = [], []
    for sign in _SIGNS:
        try:
            found.append(list(csv.reader(io.StringIO(text, newline=""), delimiter=sign)))
        except csv.Error as fault:
            faults.append(fault)
    if not found:
        raise _refused(file, f"cannot be read as CSV: {faults[0]}", "save it again as CSV, or as .xlsx")
    return found


def _score(rows: list[list[str]]) -> tuple[int, int]:
    """Return the most headers that one row holds, then the most columns."""
    known = (len({found.field for word in row if (found := header(word))}) for row in rows[:200])
    return max(known, default=0), max(map(len, rows[:200]), default=0)


def _plain(word: str) -> str:
    """Return the text of a cell; ``="00123"`` is how some shops keep leading zeros."""
    quoted = _QUOTED.fullmatch(word.strip())
    text = clean(quoted[1] if quoted else word)
    # The guard that keeps a spreadsheet program from taking text for a formula.
    return text[1:] if _GUARDED.match(text) else text
