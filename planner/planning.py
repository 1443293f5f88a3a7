"""From a scenario and a catalogue to a verified plan: the whole way of the data in one place."""

from __future__ import annotations

import platform
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner import __version__
from planner.build import Build
from planner.candidates import Candidates, Offers, find_candidates, keep_best, limiting_kind
from planner.caveats import plan_warnings
from planner.costs import (
    CostLine,
    Pricing,
    bill,
    capex_cents,
    fleet_drivers,
    fleet_opex_cents,
    fleet_power_w,
    fleet_tco_cents,
)
from planner.demand import demand
from planner.edges import pool_edge
from planner.errors import InfeasibleError, PlannerError, PriceMissingError, UnprovenError
from planner.evidence import Source
from planner.hardware import Gpu, OwnedMachine
from planner.interrupts import held, interrupted, session
from planner.loading import Shelf
from planner.objectives import OBJECTIVES
from planner.owned import with_owned
from planner.plan import CostSummary, Goal, NodeGroup, Plan, RunnerUp
from planner.problem import Problem, Situation
from planner.proof import LIMIT_S, Proof, check_here, prove
from planner.scenario import Scenario
from planner.separation import Search, taken_apart
from planner.solve import Outcome, least_possible, solve
from planner.verify import Verification, verify

_LEAST_BESIDE_S = 0.5


@dataclass(frozen=True)
class Solved:
    """A scenario with its problem and the solver's counts.

    Attributes
    ----------
    parts : tuple of Problem
        All that were solved for it, its own among them: one, or with pooled tiers one for each
        content of the pool; none where builds were too many to list.
    """

    scenario: Scenario
    problem: Problem
    candidates: Candidates
    outcome: Outcome
    parts: tuple[Problem, ...] = ()

    @property
    def fleet(self) -> dict[Build, int]:
        """Groups by build."""
        return self.problem.fleet(self.outcome.counts)

    @property
    def capex(self) -> int:
        """Capex in cents."""
        return capex_cents(bill(self.problem.pricing, self.fleet), self.problem.pricing.case)

    @property
    def rank(self) -> tuple[int, ...]:
        """What tells better from worse: the scenario's own objectives, cost, nodes."""
        return (*(self.value_of(kind) for kind in self.scenario.objectives), self.capex, self.nodes)

    def value_of(self, kind: str) -> int:
        """Return what the fleet has of an objective, added up from the plan itself."""
        return OBJECTIVES[kind].value(self.problem, self.outcome.counts)

    @property
    def nodes(self) -> int:
        """Nodes of the fleet."""
        return sum(count * build.n_nodes for build, count in self.fleet.items())


def pricing_of(scenario: Scenario, shelf: Shelf) -> Pricing:
    """Return the scenario's prices; InputError if it names no known book."""
    return Pricing(shelf.catalog, shelf.catalog.book(scenario.finance.prices), scenario.finance)


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
    question = question_of(scenario, shelf, solver, deadline)
    candidates = question.candidates
    found = question.best(candidates.every)
    if found is not None:
        return found

    raise InfeasibleError(f"{scenario.name}: no plan meets all rules together")


def question_of(scenario: Scenario, shelf: Shelf, solver: str = "highs", deadline: float | None = None) -> Question:
    """Return a scenario's candidates, ready to be solved."""
    shelf = with_owned(scenario, shelf)
    pricing = pricing_of(scenario, shelf)
    found = find_candidates(scenario, shelf, pricing)
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
        found = Solved(self.scenario, problem, self.candidates, outcome)
        return found if outcome.status != "infeasible" else None

    def _best(self, builds: Sequence[Build]) -> Solved | None:
        best: Solved | None = None
        bounds: list[int] = []
        parts: list[Problem] = []
        for part in _pools(builds) if self.at.pooled else [builds]:
            problem = Problem(self.at, keep_best(part, self.at, self.pricing.catalog), self.pricing, self.caps)
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
                found = Solved(self.scenario, problem, self.candidates, outcome)
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


