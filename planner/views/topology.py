"""The inside of a machine: what each movement reaches, what limits it, and where the widths come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from planner.drawing import Scene, scene
from planner.errors import InputError, UsageError, nearest
from planner.evidence import Evidence
from planner.hardware import Catalog, Chassis, Cpu, Part, System
from planner.render.report import Report, Table, Text
from planner.topology import MOVEMENTS, Inside, Movement, Parts, memory_bytes_per_s, movement_cut, topology_of
from planner.topology.cut import Cut, counted
from planner.units import format_rate
from planner.wiring import Topology

P = TypeVar("P", bound=Part)
DRAWN = "dram-gpus"
"""The movement whose cut is drawn if none is named."""


@dataclass(frozen=True)
class Choice:
    """Parts to look at in a machine; what is not given is what the machine has or takes."""

    gpu: str | None = None
    cpu: str | None = None
    dimms: int | None = None
    drive: str | None = None
    drives: int | None = None
    nic: str | None = None
    nics: int | None = None


@dataclass(frozen=True)
class Looked:
    """A machine as it is looked at: its name, its inside, and what that holds in words."""

    name: str
    inside: Inside
    words: tuple[str, ...]


def look(catalog: Catalog, name: str, choice: Choice) -> Looked:
    """Return the machine of a chassis, a whole system or a topology, with the chosen parts.

    Raises
    ------
    InputError
        If there is no such machine or part.
    UsageError
        If the parts do not go with it.
    """
    system = catalog.systems().get(name)
    chassis = catalog.chassis().get(system.chassis if system else name)
    if chassis is not None:
        return _of_chassis(catalog, system.name if system else chassis.name, chassis, _filled(choice, system))
    if name in catalog.topologies:
        return _of_topology(catalog, catalog.topologies[name], choice)
    every = {**catalog.chassis(), **catalog.systems(), **catalog.topologies}
    raise InputError(f"unknown chassis, system or topology '{name}'; {nearest(name, every)}")


def _filled(choice: Choice, system: System | None) -> Choice:
    """Return the choice, with what a whole system holds where nothing else is chosen."""
    if system is None:
        return choice
    drive = system.drives[0] if system.drives else None
    # Cards of one kind are looked at together: those of which there are most.
    nic = max(system.nics, key=lambda inside: inside.count, default=None)
    return Choice(
        choice.gpu or system.gpu, choice.cpu or system.cpu, choice.dimms or system.dimms.count,
        choice.drive or (drive.part if drive else None),
        (drive.count if drive else 0) if choice.drives is None else choice.drives,
        choice.nic or (nic.part if nic else None), (nic.count if nic else 0) if choice.nics is None else choice.nics,
    )  # fmt: skip


def _of_chassis(catalog: Catalog, name: str, chassis: Chassis, choice: Choice) -> Looked:
    gpu = _part("GPU", catalog.gpus(), choice.gpu or chassis.gpu_models[0])
    if gpu.id not in chassis.gpu_models:
        raise UsageError(f"--gpu {gpu.id}: {chassis.id} takes {', '.join(chassis.gpu_models)}")
    fits = [cpu for cpu in catalog.cpus().values() if cpu.platform in chassis.cpu_platforms]
    cpu = _part("processor", catalog.cpus(), choice.cpu) if choice.cpu else fits[0]
    if cpu not in fits:
        raise UsageError(f"--cpu {cpu.id}: {chassis.id} takes {', '.join(cpu.id for cpu in fits)}")
    dimms = _at_most("--dimms", choice.dimms, _most_dimms(chassis, cpu), chassis.id)
    modules = [dimm for dimm in catalog.dimms().values() if dimm.generation == cpu.memory_generation]
    if not modules:
        raise UsageError(f"{chassis.id}: the catalogue has no {cpu.memory_generation} module for {cpu.id}")
    dimm = max(modules, key=lambda dimm: dimm.speed)
    drives = _at_most("--drives", choice.drives, chassis.drive_bays, chassis.id)
    nics = _at_most("--nics", choice.nics, chassis.nic_slots, chassis.id)
    own = gpu.host_link_bytes_per_s
    inside = Inside(
        topology_of(chassis), Parts(chassis.n_gpus, own, own), *_drives_and_cards(catalog, choice, drives, nics),
        memory_bytes_per_s(cpu, dimm, dimms, chassis.n_cpus),
    )  # fmt: skip
    words = (f"{chassis.n_gpus} x {gpu.id}", f"{chassis.n_cpus} x {cpu.id} with {dimms} DIMMs")
    return Looked(name, inside, (*words, *_words(choice, drives, nics)))


def _of_topology(catalog: Catalog, topology: Topology, choice: Choice) -> Looked:
    for word in ("gpu", "cpu", "dimms"):
        if getattr(choice, word) is not None:
            raise UsageError(f"--{word}: '{topology.id}' is a topology; name a chassis or a system for it")
    n = {kind: sum(len(places.each) for places in getattr(topology, kind)) for kind in ("gpus", "drives", "nics")}
    drives = n["drives"] if choice.drives is None else choice.drives
    nics = n["nics"] if choice.nics is None else choice.nics
    inside = Inside(topology, Parts(n["gpus"]), *_drives_and_cards(catalog, choice, drives, nics))
    gpus = (f"{counted(n['gpus'], 'gpus')} as fast as their links",) if n["gpus"] else ()
    words = (*gpus, "memory that does not limit")
    return Looked(topology.name, inside, (*words, *_words(choice, drives, nics)))


def _part(kind: str, known: Mapping[str, P], name: str) -> P:
    if name not in known:
        raise InputError(f"unknown {kind} '{name}'; {nearest(name, known)}")
    return known[name]


def _at_most(option: str, wanted: int | None, most: int, chassis: str) -> int:
    if wanted is not None and wanted > most:
        raise UsageError(f"{option} {wanted}: {chassis} takes {most} at most")
    return most if wanted is None else wanted


def _most_dimms(chassis: Chassis, cpu: Cpu) -> int:
    return min(chassis.dimm_slots, chassis.n_cpus * cpu.memory_channels * (2 if cpu.speed_2dpc else 1))


def _drives_and_cards(catalog: Catalog, choice: Choice, drives: int, nics: int) -> tuple[Parts, Parts]:
    of_drives, of_nics = Parts(drives), Parts(nics)
    if choice.drive:
        drive = _part("drive", catalog.drives(), choice.drive)
        of_drives = Parts(drives, drive.read_bytes_per_s, drive.write_bytes_per_s)
    if choice.nic:
        nic = _part("network card", catalog.nics(), choice.nic)
        of_nics = Parts(nics, nic.ports * nic.port_bytes_per_s, nic.ports * nic.port_bytes_per_s)
    return of_drives, of_nics


def _words(choice: Choice, drives: int, nics: int) -> Iterator[str]:
    yield f"{drives} x {choice.drive}" if choice.drive else f"{counted(drives, 'drives')} as fast as their links"
    yield f"{nics} x {choice.nic}" if choice.nic else f"{counted(nics, 'nics')} as fast as their links"


def named_movement(name: str | None) -> Movement | None:
    """Return the movement `name`, None where none is named.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name is not None and name not in MOVEMENTS:
        raise UsageError(f"--movement {name}: unknown; {nearest(name, MOVEMENTS)}")
    return MOVEMENTS[name] if name else None


