"""What lint rules find in the catalogue, and how much of it is sourced, derived or assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from planner.errors import Problem
from planner.lint import SEVERITIES, Finding, Severity
from planner.lint.shares import GPU_TARGET_PERCENT, Share
from planner.render.report import Report, Table, Text

_WORDS = ("sourced", "derived", "assumed")


def lint_report(
    found: Sequence[Finding], level: Severity, day: date, rows: Sequence[Share], gpu: Share | None
) -> Report:
    """Return the report of ``planner catalog lint``.

    Parameters
    ----------
    found : sequence of Finding
        Of all severities.
    level : str
        The least severity that is listed; all are counted.
    day : date
        That ages were counted to.
    rows : sequence of Share
        By kind of entry and of all; empty where the catalogue could not be loaded.
    gpu : Share or None
        Of the GPU values that have a target.
    """
    shown = [one for one in found if SEVERITIES.index(one.severity) <= SEVERITIES.index(level)]
    counts = Counter(one.severity for one in found)
    said = ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in SEVERITIES)
    hidden = len(found) - len(shown)
    blocks: list[Text | Table] = []
    if shown:
        blocks.append(Text([line for one in shown for line in _lines(one)], f"Findings on {day}"))
    more = f"; {hidden} not listed: --level note lists all" if hidden else ""
    blocks.append(Text([f"{said}{more}"], "" if shown else f"Findings on {day}"))
    columns = ("severity", "rule", "file", "line", "column", "entry", "found", "what to do")
    plain = [_plain(one) for one in shown]
    main = Table(columns, [tuple(str(value) for value in row.values()) for row in plain], plain=plain)
    data: dict[str, Any] = {
        "day": str(day), "counts": {name: counts[name] for name in SEVERITIES}, "findings": plain,
        "shares": [_share_plain(row) for row in rows], "gpu_shares": _share_plain(gpu) if gpu else None,
        "gpu_target_percent": GPU_TARGET_PERCENT,
    }  # fmt: skip
    if gpu is not None:
        blocks += [_share_table(rows), Text([_target(gpu)])]
    return Report(data, blocks, main)


def load_findings(problems: Sequence[Problem]) -> list[Finding]:
    """Return what loading refuses as findings of a rule of its own."""
    from planner.documents import Mark

    return [Finding("load", "error", Mark(p.file, p.line, p.column), "", p.message, p.hint) for p in problems]


def _lines(one: Finding) -> list[str]:
    file, line, column = one.place
    place = f"{file}:{line}:{column}" if line else file
    return [f"{place}: {one.severity}: {one.message} [{one.rule}]", *([f"    {one.hint}"] if one.hint else [])]


def _plain(one: Finding) -> dict[str, Any]:
    return {
        "severity": one.severity, "rule": one.rule, "file": one.place.file, "line": one.place.line,
        "column": one.place.column, "entry": one.subject, "found": one.message, "what_to_do": one.hint,
    }  # fmt: skip


def _share_plain(row: Share) -> dict[str, Any]:
    counts = {word: getattr(row, word) for word in _WORDS}
    return {"kind": row.kind, "values": row.total, **counts, "assumed_percent": round(row.percent("assumed"), 1)}


def _share_table(rows: Sequence[Share]) -> Table:
    cells = [[row.kind, str(row.total), *(f"{row.percent(word):.1f} %" for word in _WORDS)] for row in rows]
    columns = ("kind", "values", *_WORDS)
    return Table(columns, cells, "Where values come from", columns[1:])


def _target(gpu: Share) -> str:
    share = gpu.percent("assumed")
    verdict = "met" if share < GPU_TARGET_PERCENT else "missed"
    values = f"{gpu.assumed} of {gpu.total} values of GPUs' memory, bandwidth and power are assumed ({share:.1f} %)"
    return f"{values}; target: below {GPU_TARGET_PERCENT} %, {verdict}"
