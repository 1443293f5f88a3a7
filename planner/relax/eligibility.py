"""The buyer's filters on makers, places and days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.build import Build
from planner.eligibility import ANY_VENDOR, catalog_vendors
from planner.loading import Shelf
from planner.relax.base import Filter, Switch, bought, rule, with_fleet, with_limits
from planner.scenario import Scenario


def _makers(builds: Sequence[Build]) -> set[str]:
    """Return the makers of what is bought."""
    entries = [part for b in bought(builds) for part in (b.core.gpu, b.core.chassis, b.core.system) if part is not None]
    return {entry.vendor for entry in entries} - {ANY_VENDOR}


@rule
class Vendors(Filter):
    """fleet.vendors."""

    path = "fleet.vendors"
    label = "vendor"
    covers = ("fleet.vendors",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return makers."""
        return scenario.fleet.vendors

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return all other makers."""
        return tuple(name for name in catalog_vendors(shelf.catalog) if name not in scenario.fleet.vendors)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these makers."""
        return with_fleet(scenario, vendors=values)

    def sides(self, scenario: Scenario, shelf: Shelf) -> tuple[tuple[Any, ...], ...]:
        """Return all makers at once: one machine has several."""
        return ((*self.own(scenario), *self.others(scenario, shelf)),)

    def value(self, build: Build) -> Any:
        """Return the maker of the chassis; `outside` knows all."""
        return build.core.chassis.vendor

    def outside(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return the makers that the scenario does not allow."""
        return tuple(sorted(_makers(builds) - set(self.own(scenario))))


@rule
class WithoutVendors(Filter):
    """fleet.without_vendors, whose values keep out instead of letting in."""

    path = "fleet.without_vendors"
    label = "vendor"
    covers = ("fleet.without_vendors",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return the makers that are kept out."""
        return scenario.fleet.without_vendors

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return nothing: no maker kept out more would let anything in."""
        return ()

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether any maker of the catalogue is kept out."""
        return bool(set(self.own(scenario)) & set(catalog_vendors(shelf.catalog)))

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these makers kept out."""
        return with_fleet(scenario, without_vendors=values)

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with no maker kept out."""
        return self.limited_to(scenario, ())

    def sides(self, scenario: Scenario, shelf: Shelf) -> tuple[tuple[Any, ...], ...]:
        """Return no maker kept out: that lets in all builds at once."""
        return ((),)

    def value(self, build: Build) -> Any:
        """Return the maker of the chassis; `outside` knows all."""
        return build.core.chassis.vendor

    def outside(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return the makers of `builds` that the scenario keeps out."""
        return tuple(sorted(_makers(builds) & set(self.own(scenario))))

    def opened(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return the makers that are still kept out."""
        return tuple(name for name in self.own(scenario) if name not in self.outside(scenario, builds))


@rule
class Cooling(Filter):
    """fleet.cooling."""

    path = "fleet.cooling"
    label = "cooling by"
    covers = ("fleet.cooling",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return what the site has."""
        return scenario.fleet.cooling

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return what else machines of the catalogue need."""
        needed = {chassis.cooling for chassis in shelf.catalog.chassis().values()}
        return tuple(sorted(needed - set(self.own(scenario))))

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these."""
        return with_fleet(scenario, cooling=values)

    def value(self, build: Build) -> Any:
        """Return how the chassis is cooled."""
        return build.core.chassis.cooling


@rule
class Region(Switch):
    """fleet.region."""

    path = "fleet.region"
    label = "region"
    covers = ("fleet.region",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return the region."""
        return () if scenario.fleet.region is None else (scenario.fleet.region,)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with the last of these."""
        return with_fleet(scenario, region=values[-1])


@rule
class DeliverBy(Switch):
    """limits.deliver_by, with what is counted where a price says no time."""

    path = "limits.deliver_by"
    label = "day of delivery"
    covers = ("limits.deliver_by", "limits.lead_time")

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return the day."""
        return () if scenario.limits.deliver_by is None else (scenario.limits.deliver_by,)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with the last of these."""
        return with_limits(scenario, deliver_by=values[-1])