def topology_report(looked: Looked, movement: Movement | None = None) -> Report:
    """Return the report of ``planner catalog topology``: one movement, or all that have parts here."""
    some = [movement] if movement else list(_possible(looked.inside))
    rows = [(one, movement_cut(looked.inside, one, 1), movement_cut(looked.inside, one)) for one in some]
    columns = ("movement", "of bytes", "one alone", "all at once", "limited by")
    flows = Table(
        columns,
        [(one.name, one.label, _shown(alone), _shown(every), every.text) for one, alone, every in rows],
        looked.name, columns[2:4], [_data(*row) for row in rows],
    )  # fmt: skip
    topology = looked.inside.topology
    links = list(_links(topology))
    widths = Table(("link", "each", "where it comes from"), [(a, format_rate(b), c) for a, b, c in links], "Links")
    text = Text([
        ", ".join(looked.words) + ". All rates are nominal, raw and in one direction.",
        "One alone is one GPU where GPUs take part, else one drive or card.",
        *([topology.note] if topology.note else []),
        *(["A guest's view, which hides what is shared: size nothing from it."] if topology.virtual else []),
    ])  # fmt: skip
    data = {
        "name": looked.name, "topology": topology.id, "virtual": topology.virtual,
        "parts": list(looked.words), "memory_bytes_per_s_per_socket": looked.inside.memory_bytes_per_s,
        "movements": list(flows.plain), "links": [{"link": a, "bytes_per_s": b, "evidence": c} for a, b, c in links],
    }  # fmt: skip
    return Report(data, [flows, text, widths], flows)


