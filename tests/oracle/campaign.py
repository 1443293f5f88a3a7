"""One random instance held against the enumeration: what `test_plans` runs by the hundred."""

from __future__ import annotations

from functools import lru_cache

from planner.bill import bill, capex_cents
from planner.costs import fleet_power_w
from planner.errors import InfeasibleError, PriceMissingError
from planner.planning import Solved, solve_scenario
from planner.verify import verify
from tests.oracle.brute_force import Answer, Oracle, TooLargeError
from tests.oracle.instances import Instance
from tests.oracle.legal import Own, key_of
from tests.oracle.rules import RULES_FROM, with_rules
from tests.oracle.sizing import sized_instance


@lru_cache(maxsize=4096)
def answered(seed: int) -> tuple[Instance, Oracle, Answer] | None:
    """Return the instance of `seed` with its enumerated answer; None where it has too many fleets."""
    instance = sized_instance(seed)
    if seed >= RULES_FROM:
        instance = with_rules(instance)
    oracle = Oracle(instance)
    try:
        return instance, oracle, oracle.solve()
    except TooLargeError:
        return None


def solved(instance: Instance, solver: str) -> Solved | None:
    """Return the planner's verified answer; None where it says that there is none."""
    try:
        found = solve_scenario(instance.scenario, instance.shelf, solver)
    except (InfeasibleError, PriceMissingError):
        return None
    verify(found.problem, found.outcome.counts)
    return found


def fleet_of(found: Solved, legal: dict[tuple[object, ...], Own]) -> tuple[Own, ...]:
    """Return the planner's fleet in the oracle's builds; KeyError for an illegal one."""
    return tuple(legal[key_of(build)] for build, count in found.fleet.items() for _ in range(count))


def value_of(found: Solved) -> tuple[int, ...]:
    """Return the planner's objective in its order, added up from its own bill of materials."""
    pricing, scenario = found.problem.pricing, found.scenario
    capex = capex_cents(bill(pricing, found.fleet), pricing.case)
    nodes = sum(count * build.n_nodes for build, count in found.fleet.items())
    tco = capex + pricing.finance.years * pricing.opex_cents(fleet_power_w(pricing, found.fleet))
    return {"capex": (capex, nodes), "tco": (tco, capex, nodes), "nodes": (nodes, capex)}[scenario.objective]


def faults(seed: int, solver: str) -> list[str]:
    """Return all in which planner and enumeration differ on one instance."""
    known = answered(seed)
    if known is None:
        return []
    instance, oracle, answer = known
    found = solved(instance, solver)
    if found is None or answer.best is None:
        best = None if found is None else value_of(found)
        return [] if best == answer.best else [f"seed {seed}: planner {best}, enumeration {answer.best}"]
    legal = {build.key: build for build in answer.builds}
    fleet = fleet_of(found, legal)
    totals = oracle.totals(fleet)
    told = [
        (found.outcome.status, "optimal", "status"),
        (value_of(found), answer.best, "best value"),
        (found.outcome.value, answer.best[0], "value as reported"),
        (value_of(found), oracle.value(totals), "cost of the planner's own fleet"),
        (oracle.holds(fleet), True, "the planner's fleet holds the load"),
        (oracle.allowed(fleet, totals), True, "the planner's fleet keeps the rules"),
    ]
    for build in found.candidates.builds:
        own = legal[key_of(build)]
        told.append(((build.reach, build.power_w, build.racks_per), (own.reach, own.watts, own.racks_per), build.name))
    return [
        f"seed {seed}: {what}: planner {ours}, enumeration {theirs}" for ours, theirs, what in told if ours != theirs
    ]
