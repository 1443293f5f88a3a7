"""Every legal way to run the model on every machine of the catalogue, and why the rest is not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from planner.budget import Launch, default_batch, known_budget
from planner.build import Core
from planner.copies import stored_copies
from planner.demand import footprint, scenario_caches
from planner.eligibility import catalog_vendors, cooling_fault, region_fault, vendor_fault
from planner.engines import Cache, Engine
from planner.errors import InputError, nearest
from planner.fields import contents
from planner.hardware import Chassis, Gpu, OwnedMachine, System
from planner.kvcache import KvCache
from planner.layout import Layout, layout_fault, offered_layouts
from planner.loading import Shelf
from planner.models import Model
from planner.pool import kv_pool, pool_fault
from planner.scenario import Scenario

STAGES = ("eligibility", "format", "layout", "memory", "slots", "limits", "first token", "region", "delivery", "power")
"""The tests that builds undergo, in order; the last one that any build reached says most."""


Offered = tuple[Chassis, Gpu, System | None]
"""A machine: chassis and GPU, and the whole system where it is sold as one."""


@dataclass
class Rejections:
    """Why builds are not offered.

    Attributes
    ----------
    reasons : dict
        Reason to how often, in the order met.
    stages : dict
        Reason to the number of its test in `STAGES`.
    unpriced : dict
        Part without a price to how many builds wanted it.
    """

    reasons: dict[str, int] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    unpriced: dict[str, int] = field(default_factory=dict)

    def add(self, stage: str, reason: str, times: int = 1) -> None:
        """Count a reason."""
        self.reasons[reason] = self.reasons.get(reason, 0) + times
        self.stages[reason] = STAGES.index(stage)

    def add_unpriced(self, parts: list[str]) -> None:
        """Count parts without a price."""
        for part in parts:
            self.unpriced[part] = self.unpriced.get(part, 0) + 1

    def merge(self, other: Rejections) -> None:
        """Count all that another counted."""
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
            self.stages[reason] = other.stages[reason]
        for part, count in other.unpriced.items():
            self.unpriced[part] = self.unpriced.get(part, 0) + count

    def weightiest(self, most: int) -> list[tuple[str, int]]:
        """Return the reasons that were nearest to success, the last tests first."""
        return sorted(self.reasons.items(), key=lambda item: -self.stages[item[0]])[:most]


@dataclass(frozen=True)
class Offer:
    """What a scenario lets us choose from, every name checked.

    Attributes
    ----------
    machines : tuple
        Chassis with one GPU each, and the whole system where it is sold as one.
    """

    model: Model
    machines: tuple[Offered, ...]
    engines: tuple[Engine, ...]
    cache: Cache
    caches: tuple[KvCache, ...]
    layouts: tuple[Layout, ...]
    any_layout: bool


def offer(scenario: Scenario, shelf: Shelf) -> Offer:
    """Return what the scenario names, all unknown names told at once.

    Raises
    ------
    InputError
        For unknown models, engines, GPUs, chassis, caches, layouts or formats.
    """
    catalog, faults = shelf.catalog, []

    def known(kind: str, names: tuple[str, ...], shelf_of: object) -> None:
        for name in names:
            if name not in shelf_of:  # type: ignore[operator]
                faults.append(f"unknown {kind} '{name}'; {nearest(name, shelf_of)}")  # type: ignore[arg-type]

    known("model", (scenario.model,), shelf.models)
    known("engine", scenario.serving.engines, shelf.engines.engines)
    known("cache", (scenario.tiers.cache,), shelf.engines.caches)
    known("GPU", scenario.fleet.gpus, catalog.gpus())
    known("chassis or system", scenario.fleet.chassis, {**catalog.chassis(), **catalog.systems()})
    for key in ("vendors", "without_vendors"):
        known(f"vendor in 'fleet.{key}'", getattr(scenario.fleet, key), catalog_vendors(catalog))
    known("region", (scenario.fleet.region,) if scenario.fleet.region else (), catalog.regions())
    known("price book", (scenario.finance.prices,), catalog.books)
    every = {part: None for by_id in catalog.parts.values() for part in by_id}
    for key in ("stock", "minimum", "maximum"):
        known(f"part in 'limits.{key}'", tuple(getattr(scenario.limits, key)), every)
    layouts: list[Layout] = []
    for text in scenario.serving.layouts:
        try:
            layouts += [] if text == "any" else [Layout.parse(text)]
        except InputError as fault:
            faults.append(str(fault))
    if faults:
        raise InputError("\n".join(f"{scenario.name}: {fault}" for fault in faults))
    cache = shelf.engines.caches[scenario.tiers.cache]
    for engine in scenario.serving.engines:
        if cache.engines and engine not in cache.engines:
            raise InputError(
                f"{scenario.name}: {cache.name} works with {', '.join(cache.engines)}, not with '{engine}'"
            )
    model = shelf.model(scenario.model)
    for weights in scenario.serving.weights:
        model.checkpoint(weights)
    machines = tuple(_machines(scenario, shelf))
    if not machines:
        raise InputError(_no_machine(scenario, shelf))
    return Offer(
        model,
        machines,
        tuple(shelf.engines.engines[name] for name in scenario.serving.engines),
        cache,
        scenario_caches(scenario, model),
        tuple(layouts),
        "any" in scenario.serving.layouts,
    )


def _no_machine(scenario: Scenario, shelf: Shelf) -> str:
    """Return why the named GPUs and chassis make no machine together."""
    takes = [
        f"{chassis.id} takes {', '.join(chassis.gpu_models)}"
        for chassis in shelf.catalog.chassis().values()
        if not scenario.fleet.chassis or chassis.id in scenario.fleet.chassis
    ]
    wanted = ", ".join(scenario.fleet.gpus) or "any GPU"
    return f"{scenario.name}: no chassis that 'fleet' allows carries {wanted}; " + "; ".join(takes)


def _machines(scenario: Scenario, shelf: Shelf) -> Iterator[Offered]:
    catalog, fleet = shelf.catalog, scenario.fleet
    for chassis in catalog.chassis().values():
        if chassis.whole_system or (fleet.chassis and chassis.id not in fleet.chassis):
            continue
        for gpu in chassis.gpu_models:
            if not fleet.gpus or gpu in fleet.gpus:
                yield chassis, catalog.gpus()[gpu], None
    for system in catalog.systems().values():
        named = not fleet.chassis or system.id in fleet.chassis or system.chassis in fleet.chassis
        if isinstance(system, OwnedMachine) or (named and (not fleet.gpus or system.gpu in fleet.gpus)):
            yield catalog.chassis()[system.chassis], catalog.gpus()[system.gpu], system


def cores(
    scenario: Scenario, shelf: Shelf, found: Offer, rejected: Rejections, settled: Collection[Offered] = ()
) -> Iterator[Core]:
    """Yield the legal cores; count why others are not.

    What filters, limits and rates differ in does not change a core: it is worked out once for all of them.
    Of machines that whoever asks puts into `settled` on the way no more are made.
    """
    known = _known(*_asked(scenario, shelf, found))
    for machine in found.machines:
        chassis, gpu, system = machine
        barred = vendor_fault(scenario.fleet, chassis, gpu, system) or cooling_fault(scenario.fleet, chassis)
        barred = barred or region_fault(scenario.fleet.region, (gpu, chassis, system))
        if barred and not isinstance(system, OwnedMachine):
            rejected.add("eligibility", barred)
            continue
        for core in _of_machine(scenario, shelf, found, machine, rejected, known):
            yield core
            if machine in settled:
                break


def _of_machine(
    scenario: Scenario, shelf: Shelf, found: Offer, machine: Offered, rejected: Rejections,
    known: dict[tuple[_Base, int, Layout], _Made],
) -> Iterator[Core]:  # fmt: skip
    chassis, gpu, system = machine
    for base in _bases(scenario, found, chassis, gpu, system, rejected):
        for n_nodes in scenario.fleet.group_nodes:
            for layout in _wanted(found, chassis.n_gpus, n_nodes):
                key = (base, n_nodes, layout)
                if key not in known:
                    known[key] = _run_as(scenario, shelf, found, base, layout, n_nodes)
                made, faults = known[key]
                for stage, words in faults:
                    rejected.add(stage, words)
                yield from made


def _bases(
    scenario: Scenario, found: Offer, chassis: Chassis, gpu: Gpu, system: System | None, rejected: Rejections
) -> Iterator[_Base]:
    """Yield engines with formats of cache and weights that exist on a GPU."""
    for engine in found.engines:
        for kv in found.caches:
            fault = kv_fault(engine, kv, found.model, gpu)
            if fault:
                rejected.add("format", f"{gpu.id}: {fault}")
                continue
            for weights in scenario.serving.weights:
                fault = engine.weight_format_fault(weights, gpu.architecture)
                if fault:
                    rejected.add("format", f"{gpu.id}: {fault}")
                else:
                    yield _Base(chassis, gpu, system, engine, kv, weights)


_Made = tuple[list[Core], list[tuple[str, str]]]
"""Cores of one machine and layout, and why there are no more: the test's stage and words."""


