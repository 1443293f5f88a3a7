"""Nodes and variants: tables over one setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.plan import Plan
from planner.questions.sweep import Point, point_row
from planner.questions.why import explain_costs
from planner.render.report import Report, Table, Text
from planner.setting_paths import full_path, of_service
from planner.units import format_money
from planner.views.plan import answer

_LOAD = ("workload.users", "workload.sessions_per_user", "workload.active_per_user", "workload.in_flight")


def _cost(plan: Plan) -> str:
    shown = format_money(plan.cost.capex_total, plan.cost.currency)
    return shown if plan.status == "optimal" else f"{shown} (not proven)"


def _points_table(path: str, points: Sequence[Point], title: str) -> Table:
    columns = (path, "nodes", "GPUs", "GPU", "KV", "layout", "limited by", "kW", "capex_total")
    rows = []
    for point in points:
        row = point_row(path, point)
        if point.plan is None:
            rows.append((point.value, "-", "-", "-", "-", "-", "-", "-", "no plan"))
            continue
        rows.append((
            point.value, row["n_nodes"], row["n_gpus"], row["gpus"], row["kv_format"], row["layout"],
            row["limited_by"] or "-", f"{row['power_w'] / 1000:.1f}",
            _cost(point.plan),
        ))  # fmt: skip
    plain = [point_row(path, point) for point in points]
    return Table(columns, rows, title, right=("nodes", "GPUs", "kW", "capex_total"), plain=plain)


def sweep_report(title: str, path: str, points: Sequence[Point]) -> Report:
    """Return the report of ``planner nodes --over``."""
    table = _points_table(path, points, f"Nodes over {path}")
    blocks: list[Text | Table] = [Text([title]), table, *_reasons(points)]
    if of_service(full_path(path))[1] in _LOAD:
        blocks.append(Text(["cost never falls as the load grows; the cheapest plan's node count may"]))
    return Report({"over": path, "points": list(table.plain)}, blocks, table)


def _reasons(points: Sequence[Point]) -> list[Text]:
    told = [f"{point.value}: {point.fault}" for point in points if point.plan is None]
    return [Text(told, "Why there is no plan")] if told else []


def compare_report(title: str, path: str, points: Sequence[Point]) -> Report:
    """Return the report of ``planner compare``."""
    table = _points_table(path, points, f"Side by side: {path}")
    why = list(explain_costs(points))
    blocks: list[Text | Table] = [Text([title]), table, *_reasons(points)]
    if why:
        blocks.append(Text(why, "Why cost does not scale with bytes"))
    return Report({"over": path, "points": list(table.plain), "why": why}, blocks, table)


def nodes_report(cheapest: Plan, fewest: Plan) -> Report:
    """Return the report of ``planner nodes`` for one scenario."""
    money = cheapest.cost.currency
    rows = [
        (name, plan.n_nodes, plan.n_gpus, format_money(plan.cost.capex_total, money),
         " + ".join(f"{g.nodes} x {g.system or g.chassis} ({g.gpu})" for g in plan.groups))
        for name, plan in (("least cost", cheapest), ("fewest nodes", fewest))
    ]  # fmt: skip
    table = Table(
        ("goal", "nodes", "GPUs", "capex_total", "machines"),
        rows,
        "How many nodes",
        right=("nodes", "GPUs", "capex_total"),
    )
    edges = [warning for warning in cheapest.warnings if warning.startswith("knife edge")]
    blocks: list[Text | Table] = [Text([cheapest.title, "", answer(cheapest)]), table]
    if edges:
        blocks.append(Text(edges, "Knife edges"))
    data: dict[str, Any] = {
        "scenario": cheapest.scenario,
        "n_nodes": cheapest.n_nodes,
        "n_gpus": cheapest.n_gpus,
        "capex_total": cheapest.cost.capex_total / 100,
        "currency": money,
        "status": cheapest.status,
        "fewest_nodes": fewest.n_nodes,
        "fewest_nodes_capex_total": fewest.cost.capex_total / 100,
        "spare_groups": cheapest.spare_groups,
        "knife_edges": edges,
    }
    return Report(data, blocks, table)
