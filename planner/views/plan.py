"""A plan: the answer in one sentence, then everything behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planner.constraints.base import Check
from planner.objectives import OBJECTIVES
from planner.plan import Goal, NodeGroup, Plan, ServicePlan
from planner.render.report import Report, Table, Text
from planner.units import format_bytes, format_money, format_rate, format_share, format_watts
from planner.views.bom import bom_data, bom_table
from planner.views.demand import demand_data, demand_sums, steps_table
from planner.views.worth import worth_data, worth_tables
from planner.wear import DriveWear


def plan_report(plan: Plan, reference: str | None = None) -> Report:
    """Return the report of ``planner plan``; `reference` is how the user named the scenario."""
    blocks: list[Text | Table] = [
        Text([_heading(plan), "", answer(plan)]),
        *(steps_table(one.demand, one.name) for one in plan.services),
        _mix_table(plan),
        _rows_table(plan),
        *worth_tables(plan),
        _cost_table(plan),
        Text(list(_price_words(plan)), "Prices"),
        Text(list(_beside(plan)), "Beside it"),
    ]
    if plan.warnings:
        blocks.append(Text([f"- {warning}" for warning in plan.warnings], "Before you rely on it"))
    blocks.append(Text(list(_next_steps(plan, reference or plan.scenario)), "Next"))
    return Report(plan_data(plan), blocks, bom_table(plan))


def _heading(plan: Plan) -> str:
    return f"{plan.title}  [CAPACITY ONLY]" if plan.capacity_only else plan.title


def answer(plan: Plan) -> str:
    """Return the plan in one sentence."""
    cost, money = plan.cost, plan.cost.currency
    mix = " + ".join(mix_words(group) for group in plan.groups)
    goal = ", then ".join(OBJECTIVES[each.kind].words for each in plan.goals)
    proof = f"{goal} within this catalogue, these rules and these prices"
    if plan.status != "optimal":
        proof = f"not proven to be {goal}: {plan.gap:.2%} may be left"
    spare = f", {plan.spare_groups} of the groups spare" if plan.spare_groups else ""
    kept = sum(group.nodes for group in plan.groups if group.owned)
    own = f" and keep {kept} of yours," if kept else ""
    return (
        f"Buy {plan.n_nodes - kept} nodes{own} with {plan.n_gpus} GPUs ({mix}{spare}) for "
        f"{format_money(cost.capex_total, money)} (the same machines at low prices {format_money(cost.low, money)}, at "
        f"high ones {format_money(cost.high, money)}): {proof}."
    )


def mix_words(group: NodeGroup) -> str:
    """Return so many nodes of a kind in words."""
    machine = group.system or group.chassis
    return f"{group.nodes} x {machine} with {group.gpus_per_node} {group.gpu} and {group.dimms} x {group.dimm}"


def _mix_table(plan: Plan) -> Table:
    columns: tuple[str, ...] = (
        "nodes", "machine", "GPUs", "layout", "KV", "sessions/pool", "host memory", "drives", "hosts", "limited by",
    )  # fmt: skip
    rows = list(map(_mix_row, plan.groups))
    if _by_role(plan):
        columns = ("role", *columns)
        rows = [(group.role, *row) for group, row in zip(plan.groups, rows, strict=True)]
    if len(plan.services) > 1:
        columns = ("service", *columns)
        rows = [(group.service, *row) for group, row in zip(plan.groups, rows, strict=True)]
    return Table(columns, rows, "Nodes", right=("nodes", "hosts"))


def _by_role(plan: Plan) -> bool:
    return any(group.role != "both" for group in plan.groups)


def _mix_row(group: NodeGroup) -> tuple[str | int, ...]:
    return (
        group.nodes,
        group.system or group.chassis,
        f"{group.gpus_per_node} x {group.gpu}",
        f"{group.replicas} x {group.layout} ({group.layout_evidence})",
        group.kv_format,
        f"{group.pools} x {group.sessions_per_pool}",
        f"{group.dimms} x {group.dimm}",
        f"{group.drives} x {group.drive}" if group.drive else "none",
        f"{group.reach:,}",
        group.limiting or "nothing",
    )


def format_amount(value: int, check: Check, currency: str) -> str:
    """Return a need or a have in the constraint's unit."""
    formats: dict[str, Callable[[int], str]] = {
        "B": format_bytes,
        "B/s": format_rate,
        "B/day": lambda amount: f"{format_bytes(amount)}/day",
        "W": format_watts,
        "cents": lambda cents: format_money(cents, currency),
    }
    form = formats.get(check.unit)
    return form(value) if form else f"{value:,} {check.unit}"


