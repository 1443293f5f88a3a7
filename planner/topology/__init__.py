"""What a node can move: the greatest flow of each movement inside one machine, and what limits it.

Rows ask for one movement at a time with the memory left out (`host_link`, `drive_read`,
`drive_write`, `fabric`); the memory itself is `memory_bytes_per_s`. `movement_cut` answers for a
whole machine, both at once. All figures are nominal, raw and in one direction; what a product
reaches of them is for its profile to say. Results are kept by what they depend on.
"""

from __future__ import annotations

from functools import lru_cache

from planner.hardware import Chassis, Drive, Gpu, Nic
from planner.topology.contents import Inside, Parts, groups
from planner.topology.cut import Cut
from planner.topology.memory import memory_bytes_per_s
from planner.topology.movements import MOVEMENTS, Movement
from planner.topology.template import topology_of
from planner.topology.tree import is_tree, tree_cut

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
    "memory_bytes_per_s",
    "movement_cut",
    "topology_of",
]


def host_link(chassis: Chassis, gpu: Gpu, n_gpus: int | None = None) -> Cut:
    """Return what flows from memory into all GPUs of a node together, or into so many alone.

    Of some GPUs only, those are taken that share most.
    """
    rate = gpu.host_link_bytes_per_s
    inside = Inside(topology_of(chassis), gpus=Parts(chassis.n_gpus, rate, rate))
    return movement_cut(inside, MOVEMENTS["dram-gpus"], n_gpus)


def drive_read(chassis: Chassis, drive: Drive | None, count: int) -> Cut:
    """Return what flows from the data drives of a node into its memory."""
    if drive is None:
        return Cut(0)
    parts = Parts(count, drive.read_bytes_per_s, drive.write_bytes_per_s)
    return movement_cut(Inside(topology_of(chassis), drives=parts), MOVEMENTS["drives-dram"])


def drive_write(chassis: Chassis, drive: Drive | None, count: int) -> Cut:
    """Return what flows from the memory of a node to its data drives."""
    if drive is None:
        return Cut(0)
    parts = Parts(count, drive.read_bytes_per_s, drive.write_bytes_per_s)
    return movement_cut(Inside(topology_of(chassis), drives=parts), MOVEMENTS["dram-drives"])


def fabric(chassis: Chassis, nic: Nic | None, count: int) -> Cut:
    """Return what flows from the fabric cards of a node into its memory."""
    if nic is None:
        return Cut(0)
    size = nic.ports * nic.port_bytes_per_s
    return movement_cut(Inside(topology_of(chassis), nics=Parts(count, size, size)), MOVEMENTS["nics-dram"])


@lru_cache(16384)
def movement_cut(inside: Inside, movement: Movement, alone: int | None = None) -> Cut:
    """Return the greatest flow of a movement and what limits it; with `alone`, of so many parts only.

    `Movement.alone` says of which parts. Where no search is needed, none is made and no library
    loaded.
    """
    if inside.memory_bytes_per_s is None and "dram" in (movement.source, movement.sink) and is_tree(inside.topology):
        up = movement.sink == "dram"
        return tree_cut(inside.topology, groups(inside, movement.alone, alone), up)
    from planner.topology.network import network_cut

    return network_cut(inside, movement, alone)
