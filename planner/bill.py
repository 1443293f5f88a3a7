"""The bill of materials of a fleet, and what the fleet costs: every line once, at the price of its volume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from planner.build import Build
from planner.costs import (
    CASES,
    Pricing,
    cluster_line_power_w,
    fleet_drivers,
    item_power_w,
    line_quantity,
    tco_line_cents,
)
from planner.evidence import Evidence
from planner.hardware import ClusterLine, Item
from planner.prices import Price
from planner.volume import Choice, best_tiers, spare_use

Scope = Literal["node", "cluster", "service"]


@dataclass(frozen=True)
class CostLine:
    """One line of a bill of materials.

    Attributes
    ----------
    item, part : str
        The line's id, and the part that is bought: the same for machines.
    scope : {'node', 'cluster', 'service'}
        Part of a machine, part of the fleet, or work.
    qty_per_node : int or None
        None for lines that are not counted per node.
    qty : int
        Pieces in total.
    unit_cents : mapping of str to int
        Price of a piece without tax by price case.
    tax_cents : mapping of str to int
        Tax of a piece by price case; 0 where prices include it.
    build : str
        Name of the build that a node line belongs to; empty for cluster lines.
    price : Price or None
        The entry of the price book behind the line; None for lines that are a share of other prices.
    part_numbers : tuple of str
        The maker's numbers of the part.
    """

    item: str
    part: str
    category: str
    description: str
    scope: Scope
    qty_per_node: int | None
    qty: int
    unit_cents: Mapping[str, int]
    tax_cents: Mapping[str, int]
    evidence: Evidence
    as_of: str
    basis: str
    power_w: int = 0
    build: str = ""
    rule: str = ""
    price: Price | None = None
    part_numbers: tuple[str, ...] = ()


def bill(pricing: Pricing, fleet: Mapping[Build, int]) -> tuple[CostLine, ...]:
    """Return every line of the bill of materials of a fleet, each part at the price of its volume."""
    tiers = best_tiers(pricing, fleet)
    pricing = _at(pricing, tiers)
    lines = [line for build, count in fleet.items() if count for line in _node_lines(pricing, build, count)]
    drivers = fleet_drivers(fleet, pricing.catalog)
    for rule in pricing.catalog.cluster.lines:
        if rule.percent is not None:
            lines += [_percent_line(pricing, rule, build, count) for build, count in fleet.items() if count]
        elif line_quantity(rule, drivers[rule.driver]):
            lines.append(_cluster_line(pricing, rule, drivers[rule.driver]))
    told = (_with_tier(line, tiers.get(line.part)) for line in lines)
    spare = {part: choice.spare for part, choice in tiers.items() if choice.spare}
    return (*told, *(line for part, count in spare.items() for line in _spare_lines(pricing, part, count)))


def at_volume(pricing: Pricing, fleet: Mapping[Build, int]) -> Pricing:
    """Return the prices at which a fleet is bought."""
    return _at(pricing, best_tiers(pricing, fleet))


def _at(pricing: Pricing, tiers: Mapping[str, Choice]) -> Pricing:
    return pricing.at_pieces({part: choice.from_pieces for part, choice in tiers.items() if choice.tier})


def _with_tier(line: CostLine, choice: Choice | None) -> CostLine:
    """Return a line that says where its price begins."""
    if choice is None or not choice.tier:
        return line
    words = f"price from {choice.from_pieces} pieces on"
    return replace(line, rule=f"{line.rule}; {words}" if line.rule else words)


def _spare_lines(pricing: Pricing, part: str, count: int) -> Iterator[CostLine]:
    """Yield what is bought of a part beyond what the fleet uses, with the lines that are a share of its price."""
    rule, like = f"{count} more than the fleet uses: from so many on all cost less", spare_use(pricing, part)
    years = 1 if like is None else pricing.lots_per_year(like)
    yield _priced(pricing, f"spare {part}", "spare", part, "node", None, count, years=years, rule=rule)
    if like is not None:
        return
    for line in pricing.linear_lines():
        if line.percent is not None:
            charged = {case: pricing.percent_cents(line, pricing.cents(part, case), case) for case in CASES}
            whole = {case: (each, pricing.tax_on(each)) for case, each in charged.items()}
            yield _share_line(pricing, line, whole, count, f"of spare {part}", "")


def _node_lines(pricing: Pricing, build: Build, count: int) -> Iterator[CostLine]:
    for category, part, per_node in pricing.bought(build):
        yield _priced(pricing, part, category, part, "node", per_node, per_node * build.n_nodes * count, build.name)


def _priced(
    pricing: Pricing, item: str, category: str, part: str, scope: Scope, per_node: int | None, qty: int,
    build: str = "", years: int = 1, rule: str = "",
) -> CostLine:  # fmt: skip
    price = pricing.book.find(part)
    units = {case: years * pricing.cents(part, case) for case in CASES}
    assert price is not None
    entry = pricing.catalog.find(part)
    return CostLine(
        item=item,
        part=part,
        category=category,
        description=entry.name if entry else item,
        scope=scope,
        qty_per_node=per_node,
        qty=qty,
        unit_cents=units,
        tax_cents={case: years * pricing.tax_on(pricing.cents(part, case)) for case in CASES},
        evidence=price.evidence,
        as_of=price.as_of,
        basis=price.basis,
        power_w=item_power_w(pricing.catalog, part),
        build=build,
        rule=rule,
        price=price,
        part_numbers=entry.part_numbers if entry else (),
    )


def _cluster_line(pricing: Pricing, rule: ClusterLine, driver: int) -> CostLine:
    part = rule.item or rule.id
    entry = pricing.catalog.find(part)
    category = entry.category if isinstance(entry, Item) else entry.__class__.__name__.lower()
    scope: Scope = "service" if category == "service" else "cluster"
    text = f"{rule.pieces} per {rule.per} {rule.driver}" + (f", at least {rule.minimum}" if rule.minimum else "")
    text += f", beyond {rule.beyond} {rule.driver}" if rule.beyond else ""
    qty = line_quantity(rule, driver)
    return _priced(pricing, rule.id, category, part, scope, None, qty, "", pricing.lots_per_year(rule), text)


def _percent_line(pricing: Pricing, rule: ClusterLine, build: Build, count: int) -> CostLine:
    charged = {case: pricing.percent_of(rule, build, case) for case in CASES}
    return _share_line(pricing, rule, charged, build.n_nodes * count, "of a node's price", build.name)


def _share_line(
    pricing: Pricing, rule: ClusterLine, charged: Mapping[str, tuple[int, int]], qty: int, of: str, build: str
) -> CostLine:
    """Return a line that is a share of other prices; `charged` has its cents and the tax on them by case."""
    years = pricing.lots_per_year(rule)
    units = {case: years * cents for case, (cents, _) in charged.items()}
    tax = {case: years * cents for case, (_, cents) in charged.items()}
    kind = "assumed" if rule.assumed else "sourced"
    text = f"{float((rule.percent or 0) * 100):g} % {of}"
    text += f", {years} years" if rule.per_year else ""
    return CostLine(
        rule.id, rule.id, "service", rule.name, "service", None, qty, units, tax,
        Evidence(kind, rule.sources, rule.assumed), pricing.book.as_of, "indicative",  # type: ignore[arg-type]
        build=build, rule=text,
    )  # fmt: skip


def capex_cents(lines: tuple[CostLine, ...], case: str) -> int:
    """Return the sum of all lines with tax."""
    return sum(line.qty * (line.unit_cents[case] + line.tax_cents[case]) for line in lines)


def fleet_tco_cents(pricing: Pricing, fleet: Mapping[Build, int]) -> int:
    """Return what a fleet costs over the term: groups, then the pieces of cluster lines."""
    total = sum(count * pricing.group_tco_cents(build) for build, count in fleet.items())
    drivers, years = fleet_drivers(fleet, pricing.catalog), pricing.finance.years
    for rule in pricing.catalog.cluster.lines:
        if rule.percent is not None:
            continue
        pieces = line_quantity(rule, drivers[rule.driver])
        if pricing.is_linear(rule):
            total += pieces * years * pricing.opex_cents(cluster_line_power_w(pricing, rule))
        else:
            total += pieces * tco_line_cents(pricing, rule)
    return total + sum(choice.cents for choice in best_tiers(pricing, fleet, tco=True).values())