def _pools(builds: Sequence[Build]) -> Sequence[Sequence[Build]]:
    """Return the builds by what they store, the leanest first."""
    if isinstance(builds, Offers):
        return builds.pools()
    parts: dict[object, list[Build]] = {}
    for build in sorted(builds, key=lambda build: build.core.pool_key):
        parts.setdefault(build.core.pool_key, []).append(build)
    return list(parts.values())


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
    if not solved.parts:
        return Proof(False, False, "its builds are too many to list for CP-SAT")
    own = solved.outcome.goals[: len(solved.scenario.objectives)]
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
    beside = _beside(solved, shelf, solver, deadline) if compare and enough else _Beside()
    if proof is not None and proof.proven:
        solved = _as_proven(solved)
    plan = _assemble(solved, shelf, checked, beside)
    return plan if proof is None else replace(plan, provenance={**plan.provenance, "proof": proof.words})


@dataclass(frozen=True)
class _Beside:
    """Answers to the questions beside a plan; None where not asked or without answer."""

    spare_cents: int | None = None
    runner_up: RunnerUp | None = None
    mean_capex: int | None = None
    mean_nodes: int | None = None


def _beside(solved: Solved, shelf: Shelf, solver: str, deadline: float | None) -> _Beside:
    scenario, pricing, candidates = solved.scenario, solved.problem.pricing, solved.candidates
    question = _Question(scenario, solved.problem.at, pricing, candidates, solver, deadline)
    spare = None
    if solved.problem.spares or scenario.fleet.spare_racks:
        lean = replace(scenario, fleet=replace(scenario.fleet, spare_groups=0, spare_nodes=0, spare_racks=0))
        without = replace(question, scenario=lean, at=Situation.of(lean)).optimum(candidates.every)
        spare = solved.capex - without.capex if without else None
    taken = {build.core.gpu for build in solved.fleet}
    other = question.optimum(_without(candidates.every, taken))
    mean = _at_mean(scenario, shelf, solver, question.left_s)
    return _Beside(spare, _runner(other) if other else None, mean.capex if mean else None, mean.nodes if mean else None)


def _at_mean(scenario: Scenario, shelf: Shelf, solver: str, limit: float | None) -> Solved | None:
    context = scenario.workload.context
    if context.mean_tokens is None or context.mean_tokens == context.planned_tokens:
        return None
    load = replace(scenario.workload, context=replace(context, planned_tokens=context.mean_tokens))
    try:
        solved = solve_scenario(replace(scenario, workload=load), shelf, solver, limit)
    except (InfeasibleError, PriceMissingError, UnprovenError):
        return None
    return solved if solved.outcome.status == "optimal" else None


def _runner(other: Solved) -> RunnerUp:
    verify(other.problem, other.outcome.counts)
    words = [f"{n * b.n_nodes} x {machine_name(b)} with {b.core.gpu.id}" for b, n in other.fleet.items()]
    return RunnerUp(other.capex, other.nodes, " + ".join(words))


def machine_name(build: Build) -> str:
    """Return the id of the system or chassis."""
    return build.core.system.id if build.core.system else build.core.chassis.id


def _assemble(solved: Solved, shelf: Shelf, checked: Verification, beside: _Beside) -> Plan:
    problem, scenario, fleet = solved.problem, solved.scenario, solved.fleet
    lines = bill(problem.pricing, fleet)
    first = max(fleet, key=lambda build: (fleet[build] * build.reach, build.name))
    cache = shelf.engines.caches[scenario.tiers.cache]
    groups = tuple(_node_group(problem, b, n, checked.hosted) for b, n in fleet.items())
    cost = cost_summary(problem, fleet)
    plan = Plan(
        scenario=scenario.name, title=scenario.title, status=solved.outcome.status,
        goals=_agreed_goals(solved),
        groups=groups, bill=lines, checks=checked.checks,
        demand=demand(scenario, first.core.footprint.kv, cache),
        cost=cost, verified=True,
        power_w=fleet_power_w(problem.pricing, fleet),
        racks=fleet_drivers(fleet, shelf.catalog)["racks"],
        capacity_only=scenario.workload.rates is None,
        spare_groups=problem.spares, spare_cents=beside.spare_cents,
        runner_up=beside.runner_up, mean_capex_cents=beside.mean_capex, mean_nodes=beside.mean_nodes,
        kv_formats=tuple(first.core.model.attention[0].formats()),
        sources=_price_sources(lines, shelf),
        warnings=(), provenance=provenance(solved, shelf),
    )  # fmt: skip
    return replace(plan, warnings=plan_warnings(plan, scenario, fleet, problem.pricing, solved.candidates.rejected))


def _price_sources(lines: Sequence[CostLine], shelf: Shelf) -> tuple[Source, ...]:
    known = shelf.catalog.sources.by_id
    return tuple(known[name] for name in sorted({name for line in lines for name in line.evidence.sources}))


