"""Golden files: `pytest tests/golden --update-golden` writes them anew; read the difference before you commit it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"
Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", default=False, help="Write the golden files anew.")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether to write instead of compare; the option exists where tests/golden is named on the command line."""
    return bool(request.config.getoption("--update-golden", default=False))


@pytest.fixture
def golden(update_golden: bool) -> Golden:
    """Compare a text with a golden file of that name, or write it."""

    def check(name: str, text: str) -> None:
        path = FILES / name
        if update_golden:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.is_file(), f"no golden file {name}: run pytest tests/golden --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return check
