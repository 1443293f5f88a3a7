"""Results: plain data that every output format reads. No solver, no tables, no prices looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from planner.bill import CostLine
from planner.budget import Budget
from planner.constraints.base import Check
from planner.demand import Demand
from planner.evidence import Source
from planner.pool import Pool
from planner.wear import DriveWear
from planner.worth import TierWorth

SCHEMA_VERSION = 1
Status = Literal["optimal", "feasible", "infeasible"]


@dataclass(frozen=True)
class Goal:
    """One objective of a plan as it was reached.

    Attributes
    ----------
    kind : str
        Of the objective.
    value, bound : int
        In its unit: cents, nodes, watts.
    status : {'optimal', 'feasible'}
        ``optimal`` only if the bound leaves less than one unit.
    """

    kind: str
    value: int
    bound: int
    status: Literal["optimal", "feasible"]

    @property
    def gap(self) -> float:
        """Distance of the bound from the value, as a share of the value."""
        return abs((self.value - self.bound) / self.value) if self.value else 0.0


@dataclass(frozen=True)
class PoolEdge:
    """A KV pool whose next whole session, or whose last one, is close.

    Attributes
    ----------
    sessions, other_sessions : int
        Whole sessions per pool as planned, and on the other side of the edge.
    distance_bytes, distance_tokens : int
        Per GPU, and in tokens of the pool.
    nodes, other_nodes : int
        Nodes if the fleet were of this build alone, on either side; with spare groups.
    decided_by : tuple of str
        Constants of the engine's profile whose stated ranges reach to another whole session.
    """

    sessions: int
    other_sessions: int
    distance_bytes: int
    distance_tokens: int
    nodes: int
    other_nodes: int
    decided_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeGroup:
    """So many groups of one build.

    Attributes
    ----------
    groups, nodes : int
        Replica groups, and nodes in them.
    layout, layout_evidence, replicas : str, str, int
        How the model runs; how sure that is; replicas per group.
    kv_format, weights, engine : str
        What it runs with.
    pools, sessions_per_pool : int
        KV pools per group and whole sessions in each.
    reach, limiting : int, str
        Open sessions that a group can host, and the limit that decides it.
    hosted : int
        The most that one hosts when the spare groups are lost.
    owned : bool
        Whether these machines are there already.
    service : str
        Which of several services it is for; empty where there is one.
    role : {'both', 'decode', 'prefill'}
        What its groups do; `reach` and `hosted` of those that only prefill are sessions whose turns they prefill.
    unit_cents : int
        Parts of one node without tax, linear cluster lines and services.
    worth : tuple of TierWorth
        Loading a session from each tier against prefilling it again.
    """

    build: str
    groups: int
    nodes: int
    nodes_per_group: int
    chassis: str
    system: str | None
    gpu: str
    gpus_per_node: int
    cpu: str
    cpus: int
    dimm: str
    dimms: int
    drive: str | None
    drives: int
    nics: Mapping[str, int]
    layout: str
    layout_evidence: str
    replicas: int
    engine: str
    weights: str
    kv_format: str
    budget: Budget
    pool: Pool
    pools: int
    sessions_per_pool: int
    reach: int
    limiting: str
    hosted: int
    power_w: int
    rack_units: int
    unit_cents: int
    owned: bool = False
    edge: PoolEdge | None = None
    service: str = ""
    role: str = "both"
    worth: tuple[TierWorth, ...] = ()


@dataclass(frozen=True)
class CostSummary:
    """Money in cents of one currency, in the plan's price case unless named otherwise.

    Attributes
    ----------
    parts, cluster, services, tax, capex_total : int
        Node parts, cluster parts, services over the term, tax, and their sum.
    opex_per_year, tco_total : int
        Energy and colocation; over the term, with what is paid at once as an annuity.
    low, high : int
        Capex with every price at its low and its high.
    wear : tuple of DriveWear
        What writes use up of the drives, beside the total; only where total cost is an objective.
    unspecified_opex : bool
        Whether neither energy nor colocation has a price, so that opex is unknown.
    """

    currency: str
    parts: int
    cluster: int
    services: int
    tax: int
    capex_total: int
    opex_per_year: int
    tco_total: int
    years: int
    low: int
    high: int
    opex_known: bool
    not_included: tuple[str, ...]
    discount_rate_fraction: Fraction = Fraction(0)
    wear: tuple[DriveWear, ...] = ()


@dataclass(frozen=True)
class RunnerUp:
    """The cheapest plan on other machines."""

    capex_cents: int
    nodes: int
    summary: str


@dataclass(frozen=True)
class Rewarm:
    """What is prefilled again after the loss of one group.

    Attributes
    ----------
    tokens : int
        Of contexts that come back.
    seconds : int or None
        How long the rest takes beside its own prompts, rounded up; None where it never catches up.
    """

    tokens: int
    seconds: int | None


@dataclass(frozen=True)
class ServicePlan:
    """What is a service's own.

    Attributes
    ----------
    name : str
        Its label; empty where the plan serves one.
    demand : Demand
        In the KV format of its largest node group.
    capacity_only : bool
        Whether no rates were given, so that only capacity was checked.
    kv_formats : tuple of str
        The formats that the model's attention has rows for.
    alone_cents : int or None
        Capex of a plan for this service alone under the same rules; None where not asked or none.
    rewarm : Rewarm or None
        What the worst loss of one group sets back; None without rates.
    """

    name: str
    model: str
    demand: Demand
    capacity_only: bool
    kv_formats: tuple[str, ...]
    alone_cents: int | None = None
    rewarm: Rewarm | None = None


@dataclass(frozen=True)
class Plan:
    """A verified answer to a scenario.

    Attributes
    ----------
    status : {'optimal', 'feasible', 'infeasible'}
        ``optimal``: within this catalogue, these rules and these prices, by the solver's bound.
    goals : tuple of Goal
        What was minimised, the first before the second.
    services : tuple of ServicePlan
        What is each service's own; one where the plan serves one.
    bill : tuple of CostLine
        The bill of materials.
    sources : tuple of Source
        The documents behind the prices of the bill of materials.
    spare_cents : int or None
        What the spare groups cost: capex minus that of the same scenario without them.
    unpriced : tuple of str
        Parts that kept builds out because the price book does not have them.
    """

    scenario: str
    title: str
    status: Status
    goals: tuple[Goal, ...]
    groups: tuple[NodeGroup, ...]
    bill: tuple[CostLine, ...]
    checks: tuple[Check, ...]
    services: tuple[ServicePlan, ...]
    cost: CostSummary
    verified: bool
    power_w: int
    racks: int
    spare_groups: int
    spare_cents: int | None
    runner_up: RunnerUp | None
    mean_capex_cents: int | None
    mean_nodes: int | None
    sources: tuple[Source, ...]
    warnings: tuple[str, ...]
    unpriced: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def demand(self) -> Demand:
        """The demand of the first service."""
        return self.services[0].demand

    @property
    def capacity_only(self) -> bool:
        """Whether no rates were given for some service, so that only capacity was checked."""
        return any(one.capacity_only for one in self.services)

    @property
    def n_nodes(self) -> int:
        """Nodes in all groups."""
        return sum(group.nodes for group in self.groups)

    @property
    def n_gpus(self) -> int:
        """GPUs in all nodes."""
        return sum(group.nodes * group.gpus_per_node for group in self.groups)

    @property
    def objective(self) -> str:
        """What was minimised first; `value` and `bound` are in its unit."""
        return self.goals[0].kind

    @property
    def value(self) -> int:
        """What the plan has of its first objective."""
        return self.goals[0].value

    @property
    def bound(self) -> int:
        """What no plan is below."""
        return self.goals[0].bound

    @property
    def gap(self) -> float:
        """Distance of the bound from the value, the widest over the objectives."""
        return max(goal.gap for goal in self.goals)
