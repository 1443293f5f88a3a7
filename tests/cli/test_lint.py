"""catalog lint on the command line: formats, levels, exit codes, an injected day."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from planner.lint import RULES
from tests.cli.conftest import Command
from tests.unit.test_lint import BOOK, DIMM, price

ROOT = Path(__file__).parents[2]
LINT = ("catalog", "lint", "--date", "2026-12-01")


def test_shipped_catalogue_passes_and_says_what_it_rests_on(command: Command) -> None:
    done = command(*LINT)
    assert (done.code, done.err) == (0, "")
    assert "0 errors, " in done.out
    assert "target: below 10 %, met" in done.out
    assert "not listed: --level note lists all" in done.out
    data = command(*LINT, "-f", "json").data
    assert data["counts"]["error"] == 0
    assert data["gpu_shares"]["assumed_percent"] < data["gpu_target_percent"] == 10
    assert {row["kind"] for row in data["shares"]} >= {"gpu", "chassis", "drive", "prices", "all"}
    assert all(row["values"] == row["sourced"] + row["derived"] + row["assumed"] for row in data["shares"])


def test_error_ends_with_the_code_of_wrong_input_at_its_place(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(DIMM.replace("64 GiB", "64 GB"), encoding="utf-8")
    done = command(*LINT, "--catalog", str(file))
    assert done.code == 3
    assert f"{file}:4:19: error: 59.6 GiB" in done.out.splitlines()[2]
    assert done.out.splitlines()[2].endswith("[memory-units]")
    assert "write '64 GiB'" in done.out.splitlines()[3]


def test_what_cannot_be_loaded_is_told_in_the_form_that_was_asked_for(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(DIMM.replace("source: aic", "source: aix"), encoding="utf-8")
    done = command(*LINT, "--catalog", str(file), "-f", "json")
    assert done.code == 3
    assert done.data["counts"] == {"error": 3, "warning": 0, "note": 0}
    assert {(one["rule"], one["file"]) for one in done.data["findings"]} == {("load", str(file))}
    assert done.data["shares"] == []
    assert "unknown source 'aix'" in command(*LINT, "--catalog", str(file)).out


def test_level_chooses_what_is_listed_and_not_what_is_counted(command: Command) -> None:
    found = {level: command(*LINT, "--level", level, "-f", "json").data for level in ("error", "warning", "note")}
    listed = {level: {one["severity"] for one in data["findings"]} for level, data in found.items()}
    assert listed == {"error": set(), "warning": {"warning"}, "note": {"warning", "note"}}
    assert found["error"]["counts"] == found["note"]["counts"]
    assert len(found["note"]["findings"]) == sum(found["note"]["counts"].values())


def test_ages_count_to_the_day_that_is_given(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(BOOK + price("rdimm-64", 900, "2026-10-01", ", valid_until: '2026-10-31'"), encoding="utf-8")

    def rules(day: str) -> set[str]:
        words = ("catalog", "lint", "--date", day, "--prices", str(file), "-f", "json")
        return {one["rule"] for one in command(*words).data["findings"] if one["file"] == str(file)}

    assert rules("2026-10-15") == set()
    assert rules("2026-11-01") == {"expired-quote"}
    assert rules("2027-01-01") == {"expired-quote", "stale-price"}
    assert rules("2026-09-01") == {"future-price"}


def test_csv_has_a_line_per_finding(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "findings.csv"
    assert command(*LINT, "-o", str(file)).code == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert list(rows[0]) == ["severity", "rule", "file", "line", "column", "entry", "found", "what_to_do"]
    assert len(rows) == command(*LINT, "-f", "json").data["counts"]["warning"]
    assert "target: below 10 %" in command(*LINT, "-f", "md").out


@pytest.mark.parametrize("words", [("--date", "yesterday"), ("--date", "2026-02-30"), ("--level", "warnings")])
def test_wrong_words_are_told(command: Command, words: tuple[str, str]) -> None:
    done = command("catalog", "lint", *words)
    assert done.code == 2
    assert words[1] in done.err


def test_page_lists_every_rule_with_its_severity() -> None:
    page = (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")
    assert [name for name in RULES if f"| `{name}` | {RULES[name].severity} |" not in page] == []
