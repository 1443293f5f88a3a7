"""Why cost does not scale with bytes: what of a plan grows with the KV cache and what does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.plan import Plan
from planner.questions.sweep import Point

_WITH_BYTES = ("dimm", "drive")


def explain_costs(points: Sequence[Point]) -> Iterator[str]:
    """Yield sentences that compare each plan with the first."""
    plans = [(point.value, point.plan) for point in points if point.plan is not None]
    if len(plans) < 2:
        return
    first_name, first = plans[0]
    yield (
        f"In the plan for {first_name}, {_share(first):.0%} of the total buys host memory and drives, which grow "
        f"with the KV cache; GPUs, machines, network and racks come in whole nodes."
    )
    for name, plan in plans[1:]:
        size = _mean_rate(plan) / _mean_rate(first)
        cost = plan.cost.capex_total / first.cost.capex_total
        limits = sorted({g.limiting for g in plan.groups if g.limiting}) or ["nothing"]
        text = f"{name}: {size:.2f} x the bytes per token, {cost:.2f} x the cost; limited by {' and '.join(limits)}"
        if {g.gpu for g in plan.groups} != {g.gpu for g in first.groups}:
            text += ", on other GPUs: " + ", ".join(sorted({g.gpu for g in plan.groups}))
        if size == 1 and cost != 1:
            text += "; the format itself is not what moved"
        yield text + "."


def _mean_rate(plan: Plan) -> float:
    """Return bytes per token, over several services weighed by their open sessions."""
    open_sessions = sum(one.demand.sessions.open for one in plan.services)
    return sum(one.demand.sessions.open * one.demand.kv.bytes_per_token for one in plan.services) / open_sessions


def _share(plan: Plan) -> float:
    case = plan.provenance["prices"]["case"]
    total = sum(line.qty * line.unit_cents[case] for line in plan.bill)
    part = sum(line.qty * line.unit_cents[case] for line in plan.bill if line.category in _WITH_BYTES)
    return part / max(1, total)
