"""More PCIe lanes on a processor than it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.hardware import Chassis
from planner.lint.base import Flaw, Severity, Stock, number, rule
from planner.units import parse_link
from planner.wiring import Places, Topology

_LANE_BYTES_PER_S = parse_link("Gen5 x1")
LANES = {
    "xeon-spr": 80, "xeon-emr": 80, "xeon6-6700p": 88, "xeon6-6900p": 96, "epyc-genoa": 128, "epyc-turin": 128,
}  # fmt: skip
"""Gen5 lanes of one processor."""
_BETWEEN = 48
"""What two EPYC processors spend at the least on the links between them: three of x16."""


def lanes_of(platform: str, sockets: int) -> int | None:
    """Return the lanes of one processor that are left for devices; None where the platform is not known."""
    lanes = LANES.get(platform)
    if lanes is None:
        return None
    return lanes - _BETWEEN if platform.startswith("epyc") and sockets > 1 else lanes


def used_bytes_per_s(chassis: Chassis, topology: Topology) -> dict[str, int]:
    """Return the nominal rate of all links on each processor, with the chassis' own numbers of bays and slots."""
    used = dict.fromkeys(topology.cpus, 0)
    for switch in topology.switches:
        for at in switch.at:
            if at in used:
                used[at] += len(switch.name) * switch.link_bytes_per_s
    wanted = {"gpus": chassis.n_gpus, "drives": chassis.drive_bays, "nics": chassis.nic_slots}
    for kind, count in wanted.items():
        for at, link in _dealt(getattr(topology, kind), count):
            if at in used:
                used[at] += link
    return used


def _dealt(places: Sequence[Places], count: int) -> Iterator[tuple[str, int]]:
    """Yield place and width for so many devices, dealt out in turn as a machine is filled."""
    each = [(at, entry.link_bytes_per_s) for entry in places for at in entry.each]
    yield from (each[i % len(each)] for i in range(count) if each)


@rule
class PcieLanes:
    """Links of a chassis against the lanes of its processors."""

    name = "pcie-lanes"
    severity: Severity = "warning"
    words = "links of GPUs, switches, bays and slots on a processor that has fewer lanes"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each chassis with a wiring, for the platform with the fewest lanes of those it takes."""
        for entry in stock.entries("chassis"):
            chassis: Chassis = entry.record
            topology = stock.catalog.topologies.get(chassis.topology or "")
            known = [(lanes_of(name, chassis.n_cpus), name) for name in chassis.cpu_platforms]
            lanes = sorted((count, name) for count, name in known if count is not None)
            if topology is None or not lanes:
                continue
            least, platform = lanes[0]
            cpu, rate = max(used_bytes_per_s(chassis, topology).items(), key=lambda one: one[1])
            if rate > least * _LANE_BYTES_PER_S:
                used = number(rate / _LANE_BYTES_PER_S)
                message = f"{used} lanes of Gen5 hang on {cpu} as '{topology.id}' is wired; "
                message += f"{platform} has {least} of them for devices"
                hint = "bays or slots share lanes, or hang on a switch: see the block diagram of the machine"
                yield Flaw(entry, ("topology",), message, hint)
