"""A plan of rented instances: the answer in one sentence, then everything behind it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from planner.render.report import Report, Table, Text
from planner.split.plan import Rented, Served, SplitPlan
from planner.units import format_money


def split_report(plan: SplitPlan, reference: str | None = None) -> Report:
    """Return the report of ``planner plan``; `reference` is how the user named the scenario."""
    fleet = _fleet_table(plan)
    blocks: list[Text | Table] = [
        Text([plan.title, "", split_answer(plan)]),
        fleet,
        _traffic_table(plan),
        Text(list(_beside(plan)), "One kind alone"),
        Text([f"- {warning}" for warning in plan.warnings], "Before you rely on it"),
        Text(list(_next_steps(plan, reference or plan.scenario)), "Next"),
    ]
    return Report(split_data(plan), blocks, fleet)


def format_hourly(cents: Fraction, currency: str = "") -> str:
    """Return money per hour, to the cent or as fine as its prices are."""
    if cents.denominator == 1:
        return format_money(int(cents), currency)
    return f"{currency} {float(cents / 100):,.6f}".rstrip("0").strip()


def split_answer(plan: SplitPlan) -> str:
    """Return the plan in one sentence."""
    mix = " + ".join(f"{row.count} x {row.instance.name}" for row in plan.rented)
    proof = "the least cost within this profile, this mix and these prices"
    if plan.status != "optimal":
        proof = f"not proven to be the least cost: {plan.gap:.2%} may be left"
    return (
        f"Rent {plan.n_instances} instances with {plan.n_gpus} GPUs ({mix}) for "
        f"{format_hourly(plan.value, plan.currency)} per hour: {proof}."
    )


def _fleet_table(plan: SplitPlan) -> Table:
    columns = ("instances", "instance", "GPUs", f"{plan.currency}/h each", f"{plan.currency}/h", "busy")
    rows = [
        (
            row.count,
            row.instance.name,
            row.count * row.instance.n_gpus,
            format_hourly(row.instance.price_rate.cents),
            format_hourly(row.cents_per_hour),
            f"{float(row.busy / row.count):.2%}",
        )
        for row in plan.rented
    ]
    return Table(columns, rows, "Instances", right=(columns[0], *columns[2:]), plain=[_bom(row) for row in plan.rented])


def _traffic_table(plan: SplitPlan) -> Table:
    names = [row.instance.name for row in plan.rented]
    rows = [
        (
            *_sizes(plan, served),
            f"{float(served.bucket.requests_per_s):.4g}",
            *(f"{float(served.shares[name]):.2%}" if name in served.shares else "" for name in names),
        )
        for served in plan.served
    ]
    columns = ("input", "output", "requests/s", *names)
    return Table(columns, rows, "Traffic: share of each bucket by instance", right=columns)


def _sizes(plan: SplitPlan, served: Served) -> Iterator[str]:
    """Yield the sizes of a bucket, or its place in the profile's tables."""
    places = (served.bucket.row, served.bucket.column)
    for place, sizes in zip(places, plan.sizes, strict=True):
        yield f"<= {sizes[place]:,}" if sizes else f"{place + 1}"


def _beside(plan: SplitPlan) -> Iterator[str]:
    for alone in plan.alone:
        if alone.count is None:
            yield f"{alone.instance.name}: cannot hold this load"
            continue
        cents = alone.count * alone.instance.price_rate.cents
        more = float((cents - plan.value) / plan.value)
        yield f"{alone.count} x {alone.instance.name}: {format_hourly(cents, plan.currency)} per hour (+{more:.1%})"


def _next_steps(plan: SplitPlan, name: str) -> Iterator[str]:
    twice = float(2 * plan.requests_per_s)
    yield f"planner plan {name} --set workload.requests_per_s={twice:g}   at twice the rate"
    yield f"planner plan {name} --set fleet.instances={plan.rented[0].instance.name}   with one kind only"


def split_data(plan: SplitPlan) -> dict[str, Any]:
    """Return the plan as plain data; the keys are those of other plans where they say the same."""
    return {
        "schema_version": 1,
        "scenario": plan.scenario,
        "title": plan.title,
        "status": plan.status,
        "objective": {
            "kind": "cost_per_hour",
            "value": plan.value / 100,
            "bound": plan.bound / 100,
            "gap": plan.gap,
            "currency": plan.currency,
        },
        "n_nodes": plan.n_instances,
        "n_gpus": plan.n_gpus,
        "nodes": [_node_data(row) for row in plan.rented],
        "bom": [_bom(row) for row in plan.rented],
        "constraints": [*(_load_data(row) for row in plan.rented), _rate_data(plan)],
        "demand": {
            "requests_per_s": plan.requests_per_s,
            "buckets": [_bucket_data(plan, served) for served in plan.served],
        },
        "cost": {"currency": plan.currency, "per_hour": plan.value / 100},
        "one_kind_alone": [
            {
                "instance": alone.instance.name,
                "count": alone.count,
                "per_hour": None if alone.count is None else alone.count * alone.instance.price_rate.cents / 100,
            }
            for alone in plan.alone
        ],
        "verified": plan.verified,
        "warnings": list(plan.warnings),
        "provenance": dict(plan.provenance),
    }


def _node_data(row: Rented) -> dict[str, Any]:
    return {
        "build": row.instance.name,
        "count": row.count,
        "gpu": row.instance.gpu or row.instance.name,
        "gpus_per_node": row.instance.n_gpus,
        "unit_cost": row.instance.price_rate.cents / 100,
        "busy": row.busy / row.count,
    }


def _bom(row: Rented) -> dict[str, Any]:
    return {
        "item": row.instance.name,
        "category": "rent",
        "qty": row.count,
        "unit_price": float(row.instance.price_rate.cents / 100),
        "extended_price": float(row.cents_per_hour / 100),
        "currency": row.instance.price_rate.currency,
        "per": "h",
    }


def _load_data(row: Rented) -> dict[str, Any]:
    # One more request per second of any size it serves takes at least this much.
    least = 1 / max(rate for rates in row.instance.requests_per_s for rate in rates)
    return {
        "kind": "throughput",
        "label": row.instance.name,
        "need": row.busy,
        "have": row.count,
        "slack": row.count - row.busy,
        "unit": "instances",
        "binding": row.count - row.busy < least,
        "formula": "sum over buckets of share * requests/s / throughput <= instances",
    }


def _rate_data(plan: SplitPlan) -> dict[str, Any]:
    served = sum((one.bucket.requests_per_s * sum(one.shares.values()) for one in plan.served), Fraction(0))
    return {
        "kind": "requests",
        "label": "requests served",
        "need": plan.requests_per_s,
        "have": served,
        "slack": served - plan.requests_per_s,
        "unit": "requests/s",
        "binding": True,
        "formula": "the shares of each bucket add up to 1",
    }


def _bucket_data(plan: SplitPlan, served: Served) -> dict[str, Any]:
    inputs, outputs = plan.sizes
    bucket = served.bucket
    return {
        "row": bucket.row + 1,
        "column": bucket.column + 1,
        "input_tokens": inputs[bucket.row] if inputs else None,
        "output_tokens": outputs[bucket.column] if outputs else None,
        "requests_per_s": bucket.requests_per_s,
        "shares": dict(served.shares),
    }
