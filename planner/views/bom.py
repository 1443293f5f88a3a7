"""The bill of materials: one line per part, its quantity rule, price, evidence and date."""

from __future__ import annotations

from typing import Any

from planner.bill import CostLine
from planner.plan import Plan
from planner.prices import Price
from planner.render.report import Report, Table, Text
from planner.units import format_money
from planner.validity import Issue


def bom_data(plan: Plan) -> list[dict[str, Any]]:
    """Return the lines as plain data; node lines first, then cluster lines and services."""
    case = plan.provenance["prices"]["case"]
    return [_line_data(line, case, plan.cost.currency) for line in plan.bill]


def _line_data(line: CostLine, case: str, currency: str) -> dict[str, Any]:
    unit, tax = line.unit_cents[case], line.tax_cents[case]
    return {
        "item": line.item,
        "role": "node" if line.scope == "node" else "cluster",
        "category": line.category,
        "part": line.part,
        "description": line.description,
        "build": line.build or None,
        "qty_per_node": line.qty_per_node,
        "qty": line.qty,
        "rule": line.rule or None,
        "unit_price": unit / 100,
        "unit_price_low": line.unit_cents["low"] / 100,
        "unit_price_high": line.unit_cents["high"] / 100,
        "extended_price": line.qty * unit / 100,
        "tax": line.qty * tax / 100,
        "currency": currency,
        "evidence": line.evidence.kind,
        "basis": line.basis,
        "as_of": line.as_of,
        "source": ", ".join(line.evidence.sources) or None,
        "reason": line.evidence.text or None,
        "part_numbers": ", ".join(line.part_numbers) or None,
        **_quote_data(line.price),
    }


def _quote_data(price: Price | None) -> dict[str, Any]:
    """Return what a buyer orders by: the seller's numbers, its quote and what that promises."""
    lead = price.lead_time if price else None
    return {
        "order_numbers": ", ".join(price.part_numbers) or None if price else None,
        "seller": price.seller if price else None,
        "quote": price.quote if price else None,
        "valid_until": price.valid_until if price else None,
        "lead_time_days": lead.time_days if lead else None,
        "warranty_months": price.warranty_months if price else None,
    }


def build_letters(plan: Plan) -> dict[str, str]:
    """Return a letter for each build of the plan, in its order."""
    return {group.build: chr(ord("A") + i) for i, group in enumerate(plan.groups)}


def bom_table(plan: Plan, issue: Issue | None = None) -> Table:
    """Return the lines as a table; machines carry the letter of their build."""
    case, money = plan.provenance["prices"]["case"], plan.cost.currency
    letters = build_letters(plan)
    columns = (
        "build", "item", "description", "per node", "qty", f"unit {money}", f"total {money}", f"tax {money}",
        "evidence", "source", "as of",
    )  # fmt: skip
    rows = [
        (
            letters.get(line.build, "-"),
            line.item,
            line.description,
            "" if line.qty_per_node is None else line.qty_per_node,
            line.qty,
            format_money(line.unit_cents[case]),
            format_money(line.qty * line.unit_cents[case]),
            format_money(line.qty * line.tax_cents[case]),
            line.evidence.kind,
            ", ".join(line.evidence.sources) or "-",
            line.as_of,
        )
        for line in plan.bill
    ]
    right = ("per node", "qty", *columns[5:8])
    return Table(columns, rows, "Bill of materials", right, _checked(bom_data(plan), issue))


def _checked(data: list[dict[str, Any]], issue: Issue | None) -> list[dict[str, Any]]:
    """Return the lines with what was found of their quotes on the day of the bill, if it has one."""
    if issue is None:
        return data
    late = {one.part for one in issue.expired}
    word = "allowed by --allow-expired" if issue.final else "yes"
    return [
        {**line, "bill_of": issue.day.isoformat(), "expired": word if line["part"] in late else None} for line in data
    ]


def _quote_lines(plan: Plan, issue: Issue | None) -> list[str]:
    """Return sentences on how long the quotes hold; none where there is nothing to say."""
    ends = sorted({p.valid_until for line in plan.bill if (p := line.price) and p.valid_until})
    lines = [f"The first of the quotes ends on {ends[0]}."] if ends else []
    if issue is None:
        return lines
    lines.insert(0, f"{'Final bill of' if issue.final else 'Looked at on'} {issue.day.isoformat()}.")
    if issue.expired:
        allowed = "allowed all the same by --allow-expired:" if issue.final else "to be renewed before ordering:"
        lines.append(f"EXPIRED, {allowed}")
        lines += [f"- {one}" for one in issue.expired]
    return lines


def issue_data(issue: Issue | None) -> dict[str, Any] | None:
    """Return the day of a bill and its expired quotes as plain data."""
    if issue is None:
        return None
    return {
        "date": issue.day.isoformat(),
        "final": issue.final,
        "expired_allowed": issue.final and bool(issue.expired),
        "expired": [
            {"part": e.part, "quote": e.quote or None, "seller": e.seller or None, "valid_until": e.valid_until}
            for e in issue.expired
        ],
    }


def bom_report(plan: Plan, issue: Issue | None = None) -> Report:
    """Return the report of ``planner bom``; `issue` says of which day it is, and whether it is final."""
    money = plan.cost.currency
    rules = list(dict.fromkeys(f"{line.item}: {line.rule}" for line in plan.bill if line.rule))
    builds = [
        f"{letter}: {group.nodes} nodes; {group.build}"
        for group, letter in zip(plan.groups, build_letters(plan).values(), strict=True)
    ]
    total = Text(
        [
            f"parts {format_money(plan.cost.parts, money)}, cluster {format_money(plan.cost.cluster, money)}, "
            f"services {format_money(plan.cost.services, money)}, tax {format_money(plan.cost.tax, money)}",
            f"capex_total {format_money(plan.cost.capex_total, money)} "
            f"(all prices low: {format_money(plan.cost.low, money)}, high: {format_money(plan.cost.high, money)})",
            "not included: " + "; ".join(plan.cost.not_included),
        ],
        "Total",
    )
    table = bom_table(plan, issue)
    sources = Table(
        ("source", "grade", "date", "title", "where"),
        [(s.id, s.grade, s.date or "-", s.title, s.where or "-") for s in plan.sources],
        "Sources of the prices (grade A vendor or live shop, B dated reseller, C blog or undated, D contradictory)",
    )
    data = {
        "scenario": plan.scenario,
        "currency": money,
        "capex_total": plan.cost.capex_total / 100,
        "bom": list(table.plain),
        "issue": issue_data(issue),
        "not_included": list(plan.cost.not_included),
        "sources": [
            {"id": s.id, "grade": s.grade, "date": s.date, "title": s.title, "where": s.where} for s in plan.sources
        ],
        "provenance": dict(plan.provenance),
    }
    blocks: list[Text | Table] = [
        Text([plan.title]), Text(builds, "Builds"), table, Text(rules, "Quantity rules"), total, sources,
    ]  # fmt: skip
    quotes = _quote_lines(plan, issue)
    if quotes:
        blocks.insert(1, Text(quotes, "Quotes"))
    return Report(data, blocks, table)
