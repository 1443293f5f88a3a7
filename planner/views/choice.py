"""Several plans of one scenario: the front of two objectives, and alternatives within a cap."""

from __future__ import annotations

from typing import Any

from planner.objectives import OBJECTIVES
from planner.plan import Goal, Plan
from planner.questions.alternatives import VIRTUES, Alternative, Choice
from planner.questions.pareto import Front
from planner.render.report import Report, Table, Text
from planner.units import format_money, format_share, format_watts
from planner.views.plan import answer, goal_data, mix_words

_UNITS = {"nodes": "nodes", "vendor": "vendors", "parts": "parts", "headroom": "sessions", "lead_time": "days"}


def _amount(kind: str, value: int | None, currency: str) -> str:
    if value is None:
        return "not known"
    unit = OBJECTIVES[kind].unit if kind in OBJECTIVES else ""
    if unit == "cents":
        return format_money(value, currency)
    return format_watts(value) if unit == "W" else f"{value:,} {_UNITS[kind]}"[: -1 if value == 1 else None]


def plan_row(plan: Plan) -> dict[str, Any]:
    """Return what tells plans of one scenario apart."""
    return {
        "status": plan.status,
        "n_nodes": plan.n_nodes,
        "n_gpus": plan.n_gpus,
        "machines": " + ".join(mix_words(group) for group in plan.groups),
        "power_w": plan.power_w,
        "capex_total": plan.cost.capex_total / 100,
        "tco_total": plan.cost.tco_total / 100 if plan.cost.opex_known else None,
        "currency": plan.cost.currency,
    }


def front_report(front: Front) -> Report:
    """Return the report of ``planner pareto``."""
    first, second = front.over
    rows: list[tuple[str | int, ...]] = []
    plain = []
    for plan in front.plans:
        goals: dict[str, Goal] = {goal.kind: goal for goal in plan.goals}
        shown = [_amount(kind, goals[kind].value, plan.cost.currency) for kind in front.over]
        rows.append((*shown, plan.n_nodes, " + ".join(mix_words(group) for group in plan.groups)))
        plain.append(
            {f"over {k}": goal_data(goals[k], plan.cost.currency)["value"] for k in front.over} | plan_row(plan)
        )
    title = f"Front of {first} and {second}"
    table = Table((first, second, "nodes", "machines"), rows, title, right=(first, second, "nodes"), plain=plain)
    end = front.open_end or "the front is whole: each point is proven, and no plan lies between two of them"
    head = Text([front.plans[0].title if front.plans else "no plan"])
    data = {"over": list(front.over), "whole": not front.open_end, "open_end": front.open_end or None, "points": plain}
    return Report(data, [head, table, Text([end])], table)


def choice_report(choice: Choice) -> Report:
    """Return the report of ``planner alternatives``."""
    money = choice.best.cost.currency
    rows = [_row(each, money) for each in choice.others]
    plain = [_plain(each) for each in choice.others]
    columns = ("virtue", "best plan", "this plan", "price", "nodes", "machines")
    cap = f"within {format_share(choice.within)} of the best: {choice.cap_kind} up to {format_money(choice.cap, money)}"
    table = Table(columns, rows, f"Alternatives {cap}", right=("price", "nodes"), plain=plain)
    notes = ["headroom: open sessions that could be hosted with spare groups lost; a group counts for no more than all"]
    notes.append("lead time: until the last part of the machines is there; the cluster's own parts are not counted")
    if choice.without_lead_time:
        missing = ", ".join(choice.without_lead_time)
        notes.append(f"no lead time is known for {missing}: add it to the price book, or set limits.lead_time")
    data = {
        "best": plan_row(choice.best),
        "within": float(choice.within),
        "cap": {"kind": choice.cap_kind, "value": choice.cap / 100, "currency": money},
        "without_lead_time": list(choice.without_lead_time),
        "alternatives": plain,
    }
    return Report(data, [Text([choice.best.title, "", answer(choice.best)]), table, Text(notes)], table)


def _row(other: Alternative, money: str) -> tuple[str | int, ...]:
    name, had = VIRTUES[other.virtue], _amount(other.virtue, other.had, money)
    if other.plan is None:
        words = "none within the cap has more of it" if other.same else "nothing better was found in time"
        return (name, had, "-", "-", "-", words)
    assert other.has is not None
    machines = " + ".join(mix_words(group) for group in other.plan.groups)
    proven = "" if other.plan.status == "optimal" else " (not proven)"
    has = _amount(other.virtue, other.has, money) + proven
    price = f"{'+' if other.price_cents >= 0 else '-'}{format_money(abs(other.price_cents), money)}"
    return (name, had, has, price, other.plan.n_nodes, machines)


def _plain(other: Alternative) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("status", "n_nodes", "n_gpus", "machines", "power_w", "capex_total", "tco_total", "currency")
    )  # fmt: skip
    return {
        "virtue": other.virtue,
        "best_has": other.had,
        "has": other.has,
        "price": other.price_cents / 100,
        "same_as_best": other.same,
        **(plan_row(other.plan) if other.plan else empty),
    }
