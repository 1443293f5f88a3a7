"""No plan: the rules that conflict, by how much each is short, and the cheapest ways out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from planner.relax import Diagnosis, Held, Shortfall, WayOut
from planner.render.report import Report, Table, Text
from planner.units import format_bytes, format_money


def infeasible_report(found: Diagnosis) -> Report:
    """Return the report of a scenario without a plan."""
    blocks: list[Text | Table] = [Text([found.title, "", *_answer(found)])]
    if found.conflict:
        blocks.append(_conflict_table(found))
    if found.shortfalls:
        blocks.append(_shortfall_table(found))
    if found.held and found.held.users:
        blocks.append(_held_table(found.held))
    ways = _ways_table(found)
    if found.ways_out:
        blocks.append(ways)
        blocks.append(Text([_paste(way) for way in found.ways_out], "To paste"))
    if found.why:
        blocks.append(Text([f"- {line}" for line in found.why], "Why builds are not offered"))
    if found.unpriced:
        lines = [f"- {part}" for part in found.unpriced]
        blocks.append(Text([*lines, "add prices with --prices FILE"], "Without a price, and so not offered"))
    if found.not_tried:
        blocks.append(Text([f"- {line}" for line in found.not_tried], "Not tried for want of time"))
    return Report(diagnosis_data(found), blocks, ways)


def conflict_words(found: Diagnosis) -> str:
    """Return the conflict in one line."""
    if found.hopeless:
        return "no plan, even without any of its rules"
    needed = ", ".join(f"{one.path} {one.asked}" for one in found.conflict if one.needed)
    if found.minimal:
        return f"no plan meets together: {needed}"
    return f"no plan meets together: {needed or 'all rules'}; whether others matter was not tried for want of time"


def _answer(found: Diagnosis) -> Iterator[str]:
    if found.hopeless:
        yield "No plan: even without any of its rules no fleet of this catalogue holds the load."
        yield "Look at the load, the tiers and the model: no limit, target or filter of the scenario is to blame."
        return
    names = [f"{one.label} ({one.asked})" for one in found.conflict]
    together = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    if not found.minimal:
        yield "No plan meets all rules together."
    elif len(names) == 1:
        yield f"No plan: the load cannot be held under the {together}, whatever the other rules."
    else:
        yield f"No plan: the load cannot be held under the {together} together; without any one of these it can."
    if not found.minimal:
        yield "The deadline left open whether each of those below is needed for that."
    if found.ways_out:
        best = found.ways_out[0]
        yield f"Cheapest way out: {best.words}, for {format_money(best.capex_cents, found.currency)}."
    if found.ways_out and all(len(way.rules) > 1 for way in found.ways_out):
        yield "No single rule's giving way is enough: without this conflict there is another."
    if found.held:
        yield _held_words(found.held)
    for paths in found.further:
        yield f"A further conflict: {', '.join(paths)}."


def _conflict_table(found: Diagnosis) -> Table:
    rows = [(one.path, one.asked, "yes" if one.needed else "not tried") for one in found.conflict]
    return Table(("rule", "asked", "needed for the conflict"), rows, "Rules that conflict")


def _shortfall_table(found: Diagnosis) -> Table:
    rows = [(one.path, *one.words, "yes" if one.enough else "no, others too") for one in found.shortfalls]
    right = ("asked", "needed", "short")
    return Table(("rule", *right, "enough alone"), rows, "Shortfalls, the smallest first", right=right)


_TIERS = {"hbm": "GPU memory, sessions in flight", "dram": "host memory", "nvme": "drives"}


def _held_words(held: Held) -> str:
    if not held.users:
        return "With no rule bent not even one user's sessions can be held."
    most = "" if held.sure else "at least "
    sessions = f"{held.sessions:,} of {held.asked_sessions:,} sessions"
    users = f"{held.users:,} of {held.asked_users:,} users"
    return f"With no rule bent {most}{sessions} can be held, those of {users}: --set workload.users={held.users}"


def _held_table(held: Held) -> Table:
    rows = [
        (what, f"{asked:,}", f"{have:,}", f"{asked - have:,}")
        for what, asked, have in (
            ("users", held.asked_users, held.users), ("open sessions", held.asked_sessions, held.sessions)
        )
    ]  # fmt: skip
    for name, (asked, have) in held.tier_bytes.items():
        rows.append((_TIERS[name], format_bytes(asked), format_bytes(have), format_bytes(asked - have)))
    right = ("asked", "can be held", "short")
    return Table(("load", *right), rows, "What can be held with no rule bent", right=right)


def _ways_table(found: Diagnosis) -> Table:
    columns = ("way out", "nodes", "capex_total")
    rows = [(_words(way), way.nodes, format_money(way.capex_cents, found.currency)) for way in found.ways_out]
    plain = [_way_data(way, found.currency) | {"set": " ".join(way.overrides)} for way in found.ways_out]
    return Table(columns, rows, "Ways out, each at its least and its cheapest", right=columns[1:], plain=plain)


def _words(way: WayOut) -> str:
    return way.words if way.nearest else f"{way.words} (less may do: not proven)"


def _paste(way: WayOut) -> str:
    pairs = (text.partition("=") for text in way.overrides)
    return " ".join(f"--set {path}={shlex.quote(value)}" for path, _, value in pairs)


def diagnosis_data(found: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis as plain data; the keys are stable."""
    return {
        "schema_version": 1,
        "scenario": found.scenario,
        "title": found.title,
        "status": "infeasible",
        "conflict": [
            {"rule": one.path, "label": one.label, "asked": one.asked, "needed": one.needed} for one in found.conflict
        ],
        "conflict_minimal": found.minimal,
        "further_conflicts": [list(paths) for paths in found.further],
        "feasible_without_rules": not found.hopeless,
        "shortfalls": [_shortfall_data(one) for one in found.shortfalls],
        "held": found.held and _held_data(found.held),
        "ways_out": [_way_data(way, found.currency) for way in found.ways_out],
        "why": list(found.why),
        "unpriced": list(found.unpriced),
        "not_tried": list(found.not_tried),
    }


def _shortfall_data(one: Shortfall) -> dict[str, Any]:
    asked, need, short = one.words
    return {
        "rule": one.path,
        "label": one.label,
        "asked": asked,
        "need": need,
        "short": short,
        "short_share": float(one.share),
        "enough_alone": one.enough,
    }


def _held_data(held: Held) -> dict[str, Any]:
    return {
        "users": held.users,
        "open_sessions": held.sessions,
        "asked_users": held.asked_users,
        "asked_open_sessions": held.asked_sessions,
        "tiers": {
            name: {"asked_bytes": asked, "held_bytes": have, "short_bytes": asked - have}
            for name, (asked, have) in held.tier_bytes.items()
        },
        "most": held.sure,
    }


def _way_data(way: WayOut, currency: str) -> dict[str, Any]:
    return {
        "rules": list(way.rules),
        "words": way.words,
        "set": list(way.overrides),
        "capex_total": way.capex_cents / 100,
        "currency": currency,
        "n_nodes": way.nodes,
        "least": way.nearest,
    }
