"""Parts that nobody can use: no plan will ever hold them, whatever they cost."""

from __future__ import annotations

from collections.abc import Iterator

from planner.catalog_checks import Entry
from planner.hardware import Catalog, Chassis
from planner.lint.base import Flaw, Severity, Stock, rule


@rule
class UnusedPart:
    """A part that fits nothing, or that nothing fits."""

    name = "unused-part"
    severity: Severity = "warning"
    words = "a GPU, CPU, DIMM, drive or NIC that no machine takes, a chassis that lacks parts, items no rule buys"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each part and each topology."""
        catalog = stock.catalog
        named = _named(stock)
        for entry in stock.parts():
            why = _chassis(catalog, entry.record) if entry.record.kind == "chassis" else _why(catalog, entry, named)
            if why:
                yield Flaw(entry, ("id",), f"'{entry.record.id}': {why}", "name it where it belongs, or remove it")
        for entry in stock.entries("topology"):
            if not entry.record.virtual and entry.record.id not in named:
                yield Flaw(entry, ("id",), f"'{entry.record.id}': no chassis is wired so", "name it in a chassis")


def _named(stock: Stock) -> set[str | None]:
    """Return all that the cluster rules, whole systems, cards and chassis name."""
    catalog, cluster = stock.catalog, stock.catalog.cluster
    named: set[str | None] = {cluster.front_nic, cluster.fabric_nic, cluster.front_switch, cluster.fabric_switch}
    named |= {cluster.boot_drive, *(line.item for line in cluster.lines)}
    for system in catalog.systems().values():
        named |= {system.dimms.part, system.boot.part, system.cpu, system.gpu, system.chassis}
        named |= {inside.part for inside in (*system.drives, *system.nics)}
    named |= {part for nic in catalog.nics().values() for part in (nic.cable, nic.optic)}
    return named | {chassis.topology for chassis in catalog.chassis().values()}


def _why(catalog: Catalog, entry: Entry, named: set[str | None]) -> str:
    """Return why nothing uses a part, empty where something does."""
    part = entry.record
    chassis = catalog.chassis().values()
    if part.kind == "gpu":
        return "" if any(part.id in one.gpu_models for one in chassis) else "no chassis takes this GPU"
    if part.kind == "cpu":
        taken = any(part.platform in one.cpu_platforms for one in chassis)
        return "" if taken else f"no chassis takes the platform {part.platform}"
    if part.kind == "dimm":
        taken = any(part.capacity_bytes <= one.max_dimm_bytes for one in chassis)
        return "" if taken else "no chassis takes a module this large"
    if part.kind == "drive" and part.role == "data":
        taken = any(set(part.form_factors) & set(one.drive_form_factors) for one in chassis if one.drive_bays)
        return "" if taken else f"no chassis has a bay for {' or '.join(part.form_factors)}"
    if part.kind in ("drive", "nic", "switch", "item"):
        return "" if part.id in named else "no rule of the cluster, no whole system and no card asks for it"
    return ""


def _chassis(catalog: Catalog, chassis: Chassis) -> str:
    """Return what a chassis lacks to become a machine, empty where nothing."""
    if not any(cpu.platform in chassis.cpu_platforms for cpu in catalog.cpus().values()):
        return f"no CPU of {' or '.join(chassis.cpu_platforms)}"
    if not any(dimm.capacity_bytes <= chassis.max_dimm_bytes for dimm in catalog.dimms().values()):
        return "no DIMM is small enough"
    if not chassis.gpu_models:
        return "takes no GPU"
    forms = set(chassis.drive_form_factors)
    data = [drive for drive in catalog.drives().values() if drive.role == "data"]
    if chassis.drive_bays and not any(forms & set(drive.form_factors) for drive in data):
        return f"no data drive fits its bays ({', '.join(sorted(forms))})"
    if chassis.whole_system and not any(one.chassis == chassis.id for one in catalog.systems().values()):
        return "sold as a whole system only, and no system has it"
    return ""
