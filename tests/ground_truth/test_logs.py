"""The model against public engine logs: shapes row by row, memory in the mean and at worst."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from tests.ground_truth.report import Result, campaign, mean, results
from tests.ground_truth.rows import read_rows

ROWS = list(read_rows())


@cache
def found() -> list[Result]:
    """All rows with their checks."""
    return results(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_printed_tokens_follow_from_the_printed_memory(row: object) -> None:
    result = next(r for r in found() if r.case.row is row)
    if result.bytes is None:
        checked = result.case.row.full or result.whole_blocks is not None or result.case.row.exception
        assert checked, "a row that nothing is checked of"
        assert result.whole_blocks is not False, "no whole number of blocks gives the printed tokens"
    elif not result.case.row.exception:
        assert result.bytes.fits, result.bytes


def test_exceptions_say_why_and_are_few() -> None:
    named = [row for row in ROWS if row.exception]
    assert all(len(row.exception) > 60 for row in named)
    assert len(named) <= len(ROWS) // 10


def test_memory_of_the_h100_runs() -> None:
    errors = campaign(found(), h100=True)
    assert len(errors) == 39
    assert mean(errors) <= Fraction(3, 100)
    assert max(abs(error) for error in errors) <= Fraction(10, 100)


def test_memory_of_all_other_rows_with_full_context() -> None:
    errors = campaign(found(), h100=False)
    assert len(errors) >= 6
    assert mean(errors) <= Fraction(6, 100)