def _possible(inside: Inside) -> Iterator[Movement]:
    here = {kind for kind in ("gpus", "drives", "nics") if getattr(inside, kind).n} | {"dram"}
    for one in MOVEMENTS.values():
        # Without memory's own rate, what crosses it both ways is no other than one way.
        if {one.source, one.sink} <= here and not (one.name == "both" and inside.memory_bytes_per_s is None):
            yield one


def _shown(cut: Cut) -> str:
    return format_rate(cut.bytes_per_s)


def _data(movement: Movement, alone: Cut, every: Cut) -> dict[str, Any]:
    return {
        "movement": movement.name, "alone_bytes_per_s": alone.bytes_per_s, "bytes_per_s": every.bytes_per_s,
        "limited_by": every.text, "alone_limited_by": alone.text,
    }  # fmt: skip


def _links(topology: Topology) -> Iterator[tuple[str, int, str]]:
    if topology.socket_link_bytes_per_s is not None:
        yield "socket to socket", topology.socket_link_bytes_per_s, _from(topology, ("socket_link",))
    for i, switch in enumerate(topology.switches):
        ends = f"{_list(switch.name)} at {_list(switch.at)}"
        yield ends, switch.link_bytes_per_s, _from(topology, (f"switches.{i}.link", f"switches.{i}.at"))
    for kind in ("gpus", "drives", "nics"):
        for i, places in enumerate(getattr(topology, kind)):
            ends = f"{counted(len(places.each), kind)} at {_list(places.at)}"
            keys = (f"{kind}.{i}.link", f"{kind}.{i}.count", f"{kind}.{i}.at")
            yield ends, places.link_bytes_per_s, _from(topology, keys)


def _from(topology: Topology, paths: Iterable[str]) -> str:
    found = [topology.evidence[path] for path in paths if path in topology.evidence]
    found = found or [Evidence("sourced", topology.source)]
    return "; ".join(dict.fromkeys(map(str, found)))


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names) if len(names) < 3 else f"{names[0]} to {names[-1]}"


def topology_scene(looked: Looked, movement: Movement | None = None) -> Scene:
    """Return the drawing of ``planner catalog topology`` with the cut of one movement."""
    one = movement or (MOVEMENTS[DRAWN] if looked.inside.gpus.n else MOVEMENTS["drives-dram"])
    every, alone = movement_cut(looked.inside, one), movement_cut(looked.inside, one, 1)
    captions = (
        f"all at once {_shown(every)}: {every.text} (red)",
        f"one alone {_shown(alone)}: {alone.text}",
        ", ".join(looked.words),
    )
    return scene(f"{looked.name}: {one.label}", looked.inside, every, captions)