def _rows_table(plan: Plan) -> Table:
    rows = []
    for check in plan.checks:
        used = f"{check.need / check.have:.1%}" if check.have and check.unit != "ms" else "met"
        need = format_amount(check.need, check, plan.cost.currency)
        have = format_amount(check.have, check, plan.cost.currency)
        if check.unit == "ms":
            need, have = "-", f"{check.slack:,} ms to spare"
        rows.append((check.words, need, have, used, "<- binding" if check.binding else ""))
    lost = f" (with {plan.spare_groups} group(s) lost)" if plan.spare_groups else ""
    return Table(("row", "need", "have", "used", ""), rows, f"Rows{lost}", right=("need", "have", "used"))


def _cost_table(plan: Plan) -> Table:
    cost, money = plan.cost, plan.cost.currency
    lines = [
        ("node parts", cost.parts),
        ("cluster parts", cost.cluster),
        (f"services, {cost.years} years", cost.services),
        ("tax", cost.tax),
        ("capex_total", cost.capex_total),
    ]
    interest = cost.tco_total - cost.capex_total - cost.years * cost.opex_per_year
    if interest:
        rate = format_share(cost.discount_rate_fraction)
        lines.append((f"cost of capital at {rate}, {cost.years} years", interest))
    if cost.opex_known or interest:
        lines += [
            ("energy and colocation per year", cost.opex_per_year),
            (f"total over {cost.years} years", cost.tco_total),
        ]
    rows = [(name, format_money(cents)) for name, cents in lines]
    return Table(("cost", money), rows, "Cost", right=(money,))


def _wear_words(plan: Plan) -> Iterator[str]:
    """Yield what writes use up of each build's drives, and what takes the place of those that wear out."""
    money, years = plan.cost.currency, plan.cost.years
    for one in plan.cost.wear:
        drives = f"{one.pieces} x {one.drive}"
        words = f"writes use up {float(one.used):.1%} of what {drives} are rated for in {years} years"
        if one.used_cents is None or one.replaced_cents is None or one.price_cents is None:
            yield f"{words}; the price book has no price of them"
        elif one.used <= 1:
            new = format_money(one.price_cents, money)
            yield f"{words}: {format_money(one.used_cents, money)} of the {new} that they cost new, none to replace"
        else:
            yield f"{words}: {format_money(one.replaced_cents, money)} for new ones, beside the total"


def _price_words(plan: Plan) -> Iterator[str]:
    case = plan.provenance["prices"]["case"]
    total = sum(line.qty * line.unit_cents[case] for line in plan.bill)
    for kind in ("sourced", "derived", "assumed"):
        part = sum(line.qty * line.unit_cents[case] for line in plan.bill if line.evidence.kind == kind)
        dates = sorted(line.as_of for line in plan.bill if line.evidence.kind == kind)
        if dates:
            yield f"{kind}: {part / max(1, total):.0%} of the total, dated {dates[0]} to {dates[-1]}"
    for grade, money in _by_grade(plan, case).items():
        yield f"grade {grade}: {money / max(1, total):.0%} of the total (best grade among a price's documents)"
    yield f"price book {plan.provenance['prices']['book']}, case '{case}'; see each price with 'planner bom'"
    yield "not included: " + "; ".join(plan.cost.not_included)


def _by_grade(plan: Plan, case: str) -> dict[str, int]:
    """Return cents by the best grade of the documents behind a price; none where it has none."""
    grades = {source.id: source.grade for source in plan.sources}
    sums: dict[str, int] = {}
    for line in plan.bill:
        best = min((grades[name] for name in line.evidence.sources), default="none")
        sums[best] = sums.get(best, 0) + line.qty * line.unit_cents[case]
    return dict(sorted(sums.items()))


