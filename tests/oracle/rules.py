"""The buyer's rules, drawn over instances from a seed on: each near what the best fleet without them takes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from random import Random

from planner.errors import InputError
from planner.hardware import Catalog, Part
from planner.owned import with_owned
from planner.prices import LeadTime, VolumePrice
from planner.scenario import Limits, Owned
from planner.units import Money
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
    instance = replace(instance, scenario=_ruled(instance, rng, oracle, fleet))
    used = sorted(parts_of(fleet))
    instance = without_a_part(instance, rng.choice(used)) if used and rng.random() < 0.6 else instance
    used_pieces = {**oracle.totals(fleet).items, **parts_of(fleet)}
    return with_volume_prices(with_lines_beyond(instance, oracle, fleet), used_pieces)


def with_lines_beyond(instance: Instance, oracle: Oracle, fleet: tuple[Own, ...]) -> Instance:
    """Let some cluster lines, in half of all instances, be needed only beyond about what the best fleet has."""
    rng = Random(f"beyond of {instance.seed}")
    if not fleet or rng.random() > 0.5:
        return instance
    has = {
        "nodes": sum(b.nodes for b in fleet), "groups": len(fleet), "front_ports": sum(b.front_ports for b in fleet),
        "fabric_ports": sum(b.fabric_ports for b in fleet),
    }  # fmt: skip
    catalog, lines = instance.shelf.catalog, []
    for line in catalog.cluster.lines:
        open_line = line.percent is None and line.driver in has and rng.random() < 0.9
        lines.append(replace(line, beyond=max(0, has[line.driver] + rng.randint(-3, 3))) if open_line else line)
    changed = replace(catalog, cluster=replace(catalog.cluster, lines=tuple(lines)))
    return replace(instance, shelf=replace(instance.shelf, catalog=changed))


def without_a_part(instance: Instance, part: str) -> Instance:
    """Keep a part of the best fleet from region X, and let it come late."""
    catalog = instance.shelf.catalog
    parts = {kind: dict(by_id) for kind, by_id in catalog.parts.items()}
    for by_id in parts.values():
        if part in by_id:
            by_id[part] = replace(by_id[part], export_barred=("X",), regions=())
    late = LeadTime(time_days=200, assumed="test")
    book = catalog.books["book"]
    prices = tuple(replace(price, lead_time=late) if price.part == part else price for price in book.prices)
    changed = replace(catalog, parts=parts, books={"book": replace(book, prices=prices)})
    scenario = instance.scenario
    if scenario.fleet.region not in changed.regions():
        # The part was the only one of that region.
        scenario = replace(scenario, fleet=replace(scenario.fleet, region=None))
    return replace(instance, scenario=scenario, shelf=replace(instance.shelf, catalog=changed))


def with_volume_prices(instance: Instance, used: dict[str, int]) -> Instance:
    """Give some parts of the best fleet, in a third of all instances, lower prices from about as many on."""
    rng = Random(f"volume of {instance.seed}")
    if not used or rng.random() > 0.33:
        return instance
    catalog = instance.shelf.catalog
    chosen = set(rng.sample(sorted(used), min(len(used), rng.randint(1, 3))))
    prices = []
    for price in catalog.books["book"].prices:
        tiers, begin, share = [], 1, 100
        for _ in range(rng.randint(1, 3) if price.part in chosen else 0):
            begin = max(begin + 1, used[price.part] + rng.randint(-2, 4) + len(tiers) * rng.randint(1, 8))
            share = rng.randint(share * 3 // 5, share)
            low, typical, high = (
                Money("USD", max(1, money.cents * share // 100)) for money in (price.low, price.typical, price.high)
            )
            tiers.append(VolumePrice(from_pieces=begin, low=low, typical=typical, high=high))
        prices.append(replace(price, volume=tuple(tiers)))
    book = replace(catalog.books["book"], prices=tuple(prices))
    return replace(instance, shelf=replace(instance.shelf, catalog=replace(catalog, books={"book": book})))


def _marked(instance: Instance, rng: Random) -> Instance:
    """Give machines their makers."""
    catalog = instance.shelf.catalog
    parts = {kind: dict(by_id) for kind, by_id in catalog.parts.items()}
    if len(parts["gpu"]) == 1 and rng.random() < 0.5:
        catalog = with_a_second_gpu(catalog, parts, rng)
    for kind, makers in (("gpu", "GGH"), ("chassis", "CG"), ("system", ("any", "S", "C"))):
        parts[kind] = {name: replace(part, vendor=rng.choice(makers)) for name, part in parts[kind].items()}
    for by_id in parts.values():
        for name in by_id:
            draw = rng.random()
            if draw < 0.03:
                by_id[name] = replace(by_id[name], export_barred=("X",))
            elif draw < 0.06:
                by_id[name] = replace(by_id[name], regions=("R", "Y"))
    book = catalog.books["book"]
    leads = (None, *(LeadTime(time_days=days, assumed="test") for days in 7 * [10] + 7 * [50] + [200]))
    prices = tuple(replace(price, lead_time=rng.choice(leads)) for price in book.prices)
    books = {"book": replace(book, prices=prices)}
    shelf = replace(instance.shelf, catalog=replace(catalog, parts=parts, books=books))
    return replace(instance, shelf=shelf)


def with_a_second_gpu(catalog: Catalog, parts: dict[str, dict[str, Part]], rng: Random) -> Catalog:
    """Give every chassis another GPU to choose, of other memory at another price."""
    gpu = catalog.gpus()["gpu-0"]
    parts["gpu"]["gpu-1"] = replace(
        gpu, id="gpu-1", memory_bytes=gpu.memory_bytes * rng.randint(80, 130) // 100, visible_bytes=None
    )
    for name, chassis in catalog.chassis().items():
        parts["chassis"][name] = replace(chassis, gpu_models=("gpu-0", "gpu-1"))
    book = catalog.books["book"]
    prices = list(book.prices)
    for price in book.prices:
        if price.part == "gpu-0":
            tenths = rng.randint(8, 13)
            low, typical, high = (
                Money("USD", max(1, money.cents * tenths // 10)) for money in (price.low, price.typical, price.high)
            )
            prices.append(replace(price, part="gpu-1", low=low, typical=typical, high=high))
    return replace(catalog, books={"book": replace(book, prices=tuple(prices))})


def _owned(instance: Instance, rng: Random, fleet: tuple[Own, ...]) -> tuple[Owned, ...]:
    """Draw one or two kinds of machines that are there already; those that do not fit are left out."""
    catalog, found = instance.shelf.catalog, []
    for i in range(rng.choice((1, 1, 2))):
        chassis = rng.choice(list(catalog.chassis().values()))
        data = [drive.id for drive in catalog.drives().values() if drive.role == "data"]
        own = Owned(
            name=f"own-{i}", chassis=chassis.id, gpu=rng.choice(chassis.gpu_models),
            cpu=rng.choice(list(catalog.cpus())),
            dimm=rng.choice(list(catalog.dimms())), dimms=rng.randint(1, chassis.dimm_slots), drive=rng.choice(data),
            drives=rng.randint(0, chassis.drive_bays), nics=rng.choice((None, {"nic-front": 1}, {"nic-front": 2})),
            count=rng.choice((1, 1, 2, 3)), upgrade=rng.random() < 0.7,
        )  # fmt: skip
        try:
            with_owned(replace(instance.scenario, fleet=replace(instance.scenario.fleet, owned=(own,))), instance.shelf)
        except InputError:
            continue
        found.append(own)
    return tuple(found)


def _ruled(instance: Instance, rng: Random, oracle: Oracle, fleet: tuple[Own, ...]):  # type: ignore[no-untyped-def]
    scenario, used = instance.scenario, parts_of(fleet)
    totals = oracle.totals(fleet)

    def often(percent: int) -> bool:
        return rng.random() * 100 < percent

    makers = sorted({p.vendor for kind in ("gpu", "chassis") for p in instance.shelf.catalog.parts[kind].values()})
    rules = replace(
        scenario.fleet, min_build_nodes=rng.choice((2, 2, 3)) if often(20) else None, one_gpu_model=often(20),
        vendors=tuple(rng.sample(makers, max(1, len(makers) - 1))) if often(16) else (),
        without_vendors=(rng.choice(makers),) if often(12) else (),
        region=rng.choice(instance.shelf.catalog.regions()) if often(12) else None,
        spare_nodes=rng.choice((1, 2)) if often(12) else 0, spare_racks=int(often(20)) * (1 + instance.seed % 2),
    )  # fmt: skip
    minimum, maximum = {}, {}
    inside = [part for kind in MACHINE_KINDS for part in instance.shelf.catalog.parts[kind]]
    anything = [part for by_id in instance.shelf.catalog.parts.values() for part in by_id]
    if often(20):
        for part in rng.sample(inside, rng.randint(1, 2)):
            minimum[part] = max(0, used.get(part, 0) + rng.randint(-1, 3))
    if often(20):
        for part in rng.sample(sorted(used) or anything, 1) + rng.sample(anything, rng.randint(0, 1)):
            maximum[part] = max(0, used.get(part, 0) + totals.items.get(part, 0) + rng.randint(-3, 2))
    owned = _owned(instance, rng, fleet) if often(20) else ()
    rules = replace(rules, owned=owned)
    stock = dict(scenario.limits.stock)
    if rules.one_gpu_model and fleet:
        # Scarce where it is wanted most, so that a second kind would help.
        wanted = str(fleet[0].key[2])
        stock[wanted] = max(1, used[wanted] - rng.randint(1, 2))
    mean = math.ceil(totals.watts * scenario.finance.average_load_fraction)
    limits: Limits = replace(
        scenario.limits, stock=stock, minimum=minimum, maximum=maximum,
        sustained_power_w=max(1, mean * rng.randint(60, 105) // 100) if often(20) else None,
        racks=max(1, totals.racks + rng.randint(-2, 1)) if often(20) else None,
        rack_power_w=rng.randint(2, 14) * 1000 if often(8) else None,
        deliver_by=rng.choice(("2026-12-20", "2027-02-01", "2027-06-01")) if often(18) else None,
        lead_time_days=rng.choice((None, 20, 100)), rack_height=rng.randint(4, 24) if often(8) else None,
    )  # fmt: skip
    service = scenario.service
    if service is not None and scenario.workload.rates is not None and often(35):
        service = replace(service, rewarm_s=Fraction(rng.choice((20, 60, 300, 1800))))
    return replace(scenario, fleet=rules, limits=limits, service=service)
