"""Parts that are priced alike: by the gigabyte, within a family."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from planner.hardware import Dimm, Drive, Gpu, Part
from planner.lint.base import Priced, Stock

LEAST_MEMBERS = 5
"""With fewer, one odd price moves the median and the spread as much as the rest do."""
_GB, _GIB = 10**9, 2**30


class Member(NamedTuple):
    """One price of a family, per GB in the book's currency."""

    priced: Priced
    per_gb: float


def family_of(part: Part | None) -> tuple[str, float]:
    """Return the family of a part and its GB; an empty name where it is not sold by size."""
    if isinstance(part, Dimm):
        return "DIMMs", part.capacity_bytes / _GIB
    if isinstance(part, Drive):
        kind = "boot drives" if part.role == "boot" else f"data drives of {'under ' if part.dwpd < 1 else ''}1 DWPD"
        kind = "data drives of more than 1 DWPD" if part.role == "data" and part.dwpd > 1 else kind
        return kind, part.capacity_bytes / _GB
    if isinstance(part, Gpu):
        return "GPU cards" if part.form_factor == "pcie" else "GPUs on baseboards", part.memory_bytes / _GIB
    return "", 0


def families(stock: Stock) -> Iterator[tuple[str, str, list[Member]]]:
    """Yield book, family and members."""
    found: dict[tuple[str, str], list[Member]] = {}
    for priced in stock.prices():
        name, size = family_of(stock.catalog.find(priced.price.part))
        if name and size:
            member = Member(priced, priced.price.typical.cents / 100 / size)
            found.setdefault((priced.book.id, name), []).append(member)
    for book, name in sorted(found):
        yield book, name, found[book, name]


def deviation(values: list[float]) -> tuple[float, float]:
    """Return the median and the median absolute deviation from it."""
    middle = median(values)
    return middle, median(abs(value - middle) for value in values)
