"""Infeasible scenarios made of feasible ones: rules tightened at random, the same for a seed every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from planner.bill import bill
from planner.costs import fleet_drivers, fleet_power_w
from planner.eligibility import catalog_vendors
from planner.engines import EngineShelf
from planner.errors import InfeasibleError, PlannerError, PriceMissingError
from planner.loading import Shelf
from planner.planning import Solved, solve_scenario
from planner.scenario import Fleet, Override, Scenario
from planner.scenario_files import load_scenario
from planner.units import Money
from tests.oracle.brute_force import Oracle
from tests.oracle.instances import Instance, make_instance
from tests.oracle.rules import RULES_FROM, with_rules, without_a_part
from tests.unit import tiny

Mutant = tuple[Scenario, Shelf]
Change = Callable[[Scenario, Solved, Random], Scenario]


def tiny_shelf() -> Shelf:
    """The world of the unit tests as a shelf, with a second GPU and a second weight format."""
    other = tiny.gpu(id="gpu-2", memory_bytes=24 * tiny.GIB, power_w=500)
    dear = {**tiny.DOLLARS, "gpu-2": "3500"}
    parts = tiny.catalog(gpu=[tiny.gpu(), other], chassis=[tiny.chassis(gpu_models=("gpu", "gpu-2"))])
    return Shelf(
        replace(parts, books={"book": tiny.book(dear)}), {"tiny": tiny.model()},
        EngineShelf({"engine": tiny.engine()}, {"cache": tiny.offload()}),
    )  # fmt: skip


def tiny_mutant(seed: int) -> Mutant | None:
    """Tighten rules of the tiny world with more people in it."""
    rng, shelf = Random(f"tiny {seed}"), tiny_shelf()
    load = tiny.workload(users=rng.randint(2_000, 20_000))
    fleet = Fleet(gpus=rng.choice(((), ("gpu",))), spare_groups=rng.choice((0, 1, 1)))
    return _tightened(tiny.scenario(workload=load, fleet=fleet), shelf, rng)


def oracle_mutant(seed: int) -> Mutant | None:
    """Tighten rules of a random instance; None where it has no plan to begin with or is still feasible."""
    instance = make_instance(seed)
    return _tightened(instance.scenario, instance.shelf, Random(f"mutant {seed}"))


def ruled_mutant(seed: int) -> Mutant | None:
    """Tighten rules of a random instance that has buyer's rules, too."""
    instance = with_rules(make_instance(RULES_FROM + seed))
    return _tightened(instance.scenario, instance.shelf, Random(f"ruled mutant {seed}"))


def buyer_mutant(seed: int) -> Mutant | None:
    """Tighten the buyer's rules of a random instance: vendors, region, day of delivery, racks, spares, pieces."""
    instance = with_rules(make_instance(RULES_FROM + 1_000 + seed))
    rng = Random(f"buyer mutant {seed}")
    # One of these each time in turn, so that all come up.
    first = BUYER_CHANGES[seed % len(BUYER_CHANGES)]
    if first not in (_region, _delivery):
        return _tightened(instance.scenario, instance.shelf, rng, [first, *rng.sample([*BUYER_CHANGES, *CHANGES], 2)])
    try:
        build = next(iter(solve_scenario(instance.scenario, instance.shelf).fleet))
    except PlannerError:
        return None
    changed = without_a_part(instance, rng.choice((build.core.gpu.id, build.cpu.id, build.dimm.id)))
    return _tightened(changed.scenario, changed.shelf, rng, [first, *rng.sample(CHANGES, rng.randint(0, 1))])


def shipped_mutant(seed: int, shelf: Shelf) -> tuple[Mutant, list[Override]] | None:
    """Tighten rules of a shipped scenario by overrides, as a user would."""
    rng = Random(f"shipped {seed}")
    name = rng.choice(("report-as-written", "report-exact", "report-real"))
    every = [
        Override("limits.power", f"{rng.randint(3, 14)} kW"),
        Override("limits.budget", f"USD {rng.randint(100, 700)}k"),
        Override("limits.rack_units", str(rng.randint(2, 7))),
        Override("fleet.max_nodes", "1"),
        Override("fleet.gpus", rng.choice(("[h200-sxm]", "[mi300x]", "[b200, h200-sxm]"))),
        Override("serving.layouts", "[tp8]"),
        Override("fleet.spare_groups", str(rng.randint(1, 2))),
        Override("limits.stock.rdimm-64", str(rng.randint(0, 12))),
    ]
    picked = [Override("fleet.chassis", "[smc-821ge-tnhr, smc-8125gs-mi300x]"), *rng.sample(every, rng.randint(1, 3))]
    scenario = load_scenario(name, picked, None, shelf)
    return ((scenario, shelf), picked) if _is_infeasible(scenario, shelf) else None


def plan_cents(scenario: Scenario, shelf: Shelf) -> int | None:
    """Return the capex that the planner, asked afresh, finds; None where it finds no plan.

    What has no price cannot be bought.
    """
    try:
        return solve_scenario(scenario, shelf).capex
    except (InfeasibleError, PriceMissingError):
        return None


def enumerated_cents(scenario: Scenario, shelf: Shelf) -> int | None:
    """Return the capex of the best of all fleets, by enumeration and without the planner; None where there is none.

    Raises
    ------
    TooLargeError
        If they are too many.
    """
    best = Oracle(Instance(0, scenario, shelf)).solve().best
    return best and best[{"capex": 0, "tco": 1, "nodes": 1}[str(scenario.objective)]]


