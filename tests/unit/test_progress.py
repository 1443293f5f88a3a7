"""The line about the work at hand: on a terminal only, wiped at the end."""

from __future__ import annotations

import io
import sys

import pytest

from planner.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(after_s=0.0) as tell:
        tell("is there a plan without limits.power?")
    assert "is there a plan without limits.power?" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_quick_work_and_files_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress(after_s=1e9 if stream.isatty() else 0.0) as tell:
            tell("a word")
        assert stream.getvalue() == ""
