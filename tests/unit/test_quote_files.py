"""Files of quotes: what is read of a workbook or a text file, and hostile ones, which are refused."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest

from planner.errors import InputError
from planner.quotes.importing import import_quote, read_sheets
from planner.quotes.spreadsheet import MOST_UNPACKED, read_workbook
from tests.unit import quoted
from tests.unit.test_quotes import WISHES, cents, made, told
from tests.unit.tiny import shelf

ROWS = [["Item", "Qty", "Unit Price", "Amount"], ["DDR5 RDIMM 96 GB", 2, 100.5, 201]]


def test_a_workbook_is_read_as_stored(tmp_path: Path) -> None:
    rows = [[date(2026, 11, 20), 0.1 + 0.2, 3, True, " a ", None, "1"]]
    (sheet,) = read_workbook(quoted.workbook(rows, ["A2:B3"], hidden=[2]), "q.xlsx")
    values = {column: cell.value for column, cell in sheet.row(1).items()}
    # What a double holds beyond 15 digits is noise of its own: 0.30000000000000004.
    assert values == {1: date(2026, 11, 20), 2: Decimal("0.3"), 3: Decimal(3), 4: True, 5: "a", 7: "1"}
    assert sheet.merged == ((2, 1, 3, 2),) and sheet.hidden_rows == {2}


def test_formulas_count_with_the_value_that_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "q.xlsx"
    path.write_bytes(quoted.workbook(ROWS, formulas={"C2": "67*1.5", "D2": "B2*C2"}))
    assert cents(import_quote(path, shelf().catalog, WISHES)) == {"rdimm-96": 10_050}


def test_formulas_without_a_value_are_told(tmp_path: Path) -> None:
    path = tmp_path / "q.xlsx"
    path.write_bytes(quoted.workbook([ROWS[0], ["DDR5 RDIMM 96 GB", 2, "=67*1.5", 201]]))
    found = import_quote(path, shelf().catalog, WISHES)
    words = "q.xlsx, sheet 'Quote', cell C2: is the formula '=67*1.5', and the file holds no value of it"
    assert words in told(found) and found.text == ""
    # An amount is only a check, so that one without a value is told and does no harm.
    path.write_bytes(quoted.workbook([ROWS[0], ["DDR5 RDIMM 96 GB", 2, 100.5, "=B2*C2"], ["Total", None, None, "=D2"]]))
    found = import_quote(path, shelf().catalog, WISHES)
    assert cents(found) == {"rdimm-96": 10_050}
    assert sum("without a stored value" in text for text in found.remarks) == 2


def test_nothing_is_run_or_followed(tmp_path: Path) -> None:
    path = tmp_path / "q.xlsx"
    evil = [ROWS[0], ["=cmd|' /C calc'!A0", 1, 5, 5], ['=HYPERLINK("file:///etc/passwd")', 1, 5, 5], ROWS[1]]
    path.write_bytes(quoted.workbook(evil))
    found = import_quote(path, shelf().catalog, WISHES)
    assert "cell A2: is the formula" in told(found) and found.text == ""
    found = made(tmp_path, f"Item,Unit Price\n=cmd|' /C calc'!A0,5\n{'=1+1'},6\n")
    assert "'=cmd|' /C calc'!A0' is no part of the catalogue" in told(found)


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as fault:
        read_sheets(path)
    return str(fault.value)


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    good = quoted.workbook(ROWS)
    path = tmp_path / "q.xlsx"
    large = quoted.rewrite(good, {}, {"xl/media/a.bin": bytes(MOST_UNPACKED + 1)})
    assert len(large) < 2**20 and "unpacks to" in refused(path, large)
    many = quoted.rewrite(good, {}, {f"xl/media/{i}": b"" for i in range(2001)})
    assert "parts; a quote has at most" in refused(path, many)
    laughs = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb">]><worksheet>&b;</worksheet>'
    assert "declares entities" in refused(path, quoted.rewrite(good, {"xl/worksheets/sheet1.xml": lambda _: laughs}))
    wide = laughs.decode().replace('version="1.0"', 'version="1.0" encoding="utf-16"').encode("utf-16")
    assert "declares entities" in refused(path, quoted.rewrite(good, {"xl/worksheets/sheet1.xml": lambda _: wide}))


@pytest.mark.parametrize("ref", ["A1:XFD1048576", "", "A1:B2:C3", "R1C1"])
def test_merged_cells_that_cannot_be(tmp_path: Path, ref: str) -> None:
    def patch(xml: bytes) -> bytes:
        return xml.replace(b"</sheetData>", f'</sheetData><mergeCells><mergeCell ref="{ref}"/></mergeCells>'.encode())

    content = quoted.rewrite(quoted.workbook(ROWS), {"xl/worksheets/sheet1.xml": patch})
    text = refused(tmp_path / "q.xlsx", content)
    assert "more than 100,000 cells" in text or "merges cells in a way that is not understood" in text


def test_a_cell_far_out_is_no_quote(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active["XFD1048576"] = 1
    out = io.BytesIO()
    book.save(out)
    assert "reaches over 1,048,576 rows" in refused(tmp_path / "q.xlsx", out.getvalue())


def test_what_is_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "q.xlsx"
    assert "is no workbook" in refused(path, b"Item,Price\n")
    assert "is no workbook" in refused(path, b"")
    assert "protected by a password" in refused(path, b"\xd0\xcf\x11\xe0" + bytes(100))
    good = quoted.workbook(ROWS)
    assert "is no workbook" in refused(path, good[: len(good) // 2])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("a.txt", "b")
    assert "cannot be read as a workbook" in refused(path, out.getvalue())
    broken = quoted.rewrite(good, {"xl/workbook.xml": lambda _: b"<no"})
    assert "cannot be read as a workbook" in refused(path, broken)
    flipped = bytearray(good)
    flipped[len(good) // 3] ^= 0xFF
    path.write_bytes(bytes(flipped))
    try:
        read_sheets(path)
    except InputError as fault:
        assert "q.xlsx: " in str(fault)


def test_other_files(tmp_path: Path) -> None:
    assert "'.xls' files are not read" in refused(tmp_path / "q.xls", b"")
    assert "'.xlsm' files are not read" in refused(tmp_path / "q.xlsm", b"")
    assert "is larger than 20 MiB" in refused(tmp_path / "q.csv", bytes(20 * 2**20 + 1))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_sheets(tmp_path / "none.csv")
    assert "is no text file" in refused(tmp_path / "q.csv", b"a\x00b")
    assert "rows or 500 columns" in refused(tmp_path / "q.csv", b"a\n" * 20_001)
    assert "rows or 500 columns" in refused(tmp_path / "q.csv", b"," * 600)
    assert "cannot be read as CSV" in refused(tmp_path / "q.csv", b'"' + b"a" * 200_000)


CHINESE = "品名,数量,单价\nDDR5 RDIMM 96 GB,1,100\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(CHINESE.encode(encoding))
    assert cents(import_quote(path, shelf().catalog, WISHES)) == {"rdimm-96": 10_000}


def test_an_encoding_that_is_not_found_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes("Item;Price in €\nDDR5 RDIMM 96 GB;100\n".encode("cp1252"))
    with pytest.raises(InputError, match="say which with --encoding"):
        import_quote(path, shelf().catalog, WISHES)
    stated = replace(WISHES, encoding="cp1252", currency="EUR", book="ours", region="EU", columns=("unit_price=B",))
    assert cents(import_quote(path, shelf().catalog, stated)) == {"rdimm-96": 10_000}
    with pytest.raises(InputError, match="the encoding 'latin-99' is not known"):
        import_quote(path, shelf().catalog, replace(WISHES, encoding="latin-99"))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_signs_between_columns(tmp_path: Path, sign: str) -> None:
    assert cents(made(tmp_path, CHINESE.replace(",", sign))) == {"rdimm-96": 10_000}
