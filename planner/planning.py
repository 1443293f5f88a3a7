"""From a scenario and a catalogue to a verified plan: the whole way of the data in one place."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.answer import Beside, Solved, assemble, machine_name
from planner.build import Build
from planner.candidates import Candidates, Offers
from planner.costs import Pricing, book_of
from planner.errors import InfeasibleError, PlannerError, PriceMissingError, UnprovenError
from planner.garbage import rarely_collected
from planner.hardware import Gpu
from planner.interrupts import held, interrupted, session
from planner.joint import at_mean, best_of, by_content, candidates_of, without_spares
from planner.loading import Shelf
from planner.objectives import OBJECTIVES
from planner.owned import with_owned
from planner.plan import Plan, RunnerUp
from planner.problem import Problem, Situation
from planner.proof import LIMIT_S, Proof, check_here, prove, prove_apart
from planner.scenario import Scenario, services_of
from planner.separation import Search, taken_apart
from planner.solve import as_bought, least_possible, solve
from planner.verify import verify

__all__ = ["Question", "Solved", "finish_plan", "make_plan", "money_of", "pricing_of", "question_of", "solve_scenario"]
_LEAST_BESIDE_S = 0.5


def money_of(scenario: Scenario) -> str:
    """Return the first money among a scenario's objectives, capex where there is none."""
    return next((kind for kind in scenario.objectives if OBJECTIVES[kind].unit == "cents"), "capex")


def pricing_of(scenario: Scenario, shelf: Shelf) -> Pricing:
    """Return the scenario's prices; InputError if it names no known book."""
    book, limits = book_of(shelf.catalog, scenario.finance), scenario.limits
    by_term = money_of(scenario) == "tco"
    return Pricing(shelf.catalog, book, scenario.finance, limits.stock, limits.maximum, by_term=by_term)


def solve_scenario(
    scenario: Scenario, shelf: Shelf, solver: str = "highs", time_limit_s: float | None = None
) -> Solved:
    """Return the best fleet for a scenario, found within the time limit in all.

    Raises
    ------
    InfeasibleError
        If no fleet meets the rules; `planner.relax.diagnose` says why.
    PriceMissingError
        If only prices are missing.
    """
    deadline = _deadline(time_limit_s)
    with rarely_collected():
        question = question_of(scenario, shelf, solver, deadline)
        found = question.best(question.candidates.every)
    if found is not None:
        return found
    raise InfeasibleError(f"{scenario.name}: no plan meets all rules together")


def question_of(scenario: Scenario, shelf: Shelf, solver: str = "highs", deadline: float | None = None) -> Question:
    """Return a scenario's candidates, ready to be solved."""
    shelf = with_owned(scenario, shelf)
    pricing = pricing_of(scenario, shelf)
    found = candidates_of(scenario, shelf, pricing)
    return _Question(scenario, Situation.of(scenario), pricing, found, solver, deadline)


@dataclass(frozen=True)
class _Question:
    """One scenario's candidates, to be solved over all of them or over some."""

    scenario: Scenario
    at: Situation
    pricing: Pricing
    candidates: Candidates
    solver: str
    deadline: float | None = None
    caps: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_s(self) -> float | None:
        """Seconds until the deadline, at least a moment; None without one."""
        return None if self.deadline is None else max(0.05, self.deadline - time.monotonic())

    def best(self, builds: Sequence[Build]) -> Solved | None:
        """Return the best fleet of `builds`; None if there is none.

        In a pool all nodes must read each other's caches. Builds are therefore taken apart by
        what they store, the leanest first, and each part is solved for something better than the
        best so far. A part that was stopped before proof leaves the whole unproven.
        """
        with held():
            parts = [] if self.caps else taken_apart(builds, self.at)
            if not parts:
                return self._best(builds)
            problem, outcome = Search(self.solver, self.deadline).run(parts)
        found = Solved(self.scenario, problem, self.candidates, outcome, apart=tuple(parts))
        return found if outcome.status != "infeasible" else None

    def _best(self, builds: Sequence[Build]) -> Solved | None:
        best: Solved | None = None
        bounds: list[int] = []
        parts: list[Problem] = []
        for part in by_content(builds, self.at):
            problem = Problem(self.at, best_of(part, self.at, self.pricing.catalog), self.pricing, self.caps)
            parts.append(problem)
            # Equal values are let in: the next objectives decide between them.
            below = best.outcome.value + 1 if best else None
            try:
                outcome = solve(problem, self.solver, self.left_s, below)
            except UnprovenError:
                if best is None:
                    raise
                bounds.append(least_possible(problem))
                continue
            if outcome.status == "feasible":
                bounds.append(outcome.bound)
            if outcome.status != "infeasible":
                parts[-1] = as_bought(problem, outcome)
                found = Solved(self.scenario, parts[-1], self.candidates, outcome)
                best = found if best is None or found.rank < best.rank else best
        if best is not None and bounds:
            open_outcome = replace(best.outcome, status="feasible", bound=min(best.outcome.bound, *bounds))
            best = replace(best, outcome=open_outcome)
        return best and replace(best, parts=tuple(parts))

    def optimum(self, builds: Sequence[Build]) -> Solved | None:
        """Return the proven best fleet of `builds`; None if there is none or time ran out."""
        try:
            found = self.best(builds) if builds else None
        except UnprovenError:
            return None
        return found if found is not None and found.outcome.status == "optimal" else None


