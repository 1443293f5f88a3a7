"""Whether the content of a machine fits its chassis: slots, bays, form factors, power supplies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.hardware import Chassis, Cpu, Dimm, Drive, Gpu, Nic, System
from planner.wiring import Topology


def gpu_fault(chassis: Chassis, gpu: Gpu) -> str:
    """Return why a GPU does not plug into a chassis, empty where it does."""
    if gpu.form_factor == chassis.gpu_form_factor:
        return ""
    return f"'{gpu.id}' is {gpu.form_factor}, the chassis takes {chassis.gpu_form_factor}"


def wiring_faults(chassis: Chassis, topology: Topology | None) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong between a chassis and its wiring, as key (may be empty), message and advice."""
    if topology is None:
        if chassis.uplinks is None or chassis.uplink_bytes_per_s is None:
            hint = "name a 'topology', or give 'uplinks' (how many) and 'uplink' (the width of one)"
            yield "", f"nothing says how the inside of '{chassis.id}' is wired", hint
        return
    if chassis.uplinks is not None or chassis.uplink_bytes_per_s is not None:
        yield "topology", "'uplinks' and 'uplink' stand beside 'topology', which says it all", "remove them"
    if topology.virtual:
        hint = "it hides what is shared; name one that was read on the machine itself"
        yield "topology", f"'{topology.id}' is a guest's view, from which nothing may be sized", hint
    if topology.n_sockets != chassis.n_cpus:
        message = f"'{topology.id}' has {topology.n_sockets} sockets, the chassis {chassis.n_cpus} processors"
        yield "topology", message, "correct one of the two"
    wanted = {"gpus": chassis.n_gpus, "drives": chassis.drive_bays, "nics": chassis.nic_slots}
    for kind, count in wanted.items():
        if count and not getattr(topology, kind):
            yield (
                "topology",
                f"'{topology.id}' has no place for the {count} {kind} of the chassis",
                f"add '{kind}' there",
            )


@dataclass(frozen=True)
class Machine:
    """A whole system with the records of its parts; drives and network cards by id."""

    system: System
    chassis: Chassis
    gpu: Gpu
    cpu: Cpu
    dimm: Dimm
    drives: Mapping[str, Drive]
    nics: Mapping[str, Nic]


def system_faults(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield what of a whole system does not fit its chassis, as pairs of key and message."""
    system, chassis, gpu, cpu, dimm = machine.system, machine.chassis, machine.gpu, machine.cpu, machine.dimm
    if gpu.id not in chassis.gpu_models:
        yield "gpu", f"'{gpu.id}' is not among the GPUs of {chassis.id}: {', '.join(chassis.gpu_models)}"
    if cpu.platform not in chassis.cpu_platforms:
        fits = ", ".join(chassis.cpu_platforms)
        yield "cpu", f"'{cpu.id}' is {cpu.platform}; {chassis.id} takes {fits}"
    if dimm.generation != cpu.memory_generation:
        yield "dimms", f"'{dimm.id}' is {dimm.generation}; '{cpu.id}' takes {cpu.memory_generation}"
    if system.dimms.count > chassis.dimm_slots:
        yield "dimms", f"{system.dimms.count} DIMMs do not fit {chassis.dimm_slots} slots of {chassis.id}"
    if dimm.capacity_bytes > chassis.max_dimm_bytes:
        most = chassis.max_dimm_bytes // 2**30
        yield "dimms", f"'{dimm.id}' has {dimm.capacity_bytes // 2**30} GiB; {chassis.id} takes {most} GiB at most"
    if system.boot.count != chassis.boot_drives:
        yield "boot", f"{chassis.id} has {chassis.boot_drives} boot drives, not {system.boot.count}"
    bays = sum(inside.count for inside in system.drives)
    if bays > chassis.drive_bays:
        yield "drives", f"{bays} drives do not fit {chassis.drive_bays} bays of {chassis.id}"
    if len(system.drives) > 1:
        yield "drives", "a whole system has one kind of data drive; boot drives stand under 'boot'"
    for inside in system.drives:
        if not set(machine.drives[inside.part].form_factors) & set(chassis.drive_form_factors):
            fits = ", ".join(chassis.drive_form_factors)
            yield "drives", f"'{inside.part}' fits no bay of {chassis.id} ({fits})"
    cards = sum(inside.count for inside in system.nics)
    if cards > chassis.nic_slots:
        yield "nics", f"{cards} network cards do not fit {chassis.nic_slots} slots of {chassis.id}"
    watts = system_power_w(machine)
    if watts > chassis.power_limit_w:
        yield "chassis", f"{watts} W exceed the {chassis.power_limit_w} W of the power supplies of {chassis.id}"


def system_power_w(machine: Machine) -> int:
    """Return the peak watts of a whole system: every part at its limit."""
    system, chassis = machine.system, machine.chassis
    watts = chassis.base_w + chassis.n_gpus * machine.gpu.power_w + chassis.n_cpus * machine.cpu.power_w
    watts += system.dimms.count * machine.dimm.power_w
    watts += sum(inside.count * machine.drives[inside.part].power_w for inside in (*system.drives, system.boot))
    return watts + sum(inside.count * machine.nics[inside.part].power_w for inside in system.nics)