def _asked(scenario: Scenario, shelf: Shelf, found: Offer) -> tuple[tuple[Any, ...], ...]:
    """Return all that a core depends on beside its machine, engine, formats and layout."""
    cluster, nics = shelf.catalog.cluster, tuple(shelf.catalog.nics().values())
    load = contents(scenario.workload, but=("rates",))
    how = contents(scenario.serving, but=("engines", "weights", "kv_formats", "custom_kv", "layouts"))
    whose = (scenario.label, found.model, found.cache, cluster, scenario.tiers.placement)
    return whose, nics, shelf.engines.measured, load, how


@lru_cache(maxsize=8)
def _known(*_asked: tuple[Any, ...]) -> dict[tuple[_Base, int, Layout], _Made]:
    return {}


def kv_fault(engine: Engine, kv: KvCache, model: Model, gpu: Gpu) -> str:
    """Return why this KV cache cannot be used there; a custom format is taken at its word."""
    return "" if kv.custom else engine.kv_format_fault(kv.name, model.family, gpu.architecture, model.attention)


@dataclass(frozen=True)
class _Base:
    chassis: Chassis
    gpu: Gpu
    system: System | None
    engine: Engine
    kv: KvCache
    weights: str


@lru_cache(maxsize=64)
def _every_layout(per_node: int, n_nodes: int, model: Model) -> tuple[Layout, ...]:
    return tuple(offered_layouts(per_node, n_nodes, model))


