"""What is drawn of a machine: boxes in rows, wires between them, the full ones marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.topology import Cut, Inside
from planner.topology.contents import LEAF_KINDS, Group, groups, path
from planner.topology.cut import counted


@dataclass(frozen=True)
class Box:
    """One thing of the machine.

    Attributes
    ----------
    name : str
        As wires name it.
    kind : str
        ``memory``, ``cpu``, ``switch``, ``gpus``, ``drives`` or ``nics``.
    lines : tuple of str
        What stands in it.
    row : int
        From the memory (0) outwards.
    """

    name: str
    kind: str
    lines: tuple[str, ...]
    row: int


@dataclass(frozen=True)
class Wire:
    """One link, or equal ones side by side; `full` where it is part of the cut."""

    over: str
    under: str
    label: str
    full: bool


@dataclass(frozen=True)
class Scene:
    """A whole drawing; boxes of a row from left to right."""

    title: str
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    captions: tuple[str, ...]


def scene(title: str, inside: Inside, cut: Cut, captions: Sequence[str]) -> Scene:
    """Return the drawing of a machine with the links of `cut` marked."""
    full = {link.ends for link in cut.links}
    parts = [group for kind in LEAF_KINDS for group in groups(inside, kind)]
    return Scene(title, tuple(_boxes(inside, parts)), tuple(_wires(inside, parts, full)), tuple(captions))


def _rate(bytes_per_s: int) -> str:
    return f"{bytes_per_s / 1e9:g} GB/s"


def _boxes(inside: Inside, parts: Sequence[Group]) -> Iterator[Box]:
    topology = inside.topology
    size = inside.memory_bytes_per_s
    deepest = max((len(path(topology, name)) for name in topology.parents), default=1)
    for cpu in topology.cpus:
        yield Box(f"memory of {cpu}", "memory", (f"memory of {cpu}", *([_rate(size)] if size else [])), 0)
        yield Box(cpu, "cpu", (cpu,), 1)
    for name in topology.parents:
        yield Box(name, "switch", (name,), len(path(topology, name)))
    for group in parts:
        yield Box(group.name, group.kind, (counted(group.n, group.kind), *_own(group)), deepest + 1)


def _own(group: Group) -> Iterator[str]:
    """Yield what one part moves itself, where that is less than its link."""
    up, down = group.up_bytes_per_s, group.down_bytes_per_s
    if min(up, down) < group.link_bytes_per_s:
        yield _rate(up) if up == down else f"{up / 1e9:g} / {_rate(down)}"


def _wires(inside: Inside, parts: Sequence[Group], full: set[tuple[str, str]]) -> Iterator[Wire]:
    topology = inside.topology
    for cpu in topology.cpus:
        ends = (f"memory of {cpu}", cpu)
        yield Wire(*ends, "", ends in full)
    for i, one in enumerate(topology.cpus):
        for other in topology.cpus[i + 1 :]:
            label = _rate(topology.socket_link_bytes_per_s or 0)
            yield Wire(one, other, label, bool({(one, other), (other, one)} & full))
    for name, links in topology.parents.items():
        for over, width in links:
            yield Wire(over, name, _rate(width), (over, name) in full)
    for group in parts:
        many = f"{group.n} x " if group.n > 1 else ""
        ends = (group.at, group.name)
        yield Wire(*ends, f"{many}{_rate(group.link_bytes_per_s)}", ends in full)
