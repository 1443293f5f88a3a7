"""A tiny report in every output format."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from planner.errors import UsageError
from planner.render import OUTPUTS, Report, Table, Text

Golden = Callable[[str, str], None]
FOLDER = Path(__file__).parent / "files" / "render"

TABLE = Table(
    ("part", "qty", "价格"),
    [("h200-sxm", 8, "USD 35,000"), ("a | b", 120, "12 万"), ("=1+1", 1, "-")],
    "Parts",
    ("qty", "价格"),
    [
        {"part": "h200-sxm", "qty": 8, "price": 35000.5},
        {"part": "a | b", "qty": 120, "price": None},
        {"part": "=1+1", "qty": -1, "price": 0.1},
    ],
)
REPORT = Report(
    {"name": "tiny", "share": Fraction(1, 3), "whole": Fraction(4, 2), "parts": list(TABLE.plain)},
    [Text(["A first line.", "A second line."]), TABLE, Text(["- one", "- two"], "Before you rely on it")],
    TABLE,
)


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_format(name: str, golden: Golden) -> None:
    text = OUTPUTS[name].render(REPORT)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    golden(f"render/{name}{OUTPUTS[name].suffixes[0]}", text)


def test_every_format_has_a_golden_file_and_a_suffix_of_its_own(update_golden: bool) -> None:
    suffixes = [suffix for name in OUTPUTS for suffix in OUTPUTS[name].suffixes]
    assert len(suffixes) == len(set(suffixes))
    if not update_golden:
        assert {path.stem for path in FOLDER.iterdir()} == set(OUTPUTS)


def test_no_cell_is_a_formula_to_a_spreadsheet() -> None:
    cells = OUTPUTS["csv"].render(REPORT).replace("\n", ",").split(",")
    assert [cell for cell in cells if cell.startswith(("=", "+", "@"))] == []


def test_report_without_a_table_is_no_csv() -> None:
    with pytest.raises(UsageError, match="-f json"):
        OUTPUTS["csv"].render(Report({}))
