"""Chassis whose power supplies, the spare ones lost, do not carry what stands inside."""

from __future__ import annotations

from collections.abc import Iterator

from planner.hardware import Catalog, Chassis, Gpu
from planner.lint.base import Flaw, Severity, Stock, rule
from planner.units import format_watts


def least_w(catalog: Catalog, chassis: Chassis, gpu: Gpu) -> int | None:
    """Return the watts of the smallest machine: one module on each channel, no data drive; None without parts."""
    cpus = [
        chassis.n_cpus * (cpu.power_w + cpu.memory_channels * dimm.power_w)
        for cpu in catalog.cpus().values()
        if cpu.platform in chassis.cpu_platforms
        for dimm in catalog.dimms().values()
        if dimm.capacity_bytes <= chassis.max_dimm_bytes and dimm.generation == cpu.memory_generation
    ]
    return _fixed_w(catalog, chassis, gpu) + min(cpus) if cpus else None


def most_w(catalog: Catalog, chassis: Chassis, gpu: Gpu) -> int | None:
    """Return the watts of the largest machine: all sockets, slots and bays full; None without parts."""
    fitting = [cpu for cpu in catalog.cpus().values() if cpu.platform in chassis.cpu_platforms]
    cpus, generations = [cpu.power_w for cpu in fitting], {cpu.memory_generation for cpu in fitting}
    dimms = [
        dimm.power_w
        for dimm in catalog.dimms().values()
        if dimm.capacity_bytes <= chassis.max_dimm_bytes and dimm.generation in generations
    ]
    forms = set(chassis.drive_form_factors)
    drives = [drive.power_w for drive in catalog.drives().values() if forms & set(drive.form_factors)]
    if not cpus or not dimms:
        return None
    fabric = (chassis.nic_slots - catalog.cluster.front_nics) * catalog.nics()[catalog.cluster.fabric_nic].power_w
    inside = chassis.n_cpus * max(cpus) + chassis.dimm_slots * max(dimms) + max(fabric, 0)
    return _fixed_w(catalog, chassis, gpu) + inside + chassis.drive_bays * max(drives, default=0)


def _fixed_w(catalog: Catalog, chassis: Chassis, gpu: Gpu) -> int:
    """Return the watts of what every machine of a chassis has."""
    cluster = catalog.cluster
    watts = (
        chassis.base_w + chassis.n_gpus * gpu.power_w + cluster.front_nics * catalog.nics()[cluster.front_nic].power_w
    )
    return watts + chassis.boot_drives * catalog.drives()[cluster.boot_drive].power_w


@rule
class PowerSupplies:
    """A chassis that cannot power its GPUs with the least beside them."""

    name = "power-supplies"
    severity: Severity = "error"
    words = "supplies, less the spare ones, below the sum of GPUs, fans and the least of everything else"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each chassis with each of its GPUs."""
        for entry in stock.entries("chassis"):
            chassis = entry.record
            for i, name in enumerate(chassis.gpu_models):
                watts = least_w(stock.catalog, chassis, stock.catalog.gpus()[name])
                if watts is not None and watts > chassis.power_limit_w:
                    message = f"with '{name}' it takes {format_watts(watts)} at the least; {supplies(chassis)}"
                    hint = "check psus, psu and spare_psus, and whether the GPUs run at a lower limit"
                    yield Flaw(entry, ("gpu_models", i), message, hint)


def supplies(chassis: Chassis) -> str:
    """Return what the power supplies of a chassis deliver, in words."""
    left = chassis.psus - chassis.spare_psus
    return (
        f"{left} of {chassis.psus} supplies of {format_watts(chassis.psu_w)} give {format_watts(chassis.power_limit_w)}"
    )