def _beside(plan: Plan) -> Iterator[str]:
    money = plan.cost.currency
    yield (
        f"{plan.power_w / 1000:,.1f} kW peak with switches and head nodes; the nodes stand in {plan.racks} rack(s), "
        f"{sum(g.nodes * g.rack_units for g in plan.groups)} rack units"
    )
    if plan.spare_cents is not None:
        share = plan.spare_cents / max(1, plan.cost.capex_total)
        yield f"spare groups cost {format_money(plan.spare_cents, money)} ({share:.0%} of the total)"
    yield from _wear_words(plan)
    for one in plan.services:
        yield from _rewarm_words(one)
    if plan.runner_up is not None:
        more = plan.runner_up.capex_cents - plan.cost.capex_total
        yield (
            f"runner-up on other GPUs: {plan.runner_up.summary}, {format_money(plan.runner_up.capex_cents, money)} "
            f"({'+' if more >= 0 else '-'}{format_money(abs(more), money)})"
        )
    if plan.mean_capex_cents is not None:
        mean = format_money(plan.mean_capex_cents, money)
        yield f"at the mean context instead of the planned: {plan.mean_nodes} nodes, {mean}"
    if all(one.alone_cents is not None for one in plan.services):
        alone = [(one.name, one.alone_cents or 0) for one in plan.services]
        words = " + ".join(f"{name} {format_money(cents, money)}" for name, cents in alone)
        less = sum(cents for _, cents in alone) - plan.cost.capex_total
        than = "less than" if less >= 0 else "more than"
        yield f"together {format_money(abs(less), money)} {than} each alone under the same limits: {words}"


def _rewarm_words(one: ServicePlan) -> Iterator[str]:
    lost = one.rewarm
    if lost is not None:
        whose = f" of {one.name}" if one.name else ""
        until = "the rest never catches up" if lost.seconds is None else f"the rest needs {lost.seconds:,} s for them"
        yield f"if a group{whose} is lost, {lost.tokens:,} tokens of contexts come back to be prefilled: {until}"


