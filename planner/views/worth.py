"""Load or recompute: tiers of a build against prefilling a session again."""

from __future__ import annotations

from typing import Any

from planner.plan import Plan
from planner.render.report import Table
from planner.units import format_rate
from planner.worth import TierWorth

WORTH_COLUMNS = ("from", "path", "load", "recompute", "break-even", "faster")


def worth_tables(plan: Plan) -> list[Table]:
    """Return the table of a plan's node groups, alike ones once; none where no tier serves resumes."""
    pairs = [(group, tier) for group in plan.groups for tier in group.worth]
    several = len(plan.services) > 1
    rows = dict.fromkeys(
        (*((group.service,) if several else ()), group.system or group.chassis, group.layout, *worth_cells(tier))
        for group, tier in pairs
    )
    columns = (*(("service",) if several else ()), "machine", "layout", *WORTH_COLUMNS)
    return [Table(columns, list(rows), "Load or recompute one session", WORTH_COLUMNS[1:])] if rows else []


def worth_cells(tier: TierWorth) -> tuple[str, ...]:
    """Return a tier's cells under `WORTH_COLUMNS`."""
    load, again = (f"{float(seconds):,.3g} s" for seconds in (tier.load_s, tier.recompute_s))
    path, least = format_rate(tier.bytes_per_s), format_rate(tier.break_even_bytes_per_s)
    return tier.tier, path, load, again, least, f"{float(tier.times):,.2g} x"


def worth_data(tier: TierWorth) -> dict[str, Any]:
    """Return a tier as plain values."""
    return {
        "from": tier.tier, "bytes": tier.bytes, "load_s": float(tier.load_s), "recompute_s": float(tier.recompute_s),
        "bytes_per_s": float(tier.bytes_per_s), "break_even_bytes_per_s": float(tier.break_even_bytes_per_s),
    }  # fmt: skip
