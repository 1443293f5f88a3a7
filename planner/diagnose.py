"""Why there is no plan: which limits are short, and by how much.

Each limit is set aside in turn; where that alone makes a plan possible, the least value of the
limit is found by minimising exactly what it counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.candidates import Candidates, keep_best
from planner.constraints import FLEET_RULES
from planner.constraints.base import Check
from planner.problem import Problem, Situation
from planner.scenario import Scenario
from planner.solve import solve
from planner.units import format_money, format_watts


def explain_infeasible(problem: Problem, candidates: Candidates, solver: str) -> str:
    """Return the message of an infeasible scenario: which limits, by how much, what to do."""
    scenario = problem.at.scenario
    lines = [f"{scenario.name}: no plan meets all limits together."]
    for name, freed in _without_each(scenario):
        relaxed = _problem(problem, candidates, freed)
        outcome = solve(relaxed, solver)
        if outcome.status == "infeasible":
            continue
        limited = Problem(problem.at, relaxed.builds, problem.pricing)
        for check in _checks(limited, outcome.counts):
            if not check.met:
                cost = format_money(_cost(relaxed, outcome.counts), problem.pricing.book.currency)
                short = _shortfall(check, problem)
                lines.append(f"  - {name}: {short}; without this limit the cheapest plan costs {cost}")
    if len(lines) == 1:
        lines += _together(problem, candidates, solver)
    return "\n".join(lines)


def _together(problem: Problem, candidates: Candidates, solver: str) -> Iterator[str]:
    """Yield what the cheapest plan without any limit exceeds: several must give way together."""
    scenario = problem.at.scenario
    free = scenario
    for name, _ in _without_each(scenario):
        free = dict(_without_each(free)).get(name, free)
    relaxed = _problem(problem, candidates, free)
    outcome = solve(relaxed, solver)
    yield "  - no single limit is to blame: several must give way together"
    if outcome.status == "infeasible":
        yield "  - even without any limit no fleet of the offered builds holds the load"
        return
    cost = format_money(_cost(relaxed, outcome.counts), problem.pricing.book.currency)
    yield f"  - the cheapest plan without these limits costs {cost} and breaks:"
    for check in _checks(Problem(problem.at, relaxed.builds, problem.pricing), outcome.counts):
        if not check.met:
            yield f"    - {_shortfall(check, problem)}"


def _without_each(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    limits, fleet = scenario.limits, scenario.fleet
    if limits.budget is not None:
        yield "limits.budget", replace(scenario, limits=replace(limits, budget=None))
    if limits.power_w is not None:
        yield "limits.power", replace(scenario, limits=replace(limits, power_w=None))
    if limits.rack_units is not None:
        yield "limits.rack_units", replace(scenario, limits=replace(limits, rack_units=None))
    for part in limits.stock:
        rest = {name: n for name, n in limits.stock.items() if name != part}
        yield f"limits.stock.{part}", replace(scenario, limits=replace(limits, stock=rest))
    if fleet.max_nodes is not None:
        yield "fleet.max_nodes", replace(scenario, fleet=replace(fleet, max_nodes=None))
    if fleet.max_builds is not None:
        yield "fleet.max_builds", replace(scenario, fleet=replace(fleet, max_builds=None))
    if fleet.spare_groups:
        yield "fleet.spare_groups", replace(scenario, fleet=replace(fleet, spare_groups=0))


def _problem(problem: Problem, candidates: Candidates, scenario: Scenario) -> Problem:
    # What is dominated under all limits may be the way out of one of them: start from every build.
    at = Situation.of(scenario)
    kept = keep_best(candidates.every, at, problem.pricing.catalog)
    return Problem(at, kept, problem.pricing)


def _checks(problem: Problem, counts: Mapping[int, int]) -> Iterator[Check]:
    for rule in FLEET_RULES.values():
        if rule.active(problem.at):
            yield from rule.check(problem, counts)


def _cost(problem: Problem, counts: Mapping[int, int]) -> int:
    from planner.costs import bill, capex_cents

    return capex_cents(bill(problem.pricing, problem.fleet(counts)), problem.pricing.case)


def _shortfall(check: Check, problem: Problem) -> str:
    words = {
        "cents": lambda n: format_money(n, problem.pricing.book.currency),
        "W": format_watts,
    }.get(check.unit, lambda n: f"{n:,} {check.unit}")
    short = check.need - check.have
    return f"{check.label} allows {words(check.have)}, the plan needs {words(check.need)}, {words(short)} short"
