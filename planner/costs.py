"""What pieces, groups and cluster lines cost: the objective, the budget and the bill of materials all read it.

All rounding happens per piece, so that totals are exact sums of pieces: percentages and taxes of
a node are rounded up to a cent once, then multiplied by whole numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from planner.build import Build
from planner.errors import PriceMissingError
from planner.hardware import Catalog, ClusterLine, Item, OwnedMachine, Switch
from planner.prices import PriceBook
from planner.scenario import Finance
from planner.units import ceil, ceil_div

CASES = ("low", "typical", "high")
DRIVERS = ("fleet", "nodes", "groups", "racks", "front_ports", "fabric_ports")
HOURS_PER_YEAR = 8760


def book_of(catalog: Catalog, finance: Finance) -> PriceBook:
    """Return the prices that a scenario may plan with; InputError if it names no known book."""
    book = catalog.book(finance.prices)
    return book if finance.estimates == "use" else book.without_estimates()


@dataclass(frozen=True)
class Pricing:
    """Prices and running costs of one scenario.

    Attributes
    ----------
    catalog, book, finance
        Where parts, their prices and the terms come from.
    stock, maximum : mapping of str to int
        The most of a part that can be had, and that is wanted: what is bought up to a tier is within them.
    by_term : bool
        Whether a tier of volume prices is chosen by the cost over the term, else by what is paid at once.
    tiers : mapping of str to int, or None
        The tier of each part that has been chosen, where that is not simply the cheapest; 0 for the ordinary price.
    notes : dict
        What has been worked out from them, for those who ask again.
    """

    catalog: Catalog
    book: PriceBook
    finance: Finance
    stock: Mapping[str, int] = field(default_factory=dict)
    maximum: Mapping[str, int] = field(default_factory=dict)
    by_term: bool = False
    tiers: Mapping[str, int] | None = None
    _pieces: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False, compare=False)
    notes: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def case(self) -> str:
        """The price case that decides."""
        return self.finance.price_case

    def unpriced(self, parts: Iterator[str]) -> list[str]:
        """Return those of `parts` that the book has no price for."""
        return sorted({part for part in parts if self.book.find(part) is None})

    def cents(self, part: str, case: str | None = None) -> int:
        """Return the price of a part.

        Raises
        ------
        PriceMissingError
            If the book has none.
        """
        found = self.book.cents(part, case or self.case)
        if found is None:
            raise PriceMissingError(
                f"price book '{self.book.id}' has no price for '{part}'; "
                f"add one with --prices FILE, or leave the part out"
            )
        return found

    def at_pieces(self, pieces: Mapping[str, int]) -> Pricing:
        """Return the prices that hold where so many pieces of each part are bought."""
        return replace(self, book=self.book.at_pieces(pieces), _pieces={}, notes={}) if pieces else self

    def tax_on(self, cents: int) -> int:
        """Return the tax on one piece, rounded up to a cent; 0 where prices include it."""
        rate = self.finance.tax_fraction
        return ceil_div(cents * rate.numerator, rate.denominator) if self.book.tax == "excluded" else 0

    def bought(self, build: Build) -> tuple[tuple[str, str, int], ...]:
        """Return (category, part id, count) of what is paid for one node."""
        system = build.core.system
        if system is None:
            return build.parts()
        inside = {quantity.part: quantity.count for quantity in system.nics}
        extra = [("nic", part, count - inside.get(part, 0)) for part, count in build.core.nics.items()]
        if build.drive:
            extra.append(("drive", build.drive.id, build.added_drives))
        extra.append(("dimm", build.dimm.id, build.added_dimms))
        category = "owned" if isinstance(system, OwnedMachine) else "system"
        return ((category, system.id, 1), *(row for row in extra if row[2]))

    def node_cents(self, build: Build, case: str | None = None) -> int:
        """Return the parts of one node without tax."""
        return sum(count * self.cents(part, case) for _, part, count in self.bought(build))

    def percent_cents(self, line: ClusterLine, cents: int, case: str) -> int:
        """Return what a percentage line charges on one piece (and year), rounded up to a cent."""
        percents = {"low": line.percent_low, "high": line.percent_high}
        given = percents.get(case)
        percent = line.percent if given is None else given
        assert percent is not None, "only percentage lines are asked"
        return ceil_div(cents * percent.numerator, percent.denominator)

    def percent_of(self, line: ClusterLine, build: Build, case: str) -> tuple[int, int]:
        """Return what a percentage line charges on one node (and year), and the tax on it.

        Each piece is charged for itself, so that what a node costs is the sum over its parts.
        """
        total = tax = 0
        for _, part, count in self.bought(build):
            each = self.percent_cents(line, self.cents(part, case), case)
            total, tax = total + count * each, tax + count * self.tax_on(each)
        return total, tax

    def lots_per_year(self, line: ClusterLine) -> int:
        """Return how often the line is charged."""
        return self.finance.years if line.per_year else 1

    def linear_lines(self) -> Iterator[ClusterLine]:
        """Yield the lines whose quantity is an exact multiple of nodes, groups or ports."""
        for line in self.catalog.cluster.lines:
            if self.is_linear(line):
                yield line

    def is_linear(self, line: ClusterLine) -> bool:
        """Return whether no rounding up is involved."""
        exact = line.per == 1 and not line.minimum and not line.beyond
        return line.percent is not None or (exact and line.driver not in ("fleet", "racks"))

    def is_per_rack(self, line: ClusterLine) -> bool:
        """Return whether the line comes with each rack, so that racks can carry its cost."""
        return line.percent is None and line.driver == "racks" and line.per == 1 and not line.minimum

    def group_cents(self, build: Build) -> int:
        """Return all that one more group costs at once: nodes, linear lines, tax."""
        total = sum(count * self.piece_cents(part) for _, part, count in self.bought(build)) * build.n_nodes
        return total + self.linear_cents(group_drivers(build, self.catalog))

    def piece_cents(self, part: str) -> int:
        """Return all that one more piece of a part of a node costs: price, percentage lines, tax."""
        once, yearly = self.piece_split(part)
        return once + self.finance.years * yearly

    def piece_split(self, part: str) -> tuple[int, int]:
        """Return what one more piece of a part of a node costs at once and per year, tax included."""
        if part not in self._pieces:
            price = self.cents(part)
            once, yearly = price + self.tax_on(price), 0
            for line in self.linear_lines():
                if line.percent is not None:
                    each = self.percent_cents(line, price, self.case)
                    each += self.tax_on(each)
                    once, yearly = (once, yearly + each) if line.per_year else (once + each, yearly)
            self._pieces[part] = once, yearly
        return self._pieces[part]

    def linear_cents(self, drivers: Mapping[str, int]) -> int:
        """Return what the linear cluster lines beside percentages cost for so many of each driver."""
        lines = (line for line in self.linear_lines() if line.percent is None)
        return sum(drivers[line.driver] * line.pieces * self.lot_cents(line) for line in lines)

    @property
    def term_factor(self) -> Fraction:
        """What a cent paid at once costs over the term: years times the annuity of it.

        With rate i and n years n * i / (1 - (1 + i)^-n); 1 where capital costs nothing.
        """
        rate, years = self.finance.discount_rate_fraction, self.finance.years
        return years * rate / (1 - (1 + rate) ** -years) if rate else Fraction(1)

    def group_tco_cents(self, build: Build, cents: int | None = None) -> int:
        """Return all that one more group costs over the term, annuity rounded up once to a cent.

        The power of its linear cluster lines is counted by the piece, apart. `cents` are its `group_cents`
        where they are known.
        """
        yearly = self._group_yearly_cents(build)
        once = (self.group_cents(build) if cents is None else cents) - self.finance.years * yearly
        opex = self.opex_cents(build.power_w, build.n_nodes * build.core.chassis.rack_units)
        return ceil(self.term_factor * once) + self.finance.years * (yearly + opex)

    def _group_yearly_cents(self, build: Build) -> int:
        """Return what the yearly linear lines of one group cost per year."""
        drivers = group_drivers(build, self.catalog)
        total = build.n_nodes * sum(count * self.piece_split(part)[1] for _, part, count in self.bought(build))
        for line in self.linear_lines():
            if line.per_year and line.percent is None:
                total += drivers[line.driver] * line.pieces * self.lot_cents(line) // self.finance.years
        return total

    def lot_cents(self, line: ClusterLine) -> int:
        """Return one piece of a cluster line with tax over the term."""
        each = self.cents(line.item or line.id)
        return self.lots_per_year(line) * (each + self.tax_on(each))

    def opex_cents(self, watts: int, rack_units: int = 0) -> int:
        """Return the running cost of `watts` of peak power in `rack_units` per year, rounded up."""
        money = self.finance
        total = Fraction(0)
        if money.energy_rate:
            kwh = Fraction(watts, 1000) * HOURS_PER_YEAR * money.average_load_fraction * money.pue
            total += kwh * money.energy_rate.cents
        if money.colocation_rate:
            total += Fraction(watts, 1000) * 12 * money.colocation_rate.cents
        if money.colocation_per_ru_rate:
            total += rack_units * 12 * money.colocation_per_ru_rate.cents
        return ceil(total)


def group_drivers(build: Build, catalog: Catalog) -> dict[str, int]:
    """Return what one group adds to each driver; racks and fleet do not add up per group."""
    core = build.core
    front = build.n_nodes * core.front_nics * core.front_nic.ports
    fabric = build.n_nodes * core.fabric_nics * (core.fabric_nic.ports if core.fabric_nic else 0)
    return {"nodes": build.n_nodes, "groups": 1, "front_ports": front, "fabric_ports": fabric}


def line_quantity(line: ClusterLine, driver: int) -> int:
    """Return the pieces of a cluster line for a fleet, exactly as its rule says."""
    return line.pieces * line_lots(line, driver)


def line_lots(line: ClusterLine, driver: int) -> int:
    """Return the lots of `pieces` of a cluster line: none for a driver that needs none yet."""
    return max(ceil_div(line.minimum, line.pieces), ceil_div(driver, line.per)) if driver > line.beyond else 0


def least_racks(nodes_by_class: Mapping[int, int]) -> int:
    """Return the fewest racks for so many nodes of each class.

    A node of class c shares a rack with c - 1 others; it may also stand in a rack of a smaller
    class. Filling classes from the smallest up is optimal: racks of a class are needed for its
    own nodes in any case, and what is left in them serves larger classes.
    """
    racks, left = 0, 0
    for size, nodes in sorted(nodes_by_class.items()):
        rest = max(0, nodes - left)
        left = max(0, left - nodes)
        more = ceil_div(rest, size)
        racks += more
        left += more * size - rest
    return racks


def fleet_drivers(builds: Mapping[Build, int], catalog: Catalog) -> dict[str, int]:
    """Return all drivers of a fleet of so many groups of each build."""
    total = dict.fromkeys(DRIVERS, 0)
    classes: dict[int, int] = {}
    for build, count in builds.items():
        if count:
            for name, each in group_drivers(build, catalog).items():
                total[name] += count * each
            classes[build.racks_per] = classes.get(build.racks_per, 0) + count * build.n_nodes
    total["racks"] = least_racks(classes)
    total["fleet"] = 1 if total["nodes"] else 0
    return total


def item_power_w(catalog: Catalog, part: str) -> int:
    """Return the watts of a cluster item; 0 for parts whose watts belong to a node."""
    entry = catalog.find(part)
    return entry.power_w if isinstance(entry, Item | Switch) else 0


def fleet_power_w(pricing: Pricing, fleet: Mapping[Build, int]) -> int:
    """Return the peak watts of nodes and cluster items."""
    nodes = sum(count * build.power_w for build, count in fleet.items())
    return nodes + sum(watts * pieces for watts, pieces in _cluster_pieces(pricing, fleet))


def fleet_opex_cents(pricing: Pricing, fleet: Mapping[Build, int]) -> int:
    """Return the running cost per year, rounded up per group and per cluster piece."""
    nodes = sum(
        count * pricing.opex_cents(build.power_w, build.n_nodes * build.core.chassis.rack_units)
        for build, count in fleet.items()
    )
    return nodes + sum(pricing.opex_cents(watts) * pieces for watts, pieces in _cluster_pieces(pricing, fleet))


def tco_line_cents(pricing: Pricing, rule: ClusterLine) -> int:
    """Return one piece of a cluster line over the term, annuity rounded up once to a cent."""
    price, years = pricing.lot_cents(rule), pricing.finance.years
    paid = price if rule.per_year else ceil(pricing.term_factor * price)
    return paid + years * pricing.opex_cents(cluster_line_power_w(pricing, rule))


def _cluster_pieces(pricing: Pricing, fleet: Mapping[Build, int]) -> Iterator[tuple[int, int]]:
    drivers = fleet_drivers(fleet, pricing.catalog)
    for rule in pricing.catalog.cluster.lines:
        if rule.percent is None:
            yield cluster_line_power_w(pricing, rule), line_quantity(rule, drivers[rule.driver])


def cluster_line_power_w(pricing: Pricing, rule: ClusterLine) -> int:
    """Return the watts of one piece of a cluster line."""
    return 0 if rule.percent is not None else item_power_w(pricing.catalog, rule.item or rule.id)
