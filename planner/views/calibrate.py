"""A start-up log beside the model: figure by figure, and where the gap in KV memory comes from."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from planner.questions.calibrate import Calibration, Comparison
from planner.render.report import Report, Table, Text
from planner.units import format_gib


def calibration_reports(found: Sequence[Calibration]) -> Report:
    """Return the report of ``planner calibrate``: one after the other."""
    reports = [calibration_report(one) for one in found]
    if len(reports) == 1:
        return reports[0]
    blocks = [block for report in reports for block in report.blocks]
    rows = [row for report in reports if report.main for row in report.main.rows]
    plain = [row for report in reports if report.main for row in report.main.plain]
    main = reports[0].main
    table = Table(main.columns, rows, "", main.right, plain) if main else None
    return Report([report.data for report in reports], blocks, table)


def calibration_report(found: Calibration) -> Report:
    """Return the report on one log."""
    run = found.run
    head = (
        f"{run.model.name}, {run.weights} weights, KV {run.kv_format}, {run.layout.name} on {run.gpu.name}; "
        f"{found.log.engine} {found.log.version or '(version not said)'} against the profile {run.engine.id}"
    )
    columns = ("figure", "predicted", "seen", "off", "line", "note")
    rows = [
        (c.what, _shown(c.predicted, c), _shown(c.seen.number, c), _off(c), f"{c.seen.line}", c.note)
        for c in found.comparisons
    ]
    table = Table(
        columns,
        rows,
        found.log.path,
        ("predicted", "seen", "off", "line"),
        [_plain(found.log.path, c) for c in found.comparisons],
    )
    blocks: list[Text | Table] = [Text([head]), table]
    gap = list(_gap_lines(found))
    if gap:
        blocks.append(Text(gap, "Where the gap comes from"))
    if found.notes:
        blocks.append(Text(list(found.notes), "Notes"))
    return Report(_data(found), blocks, table)


def _shown(value: Fraction | int, comparison: Comparison) -> str:
    if comparison.unit == "bytes":
        return format_gib(int(value))
    if comparison.unit == "x":
        return f"{float(value):.2f}x"
    return f"{int(value):,}" if comparison.unit != "bytes/token" else f"{float(value):,.0f} B"


def _off(comparison: Comparison) -> str:
    return "as printed" if comparison.within_print else f"{float(comparison.gap):+.2%}"


def _gap_lines(found: Calibration) -> list[str]:
    if found.kv_gap_bytes is None:
        return []
    word = "more" if found.kv_gap_bytes >= 0 else "less"
    lines = [f"the log has {format_gib(abs(found.kv_gap_bytes))} {word} KV memory per GPU than predicted"]
    parts = sorted((c for c in found.comparisons if c.part_of_gap), key=lambda c: -abs(c.part_of_gap))
    lines += [f"{_signed(c.part_of_gap)} {c.what}" for c in parts]
    known = {c.what for c in parts}
    rest = "what the log does not say" if known else "the log says no other part of the budget"
    lines.append(f"{_signed(found.unexplained_bytes)} {rest}")
    return lines


def _signed(size: int) -> str:
    return f"{'+' if size >= 0 else '-'}{format_gib(abs(size))}"


def _plain(log: str, comparison: Comparison) -> dict[str, Any]:
    return {
        "log": log, "figure": comparison.what, "predicted": comparison.predicted, "seen": comparison.seen.number,
        "unit": comparison.unit, "off": float(comparison.gap), "within_print": comparison.within_print,
        "line": comparison.seen.line, "part_of_gap_bytes": comparison.part_of_gap,
    }  # fmt: skip


def _data(found: Calibration) -> dict[str, Any]:
    run = found.run
    return {
        "log": found.log.path, "engine": found.log.engine, "version": found.log.version, "profile": run.engine.id,
        "model": run.model.id, "gpu": run.gpu.id, "weights": run.weights, "kv_format": run.kv_format,
        "layout": run.layout.name, "max_model_tokens": run.launch.max_model_tokens,
        "figures": [_plain(found.log.path, c) for c in found.comparisons], "kv_gap_bytes": found.kv_gap_bytes,
        "unexplained_bytes": found.unexplained_bytes, "notes": list(found.notes),
    }  # fmt: skip


def measured_text(found: Calibration) -> str:
    """Return the file that later runs read: one entry of kind ``measured``."""
    row = found.measured
    if row is None:
        return ""
    lines = [
        "# Written by 'planner calibrate'; give it to other commands with --catalog.",
        "kind: measured",
        *(f"{key}: {getattr(row, key)}" for key in ("id", "model", "engine", "weights", "kv_format", "gpu", "layout")),
        f"weights_memory: {row.weights_memory_bytes} B",
        f"kv_memory: {row.kv_memory_bytes} B",
    ]
    if row.max_model_tokens is not None:
        lines.append(f"max_model: {row.max_model_tokens} tokens")
    if row.utilisation_fraction is not None:
        lines.append(f"utilisation: {float(row.utilisation_fraction * 100):g} %")
    if row.max_sequences is not None:
        lines.append(f"max_sequences: {row.max_sequences}")
    if row.batched_tokens is not None:
        lines.append(f"batched: {row.batched_tokens} tokens")
    return "\n".join([*lines, "source: [own-log]", f'note: "{row.note}"', ""])
