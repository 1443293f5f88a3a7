"""The demand: sessions and bytes per tier with their arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.demand import Demand
from planner.plan import ServicePlan
from planner.render.report import Report, Table, Text
from planner.scenario import Scenario
from planner.units import format_bytes

TIER_WORDS = {"hbm": "GPU memory", "dram": "host memory", "nvme": "NVMe", "idle": "all idle sessions"}
_TIER_COLUMNS = ("KV format", "tier", "sessions", "bytes")


def demand_data(demand: Demand) -> dict[str, Any]:
    """Return the demand in plain numbers."""
    sessions = demand.sessions
    return {
        "kv": {
            "format": demand.kv.name,
            "custom": demand.kv.custom,
            "bytes_per_token": demand.kv.bytes_per_token,
            "session_tokens": demand.session_tokens,
            "session_bytes": demand.session_bytes,
            "private_session_bytes": demand.private_session_bytes,
            "formula": demand.kv.formula(),
        },
        "sessions": {
            "open": sessions.open, "active": sessions.active, "in_flight": sessions.in_flight,
            "warm": sessions.warm, "cold": sessions.cold,
        },
        "tiers": {name: {"sessions": t.sessions, "bytes": t.bytes} for name, t in demand.tiers.items()},
        "steps": [{"name": s.name, "formula": s.formula, "result": s.result} for s in demand.steps],
    }  # fmt: skip


def demand_sums(services: Sequence[ServicePlan]) -> dict[str, Any]:
    """Return what adds up over services: sessions by state, bytes by tier."""
    parts = [demand_data(one.demand) for one in services]
    states, tiers = parts[0]["sessions"], parts[0]["tiers"]
    return {
        "sessions": {state: sum(part["sessions"][state] for part in parts) for state in states},
        "tiers": {
            tier: {key: sum(part["tiers"][tier][key] for part in parts) for key in ("sessions", "bytes")}
            for tier in tiers
        },
    }


def steps_table(demand: Demand, service: str = "") -> Table:
    """Return the arithmetic as a table."""
    rows = [(step.name, step.formula, step.result) for step in demand.steps]
    whose = f" of {service}" if service else ""
    return Table(("step", "how", "result"), rows, f"Demand{whose} in {demand.kv.name}", right=("result",))


def joint_demand_report(scenario: Scenario, demands: Sequence[tuple[Scenario, Sequence[Demand]]]) -> Report:
    """Return the report of ``planner demand`` for several services, one after the other."""
    reports = [demand_report(one, own) for one, own in demands]
    blocks = [block for report in reports for block in report.blocks]
    rows = [(one.label, *row) for (one, own) in demands for row in _tier_rows(own)]
    every = Table(("service", *_TIER_COLUMNS), rows, "What each tier must hold", right=("sessions", "bytes"))
    services = {one.label: report.data for (one, _), report in zip(demands, reports, strict=True)}
    return Report({"scenario": scenario.name, "title": scenario.title, "services": services}, blocks, every)


def _tier_rows(demands: Sequence[Demand]) -> list[tuple[str | int, ...]]:
    return [
        (demand.kv.name, TIER_WORDS[name], f"{tier.sessions:,}", format_bytes(tier.bytes))
        for demand in demands
        for name, tier in demand.tiers.items()
    ]


def demand_report(scenario: Scenario, demands: Sequence[Demand]) -> Report:
    """Return the report of ``planner demand``: the first format in full, others beside it."""
    first = demands[0]
    plain: list[Mapping[str, Any]] = [
        {"kv_format": demand.kv.name, "tier": name, "sessions": tier.sessions, "bytes": tier.bytes}
        for demand in demands
        for name, tier in demand.tiers.items()
    ]
    tiers = Table(
        _TIER_COLUMNS, _tier_rows(demands), "What each tier must hold",
        right=("sessions", "bytes"), plain=plain,
    )  # fmt: skip
    notes = [] if scenario.flat else [
        "Own bytes only: shared prefixes are stored once per KV pool and node, and the ceilings of each",
        "tier (eviction, pinned share, staging) are added where machines are chosen: see 'planner plan'.",
    ]  # fmt: skip
    data: dict[str, Any] = {"scenario": scenario.name, "title": scenario.title, **demand_data(first)}
    if len(demands) > 1:
        data["formats"] = [demand_data(demand) for demand in demands]
    blocks: list[Text | Table] = [Text([scenario.title]), steps_table(first), tiers]
    return Report(data, [*blocks, Text(notes)] if notes else blocks, tiers)
