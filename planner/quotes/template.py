"""A template of the catalogue's parts: the buyer fills in prices, and `importing` reads them back as they are."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from decimal import Decimal

from planner.errors import UsageError, nearest
from planner.hardware import Catalog, Chassis
from planner.prices import PriceBook

Value = str | Decimal
COLUMNS = (
    "Kind", "Part ID", "Name", "Manufacturer part number", "Unit", "Current low", "Current typical", "Current high",
    "Current as of", "New low", "New typical", "New high", "Currency", "New as of", "Valid until", "Quote no", "Seller",
    "Lead time", "Warranty", "Remarks",
)  # fmt: skip
_STILL = (1980, 1, 1, 0, 0, 0)
"""The date of everything in a workbook: the same catalogue makes the same file."""
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r")
_WIDTHS = {"Part ID": 26, "Name": 44, "Manufacturer part number": 26, "Remarks": 30}


def template_rows(catalog: Catalog, book: PriceBook, kinds: Sequence[str]) -> list[list[Value]]:
    """Return the rows of a template; `kinds` is empty for all parts.

    Raises
    ------
    UsageError
        If a kind is unknown.
    """
    for kind in kinds:
        if kind not in catalog.parts:
            raise UsageError(f"catalog export {kind}: unknown kind; {nearest(kind, catalog.parts)}")
    basis = "included" if book.tax == "included" else "excluded"
    rows: list[list[Value]] = [
        ["Price template: fill in the new prices. Rows without one are left as they are."],
        ["Price book", book.id],
        ["Currency", book.currency],
        ["Tax", basis],
        ["Quote no"], ["Quote date"], ["Valid until"], ["Seller"], [],
        list(COLUMNS),
    ]  # fmt: skip
    for kind in kinds or list(catalog.parts):
        for part in catalog.parts[kind].values():
            if isinstance(part, Chassis) and part.whole_system:
                continue
            price = book.find(part.id)
            now: list[Value] = ["", "", "", ""]
            if price is not None:
                now = [*(Decimal(m.cents) / 100 for m in (price.low, price.typical, price.high)), price.as_of]
            numbers = "; ".join(part.part_numbers)
            rows.append([kind, part.id, part.name, numbers, "piece", *now, "", "", "", book.currency])
    return rows


def template_csv(rows: Sequence[Sequence[Value]]) -> bytes:
    """Return rows as CSV in UTF-8 with a mark, as spreadsheet programs expect it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([[_safe(value) for value in row] for row in rows])
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8")


def _safe(value: Value) -> str:
    if isinstance(value, Decimal):
        return f"{value:.2f}"
    return f"'{value}" if value.startswith(_FORMULA_START) else value


def template_xlsx(rows: Sequence[Sequence[Value]]) -> bytes:
    """Return rows as a workbook in which every text is text, whatever it begins with."""
    import openpyxl
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Prices"
    for i, row in enumerate(rows, 1):
        for j, value in enumerate(row, 1):
            if value == "":
                continue
            cell = sheet.cell(i, j)
            cell.value = value
            if isinstance(value, str):
                cell.data_type = "s"
            else:
                cell.number_format = "#,##0.00"
    head = next(i for i, row in enumerate(rows, 1) if list(row) == list(COLUMNS))
    for j, name in enumerate(COLUMNS, 1):
        sheet.cell(head, j).font = Font(bold=True)
        sheet.column_dimensions[get_column_letter(j)].width = _WIDTHS.get(name, 14)
    sheet.freeze_panes = sheet.cell(head + 1, 4)
    out = io.BytesIO()
    book.save(out)
    return still(out.getvalue())


def still(content: bytes) -> bytes:
    """Return a workbook without the time of its making."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as made, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as still:
        for part in made.infolist():
            data = made.read(part)
            if part.filename == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d{2}-\d{2}T[0-9:.]+Z", b"1980-01-01T00:00:00Z", data)
            still.writestr(zipfile.ZipInfo(part.filename, _STILL), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
