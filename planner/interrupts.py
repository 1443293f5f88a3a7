"""Ctrl-C, or SIGTERM, while something is worth keeping: remembered instead of raised.

What stops services and containers sends SIGTERM, whose default would end the process on the spot
and leave the solver's folder behind.

Between `held` and its end the first interrupt is only noted; whoever solves looks at
`interrupted` and ends with what it has. Outside of it, and the second time, an interrupt is the
usual KeyboardInterrupt.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType


@dataclass
class _State:
    asked: bool = False
    held: int = 0
    session: bool = False
    raised: bool = False


_STATE = _State()


def interrupted() -> bool:
    """Return whether Ctrl-C was pressed in this session."""
    return _STATE.asked


def raised() -> bool:
    """Return whether an interrupt was raised: compiled code that it meets may turn it into another fault."""
    return _STATE.raised


def note() -> None:
    """Note an interrupt that somebody else heard: a solver that listens itself."""
    _STATE.asked = True


def _note(_signal: int, _frame: FrameType | None) -> None:
    if not _STATE.held or _STATE.asked:
        _STATE.raised = True
        raise KeyboardInterrupt
    _STATE.asked = True


@contextlib.contextmanager
def session() -> Iterator[None]:
    """Begin anew: what was interrupted before is forgotten; within another one, do nothing.

    Only the main thread hears signals, and only where nobody else listens to them; elsewhere
    nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if _STATE.session or not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _STATE.asked, _STATE.session, _STATE.raised = False, True, False
    signal.signal(signal.SIGINT, _note)
    own_end = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if own_end:
        signal.signal(signal.SIGTERM, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if own_end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _STATE.asked, _STATE.session = False, False


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Note the first interrupt within instead of raising it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _STATE.held += 1
    try:
        yield
    finally:
        _STATE.held -= 1