def _is_infeasible(scenario: Scenario, shelf: Shelf) -> bool:
    """Return whether rules are to blame, not a missing price or machine."""
    try:
        solve_scenario(scenario, shelf)
    except InfeasibleError:
        return True
    except PlannerError:
        return False
    return False


def _tightened(scenario: Scenario, shelf: Shelf, rng: Random, changes: list[Change] | None = None) -> Mutant | None:
    try:
        plan = solve_scenario(scenario, shelf)
    except PlannerError:
        return None
    for tighten in changes if changes is not None else rng.sample(CHANGES, rng.randint(1, 3)):
        scenario = tighten(scenario, plan, rng)
    return (scenario, shelf) if _is_infeasible(scenario, shelf) else None


def _budget(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    cents = plan.capex * rng.randint(40, 99) // 100
    return replace(scenario, limits=replace(scenario.limits, budget=Money("USD", cents)))


def _power(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    watts = sum(count * build.power_w for build, count in plan.fleet.items()) * rng.randint(40, 99) // 100
    return replace(scenario, limits=replace(scenario.limits, power_w=max(1, watts)))


def _rack_units(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    units = sum(count * b.n_nodes * b.core.chassis.rack_units for b, count in plan.fleet.items())
    return replace(scenario, limits=replace(scenario.limits, rack_units=max(1, units * rng.randint(30, 95) // 100)))


def _nodes(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    return replace(scenario, fleet=replace(scenario.fleet, max_nodes=max(1, plan.nodes - 1)))


def _stock(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    lines = [line for line in bill(plan.problem.pricing, plan.fleet) if line.part]
    line = rng.choice(sorted(lines, key=lambda line: (line.part, line.build or "")))
    stock = {**scenario.limits.stock, line.part: rng.randint(0, max(0, line.qty - 1))}
    known = {part for by_id in plan.problem.pricing.catalog.parts.values() for part in by_id}
    if line.part not in known:
        return scenario
    return replace(scenario, limits=replace(scenario.limits, stock=stock))


def _spares(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    fleet = replace(scenario.fleet, spare_groups=scenario.fleet.spare_groups + rng.randint(1, 2), max_nodes=plan.nodes)
    return replace(scenario, fleet=fleet)


def _layouts(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    return replace(scenario, serving=replace(scenario.serving, layouts=("tp4",)))


def _gpus(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    taken = {build.core.gpu.id for build in plan.fleet}
    rest = tuple(gpu for gpu in plan.problem.pricing.catalog.gpus() if gpu not in taken)
    return replace(scenario, fleet=replace(scenario.fleet, gpus=rest)) if rest else scenario


def _service(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    if scenario.service is None:
        return scenario
    service = replace(
        scenario.service,
        decode_tokens_per_s=scenario.service.decode_tokens_per_s * rng.randint(2, 6),
        first_token_s=scenario.service.first_token_s / rng.randint(2, 20),
    )
    return replace(scenario, service=service)


def _deny_a_vendor(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    makers = {part.vendor for build in plan.fleet for part in (build.core.gpu, build.core.chassis)} - {"any"}
    return replace(scenario, fleet=replace(scenario.fleet, without_vendors=(rng.choice(sorted(makers)),)))


def _few_vendors(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    makers = catalog_vendors(plan.problem.pricing.catalog)
    return replace(scenario, fleet=replace(scenario.fleet, vendors=tuple(rng.sample(makers, 1))))


def _region(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    regions = plan.problem.pricing.catalog.regions()
    region = "X" if "X" in regions else rng.choice([*regions, None])
    return replace(scenario, fleet=replace(scenario.fleet, region=region))


def _delivery(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    limits = replace(
        scenario.limits, deliver_by=rng.choice(("2026-12-05", "2026-12-31", "2027-02-01")),
        lead_time_days=rng.choice((None, 20)),
    )  # fmt: skip
    return replace(scenario, limits=limits)


def _racks(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    racks = fleet_drivers(plan.fleet, plan.problem.pricing.catalog)["racks"]
    return replace(
        scenario, limits=replace(scenario.limits, racks=max(1, racks - 1), rack_power_w=rng.randint(2, 8) * 1000)
    )


def _lost_racks(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    return replace(scenario, fleet=replace(scenario.fleet, spare_racks=1, max_nodes=plan.nodes))


def _lost_nodes(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    return replace(scenario, fleet=replace(scenario.fleet, spare_nodes=rng.randint(1, 2), max_nodes=plan.nodes))


def _sustained(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    watts = fleet_power_w(plan.problem.pricing, plan.fleet) * scenario.finance.average_load_fraction
    return replace(scenario, limits=replace(scenario.limits, sustained_power_w=max(1, int(watts) - 1)))


def _pieces(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    build = rng.choice(list(plan.fleet))
    wanted = {build.dimm.id: rng.randint(1, 200)}
    few = replace(scenario.fleet, max_nodes=plan.nodes)
    return replace(scenario, limits=replace(scenario.limits, minimum=wanted), fleet=few)


def _wanted_few(scenario: Scenario, plan: Solved, rng: Random) -> Scenario:
    build = rng.choice(list(plan.fleet))
    return replace(scenario, limits=replace(scenario.limits, maximum={build.core.gpu.id: 0, build.cpu.id: 1}))


BUYER_CHANGES: list[Change] = [
    _deny_a_vendor, _few_vendors, _region, _delivery, _racks, _lost_racks, _lost_nodes, _sustained, _pieces,
    _wanted_few,
]  # fmt: skip
CHANGES: list[Change] = [
    _budget, _power, _rack_units, _nodes, _stock, _spares, _layouts, _gpus, _service,
]  # fmt: skip
