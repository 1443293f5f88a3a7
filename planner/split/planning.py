"""From a split scenario to a proven plan."""

from __future__ import annotations

import math
import platform
import time
from dataclasses import dataclass, replace
from fractions import Fraction

from planner import __version__
from planner.errors import InfeasibleError, PlannerError, UnprovenError
from planner.loading import Shelf
from planner.solve import Outcome, minimise
from planner.split.certificate import Split, balance
from planner.split.plan import Alone, Rented, Served, SplitPlan
from planner.split.problem import Bucket, Counts, SplitProblem
from planner.split.rows import SplitProgram, cut_off, fleet_program
from planner.split_scenario import SplitScenario

_MOST_CUTS = 1000


@dataclass(frozen=True)
class SplitSolved:
    """A split problem with its proven fleet.

    Attributes
    ----------
    counts : mapping of int to int
        Offer to how many, none left out but zeros.
    outcome : Outcome
        Of the cost, in whole `money_cents` of the problem.
    n_cuts : int
        Fleets that the solver took for good and that were proven not to be.
    """

    problem: SplitProblem
    counts: Counts
    split: Split
    outcome: Outcome
    n_cuts: int


def make_split_plan(
    scenario: SplitScenario, shelf: Shelf, solver: str = "highs", time_limit_s: float | None = None
) -> SplitPlan:
    """Return the verified plan of a split scenario.

    Raises
    ------
    InfeasibleError, UnprovenError, PlannerError
        As said there.
    """
    problem = SplitProblem.of(scenario, shelf.profiles[scenario.service.profile])
    return _assemble(solve_split(problem, solver, time_limit_s), shelf)


def solve_split(problem: SplitProblem, solver: str = "highs", time_limit_s: float | None = None) -> SplitSolved:
    """Return the cheapest fleet whose split is proven; of equal ones the smallest.

    Raises
    ------
    InfeasibleError
        If no fleet serves everything.
    UnprovenError
        If time ran out before any proven fleet.
    PlannerError
        If a fleet could be neither proven nor refuted.
    """
    deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
    _refuse_unserved(problem)
    program = fleet_program(problem)
    for n_cuts in range(_MOST_CUTS):
        outcome, counts = _cheapest(program, problem, solver, deadline)
        if outcome.status == "infeasible":
            raise InfeasibleError(_shortfall(problem, solver))
        split = balance(problem, counts, solver)
        if split.proven:
            return SplitSolved(problem, counts, split, outcome, n_cuts)
        if not split.refuted:
            raise PlannerError(f"the fleet {dict(counts)} could be neither proven nor refuted and is not shown")
        cut_off(program, problem, counts)
    raise PlannerError(f"{_MOST_CUTS} fleets failed their exact check; please report this")


def _refuse_unserved(problem: SplitProblem) -> None:
    unserved = problem.unserved()
    if unserved:
        which = ", ".join(bucket_name(bucket) for bucket in unserved[:5]) + (" and more" if len(unserved) > 5 else "")
        raise InfeasibleError(f"no instance on offer serves {len(unserved)} of the buckets: {which}")


def bucket_name(bucket: Bucket) -> str:
    """Return where a bucket stands in the tables, counted from 1."""
    return f"input {bucket.row + 1}, output {bucket.column + 1}"


def _shortfall(problem: SplitProblem, solver: str) -> str:
    """Return how much of the load all that can be had would serve."""
    load = balance(problem, dict(enumerate(problem.most)), solver).load
    if load is None:
        return "what can be had of the instances leaves some buckets without any"
    rate = float(problem.scenario.workload.requests_per_s / load)
    return f"all instances that can be had serve {rate:,.6g} requests/s of this mix; raise 'limits.stock'"


