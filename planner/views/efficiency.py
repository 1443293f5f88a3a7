"""Measured speeds as shares of their paths: the table, and the file that later runs read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from planner.questions.efficiency import LABELS, SHARES, Bench, PathShare, written_share
from planner.render.report import Report, Table, Text
from planner.units import format_rate

_COLUMNS = ("path", "measured", "nominal", "limit", "share", "range", "profile", "off", "from", "note")


def efficiency_report(found: Sequence[PathShare], bench: Bench) -> Report:
    """Return the report on the paths that were measured."""
    drives = f", {bench.n_drives} x {bench.drive.name}" if bench.drive else ""
    head = f"{bench.chassis.name}{f', {bench.gpu.name}' if bench.gpu else ''}{drives}; against {bench.cache.id}"
    rows = [
        (LABELS[one.speed.path], format_rate(one.total_bytes_per_s), format_rate(one.nominal_bytes_per_s), one.limit,
         _percent(one.fraction), _range(one), _percent(one.profile), f"{float(one.fraction / one.profile - 1):+.1%}",
         one.speed.where, _note(one))
        for one in found
    ]  # fmt: skip
    plain = [_plain(one) for one in found]
    table = Table(_COLUMNS, rows, "", ("measured", "nominal", "share", "range", "profile", "off"), plain)
    data = {
        "chassis": bench.chassis.id, "gpu": bench.gpu.id if bench.gpu else None,
        "drive": bench.drive.id if bench.drive else None, "n_drives": bench.n_drives, "cache": bench.cache.id,
        "paths": plain,
    }  # fmt: skip
    return Report(data, [Text([head]), table], table)


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.1f} %"


def _range(one: PathShare) -> str:
    low, high = ("?" if end is None else f"{float(end * 100):.1f}" for end in (one.low, one.high))
    return "" if one.low is None and one.high is None else f"{low} to {high} %"


def _note(one: PathShare) -> str:
    other = "" if one.counts else f"another is lower: not written as {SHARES[one.speed.path]}"
    return "; ".join(text for text in (one.speed.note, other) if text)


def _plain(one: PathShare) -> dict[str, Any]:
    return {
        "path": one.speed.path, "measured_bytes_per_s": float(one.total_bytes_per_s),
        "nominal_bytes_per_s": one.nominal_bytes_per_s, "limit": one.limit, "share": float(one.fraction),
        "low": None if one.low is None else float(one.low), "high": None if one.high is None else float(one.high),
        "profile": float(one.profile), "off": float(one.fraction / one.profile - 1), "from": one.speed.where,
        "samples": one.speed.n_samples, "counts": one.counts, "note": _note(one),
    }  # fmt: skip


def efficiency_text(found: Sequence[PathShare], bench: Bench, name: str, today: date) -> str:
    """Return the file that later runs read: one entry of kind ``efficiency``."""
    lines = [
        "# Written by 'planner calibrate'; give it to other commands with --catalog.",
        "kind: efficiency",
        f"id: {name}",
        f"cache: {bench.cache.id}",
    ]
    for one in found:
        if one.counts:
            lines += _entry(one, bench, today)
    return "\n".join([*lines, ""])


def _entry(one: PathShare, bench: Bench, today: date) -> list[str]:
    speed = one.speed
    what = f"{format_rate(one.total_bytes_per_s)} of {format_rate(one.nominal_bytes_per_s)} ({one.limit})"
    samples = f", {speed.n_samples:,} transfers" if speed.n_samples > 1 else ""
    why = f"measured {what} in {bench.chassis.id}; {speed.where}{samples}; {today.isoformat()}"
    ends = {"low": one.low, "high": one.high}
    return [
        f"{SHARES[speed.path]}:",
        f"  value: {_written(one.fraction)}",
        *(f"  {end}: {_written(share)}" for end, share in ends.items() if share is not None),
        f"  derived: {_quoted(why)}",
        "  source: own-log",
        *([f"  note: {_quoted(speed.note)}"] if speed.note else []),
    ]


def _written(share: Fraction) -> str:
    return f"{float(written_share(share) * 100):.2f} %"


def _quoted(text: str) -> str:
    """Return text as YAML reads it back, whatever a file is called."""
    import json

    return json.dumps(text, ensure_ascii=False)
