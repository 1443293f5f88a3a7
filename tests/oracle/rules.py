"""The buyer's rules, drawn over instances from a seed on: each near what the best fleet without them takes."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from planner.prices import LeadTime
from planner.scenario import Limits
from tests.oracle.brute_force import Oracle, TooLargeError, parts_of
from tests.oracle.instances import Instance
from tests.oracle.legal import Own

RULES_FROM = 20_000
"""Seeds below have none, so that what they once found stays found."""

MACHINE_KINDS = ("gpu", "cpu", "dimm", "drive", "nic", "chassis", "system")


def with_rules(instance: Instance) -> Instance:
    """Return the instance with some of the buyer's rules."""
    rng = Random(f"rules of {instance.seed}")
    instance = _marked(instance, rng)
    if rng.random() < 0.7:
        # Room for the rules to bind: without the limits that others have drawn.
        free = replace(instance.scenario, limits=Limits(), fleet=replace(instance.scenario.fleet, max_nodes=None))
        instance = replace(instance, scenario=free)
    try:
        oracle = Oracle(instance)
        fleet = oracle.solve().fleet
    except TooLargeError:
        return instance
    return replace(instance, scenario=_ruled(instance, rng, oracle, fleet))


def _marked(instance: Instance, rng: Random) -> Instance:
    """Give machines their makers."""
    catalog = instance.shelf.catalog
    parts = {kind: dict(by_id) for kind, by_id in catalog.parts.items()}
    for kind, makers in (("gpu", "GH"), ("chassis", "CDG"), ("system", ("any", "S", "C"))):
        parts[kind] = {name: replace(part, vendor=rng.choice(makers)) for name, part in parts[kind].items()}
    for by_id in parts.values():
        for name in by_id:
            draw = rng.random()
            if draw < 0.1:
                by_id[name] = replace(by_id[name], export_barred=("X",))
            elif draw < 0.2:
                by_id[name] = replace(by_id[name], regions=("R", "Y"))
    book = catalog.books["book"]
    leads = (None, None, *(LeadTime(time_days=days, assumed="test") for days in (10, 50, 50, 200)))
    prices = tuple(replace(price, lead_time=rng.choice(leads)) for price in book.prices)
    books = {"book": replace(book, prices=prices)}
    shelf = replace(instance.shelf, catalog=replace(catalog, parts=parts, books=books))
    return replace(instance, shelf=shelf)


def _ruled(instance: Instance, rng: Random, oracle: Oracle, fleet: tuple[Own, ...]):  # type: ignore[no-untyped-def]
    scenario, used = instance.scenario, parts_of(fleet)
    totals = oracle.totals(fleet)

    def often(percent: int) -> bool:
        return rng.random() * 100 < percent

    makers = sorted({p.vendor for kind in ("gpu", "chassis") for p in instance.shelf.catalog.parts[kind].values()})
    rules = replace(
        scenario.fleet, min_build_nodes=rng.choice((2, 2, 3)) if often(20) else None, one_gpu_model=often(20),
        vendors=tuple(rng.sample(makers, max(1, len(makers) - 1))) if often(5) else (),
        without_vendors=(rng.choice(makers),) if often(10) else (),
        region=rng.choice(instance.shelf.catalog.regions()) if often(12) else None,
        spare_nodes=rng.choice((1, 2)) if often(12) else 0, spare_racks=int(often(20)),
    )  # fmt: skip
    minimum, maximum = {}, {}
    inside = [part for kind in MACHINE_KINDS for part in instance.shelf.catalog.parts[kind]]
    anything = [part for by_id in instance.shelf.catalog.parts.values() for part in by_id]
    if often(20):
        for part in rng.sample(inside, rng.randint(1, 2)):
            minimum[part] = max(0, used.get(part, 0) + rng.randint(-1, 3))
    if often(20):
        for part in rng.sample(anything, rng.randint(1, 2)):
            maximum[part] = max(0, used.get(part, 0) + totals.items.get(part, 0) + rng.randint(-3, 2))
    mean = math.ceil(totals.watts * scenario.finance.average_load_fraction)
    limits: Limits = replace(
        scenario.limits, minimum=minimum, maximum=maximum,
        sustained_power_w=max(1, mean * rng.randint(75, 140) // 100) if often(20) else None,
        racks=max(1, totals.racks + rng.randint(-1, 1)) if often(20) else None,
        rack_power_w=rng.randint(2, 14) * 1000 if often(8) else None,
        deliver_by=rng.choice(("2026-12-20", "2027-02-01", "2027-06-01")) if often(15) else None,
        lead_time_days=rng.choice((None, 20, 100)), rack_height=rng.randint(4, 24) if often(8) else None,
    )  # fmt: skip
    return replace(scenario, fleet=rules, limits=limits)
