"""Why there is no plan: which limits are short, and by how much.

Each limit is set aside in turn; where that alone makes a plan possible, the cheapest plan without
it says how far the limit would have to give way for that plan, and what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from planner.constraints import FLEET_RULES
from planner.constraints.base import Check
from planner.costs import bill, capex_cents
from planner.problem import Problem, Situation
from planner.scenario import Scenario
from planner.units import format_money, format_watts

Ask = Callable[[Scenario], "tuple[Problem, Mapping[int, int]] | None"]
"""A scenario to its problem and the counts of its best plan; None where there is none."""


def explain_infeasible(scenario: Scenario, ask: Ask) -> str:
    """Return the message of an infeasible scenario: which limits, by how much, what to do."""
    lines = [f"{scenario.name}: no plan meets all limits together."]
    for name, freed in _without_each(scenario):
        found = ask(freed)
        if found is None:
            continue
        cost = _cost(*found)
        for check in _broken(scenario, *found):
            short = _shortfall(check, found[0])
            lines.append(f"  - {name}: {short}; without this limit the cheapest plan costs {cost}")
    if len(lines) == 1:
        lines += _together(scenario, ask)
    return "\n".join(lines)


def _together(scenario: Scenario, ask: Ask) -> Iterator[str]:
    """Yield what the cheapest plan without any limit exceeds: several must give way together."""
    free = scenario
    for name, _ in _without_each(scenario):
        free = dict(_without_each(free)).get(name, free)
    yield "  - no single limit is to blame: several must give way together"
    found = ask(free)
    if found is None:
        yield "  - even without any limit no fleet of the offered builds holds the load"
        return
    yield f"  - the cheapest plan without these limits costs {_cost(*found)} and breaks:"
    for check in _broken(scenario, *found):
        yield f"    - {_shortfall(check, found[0])}"


def _without_each(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    limits, fleet = scenario.limits, scenario.fleet
    if limits.budget is not None:
        yield "limits.budget", replace(scenario, limits=replace(limits, budget=None))
    if limits.power_w is not None:
        yield "limits.power", replace(scenario, limits=replace(limits, power_w=None))
    if limits.rack_units is not None:
        yield "limits.rack_units", replace(scenario, limits=replace(limits, rack_units=None))
    if limits.sustained_power_w is not None:
        yield "limits.sustained_power", replace(scenario, limits=replace(limits, sustained_power_w=None))
    if limits.racks is not None:
        yield "limits.racks", replace(scenario, limits=replace(limits, racks=None))
    for key in ("stock", "minimum", "maximum"):
        parts: Mapping[str, int] = getattr(limits, key)
        for part in parts:
            rest = {key: {name: n for name, n in parts.items() if name != part}}
            yield f"limits.{key}.{part}", replace(scenario, limits=replace(limits, **rest))  # type: ignore[arg-type]
    if fleet.max_nodes is not None:
        yield "fleet.max_nodes", replace(scenario, fleet=replace(fleet, max_nodes=None))
    if fleet.max_builds is not None:
        yield "fleet.max_builds", replace(scenario, fleet=replace(fleet, max_builds=None))
    if fleet.min_build_nodes is not None:
        yield "fleet.min_build_nodes", replace(scenario, fleet=replace(fleet, min_build_nodes=None))
    if fleet.one_gpu_model:
        yield "fleet.one_gpu_model", replace(scenario, fleet=replace(fleet, one_gpu_model=False))
    if fleet.spare_groups:
        yield "fleet.spare_groups", replace(scenario, fleet=replace(fleet, spare_groups=0))
    if fleet.spare_nodes:
        yield "fleet.spare_nodes", replace(scenario, fleet=replace(fleet, spare_nodes=0))
    if fleet.spare_racks:
        yield "fleet.spare_racks", replace(scenario, fleet=replace(fleet, spare_racks=0))


def _broken(scenario: Scenario, relaxed: Problem, counts: Mapping[int, int]) -> Iterator[Check]:
    """Yield the checks under all limits that a plan made without one does not pass."""
    limited = Problem(Situation.of(scenario), relaxed.builds, relaxed.pricing)
    for rule in FLEET_RULES.values():
        if rule.active(limited.at):
            yield from (check for check in rule.check(limited, counts) if not check.met)


def _cost(problem: Problem, counts: Mapping[int, int]) -> str:
    cents = capex_cents(bill(problem.pricing, problem.fleet(counts)), problem.pricing.case)
    return format_money(cents, problem.pricing.book.currency)


def _shortfall(check: Check, problem: Problem) -> str:
    formats: dict[str, Callable[[int], str]] = {
        "cents": lambda n: format_money(n, problem.pricing.book.currency),
        "W": format_watts,
    }

    def plain(n: int) -> str:
        return f"{n:,} {check.unit}"

    words = formats.get(check.unit, plain)
    short = check.need - check.have
    return f"{check.label} allows {words(check.have)}, the plan needs {words(check.need)}, {words(short)} short"