def _next_steps(plan: Plan, name: str) -> Iterator[str]:
    first = plan.services[0]
    above = f"services.{first.name}." if first.name else ""
    steps = [
        (f"planner bom {name} -o bom.csv", "the bill of materials"),
        (f"planner nodes {name} --over {above}workload.users=100..400:100", "nodes and cost as users grow"),
        (f"planner plan {name} --set limits.power='60 kW'", "within a limit of your site"),
    ]
    if len(first.kv_formats) > 1 and not first.demand.kv.custom:
        formats = ",".join(first.kv_formats)
        steps.insert(2, (f"planner compare {name} --over {above}kv_format={formats}", "KV formats side by side"))
    longest = max(len(command) for command, _ in steps)
    for command, words in steps:
        yield f"{command.ljust(longest)}   {words}"


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data; the keys are stable."""
    cost, money = plan.cost, plan.cost.currency
    data: dict[str, Any] = {
        "schema_version": 1,
        "scenario": plan.scenario,
        "title": plan.title,
        "status": plan.status,
        "capacity_only": plan.capacity_only,
        "objective": {
            **goal_data(plan.goals[0], money),
            "then": [goal_data(goal, money) for goal in plan.goals[1:]],
        },
        "n_nodes": plan.n_nodes,
        "n_gpus": plan.n_gpus,
        "nodes": [
            _group_data(group) | ({"role": group.role} if _by_role(plan) else {}) for group in plan.groups
        ],
        "bom": bom_data(plan),
        "constraints": [_check_data(check) for check in plan.checks],
        "demand": demand_data(plan.demand) if len(plan.services) == 1 else demand_sums(plan.services),
        "rewarm": [
            {"service": one.name or None, "tokens": one.rewarm.tokens, "seconds": one.rewarm.seconds}
            for one in plan.services
            if one.rewarm is not None
        ],
        "services": [_service_data(plan, one) for one in plan.services if one.name],
        "cost": {
            "currency": money,
            **{
                key: getattr(cost, key) / 100
                for key in ("parts", "cluster", "services", "tax", "capex_total", "low", "high")
            },
            "opex_per_year": cost.opex_per_year / 100 if cost.opex_known else None,
            "tco_total": cost.tco_total / 100 if cost.opex_known else None,
            "discount_rate": float(cost.discount_rate_fraction),
            "years": cost.years,
            "not_included": list(cost.not_included),
            **({"drive_wear": [_wear_data(one) for one in cost.wear]} if cost.wear else {}),
        },
        "power_w": plan.power_w,
        "racks": plan.racks,
        "spare_groups": plan.spare_groups,
        "spare_cost": None if plan.spare_cents is None else plan.spare_cents / 100,
        "runner_up": plan.runner_up and {
            "capex_total": plan.runner_up.capex_cents / 100,
            "n_nodes": plan.runner_up.nodes,
            "summary": plan.runner_up.summary,
        },
        "at_mean_context": plan.mean_capex_cents and {
            "n_nodes": plan.mean_nodes,
            "capex_total": plan.mean_capex_cents / 100,
        },
        "verified": plan.verified,
        "warnings": list(plan.warnings),
        "unpriced": list(plan.unpriced),
        "provenance": dict(plan.provenance),
    }  # fmt: skip
    return data


def _wear_data(one: DriveWear) -> dict[str, Any]:
    known = {"price": one.price_cents, "used": one.used_cents, "replaced": one.replaced_cents}
    return {
        "build": one.build, "drive": one.drive, "pieces": one.pieces, "written_bytes": one.written_bytes,
        "used_share": float(one.used), **{key: None if cents is None else cents / 100 for key, cents in known.items()},
    }  # fmt: skip


def _service_data(plan: Plan, one: ServicePlan) -> dict[str, Any]:
    groups = [group for group in plan.groups if group.service == one.name]
    return {
        "name": one.name,
        "model": one.model,
        "n_nodes": sum(group.nodes for group in groups),
        "n_gpus": sum(group.nodes * group.gpus_per_node for group in groups),
        "capacity_only": one.capacity_only,
        "capex_alone": None if one.alone_cents is None else one.alone_cents / 100,
        "demand": demand_data(one.demand),
    }


def goal_data(goal: Goal, currency: str) -> dict[str, Any]:
    """Return an objective as plain values; money in whole units of the currency."""
    in_money = OBJECTIVES[goal.kind].unit == "cents"
    return {
        "kind": goal.kind,
        "value": goal.value / 100 if in_money else goal.value,
        "bound": goal.bound / 100 if in_money else goal.bound,
        "gap": goal.gap,
        "currency": currency if in_money else None,
    }


def _group_data(group: NodeGroup) -> dict[str, Any]:
    return {
        "build": group.build,
        "service": group.service or None,
        "count": group.nodes,
        "groups": group.groups,
        "nodes_per_group": group.nodes_per_group,
        "chassis": group.chassis,
        "system": group.system,
        "gpu": group.gpu,
        "gpus_per_node": group.gpus_per_node,
        "cpu": {"part": group.cpu, "count": group.cpus},
        "dimms": [{"part": group.dimm, "count": group.dimms}],
        "drives": [{"part": group.drive, "count": group.drives}] if group.drive else [],
        "nics": [{"part": part, "count": count} for part, count in group.nics.items()],
        "layout": {
            "name": group.layout,
            "evidence": group.layout_evidence,
            "replicas_per_group": group.replicas,
            "engine": group.engine,
            "weights": group.weights,
            "kv_format": group.kv_format,
            "pools_per_group": group.pools,
            "tokens_per_pool": group.pool.tokens,
            "sessions_per_pool": group.sessions_per_pool,
            "weights_bytes_per_gpu": group.budget.weights_bytes,
            "runtime_bytes_per_gpu": group.budget.runtime_bytes,
            "kv_bytes_per_gpu": group.budget.kv_bytes,
        },
        "hosts": group.reach,
        "limited_by": group.limiting,
        "hosts_after_loss": group.hosted,
        "power_w": group.power_w,
        "rack_units": group.rack_units,
        "unit_cost": group.unit_cents / 100,
        "load_or_recompute": [worth_data(tier) for tier in group.worth],
        "knife_edge": group.edge and {
            "sessions_per_pool": group.edge.sessions,
            "other_sessions_per_pool": group.edge.other_sessions,
            "distance_bytes_per_gpu": group.edge.distance_bytes,
            "distance_tokens": group.edge.distance_tokens,
            "nodes_of_this_build_alone": group.edge.nodes,
            "other_nodes": group.edge.other_nodes,
            "decided_by": list(group.edge.decided_by),
        },
    }  # fmt: skip


def _check_data(check: Check) -> dict[str, Any]:
    unit, scale = ("money", 100) if check.unit == "cents" else (check.unit, 1)
    shown = {
        key: getattr(check, key) / scale if scale > 1 else getattr(check, key) for key in ("need", "have", "slack")
    }
    return {
        "kind": check.kind,
        "label": check.label,
        "service": check.service or None,
        **shown,
        "unit": unit,
        "binding": check.binding,
        "formula": check.formula,
    }
