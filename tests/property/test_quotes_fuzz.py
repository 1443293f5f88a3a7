"""Whatever stands in a quote's cells, the answer is a book or words, never a traceback; templates come back whole."""

from __future__ import annotations

import csv
import io
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.quotes.importing import Wishes, import_quote
from planner.quotes.lines import CASES
from planner.quotes.numbers import NumberError, parse_amount
from planner.quotes.template import COLUMNS, template_csv, template_rows, template_xlsx
from planner.units import format_money
from tests.unit import quoted
from tests.unit.tiny import shelf

WISHES = Wishes(book="us-2026-11", currency="USD", tax="excluded", issued=date(2026, 11, 20))
WORDS = [
    "Part Number", "Description", "型号", "品名", "数量", "单价", "单价（含税，万元）", "Qty", "Unit Price", "Amount",
    "合计", "小计", "一、计算节点", "Total", "VAT 19%", "DDR5 RDIMM 96 GB", "h200-sxm", "NVIDIA H200 SXM5 141 GB",
    "8台", "￥1,234.50", "12.5万", "1.234", "1 234,50 €", "-", "(5)", "=1+1", "=cmd|' /C calc'!A0", "'=x", "#REF!",
    "含13%增值税", "Date: 2026-11-20", "Valid until:", "单位：万元", "2026-02-30", "NaN", "Infinity", "1e999",
    "\u202e", "\ud800", "９" * 40, "--", "+", "元", "万", "$", "Currency", "EUR", "税率", "13%", "New typical",
    "Part ID", "2026年11月20日", "30天", "三年", ":", "：", "x", "0", "8 x h200-sxm",
]  # fmt: skip
TEXT = st.one_of(st.sampled_from(WORDS), st.text(max_size=12))
VALUE = st.one_of(
    st.none(), TEXT, st.integers(-(10**20), 10**20), st.decimals(allow_nan=True, allow_infinity=True, places=3),
    st.booleans(), st.dates(date(1900, 1, 2), date(2200, 1, 1)),
)  # fmt: skip
GRID = st.lists(st.lists(VALUE, max_size=7), max_size=10)
HEADED = st.builds(
    lambda head, rows: [head, *rows],
    st.permutations(["Part Number", "Description", "Qty", "Unit Price", "Amount", "货期", "有效期"]),
    st.lists(st.lists(VALUE, min_size=7, max_size=7), min_size=1, max_size=8),
)


def read(path: Path, wishes: Wishes) -> None:
    try:
        made = import_quote(path, shelf().catalog, wishes)
    except InputError as fault:
        assert str(fault)
        return
    assert bool(made.text) is not bool(made.problems)
    assert all(str(problem).startswith(path.name) for problem in made.problems)


