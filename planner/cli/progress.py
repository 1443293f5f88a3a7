"""Work that takes longer than a moment is told on a terminal, on one line that is wiped at the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

AFTER_S = 1.0
"""Seconds within which nobody wonders what is going on."""
_WIDTH = 100
_WIPE = "\r\x1b[K"


@contextlib.contextmanager
def progress(after_s: float = AFTER_S) -> Iterator[Callable[[str], None]]:
    """Yield what to call with words about the work at hand; silent where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    start, shown = time.monotonic(), False

    def tell(words: str) -> None:
        nonlocal shown
        if time.monotonic() - start >= after_s:
            shown = True
            print(f"{_WIPE}planner: {words[:_WIDTH]}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if shown:
            print(_WIPE, end="", file=sys.stderr, flush=True)
