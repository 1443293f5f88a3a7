"""`planner bom --final`: expired quotes stop it, unless they are allowed, and then it says so everywhere."""

from __future__ import annotations

import csv
import io
from datetime import date
from pathlib import Path

import pytest

from planner.cli import planning
from tests.cli.conftest import Command
from tests.unit.test_validity import book

TERMS = "valid_until: '2026-12-20'\n    quote: Q-17"
LATE = ("--date", "2027-01-02")


@pytest.fixture
def bom(command: Command, tmp_path: Path) -> Command:
    prices = str(book(tmp_path, TERMS))
    return lambda *words: command("bom", "report-real", "--prices", prices, *words)


def test_final_stops_on_an_expired_quote(bom: Command, tmp_path: Path) -> None:
    output = tmp_path / "bom.json"
    done = bom("--final", *LATE, "-o", str(output))
    assert done.code == 3 and done.out == "" and not output.exists()
    assert "mi300x: quote Q-17, valid until 2026-12-20; this bill is of 2027-01-02" in done.err
    assert "--allow-expired" in done.err


def test_the_last_day_is_still_good(bom: Command) -> None:
    data = bom("--final", "--date", "2026-12-20", "-f", "json").data
    assert data["issue"] == {"date": "2026-12-20", "final": True, "expired_allowed": False, "expired": []}


def test_an_override_is_written_into_every_format(bom: Command) -> None:
    words = ("--final", "--allow-expired", *LATE)
    data = bom(*words, "-f", "json").data
    late = {"part": "mi300x", "quote": "Q-17", "seller": None, "valid_until": "2026-12-20"}
    assert data["issue"] == {"date": "2027-01-02", "final": True, "expired_allowed": True, "expired": [late]}
    text = bom(*words).out
    assert "allowed all the same by --allow-expired" in text and "mi300x: quote Q-17, valid until 2026-12-20" in text
    rows = list(csv.DictReader(io.StringIO(bom(*words, "-f", "csv").out)))
    told = {row["part"]: row["expired"] for row in rows}
    assert told["mi300x"] == "allowed by --allow-expired" and set(told.values()) == {told["mi300x"], ""}
    assert {row["bill_of"] for row in rows} == {"2027-01-02"}


def test_without_final_it_warns_and_the_bill_knows_no_clock(bom: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "today", lambda: date(2027, 1, 2))
    late = bom("-f", "json")
    assert late.code == 0 and "expired quotes: mi300x: quote Q-17" in late.err
    monkeypatch.setattr(planning, "today", lambda: date(2026, 12, 2))
    early = bom("-f", "json")
    assert early.err == "" and early.out == late.out and early.data["issue"] is None
    stated = bom(*LATE, "-f", "json")
    assert stated.data["issue"]["expired"] and not stated.data["issue"]["final"]
    assert "EXPIRED, to be renewed before ordering" in bom(*LATE).out


def test_today_is_the_day_unless_one_is_stated(bom: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "today", lambda: date(2027, 1, 2))
    assert bom("--final").code == 3
    assert bom("--final", "--date", "2026-12-01").code == 0


def test_words_that_do_not_fit(command: Command) -> None:
    done = command("bom", "report-real", "--allow-expired")
    assert done.code == 2 and "--allow-expired goes with --final" in done.err
    done = command("bom", "report-real", "--date", "2026-13-01")
    assert done.code == 2 and "expected a day such as 2026-12-01" in done.err
