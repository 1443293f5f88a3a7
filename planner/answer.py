"""A solved scenario as a plan: sums, bill of materials, each service's part, where it comes from."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner import __version__
from planner.bill import CostLine, at_volume, bill, capex_cents, fleet_tco_cents
from planner.build import Build
from planner.candidates import Candidates, limiting_kind
from planner.caveats import plan_warnings, unpriced_parts
from planner.constraints.rewarm import lost_tokens, rewarm_seconds
from planner.costs import fleet_drivers, fleet_opex_cents, fleet_power_w
from planner.demand import demand
from planner.edges import pool_edge
from planner.errors import PlannerError
from planner.evidence import Source
from planner.formulation.tokens import Parts
from planner.hardware import OwnedMachine
from planner.loading import Shelf
from planner.objectives import OBJECTIVES
from planner.plan import CostSummary, Goal, NodeGroup, Plan, Rewarm, RunnerUp, ServicePlan
from planner.problem import Problem, Situation
from planner.roles import BOTH
from planner.scenario import Scenario, services_of
from planner.solve import Outcome
from planner.units import ceil
from planner.verify import Verification
from planner.wear import wear_of
from planner.worth import worth_of


@dataclass(frozen=True)
class Solved:
    """A scenario with its problem and the solver's counts.

    Attributes
    ----------
    parts : tuple of Problem
        All that were solved for it, its own among them: one, or with pooled tiers one for each
        content of the pool; none where builds were too many to list.
    apart : tuple of Parts
        Of each content of the pool its parts, where builds were too many to list.
    """

    scenario: Scenario
    problem: Problem
    candidates: Candidates
    outcome: Outcome
    parts: tuple[Problem, ...] = ()
    apart: tuple[Parts, ...] = ()

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


@dataclass(frozen=True)
class Beside:
    """Answers to the questions beside a plan; None where not asked or without answer."""

    spare_cents: int | None = None
    runner_up: RunnerUp | None = None
    mean_capex: int | None = None
    mean_nodes: int | None = None
    alone: Mapping[str, int] = field(default_factory=dict)


def machine_name(build: Build) -> str:
    """Return the id of the system or chassis."""
    return build.core.system.id if build.core.system else build.core.chassis.id


def assemble(solved: Solved, shelf: Shelf, checked: Verification, beside: Beside) -> Plan:
    """Return the plan of what was solved and verified."""
    problem, scenario, fleet = solved.problem, solved.scenario, solved.fleet
    lines = bill(problem.pricing, fleet)
    groups = tuple(_node_group(problem, build, fleet, checked.hosted) for build in fleet)
    cost = cost_summary(problem, fleet)
    plan = Plan(
        scenario=scenario.name, title=scenario.title, status=solved.outcome.status,
        goals=_agreed_goals(solved),
        groups=groups, bill=lines, checks=checked.checks,
        services=tuple(service_of(solved, shelf, at, beside.alone) for at in problem.at.services),
        cost=cost, verified=True,
        power_w=fleet_power_w(problem.pricing, fleet),
        racks=fleet_drivers(fleet, shelf.catalog)["racks"],
        spare_groups=problem.spares, spare_cents=beside.spare_cents,
        runner_up=beside.runner_up, mean_capex_cents=beside.mean_capex, mean_nodes=beside.mean_nodes,
        sources=_price_sources(lines, shelf),
        warnings=(), provenance=provenance(solved, shelf),
    )  # fmt: skip
    rejected = solved.candidates.rejected
    warnings = plan_warnings(plan, scenario, fleet, problem.pricing, rejected)
    return replace(plan, warnings=warnings, unpriced=unpriced_parts(rejected, problem.pricing))


def service_of(solved: Solved, shelf: Shelf, at: Situation, alone: Mapping[str, int]) -> ServicePlan:
    """Return a service's own part of a plan, its demand in the KV format of its largest node group."""
    own = {build: n for build, n in solved.fleet.items() if build.core.service == at.label}
    first = max(own, key=lambda build: (own[build] * build.hosts, build.name))
    kv, cache = first.core.footprint.kv, shelf.engines.caches[at.scenario.tiers.cache]
    return ServicePlan(
        at.label, at.scenario.model, demand(at.scenario, kv, cache), at.scenario.workload.rates is None,
        tuple(first.core.model.attention[0].formats()), alone.get(at.label), _rewarm(solved, at, own),
    )  # fmt: skip


def _rewarm(solved: Solved, at: Situation, own: Mapping[Build, int]) -> Rewarm | None:
    """Return what the loss of that group sets back which takes longest to make up for.

    None without rates, and where others prefill than those that lose contexts: see docs/math/roles.md.
    """
    if not at.turns_per_s or any(build.core.role != BOTH for build in own):
        return None
    losses = []
    for build in own:
        time = rewarm_seconds(solved.problem, solved.outcome.counts, build)
        losses.append((time is None, ceil(time or 0), lost_tokens(build, at)))
    never, seconds, tokens = max(losses)
    return Rewarm(tokens, None if never else seconds)


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
        wear=wear_of(problem, fleet) if "tco" in problem.at.scenario.objectives else (),
    )  # fmt: skip


def _node_group(problem: Problem, build: Build, fleet: Mapping[Build, int], hosted: Mapping[str, int]) -> NodeGroup:
    core, count = build.core, fleet[build]
    return NodeGroup(
        build=build.name, groups=count, nodes=count * build.n_nodes, nodes_per_group=build.n_nodes,
        chassis=core.chassis.id, system=core.system.id if core.system else None, gpu=core.gpu.id,
        gpus_per_node=core.chassis.n_gpus, cpu=build.cpu.id, cpus=core.chassis.n_cpus,
        dimm=build.dimm.id, dimms=build.dimms, drive=build.drive.id if build.drive else None,
        drives=build.drives, nics=core.nics, layout=core.layout.name, layout_evidence=core.layout_evidence,
        replicas=core.replicas, engine=core.engine.id, weights=core.weights,
        kv_format=core.footprint.kv.name, budget=core.budget, pool=core.pool,
        pools=core.replicas * core.layout.dp, sessions_per_pool=core.pool.sessions,
        reach=build.reach // problem.at_of(build).scale, limiting=limiting_kind(build, problem.at_of(build)),
        hosted=hosted.get(build.name, 0),
        power_w=build.power_w // build.n_nodes, rack_units=core.chassis.rack_units,
        unit_cents=at_volume(problem.pricing, fleet).node_cents(build), edge=pool_edge(problem, build),
        owned=isinstance(core.system, OwnedMachine), service=core.service, role=core.role,
        worth=worth_of(build, problem.at_of(build)),
    )  # fmt: skip


def _measured(scenario: Scenario) -> dict[str, object]:
    """Return which measurements took the roofline's place, each table once; nothing where none were given."""
    tables = {id(one.throughput): one.throughput for one in services_of(scenario) if one.throughput is not None}
    found = [{"file": each.file, "digest": each.digest, "rows": len(each.rows)} for each in tables.values()]
    return {"measured": found} if found else {}


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
        **_measured(solved.scenario),
        "overrides": list(solved.scenario.applied),
        "resolved": solved.scenario.resolved,
        "builds_considered": solved.candidates.considered,
        "builds_offered": len(solved.candidates.builds),
        "not_offered": [{"reason": r, "count": n} for r, n in solved.candidates.rejected.reasons.items()],
    }