def plain(value: Any) -> str:
    return "" if value is None else str(value)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(GRID, HEADED), st.sampled_from([",", ";", "\t"]), st.sampled_from(["utf-8", "utf-8-sig", "gb18030"]),
    st.booleans(),
)  # fmt: skip
def test_any_text_file_is_answered(rows: list[list[Any]], sign: str, encoding: str, stated: bool) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=sign).writerows([[plain(value) for value in row] for row in rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.csv"
        path.write_bytes(out.getvalue().encode(encoding, errors="replace"))
        read(path, WISHES if stated else Wishes(book="us-2026-11"))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_answered(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("q.csv", "q.xlsx"):
            path = Path(folder) / name
            path.write_bytes(content)
            read(path, WISHES)


def storable(value: Any) -> Any:
    """Return a value that a workbook can hold."""
    if isinstance(value, str):
        kept = "".join(char for char in value if char.isprintable() and not 0xD800 <= ord(char) < 0xE000)
        return kept or None
    return None if isinstance(value, Decimal) and not value.is_finite() else value


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(GRID, HEADED), st.sampled_from([[], ["A1:C1"], ["B2:B4", "A5:D5"]]),
    st.lists(st.integers(1, 6), max_size=2), st.sampled_from(["", "take", "skip"]),
)  # fmt: skip
def test_any_workbook_is_answered(rows: list[list[Any]], merged: list[str], hidden: list[int], taken: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.xlsx"
        path.write_bytes(quoted.workbook([[storable(v) for v in row] for row in rows], merged, hidden))
        read(path, Wishes(book="us-2026-11", currency="USD", tax="excluded", issued=WISHES.issued, hidden=taken))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_workbook_with_a_flipped_byte_is_answered(data: st.DataObject) -> None:
    content = bytearray(quoted.workbook([["Item", "Price"], ["h200-sxm", 5]]))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.xlsx"
        path.write_bytes(bytes(content))
        read(path, WISHES)


CENTS = st.integers(1, 10**9)
PARTS = ("h200-sxm", "mi300x", "rdimm-96", "samsung-pm9a3-3.84tb", "epyc-9554", "sn4700", "dgx-h200", "dac-400g")
FILLED = st.dictionaries(
    st.sampled_from(PARTS),
    st.tuples(CENTS, CENTS, CENTS, st.dates(date(2026, 11, 20), date(2030, 1, 1)), st.booleans()),
    min_size=1,
)


@settings(max_examples=40, deadline=None)
@given(FILLED, st.sampled_from([".csv", ".xlsx"]))
def test_a_filled_template_comes_back_without_loss(filled: dict[str, Any], suffix: str) -> None:
    catalog = shelf().catalog
    rows = template_rows(catalog, catalog.books["us-2026-11"], ())
    at = {name: i for i, name in enumerate(COLUMNS)}
    for row in rows:
        if len(row) < 2 or row[1] not in filled:
            continue
        *three, ends, as_text = filled[str(row[1])]
        row += [""] * (len(COLUMNS) - len(row))
        for name, cents in zip(("New low", "New typical", "New high"), sorted(three), strict=True):
            row[at[name]] = format_money(cents) if as_text else Decimal(cents) / 100
        row[at["Valid until"]], row[at["Quote no"]] = ends.isoformat(), f"Q-{row[1]}"
        row[at["Warranty"]], row[at["Lead time"]] = "3 years", "2-3 weeks"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(template_csv(rows) if suffix == ".csv" else template_xlsx(rows))
        made = import_quote(path, catalog, Wishes(book="us-2026-11", issued=WISHES.issued))
    assert made.problems == []
    assert {one.part for one in made.priced} == set(filled)
    for one in made.priced:
        *three, ends, _ = filled[one.part]
        assert [one.cents[case] for case in CASES] == sorted(three) and one.derived == ""
        (line,) = one.lines
        assert (line.valid_until, line.terms["quote"]) == (ends, f"Q-{one.part}")
        assert (line.terms["warranty"], line.terms["lead_time"]) == ("3 years", "2-3 weeks")


@given(st.integers(0, 10**12), st.sampled_from(["{:,}.{:02d}", "{}.{:02d}", "¥{:,}.{:02d}", "USD {:,}.{:02d}"]))
def test_amounts_are_exact(cents: int, form: str) -> None:
    text = form.format(*divmod(cents, 100))
    assert parse_amount(text).value * 100 == cents


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_none(text: str) -> None:
    try:
        assert parse_amount(text).value.is_finite()
    except NumberError as fault:
        assert str(fault)


@given(st.sampled_from(["=", "+", "-", "@", "\t", "\r"]), st.text("ab=+-@1'", max_size=6))
def test_no_text_of_a_template_becomes_a_formula(sign: str, rest: str) -> None:
    text = sign + rest
    rows = [["x"], list(COLUMNS), ["gpu", text, text]]
    (_, _, last) = csv.reader(io.StringIO(template_csv(rows).decode("utf-8-sig"), newline=""))
    assert last[1] == f"'{text}"
    if sign not in ("\t", "\r"):
        sheet = openpyxl.load_workbook(io.BytesIO(template_xlsx(rows))).active
        assert sheet["B3"].data_type == "s" and sheet["B3"].value == text
