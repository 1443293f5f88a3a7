"""What a node can move: the greatest flow of each movement inside one machine, and what limits it.

Rows ask for one movement at a time with the memory left out (`host_link`, `host_store`, `drive_read`,
`drive_write`, `fabric`); the memory itself is `memory_bytes_per_s`. `movement_cut` answers for a
whole machine, both at once. All figures are nominal, raw and in one direction; what a product
reaches of them is for its profile to say. Results are kept by what they depend on.
"""

from __future__ import annotations

from functools import lru_cache

from planner.hardware import Chassis, Drive, Gpu, Nic
from planner.topology.contents import Inside, Parts
from planner.topology.cut import Cut
from planner.topology.memory import memory_bytes_per_s
from planner.topology.movements import MOVEMENTS, Movement
from planner.topology.template import topology_of
from planner.topology.tree import is_tree, tree_cut
from planner.wiring import Topology

__all__ = [
    "MOVEMENTS",
    "Cut",
    "Inside",
    "Movement",
    "Parts",
    "drive_read",
    "drive_write",
    "fabric",
    "host_link",
    "host_store",
    "memory_bytes_per_s",
    "movement_cut",
    "topology_of",
]


def host_link(chassis: Chassis, gpu: Gpu, n_gpus: int | None = None) -> Cut:
    """Return what flows from memory into all GPUs of a node together, or into so many alone.

    Of some GPUs only, those are taken that share most.
    """
    return _gpus(topology_of(chassis), gpu, chassis.n_gpus, n_gpus, "dram-gpus")


def host_store(chassis: Chassis, gpu: Gpu) -> Cut:
    """Return what flows from all GPUs of a node together into its memory."""
    return _gpus(topology_of(chassis), gpu, chassis.n_gpus, None, "gpus-dram")


def drive_read(chassis: Chassis, drive: Drive | None, count: int) -> Cut:
    """Return what flows from the data drives of a node into its memory."""
    return _NOTHING if drive is None else _drives(topology_of(chassis), drive, count, "drives-dram")


def drive_write(chassis: Chassis, drive: Drive | None, count: int) -> Cut:
    """Return what flows from the memory of a node to its data drives."""
    return _NOTHING if drive is None else _drives(topology_of(chassis), drive, count, "dram-drives")


def fabric(chassis: Chassis, nic: Nic | None, count: int) -> Cut:
    """Return what flows from the fabric cards of a node into its memory."""
    return _NOTHING if nic is None else _cards(topology_of(chassis), nic, count)


_NOTHING = Cut(0)


@lru_cache(16384)
def _gpus(topology: Topology, gpu: Gpu, count: int, alone: int | None, movement: str) -> Cut:
    own = gpu.host_link_bytes_per_s
    return movement_cut(Inside(topology, gpus=Parts(count, own, own)), MOVEMENTS[movement], alone)


@lru_cache(65536)
def _drives(topology: Topology, drive: Drive, count: int, movement: str) -> Cut:
    parts = Parts(count, drive.read_bytes_per_s, drive.write_bytes_per_s)
    return movement_cut(Inside(topology, drives=parts), MOVEMENTS[movement])


@lru_cache(16384)
def _cards(topology: Topology, nic: Nic, count: int) -> Cut:
    own = nic.ports * nic.port_bytes_per_s
    return movement_cut(Inside(topology, nics=Parts(count, own, own)), MOVEMENTS["nics-dram"])


def movement_cut(inside: Inside, movement: Movement, alone: int | None = None) -> Cut:
    """Return the greatest flow of a movement and what limits it; with `alone`, of so many parts only.

    `Movement.alone` says of which parts. Where no search is needed, none is made and no library
    loaded.
    """
    if inside.memory_bytes_per_s is None and "dram" in (movement.source, movement.sink) and is_tree(inside.topology):
        return tree_cut(inside, movement.alone, movement.sink == "dram", alone)
    from planner.topology.network import network_cut

    return network_cut(inside, movement, alone)
