"""Run commands in this process, as a shell would see them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from planner import loading
from planner.cli import main
from tests.unit.tiny import shelf


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Command = Callable[..., Done]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run one command; the shipped catalogue is loaded once for all tests."""
    load = loading.load_shelf

    def once(folders: Sequence[Path] = (), files: Sequence[Path] = ()) -> loading.Shelf:
        return load(folders, files) if folders or files else shelf()

    monkeypatch.setattr(loading, "load_shelf", once)

    def run(*words: str) -> Done:
        with pytest.raises(SystemExit) as end:
            main(list(words))
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Done(int(end.value.code or 0), out, err)

    return run
