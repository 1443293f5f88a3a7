"""Machines that are there already, as whole systems that cost nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from planner.assembly import Machine, system_faults
from planner.errors import InputError, nearest
from planner.hardware import Catalog, OwnedMachine, Quantity, System
from planner.loading import Shelf
from planner.prices import LeadTime, Price, PriceBook
from planner.scenario import Owned, Scenario
from planner.units import Money


def with_owned(scenario: Scenario, shelf: Shelf) -> Shelf:
    """Return the shelf with the scenario's own machines among its systems, at a price of zero.

    Raises
    ------
    InputError
        For names that the catalogue does not know, values that are missing, and content that does
        not fit its chassis; all at once.
    """
    if not scenario.fleet.owned:
        return shelf
    catalog = shelf.catalog
    made, faults = _checked(scenario, catalog)
    if faults:
        raise InputError("\n".join(f"{scenario.name}: fleet.owned {fault}" for fault in faults))
    books = {name: _with_prices(book, made) for name, book in catalog.books.items()}
    parts = {**catalog.parts, "system": {**catalog.systems(), **made}}
    return replace(shelf, catalog=replace(catalog, parts=parts, books=books))


def owned_faults(scenario: Scenario, shelf: Shelf) -> list[str]:
    """Return what is wrong with the scenario's own machines."""
    return _checked(scenario, shelf.catalog)[1]


def _checked(scenario: Scenario, catalog: Catalog) -> tuple[dict[str, OwnedMachine], list[str]]:
    made: dict[str, OwnedMachine] = {}
    faults: list[str] = []
    for own in scenario.fleet.owned:
        found = list(_faults(own, catalog))
        if own.name in made or catalog.find(own.name) is not None:
            found.append("the name is taken by another machine or part")
        if not found:
            made[own.name] = machine = _machine(own, catalog)
            found += [text for _, text in system_faults(_content(machine, catalog))]
        faults += [f"'{own.name}': {fault}" for fault in found]
    return made, faults


def _faults(own: Owned, catalog: Catalog) -> Iterator[str]:
    """Yield unknown names, and what neither the entry nor its system says."""
    if own.system is not None and own.system not in catalog.systems():
        yield f"unknown system '{own.system}'; {nearest(own.system, catalog.systems())}"
        return
    for kind in ("chassis", "gpu", "cpu", "dimm", "drive"):
        name = getattr(own, kind)
        known = catalog.parts[kind]
        if name is not None and name not in known:
            yield f"unknown {kind} '{name}'; {nearest(name, known)}"
        elif name is None and own.system is None and kind != "drive":
            yield f"give its {kind}, or its system"
    if own.dimms is None and own.system is None:
        yield "give its dimms, or its system"
    if own.drive is None and own.drives and own.system is None:
        yield "give its drive beside 'drives'"
    for name in own.nics or ():
        if name not in catalog.nics():
            yield f"unknown network card '{name}'; {nearest(name, catalog.nics())}"


def _machine(own: Owned, catalog: Catalog) -> OwnedMachine:
    base = catalog.systems()[own.system] if own.system is not None else None

    def given(kind: str) -> Any:
        value = getattr(own, kind)
        return getattr(base, kind) if value is None and base is not None else value

    chassis = catalog.chassis()[given("chassis")]
    boot = base.boot if base is not None else Quantity(part=catalog.cluster.boot_drive, count=chassis.boot_drives)
    nics = base.nics if base is not None and own.nics is None else _quantities(own.nics or {})
    return OwnedMachine(
        id=own.name, name=own.name, vendor="any", chassis=chassis.id, gpu=given("gpu"), cpu=given("cpu"),
        dimms=_dimms(own, base), drives=_drives(own, base), boot=boot, nics=nics, count=own.count, upgrade=own.upgrade,
    )  # fmt: skip


def _dimms(own: Owned, base: System | None) -> Quantity:
    part = own.dimm or (base.dimms.part if base else "")
    return Quantity(part=part, count=own.dimms or (base.dimms.count if base else 0))


def _drives(own: Owned, base: System | None) -> tuple[Quantity, ...]:
    inside = base.drives[0] if base is not None and base.drives else None
    part = own.drive or (inside.part if inside else "")
    count = own.drives if own.drives is not None else (inside.count if inside else 1 if own.drive else 0)
    return (Quantity(part=part, count=count),) if part and count else ()


def _quantities(parts: Mapping[str, int]) -> tuple[Quantity, ...]:
    return tuple(Quantity(part=part, count=count) for part, count in parts.items() if count)


def _content(machine: OwnedMachine, catalog: Catalog) -> Machine:
    return Machine(
        machine, catalog.chassis()[machine.chassis], catalog.gpus()[machine.gpu], catalog.cpus()[machine.cpu],
        catalog.dimms()[machine.dimms.part], catalog.drives(), catalog.nics(),
    )  # fmt: skip


def _with_prices(book: PriceBook, made: Mapping[str, OwnedMachine]) -> PriceBook:
    nothing, here = Money(book.currency, 0), LeadTime(time_days=0, derived="owned")
    prices = tuple(
        Price(
            part=name, low=nothing, typical=nothing, high=nothing, as_of=book.as_of, basis="contract",
            lead_time=here, derived="owned: nothing is paid",
        )
        for name in made
    )  # fmt: skip
    return replace(book, prices=(*book.prices, *prices))
