"""How the inside of a machine is wired: processors, PCIe switches, and what hangs on them.

Processors are ``cpu0``, ``cpu1``, ...; switches have names of their own. GPUs, drives and network
cards have no names, for none is like another only by where it hangs: a list says the places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from planner.errors import nearest
from planner.evidence import Evidence
from planner.fields import Count, Flag, LinkRate, Names, Text, record

Fault = tuple[tuple[str | int, ...], str, str]
"""Path below the entry, what is wrong, what to do."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_TAKEN = re.compile(r"(cpu|gpu|drive|nic|ram)s?\d*")


@record
class PcieSwitch:
    """PCIe switches that hang in the same place by links of the same width.

    Attributes
    ----------
    name : tuple of str
        Their names; ``sw0..3`` stands for four.
    at : tuple of str
        What they hang on, towards the processors: each of them has a link to each of these.
    link_bytes_per_s : int
        One direction of one such link, as ``Gen5 x16`` or as a rate.
    """

    name: Names
    at: Names
    link_bytes_per_s: LinkRate


@record
class Places:
    """Where GPUs, drives or network cards hang.

    Attributes
    ----------
    at : tuple of str
        Processors or switches; what there is is dealt out to them in turn.
    count : int or None
        How many the described machine has here; as many as `at` where left out. A chassis has its
        own number of bays and slots.
    link_bytes_per_s : int
        One direction of the link of one of them.
    """

    at: Names
    count: Count | None = None
    link_bytes_per_s: LinkRate

    @property
    def each(self) -> tuple[str, ...]:
        """Where each of them hangs."""
        return tuple(self.at[i % len(self.at)] for i in range(self.count or len(self.at)))


@record
class Topology:
    """The inside of a machine as a graph.

    Attributes
    ----------
    sockets : int
        Processors, ``cpu0`` and on; each drives memory of its own.
    socket_link_bytes_per_s : int or None
        Between two processors, one direction, all links together; needed with more than one.
    switches : tuple of PcieSwitch
        PCIe switches, those inside network cards too.
    gpus, drives, nics : tuple of Places
        Where they hang.
    virtual : bool
        Whether it is a guest's view, which hides what is shared: no chassis may name it.
    """

    kind: Literal["topology"] = "topology"
    id: Text
    name: Text
    n_sockets: Count
    socket_link_bytes_per_s: LinkRate | None = None
    switches: tuple[PcieSwitch, ...] = ()
    gpus: tuple[Places, ...] = ()
    drives: tuple[Places, ...] = ()
    nics: tuple[Places, ...] = ()
    virtual: Flag = False
    source: tuple[Text, ...] = ()
    note: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def cpus(self) -> tuple[str, ...]:
        """Names of the processors."""
        return tuple(f"cpu{i}" for i in range(self.n_sockets))

    @property
    def parents(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Switch to what it hangs on and the width of each link."""
        return {
            name: tuple((above, switch.link_bytes_per_s) for above in switch.at)
            for switch in self.switches
            for name in switch.name
        }


def topology_faults(topology: Topology) -> Iterator[Fault]:
    """Yield what is wrong within a topology: unknown places, names taken, switches without a way to a processor."""
    known = {*topology.cpus, *topology.parents}
    yield from _names_taken(topology)
    for key in ("switches", "gpus", "drives", "nics"):
        for i, entry in enumerate(getattr(topology, key)):
            for name in entry.at:
                if name not in known:
                    hint = nearest(name, known)
                    yield (key, i, "at"), f"unknown processor or switch '{name}' in '{topology.id}'", hint
    yield from _cut_off(topology)
    if topology.n_sockets > 1 and topology.socket_link_bytes_per_s is None:
        message = f"no path between the {topology.n_sockets} sockets"
        yield ("sockets",), message, "add 'socket_link', all links between two processors together"


def _names_taken(topology: Topology) -> Iterator[Fault]:
    seen: set[str] = set()
    for i, switch in enumerate(topology.switches):
        for name in switch.name:
            path = ("switches", i, "name")
            if not _NAME.fullmatch(name) or _TAKEN.fullmatch(name):
                yield path, f"'{name}' is no name for a switch", "use small letters, digits and '-', such as 'sw0'"
            elif name in seen:
                yield path, f"the switch '{name}' stands twice", "give each switch one name and one entry"
            seen.add(name)


def _cut_off(topology: Topology) -> Iterator[Fault]:
    """Yield switches that hang on each other in a ring and so reach no processor."""
    parents = topology.parents
    placed = {above for links in parents.values() for above, _ in links} - set(parents)
    grown = True
    while grown:
        more = {name for name in parents if all(above in placed for above, _ in parents[name])} - placed
        placed |= more
        grown = bool(more)
    for i, switch in enumerate(topology.switches):
        for name in switch.name:
            if name not in placed:
                hint = f"it hangs on itself or on what does; hang it on one of {', '.join(topology.cpus)}"
                yield ("switches", i, "at"), f"no path from '{name}' to a processor", hint
