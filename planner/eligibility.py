"""What the buyer's rules let a plan take, before any price or size: a fault in words, or none."""

from __future__ import annotations

import calendar
from collections.abc import Iterable
from datetime import date, timedelta

from planner.hardware import Catalog, Chassis, Gpu, Part, System
from planner.prices import PriceBook
from planner.scenario import Fleet, Limits

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


def cooling_fault(fleet: Fleet, chassis: Chassis) -> str:
    """Return whether the site cannot cool a machine."""
    if chassis.cooling in fleet.cooling:
        return ""
    return f"{chassis.id}: is cooled by {chassis.cooling}, which 'fleet.cooling' does not allow"


def region_fault(region: str | None, parts: Iterable[Part | None]) -> str:
    """Return which of `parts` cannot be had in the region."""
    for part in parts:
        if part is None or region is None:
            continue
        if region in part.export_barred:
            return f"{part.id}: export rules close {region} to it"
        if part.regions and region not in part.regions:
            return f"{part.id}: is sold in {', '.join(part.regions)} only, not in {region}"
    return ""


def last_day(text: str) -> date:
    """Return the last day of ``2027``, ``2027-03`` or ``2027-03-15``.

    Raises
    ------
    ValueError
        If there is no such day.
    """
    numbers = [int(word) for word in text.split("-")]
    year, month = numbers[0], numbers[1] if len(numbers) > 1 else 12
    day = numbers[2] if len(numbers) > 2 else calendar.monthrange(year, month)[1]
    return date(year, month, day)


def lead_days_of(part: str, book: PriceBook, limits: Limits) -> int | None:
    """Return the days from order to delivery: the price's own, else what the scenario counts, else None."""
    price = book.find(part)
    return price.lead_time.time_days if price and price.lead_time else limits.lead_time_days


def late_fault(limits: Limits, book: PriceBook, parts: Iterable[str]) -> str:
    """Return which of the priced `parts` comes after the day that the scenario sets, or may."""
    if limits.deliver_by is None:
        return ""
    ordered, wanted = last_day(book.as_of), last_day(limits.deliver_by)
    for part in parts:
        lead = lead_days_of(part, book, limits)
        if lead is None:
            return f"{part}: price book '{book.id}' has no lead time for it; add one, or set 'limits.lead_time'"
        if ordered + timedelta(days=lead) > wanted:
            return f"{part}: ordered on {ordered} it comes after {lead} days, later than {wanted}"
    return ""
