"""All fleets of a tiny instance that could matter, for questions about more than one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

from planner.prices import LeadTime
from planner.scenario import Scenario
from planner.units import MoneyRate
from tests.oracle.brute_force import Oracle, TooLargeError, Totals
from tests.oracle.instances import Instance
from tests.oracle.legal import Own
from tests.oracle.sizing import sized_instance

Found = tuple[tuple[Own, ...], Totals]
NEVER = 10**6
MOST_STEPS, MOST_GROUPS = 1_500, 9


def with_money(seed: int) -> Instance:
    """Return an instance whose capital costs something, whose rack units are rented, whose parts come when they can."""
    drawn = with_lead_times(sized_instance(seed), seed)
    money = replace(
        drawn.scenario.finance, discount_rate_fraction=Fraction(seed % 13, 100),
        colocation_per_ru_rate=MoneyRate("USD", Fraction(100 * (seed % 5)), "RU/month") if seed % 5 else None,
    )  # fmt: skip
    return replace(drawn, scenario=replace(drawn.scenario, finance=money))


def with_lead_times(drawn: Instance, seed: int) -> Instance:
    """Return the instance with a lead time at some prices, and in half of them one for all others."""
    rng = Random(f"lead times {seed}")
    leads = (None, *(LeadTime(time_days=days, assumed="test") for days in (10, 10, 50, 50, 120, 200)))
    catalog = drawn.shelf.catalog
    book = catalog.books["book"]
    book = replace(book, prices=tuple(replace(price, lead_time=rng.choice(leads)) for price in book.prices))
    limits = replace(drawn.scenario.limits, lead_time_days=rng.choice((None, None, 20, 100)))
    shelf = replace(drawn.shelf, catalog=replace(catalog, books={**catalog.books, "book": book}))
    return replace(drawn, shelf=shelf, scenario=replace(drawn.scenario, limits=limits))


def lead_time(oracle: Oracle, fleet: tuple[Own, ...]) -> int:
    """Return the days until the last part is there; `NEVER` where nobody knows."""
    counted = oracle.scenario.limits.lead_time_days
    said = [oracle.prices[part].lead_time for build in fleet for part, count in build.bought if count]
    days = [counted if each is None else each.time_days for each in said]
    return max(NEVER if each is None else each for each in days)


def asking(instance: Instance, *objectives: str) -> Scenario:
    return replace(instance.scenario, objective=objectives if len(objectives) > 1 else objectives[0])


def pools_of(oracle: Oracle) -> Iterator[list[Own]]:
    builds = oracle.builds()
    for pool in sorted({(b.kv, b.tp) for b in builds}) if oracle.pooled else [None]:
        yield [b for b in builds if pool is None or (b.kv, b.tp) == pool]


def minimal_fleets(oracle: Oracle) -> list[Found]:
    """Return every legal fleet that no longer holds the load without some group of it.

    Adding a group never lowers money, nodes, watts or the number of distinct parts, so that these
    hold an optimum of each of them, under any cap on them.
    """
    found: list[Found] = []
    for offered in pools_of(oracle):
        if offered and oracle.can_hold(offered):
            _grow(oracle, offered, (), 0, found, [0], None)
    return found


def fleets_within(oracle: Oracle, cap: int) -> list[Found]:
    """Return every legal fleet that holds the load and whose capex is at most `cap`, minimal or not."""
    found: list[Found] = []
    for offered in pools_of(oracle):
        if offered and oracle.can_hold(offered):
            _grow(oracle, offered, (), 0, found, [0], cap)
    return found


def _grow(
    oracle: Oracle, builds: list[Own], fleet: tuple[Own, ...], start: int, found: list[Found], steps: list[int],
    cap: int | None,
) -> None:  # fmt: skip
    steps[0] += 1
    if steps[0] > MOST_STEPS or len(fleet) > MOST_GROUPS:
        raise TooLargeError
    holds = oracle.holds(fleet)
    if holds:
        totals = oracle.totals(fleet)
        if oracle.allowed(fleet, totals) and (cap is None or totals.capex <= cap):
            found.append((fleet, totals))
        if cap is None:
            return
    for i in range(start, len(builds)):
        larger = (*fleet, builds[i])
        nodes = sum(b.nodes * oracle.least_node_cents(b) for b in larger)
        least = Totals(nodes, 0, sum(b.watts for b in larger), sum(b.nodes for b in larger), 0, {})
        if oracle.allowed(larger, least) and (cap is None or nodes <= cap):
            _grow(oracle, builds, larger, i, found, steps, cap)


def node_split(oracle: Oracle, build: Own) -> tuple[int, int]:
    """Return what one node costs at once and per year, tax included."""
    once = sum(count * oracle.with_tax(oracle.price(part)) for part, count in build.bought)
    yearly = 0
    for line in oracle.catalog.cluster.lines:
        if line.percent is not None:
            special = {"low": line.percent_low, "high": line.percent_high}.get(oracle.case)
            percent = line.percent if special is None else special
            each = sum(count * oracle.with_tax(math.ceil(oracle.price(part) * percent)) for part, count in build.bought)
            once, yearly = (once, yearly + each) if line.per_year else (once + each, yearly)
    return once, yearly


def tco(oracle: Oracle, fleet: tuple[Own, ...], totals: Totals) -> int:
    """Return the cost over the term: annuities rounded up per group and per cluster piece."""
    money = oracle.scenario.finance
    rate, years = money.discount_rate_fraction, money.years
    growth = (1 + rate) ** years
    factor = years * rate * growth / (growth - 1) if rate else Fraction(1)
    driven = {
        "nodes": lambda b: b.nodes, "groups": lambda b: 1, "front_ports": lambda b: b.front_ports,
        "fabric_ports": lambda b: b.fabric_ports,
    }  # fmt: skip
    rent = money.colocation_per_ru_rate.cents if money.colocation_per_ru_rate else 0
    total = years * totals.opex + years * 12 * int(rent) * sum(b.rack_units for b in fleet)
    by_group = [[b.nodes * part for part in node_split(oracle, b)] for b in fleet]
    for line in oracle.catalog.cluster.lines:
        if line.percent is not None:
            continue
        each = oracle.with_tax(oracle.price(line.item))
        linear = line.per == 1 and not line.minimum and not line.beyond and line.driver in driven
        if linear:
            for group, build in zip(by_group, fleet, strict=True):
                group[line.per_year] += driven[line.driver](build) * line.pieces * each
            continue
        pieces = _pieces(line, fleet, totals, driven)
        total += pieces * (years * each if line.per_year else math.ceil(factor * each))
    return total + sum(math.ceil(factor * once) + years * yearly for once, yearly in by_group)


def _pieces(line, fleet, totals, driven) -> int:  # type: ignore[no-untyped-def]
    driver = {"fleet": 1, "racks": totals.racks}.get(line.driver)
    if driver is None:
        driver = sum(driven[line.driver](b) for b in fleet)
    lots = max(math.ceil(Fraction(driver, line.per)), math.ceil(Fraction(line.minimum, line.pieces)))
    lots = lots if driver > line.beyond else 0
    return lots * line.pieces


def values(oracle: Oracle, found: Found, kinds: tuple[str, ...]) -> tuple[int, ...]:
    fleet, totals = found
    known = {
        "capex": lambda: totals.capex, "nodes": lambda: totals.nodes, "power": lambda: totals.watts,
        "tco": lambda: tco(oracle, fleet, totals), "parts": lambda: len(part_ids(fleet)),
        "lead_time": lambda: lead_time(oracle, fleet),
    }  # fmt: skip
    return tuple(known[kind]() for kind in kinds)


def part_ids(fleet: tuple[Own, ...]) -> set[str]:
    return {name for build in fleet for name, count in build.parts if count} - {"system"}


def survivors(oracle: Oracle, fleet: tuple[Own, ...]) -> int:
    return sum(sorted((b.reach for b in fleet), reverse=True)[oracle.scenario.fleet.spare_groups :])