def _wanted(found: Offer, per_node: int, n_nodes: int) -> Iterator[Layout]:
    """Yield the layouts on offer that divide the GPUs of a group."""
    every = _every_layout(per_node, n_nodes, found.model) if found.any_layout else ()
    for layout in dict.fromkeys((*every, *found.layouts)):
        inside = n_nodes == 1 and layout.gpus <= per_node and per_node % layout.gpus == 0
        across = n_nodes > 1 and layout.gpus == n_nodes * per_node and layout.tp <= per_node
        if inside or across:
            yield layout


def _run_as(scenario: Scenario, shelf: Shelf, found: Offer, base: _Base, layout: Layout, n_nodes: int) -> _Made:
    """Return the cores with one layout, one for each number of fabric cards; or the fault."""
    fault = layout_fault(layout, found.model, base.engine, base.kv, base.gpu.architecture)
    fault = fault or pool_fault(base.kv, layout, base.engine, found.model.family)
    if fault:
        return [], [("layout", f"{layout.name}: {fault}")]
    core = make_core(scenario, shelf, found, base, layout, n_nodes)
    if core.budget.kv_bytes <= 0:
        over = -core.budget.kv_bytes / 2**30
        words = f"{base.weights} weights and runtime exceed the memory by {over:.1f} GiB per GPU"
        return [], [("memory", f"{base.gpu.id} {layout.name}: {words}")]
    if core.pool.sessions == 0:
        lack = core.pool.missing_bytes / 2**30
        words = f"no whole session fits a KV pool, {lack:.1f} GiB per GPU short"
        return [], [("memory", f"{base.gpu.id} {layout.name}: {words}")]
    return _with_fabric(scenario, shelf, core)