def _cheapest(
    program: SplitProgram, problem: SplitProblem, solver: str, deadline: float | None
) -> tuple[Outcome, dict[int, int]]:
    """Return the cheapest fleet, of equal ones that with fewest instances, then of those listed first."""
    cost = {var: problem.price(g) for g, var in enumerate(program.groups)}
    outcome = minimise(program.program, cost, solver, _left(deadline))
    found = outcome
    if outcome.status == "optimal":
        most = len(cost) * sum(problem.most) + 1
        order = {var: most + g for g, var in enumerate(program.groups)}
        tied = replace(program.program, variables=list(program.program.variables), rows=list(program.program.rows))
        tied.add_row("keep_cost", cost, "<=", outcome.value)
        try:
            smallest = minimise(tied, order, solver, _left(deadline))
        except UnprovenError:
            smallest = outcome
        # With no time left, or a solver that has lost the fleet it had, keep that one.
        found = smallest if smallest.counts else outcome
    counts = {g: found.counts[var] for g, var in enumerate(program.groups) if var in found.counts}
    return outcome, counts


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.05, deadline - time.monotonic())


def _assemble(solved: SplitSolved, shelf: Shelf) -> SplitPlan:
    problem, split, scenario = solved.problem, solved.split, solved.problem.scenario
    value = sum((n * problem.offers[g].price_rate.cents for g, n in solved.counts.items()), Fraction(0))
    found = solved.outcome.value * problem.money_cents
    if value != found:
        raise PlannerError(f"the solver minimised the cost to {found} cents, the plan adds up to {value}")
    assert split.load is not None
    return SplitPlan(
        scenario=scenario.name, title=scenario.title, profile=problem.profile.id,
        status="optimal" if solved.outcome.status == "optimal" else "feasible",
        currency=problem.profile.currency, value=value, bound=solved.outcome.bound * problem.money_cents,
        rented=tuple(_rented(solved, g) for g in sorted(solved.counts)),
        served=tuple(_served(solved, b) for b in range(len(problem.buckets))),
        load=split.load, alone=tuple(_alone(problem, g) for g in range(len(problem.offers))),
        sizes=(problem.profile.input_tokens, problem.profile.output_tokens),
        requests_per_s=scenario.workload.requests_per_s, verified=True,
        warnings=tuple(_warnings(problem, split.load)), provenance=_provenance(solved, shelf),
    )  # fmt: skip


def _rented(solved: SplitSolved, g: int) -> Rented:
    loads = solved.problem.loads[g]
    busy = sum((share * loads[b] for (offer, b), share in solved.split.shares.items() if offer == g), Fraction(0))
    return Rented(solved.problem.offers[g], solved.counts[g], busy)


def _served(solved: SplitSolved, b: int) -> Served:
    offers, shares = solved.problem.offers, sorted(solved.split.shares.items())
    return Served(
        solved.problem.buckets[b],
        {offers[g].name: share for (g, bucket), share in shares if bucket == b and share},
    )


def _alone(problem: SplitProblem, g: int) -> Alone:
    offer, loads = problem.offers[g], problem.loads[g]
    if len(loads) < len(problem.buckets):
        return Alone(offer, None)
    count = math.ceil(sum(loads.values(), Fraction(0)))
    return Alone(offer, count if count <= problem.scenario.limits.stock.get(offer.name, count) else None)


def _warnings(problem: SplitProblem, load: Fraction) -> list[str]:
    found = [
        "Requests go to any instance: a session's KV cache stays behind when its next turn goes elsewhere, and "
        "memory is not counted. Sessions that keep their cache need a scenario with 'tiers'.",
        "Shares are means. The router must keep to them, and bursts above the rate find no spare.",
    ]
    if load > Fraction(95, 100):
        found.append(f"Instances are busy {float(load):.2%} of the time: a slightly higher rate needs another one.")
    if problem.profile.note:
        found.append(f"Profile {problem.profile.id}: {problem.profile.note}")
    return found


def _provenance(solved: SplitSolved, shelf: Shelf) -> dict[str, object]:
    profile, scenario = solved.problem.profile, solved.problem.scenario
    return {
        "planner": __version__,
        "python": platform.python_version(),
        "solver": solved.outcome.solver,
        "proof": "solver's bound (floating point)" if solved.outcome.status == "optimal" else "none",
        "split": "proven in exact fractions",
        "fleets_refuted": solved.n_cuts,
        "catalog": shelf.catalog.digest,
        "profile": {"id": profile.id, "name": profile.name, "source": list(profile.source)},
        "overrides": list(scenario.applied),
        "resolved": scenario.resolved,
    }
