"""Fewer collections of garbage while very many small objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 50_000
"""New objects between two collections; Python's own 700 cost a tenth of the time with millions of builds."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect less often, and as before afterwards; what refers to nothing in a circle is freed at once anyway."""
    before = gc.get_threshold()
    # Zero means that somebody has switched collection off.
    gc.set_threshold(before[0] and max(before[0], _ALLOCATIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
