"""What the buyer's rules let a plan take, before any price or size: a fault in words, or none."""

from __future__ import annotations

from collections.abc import Iterable

from planner.hardware import Catalog, Chassis, Gpu, System
from planner.scenario import Fleet

ANY_VENDOR = "any"
"""The vendor of machines that many sell; no rule on vendors speaks of it."""


def catalog_vendors(catalog: Catalog) -> list[str]:
    """Return the makers of GPUs, chassis and systems by name."""
    entries: Iterable[Gpu | Chassis | System] = (
        *catalog.gpus().values(), *catalog.chassis().values(), *catalog.systems().values()
    )  # fmt: skip
    return sorted({entry.vendor for entry in entries} - {ANY_VENDOR})


def vendor_fault(fleet: Fleet, chassis: Chassis, gpu: Gpu, system: System | None) -> str:
    """Return which maker of a machine the fleet's rules do not allow."""
    for entry in (gpu, chassis, system):
        if entry is None or entry.vendor == ANY_VENDOR:
            continue
        if fleet.vendors and entry.vendor not in fleet.vendors:
            return f"{entry.id}: its vendor {entry.vendor} is not among 'fleet.vendors'"
        if entry.vendor in fleet.without_vendors:
            return f"{entry.id}: its vendor {entry.vendor} is among 'fleet.without_vendors'"
    return ""
