"""Marketed gigabytes written as decimal ones, where the driver counts in binary.

A driver shows whole MiB, and less than the label in GiB. Who copies "141 GB" from a data sheet loses 6 % of the card.
Where no driver's reading is known the label may stand, if its formula or reason says that it is decimal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.catalog_checks import Entry
from planner.lint.base import Flaw, Severity, Stock, number, rule

_GB, _GIB, _MIB = 10**9, 2**30, 2**20
_LABEL = re.compile(r"(\d+(?:\.\d+)?) ?GB\b")


@rule
class MemoryUnits:
    """GB against GiB."""

    name = "memory-units"
    severity: Severity = "error"
    words = "memory in decimal GB where the driver shows GiB, modules in decimal, drives in binary"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at GPUs, modules and drives."""
        for entry in stock.entries("gpu"):
            yield from _gpu(entry)
        for entry in stock.entries("dimm"):
            size = entry.record.capacity_bytes
            if size % _GIB:
                message = f"{number(size / _GIB)} GiB: a module sold as so many GB holds so many GiB"
                yield Flaw(entry, ("capacity",), message, f"write '{round(size / _GB)} GiB' if that is its label")
        for entry in stock.entries("drive"):
            size = entry.record.capacity_bytes
            if size % _GIB == 0:
                message = f"{number(size / _GIB)} GiB: drives are sold by decimal GB and TB"
                yield Flaw(entry, ("capacity",), message, f"write '{number(size / _GIB)} GB' if that is its label")


def _gpu(entry: Entry) -> Iterator[Flaw]:
    gpu = entry.record
    size = gpu.memory_bytes
    label = _LABEL.search(gpu.name)
    why = gpu.evidence.get("memory")
    if size % _GB == 0 and size % _MIB and not (why and "decimal" in why.text):
        message = f"{size // _GB} decimal GB are {number(size / _GIB)} GiB; the driver shows whole MiB"
        hint = "write what the driver shows, such as '143771 MiB', or say in its formula or reason that it is decimal"
        yield Flaw(entry, ("memory",), message, hint)
    elif label is not None and not 0.85 <= size / _GIB / float(label[1]) <= 1.003:
        message = f"{number(size / _GIB)} GiB does not go with the {label[1]} GB of '{gpu.name}'"
        yield Flaw(entry, ("memory",), message, "expected slightly less than the label, in GiB")
    if gpu.visible_bytes is not None and not 0.95 <= gpu.visible_bytes / size <= 1:
        message = f"engines see {number(gpu.visible_bytes / _GIB)} of {number(size / _GIB)} GiB"
        yield Flaw(entry, ("visible",), message, "expected up to 5 % less than the driver shows")
