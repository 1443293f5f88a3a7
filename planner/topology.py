"""What a node can move: nominal bandwidth of each movement inside one machine.

For now each movement is limited by simple sums over the node (its GPUs' links, the uplinks they
share, its drives, its network cards). The questions asked here are those that the max-flow model
of a chassis will answer; callers need not change.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.hardware import Chassis, Drive, Gpu, Nic


@dataclass(frozen=True)
class Cut:
    """The narrowest place of a movement.

    Attributes
    ----------
    bytes_per_s : int
        Nominal, one direction.
    text : str
        What limits, e.g. ``4 uplinks of 63 GB/s shared by 8 GPUs``.
    """

    bytes_per_s: int
    text: str


def host_link(chassis: Chassis, gpu: Gpu) -> Cut:
    """Return the bandwidth between host memory and all GPUs of a node together."""
    links = chassis.n_gpus * gpu.host_link_bytes_per_s
    uplinks = chassis.uplinks * chassis.uplink_bytes_per_s
    if uplinks < links:
        each = chassis.uplink_bytes_per_s / 1e9
        return Cut(uplinks, f"{chassis.uplinks} uplinks of {each:g} GB/s shared by {chassis.n_gpus} GPUs")
    return Cut(links, f"{chassis.n_gpus} GPU links of {gpu.host_link_bytes_per_s / 1e9:g} GB/s")


def drive_read(drive: Drive | None, count: int) -> Cut:
    """Return what the data drives of a node read together."""
    if drive is None:
        return Cut(0, "no data drives")
    text = f"{count} drives reading {drive.read_bytes_per_s / 1e9:g} GB/s"
    return Cut(count * drive.read_bytes_per_s, text)


def drive_write(drive: Drive | None, count: int) -> Cut:
    """Return what the data drives of a node write together."""
    if drive is None:
        return Cut(0, "no data drives")
    text = f"{count} drives writing {drive.write_bytes_per_s / 1e9:g} GB/s"
    return Cut(count * drive.write_bytes_per_s, text)


def fabric(nic: Nic | None, count: int) -> Cut:
    """Return what the fabric cards of a node carry together."""
    if nic is None:
        return Cut(0, "no fabric cards")
    size = nic.ports * nic.port_bytes_per_s
    return Cut(count * size, f"{count} cards of {size / 1e9:g} GB/s")