def _agreed_goals(solved: Solved) -> tuple[Goal, ...]:
    """Return the scenario's objectives, added up from the plan; they must agree with the solver's.

    Without proof the solver may have left a rack or a switch too many in its count; the plan's
    own is then the lower one.

    Raises
    ------
    PlannerError
        If they disagree: the objective and the bill of materials have drifted apart.
    """
    found: list[Goal] = []
    for goal in solved.outcome.goals[: len(solved.scenario.objectives)]:
        value = solved.value_of(goal.kind)
        if value > goal.value or (value < goal.value and goal.status == "optimal"):
            raise PlannerError(
                f"the solver minimised {goal.kind} to {goal.value}, the plan adds up to {value}; please report this"
            )
        bound = solved.outcome.bound if not found else goal.bound
        found.append(Goal(goal.kind, value, min(value, bound), goal.status))
    return tuple(found)


def cost_summary(problem: Problem, fleet: Mapping[Build, int]) -> CostSummary:
    """Return the sums of the bill of materials and the running cost."""
    pricing = problem.pricing
    lines = bill(pricing, fleet)
    case, finance = pricing.case, pricing.finance
    by_scope = {
        scope: sum(line.qty * line.unit_cents[case] for line in lines if line.scope == scope)
        for scope in ("node", "cluster", "service")
    }
    capex = capex_cents(lines, case)
    opex = fleet_opex_cents(pricing, fleet)
    return CostSummary(
        currency=pricing.book.currency, parts=by_scope["node"], cluster=by_scope["cluster"],
        services=by_scope["service"], tax=sum(line.qty * line.tax_cents[case] for line in lines),
        capex_total=capex, opex_per_year=opex, tco_total=fleet_tco_cents(pricing, fleet),
        years=finance.years, low=capex_cents(lines, "low"), high=capex_cents(lines, "high"),
        opex_known=bool(finance.energy_rate or finance.colocation_rate or finance.colocation_per_ru_rate),
        discount_rate_fraction=finance.discount_rate_fraction,
        not_included=pricing.catalog.cluster.not_included,
    )  # fmt: skip


def _node_group(problem: Problem, build: Build, count: int, hosted: Mapping[str, int]) -> NodeGroup:
    core = build.core
    return NodeGroup(
        build=build.name, groups=count, nodes=count * build.n_nodes, nodes_per_group=build.n_nodes,
        chassis=core.chassis.id, system=core.system.id if core.system else None, gpu=core.gpu.id,
        gpus_per_node=core.chassis.n_gpus, cpu=build.cpu.id, cpus=core.chassis.n_cpus,
        dimm=build.dimm.id, dimms=build.dimms, drive=build.drive.id if build.drive else None,
        drives=build.drives, nics=core.nics, layout=core.layout.name, layout_evidence=core.layout_evidence,
        replicas=core.replicas, engine=core.engine.id, weights=core.weights,
        kv_format=core.footprint.kv.name, budget=core.budget, pool=core.pool,
        pools=core.replicas * core.layout.dp, sessions_per_pool=core.pool.sessions,
        reach=build.reach // problem.at.scale, limiting=limiting_kind(build, problem.at),
        hosted=hosted.get(build.name, 0),
        power_w=build.power_w // build.n_nodes, rack_units=core.chassis.rack_units,
        unit_cents=problem.pricing.node_cents(build), edge=pool_edge(problem, build),
        owned=isinstance(core.system, OwnedMachine),
    )  # fmt: skip


def provenance(solved: Solved, shelf: Shelf) -> dict[str, object]:
    """Return what a reader needs to make the same plan again; no clock, so that bytes repeat."""
    outcome, book = solved.outcome, solved.problem.pricing.book
    return {
        "planner": __version__,
        "python": platform.python_version(),
        "solver": outcome.solver,
        "proof": "solver's bound (floating point)" if outcome.status == "optimal" else "none",
        "catalog": shelf.catalog.digest,
        "prices": {"book": book.id, "as_of": book.as_of, "case": solved.problem.pricing.case},
        "overrides": list(solved.scenario.applied),
        "resolved": solved.scenario.resolved,
        "builds_considered": solved.candidates.considered,
        "builds_offered": len(solved.candidates.builds),
        "not_offered": [{"reason": r, "count": n} for r, n in solved.candidates.rejected.reasons.items()],
    }
