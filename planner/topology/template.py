"""The wiring of a chassis that names none: assumed from the number and width of its uplinks."""

from __future__ import annotations

from functools import lru_cache

from planner.evidence import Evidence
from planner.hardware import Chassis
from planner.units import parse_link
from planner.wiring import PcieSwitch, Places, Topology

_SWITCHES = "one PCIe switch per uplink, spread over the sockets"
_SHARED = "dealt out to the switches that the GPUs hang on, so that all share the uplinks: careful, not read"
_SOCKETS = "the least of two sockets with three links of 48 GB/s; not read"


def topology_of(chassis: Chassis) -> Topology:
    """Return how the inside of `chassis` is wired: what its file names, else the template."""
    return chassis.inside or template(chassis)


@lru_cache(4096)
def template(chassis: Chassis) -> Topology:
    """Return the wiring that is assumed where a chassis only says how many uplinks it has.

    One switch per uplink; GPUs, drives and network cards dealt out to all switches. Links below
    them are Gen5 and no narrower than the uplinks, so that they limit nothing but one card alone.
    """
    uplinks, width = chassis.uplinks, chassis.uplink_bytes_per_s
    assert uplinks is not None and width is not None
    names = tuple(f"sw{i}" for i in range(uplinks))
    switches = tuple(
        PcieSwitch(name=(name,), at=(f"cpu{i * chassis.n_cpus // uplinks}",), link_bytes_per_s=width)
        for i, name in enumerate(names)
    )
    card = (Places(at=names, link_bytes_per_s=max(width, parse_link("Gen5 x16"))),)
    return Topology(
        id=f"template of {chassis.id}", name=f"{chassis.name}, assumed", n_sockets=chassis.n_cpus,
        socket_link_bytes_per_s=parse_link("144 GB/s"), switches=switches, gpus=card, nics=card,
        drives=(Places(at=names, link_bytes_per_s=parse_link("Gen5 x4")),), evidence=_evidence(chassis),
    )  # fmt: skip


def _evidence(chassis: Chassis) -> dict[str, Evidence]:
    width = chassis.evidence.get("uplink") or Evidence("sourced", chassis.source)
    found = {f"switches.{i}.link": width for i in range(chassis.uplinks or 0)}
    found |= {f"switches.{i}.at": Evidence("assumed", text=_SWITCHES) for i in range(chassis.uplinks or 0)}
    for kind, link in (("gpus", "Gen5 x16"), ("drives", "Gen5 x4"), ("nics", "Gen5 x16")):
        found[f"{kind}.0.at"] = Evidence("assumed", text=_SHARED)
        found[f"{kind}.0.link"] = Evidence("assumed", text=f"{link}, or as wide as the uplinks; not read")
    found["socket_link"] = Evidence("assumed", text=_SOCKETS)
    return found