Question = _Question


def _deadline(time_limit_s: float | None) -> float | None:
    return None if time_limit_s is None else time.monotonic() + time_limit_s


def _without(builds: Sequence[Build], gpus: Collection[Gpu]) -> Sequence[Build]:
    """Return the builds without those on these GPUs."""
    if isinstance(builds, Offers):
        return builds.without(gpus)
    return [build for build in builds if build.core.gpu not in gpus]


def make_plan(
    scenario: Scenario, shelf: Shelf, solver: str = "highs", time_limit_s: float | None = None,
    compare: bool = True, exactly: bool = False,
) -> Plan:  # fmt: skip
    """Return the verified plan of a scenario.

    Parameters
    ----------
    compare : bool
        Whether to solve the questions beside it too: without spare groups, on other machines,
        at the mean context.
    exactly : bool
        Whether to hand the program to an exact solver too.

    Raises
    ------
    InfeasibleError, PriceMissingError, UnprovenError, InputError
        As said there.
    """
    deadline = _deadline(time_limit_s)
    if exactly:
        check_here()
    with session():
        solved = solve_scenario(scenario, shelf, solver, time_limit_s)
        with held():
            proof = _proof(solved, deadline) if exactly else None
            return finish_plan(solved, shelf, solver, deadline, compare, proof)


def _proof(solved: Solved, deadline: float | None) -> Proof:
    limit = LIMIT_S if deadline is None else max(0.0, deadline - time.monotonic())
    own = solved.outcome.goals[: len(solved.scenario.objectives)]
    if solved.apart:
        return prove_apart(solved.apart, own[0], limit)
    found = prove(solved.parts, solved.problem, solved.outcome.counts, own, limit)
    if found.better and solved.outcome.status == "optimal":
        raise PlannerError(f"the plan is not optimal and is not shown: {found.words}")
    return found


def _as_proven(solved: Solved) -> Solved:
    goals = tuple(replace(goal, bound=goal.value, status="optimal") for goal in solved.outcome.goals)
    proven = replace(solved.outcome, status="optimal", bound=solved.outcome.value, goals=goals)
    return replace(solved, outcome=proven)


def finish_plan(
    solved: Solved, shelf: Shelf, solver: str = "highs", deadline: float | None = None, compare: bool = True,
    proof: Proof | None = None,
) -> Plan:  # fmt: skip
    """Return the verified plan of what was solved."""
    left = None if deadline is None else deadline - time.monotonic()
    checked = verify(solved.problem, solved.outcome.counts)
    # What stands beside the plan takes the time that is left, or is left out.
    enough = (left is None or left > _LEAST_BESIDE_S) and not interrupted()
    beside = _beside(solved, shelf, solver, deadline) if compare and enough else Beside()
    if proof is not None and proof.proven:
        solved = _as_proven(solved)
    plan = assemble(solved, shelf, checked, beside)
    return plan if proof is None else replace(plan, provenance={**plan.provenance, "proof": proof.words})


def _beside(solved: Solved, shelf: Shelf, solver: str, deadline: float | None) -> Beside:
    scenario, pricing, candidates = solved.scenario, solved.problem.pricing, solved.candidates
    question = _Question(scenario, solved.problem.at, pricing, candidates, solver, deadline)
    spare = None
    if solved.problem.spares or scenario.fleet.spare_racks:
        lean = without_spares(scenario)
        without = replace(question, scenario=lean, at=Situation.of(lean)).optimum(candidates.every)
        spare = solved.capex - without.capex if without else None
    taken = {build.core.gpu for build in solved.fleet}
    other = question.optimum(_without(candidates.every, taken))
    mean = _at_mean(scenario, shelf, solver, question.left_s)
    return Beside(
        spare, _runner(other) if other else None, mean.capex if mean else None, mean.nodes if mean else None,
        _alone(question, shelf),
    )  # fmt: skip


def _at_mean(scenario: Scenario, shelf: Shelf, solver: str, limit: float | None) -> Solved | None:
    mean = at_mean(scenario)
    return None if mean is None else _proven(mean, shelf, solver, limit)


def _proven(scenario: Scenario, shelf: Shelf, solver: str, limit: float | None) -> Solved | None:
    """Return a proven answer; None where there is none."""
    try:
        solved = solve_scenario(scenario, shelf, solver, limit)
    except (InfeasibleError, PriceMissingError, UnprovenError):
        return None
    return solved if solved.outcome.status == "optimal" else None


def _alone(question: _Question, shelf: Shelf) -> dict[str, int]:
    """Return what each of several services costs in a plan of its own, in cents, under the same rules."""
    parts = [replace(one, label="") for one in services_of(question.scenario) if one.label]
    found = {one.name: _proven(one, shelf, question.solver, question.left_s) for one in parts}
    return {name.rpartition("#")[2]: solved.capex for name, solved in found.items() if solved is not None}


def _runner(other: Solved) -> RunnerUp:
    verify(other.problem, other.outcome.counts)
    words = [f"{n * b.n_nodes} x {machine_name(b)} with {b.core.gpu.id}" for b, n in other.fleet.items()]
    return RunnerUp(other.capex, other.nodes, " + ".join(words))