def make_core(scenario: Scenario, shelf: Shelf, found: Offer, base: _Base, layout: Layout, n_nodes: int) -> Core:
    """Return the core with its budget and pools; measured figures are used where they exist."""
    context = scenario.workload.context.max_tokens or scenario.workload.context.planned_tokens
    model = found.model
    how = scenario.serving
    launch = Launch(
        context, how.utilisation_fraction, how.max_sequences, how.batched_tokens, how.draft_layers,
        how.draft_layers if how.draft_tokens is None else how.draft_tokens,
        kv_format="" if base.kv.custom else base.kv.name,
    )  # fmt: skip
    budget = known_budget(
        model, base.gpu, base.engine, base.weights, base.kv.name, layout, launch, shelf.engines.measured
    )
    planned = scenario.workload.context.planned_tokens
    copies = stored_copies(base.kv, layout, base.engine, found.cache, planned)
    size = footprint(scenario, base.kv, found.cache, copies)
    step = how.batched_tokens or default_batch(base.gpu, base.engine).batched_tokens
    pool = kv_pool(budget.kv_bytes, base.kv, layout, base.engine, model.family, step, size.sizes, launch.draft_tokens)
    cluster, nics = shelf.catalog.cluster, shelf.catalog.nics()
    replicas = n_nodes * base.chassis.n_gpus // layout.gpus
    return Core(
        chassis=base.chassis, gpu=base.gpu, model=model, engine=base.engine, weights=base.weights,
        footprint=size, layout=layout, n_nodes=n_nodes, replicas=replicas, budget=budget, pool=pool,
        layout_evidence=layout_evidence(budget.evidence, layout, base.gpu),
        front_nic=nics[cluster.front_nic], front_nics=cluster.front_nics, system=base.system, launch=launch,
        service=scenario.label,
    )  # fmt: skip


def layout_evidence(budget: str, layout: Layout, gpu: Gpu) -> str:
    """Return measured or derived, and assumed where ranks talk over something never measured."""
    slow = gpu.fabric_bytes_per_s == 0 and layout.gpus > 1
    return "assumed" if slow and budget != "measured" else budget


_ROLES = {"both": ("both",), "split": ("decode", "prefill")}


def _with_fabric(scenario: Scenario, shelf: Shelf, core: Core) -> _Made:
    """Return the core with each number of fabric cards that it may have, as far as they fit."""
    pooled = scenario.tiers.placement == "pooled"
    every: list[Core] = []
    nic, per_gpu = shelf.catalog.nics()[shelf.catalog.cluster.fabric_nic], core.chassis.n_gpus
    for role in dict.fromkeys(role for name in scenario.serving.roles for role in _ROLES[name]):
        counts: tuple[int, ...] = (0,)
        if core.n_nodes > 1 or pooled or role != "both":
            counts = (per_gpu,) if core.n_nodes > 1 else (2, 4, per_gpu)
        of_role = replace(core, role=role)
        every += [replace(of_role, fabric_nic=nic, fabric_nics=count) if count else of_role for count in counts]
    made, faults, nics = [], [], shelf.catalog.nics()
    for one in every:
        cards, slots = sum(one.nics.values()), one.chassis.nic_slots
        if cards > slots:
            faults.append(("slots", f"{one.chassis.id}: {cards} network cards do not fit {slots} slots"))
        else:
            watts = sum(nics[part].power_w * count for part, count in one.nics.items())
            made.append(replace(one, extra_nics_w=watts - one.nic_power_w))
    return made, faults
