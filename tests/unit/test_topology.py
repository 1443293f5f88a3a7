"""Flows inside machines against hand-computed networks, with the cut that explains each.

Raw, one direction: Gen5 x16 63 GB/s, Gen5 x4 15.75, Gen4 x16 31.5, Gen4 x4 7.875, Gen6 x16 128.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner import topology
from planner.constraints import GROUP_LIMITS
from planner.hardware import Chassis
from planner.problem import Situation
from planner.topology import MOVEMENTS, Inside, Parts, memory_bytes_per_s, movement_cut, topology_of
from planner.topology.contents import deal
from planner.topology.network import network_cut
from planner.topology.tree import is_tree
from planner.units import QuantityError, parse_link
from planner.wiring import PcieSwitch, Places, Topology, topology_faults
from tests.unit import tiny
from tests.unit.tiny import GB

CATALOG = tiny.shelf().catalog
X16 = 63 * GB
MB = 10**6


def inside(name: str, **changes: object) -> Inside:
    """The machine of a shipped topology as its source describes it, parts as fast as their links."""
    of = CATALOG.topologies[name]
    n = {kind: sum(len(places.each) for places in getattr(of, kind)) for kind in ("gpus", "drives", "nics")}
    return replace(Inside(of, Parts(n["gpus"]), Parts(n["drives"]), Parts(n["nics"])), **changes)  # type: ignore[arg-type]


def gbs(value: float) -> int:
    return round(value * 1000) * MB


# Topology, movement, one alone, all at once, what limits them.
BY_HAND = [
    # Eight links of their own; the drives hang apart, Gen4 x4 each; ten cards, two of them beside the drives.
    ("dgx-h100-h200", "dram-gpus", 63, 504, "8 GPU links of 63 GB/s"),
    ("dgx-h100-h200", "drives-dram", 7.875, 63, "8 drive links of 7.875 GB/s"),
    ("dgx-h100-h200", "nics-dram", 63, 630, "10 card links of 63 GB/s"),
    ("dgx-h100-h200", "drives-gpus", 63, 63, "8 drive links of 7.875 GB/s"),
    # Four uplinks for all: half of what eight links suggest.
    ("oem-hgx-4switch", "dram-gpus", 63, 252, "4 uplinks of 63 GB/s shared by 8 GPUs"),
    ("oem-hgx-4switch", "gpus-dram", 63, 252, "4 uplinks of 63 GB/s shared by 8 GPUs"),
    ("oem-hgx-4switch", "nics-dram", 63, 252, "4 uplinks of 63 GB/s shared by 8 cards"),
    ("oem-hgx-4switch", "drives-dram", 15.75, 126, "8 drive links of 15.75 GB/s"),
    ("oem-hgx-4switch", "drives-gpus", 63, 126, "8 drive links of 15.75 GB/s"),
    # A root port per GPU; six of eight switches have a drive.
    ("smc-8126gs-8root", "dram-gpus", 63, 504, "8 GPU links of 63 GB/s"),
    ("smc-8126gs-8root", "drives-dram", 15.75, 94.5, "6 drive links of 15.75 GB/s"),
    ("smc-8126gs-8root", "nics-dram", 63, 504, "8 card links of 63 GB/s"),
    # As declared to MLPerf: 504 GB/s to GPUs, 126 GB/s to cards.
    ("pcie-8gpu-switchless", "dram-gpus", 63, 504, "8 GPU links of 63 GB/s"),
    ("pcie-8gpu-switchless", "nics-dram", 63, 126, "2 card links of 63 GB/s"),
    ("azure-ndv5", "dram-gpus", 63, 504, "8 GPU links of 63 GB/s"),
    # Bridges of Gen4 in front of GPUs of Gen5.
    ("aws-p5", "dram-gpus", 31.5, 252, "8 uplinks of 31.5 GB/s shared by 8 GPUs"),
    ("aws-p5", "nics-dram", 15.75, 252, "8 uplinks of 31.5 GB/s shared by 32 cards"),
    # Gen6 to the card that holds the switch, Gen5 from there on.
    ("hgx-b300", "dram-gpus", 63, 504, "8 uplinks of 63 GB/s shared by 8 GPUs"),
    # 24 drives straight on two processors; the network is the limit.
    ("r7725xd", "drives-dram", 15.75, 378, "24 drive links of 15.75 GB/s"),
    ("r7725xd", "drives-nics", 15.75, 252, "4 card links of 63 GB/s"),
]


@pytest.mark.parametrize(("name", "movement", "alone", "every", "why"), BY_HAND)
def test_shipped_topology_by_hand(name: str, movement: str, alone: float, every: float, why: str) -> None:
    cut = movement_cut(inside(name), MOVEMENTS[movement])
    assert (cut.bytes_per_s, cut.text) == (gbs(every), why)
    assert movement_cut(inside(name), MOVEMENTS[movement], 1).bytes_per_s == gbs(alone)


def test_all_eight_topologies_are_shipped_and_one_is_named_by_each_chassis() -> None:
    assert {row[0] for row in BY_HAND} == set(CATALOG.topologies) and len(CATALOG.topologies) == 8
    named = {chassis.topology for chassis in CATALOG.chassis().values()}
    assert named - {None} == {name for name in CATALOG.topologies if not CATALOG.topologies[name].virtual} - {"r7725xd"}


@pytest.mark.parametrize(
    ("chassis", "gpu", "alone", "every"),
    [
        ("dgx-h100-h200-chassis", "h200-sxm", 63, 504),
        ("dell-xe9680", "h200-sxm", 63, 252),
        ("smc-8125gs-tnmr2", "mi300x", 63, 504),
        ("asus-esc8000a-e12", "rtx-pro-6000", 63, 504),
        # Cards of Gen4 in slots of Gen5.
        ("asus-esc8000a-e12", "l40s", 31.5, 252),
        ("smc-5126gs-tnrt2", "rtx-pro-6000", 63, 252),
    ],
)
def test_links_of_a_chassis(chassis: str, gpu: str, alone: float, every: float) -> None:
    of, card = CATALOG.chassis()[chassis], CATALOG.gpus()[gpu]
    assert topology.host_link(of, card).bytes_per_s == gbs(every)
    assert topology.host_link(of, card, 1).bytes_per_s == gbs(alone)


def test_two_gpus_of_one_board_share_its_uplink() -> None:
    of, card = CATALOG.chassis()["dell-xe9680"], CATALOG.gpus()["h200-sxm"]
    cut = topology.host_link(of, card, 2)
    assert (cut.bytes_per_s, cut.text) == (X16, "1 uplink of 63 GB/s shared by 2 GPUs")
    # Three: two of one board, one of another.
    assert topology.host_link(of, card, 3).bytes_per_s == 2 * X16


def test_slow_drives_limit_themselves() -> None:
    of, drive = CATALOG.chassis()["dgx-h100-h200-chassis"], CATALOG.drives()["samsung-pm9a3-3.84tb"]
    assert topology.drive_read(of, drive, 8).text == "8 drives reading 6.8 GB/s"
    assert topology.drive_write(of, drive, 8).bytes_per_s == gbs(8 * 3.5)
    fast = CATALOG.drives()["micron-9550-pro-15.36tb"]
    assert topology.drive_read(of, fast, 8).text == "8 drive links of 7.875 GB/s"
    assert topology.drive_read(of, None, 0).bytes_per_s == 0


def test_fabric_cards_share_the_uplinks_of_the_gpus() -> None:
    card = CATALOG.nics()["cx7-400"]
    shared, own = CATALOG.chassis()["dell-xe9680"], CATALOG.chassis()["dgx-h100-h200-chassis"]
    assert topology.fabric(shared, card, 8).text == "4 uplinks of 63 GB/s shared by 8 cards"
    assert topology.fabric(shared, card, 4).bytes_per_s == 4 * 50 * GB
    assert topology.fabric(own, card, 8).text == "8 cards of 50 GB/s"


# Memory: nominal per socket, as derived in the notes behind the catalogue.


@pytest.mark.parametrize(
    ("cpu", "dimms", "expected"),
    [
        ("xeon-8480-plus", 16, 307.2), ("xeon-8480-plus", 32, 281.6), ("xeon-8570", 16, 358.4),
        ("xeon-8570", 32, 281.6), ("epyc-9554", 24, 460.8), ("epyc-9575f", 24, 614.4), ("epyc-9575f", 48, 422.4),
        # Twelve modules on two sockets of eight channels leave two channels of each idle.
        ("xeon-8480-plus", 12, 230.4),
    ],
)  # fmt: skip
def test_memory_by_population(cpu: str, dimms: int, expected: float) -> None:
    dimm = CATALOG.dimms()["rdimm-64"]
    assert memory_bytes_per_s(CATALOG.cpus()[cpu], dimm, dimms, 2) == gbs(expected)


def test_a_module_is_never_faster_than_its_own_speed() -> None:
    slow = replace(CATALOG.dimms()["rdimm-64"], speed=4000)
    assert memory_bytes_per_s(CATALOG.cpus()["epyc-9575f"], slow, 24, 2) == 12 * 4000 * MB * 8


def test_what_crosses_the_memory_twice_has_half_of_it() -> None:
    # 282 GB/s per socket in all: loads and stores at once take 141 each, of 252 that the links would carry.
    dgx = inside("dgx-h100-h200", memory_bytes_per_s=gbs(281.6))
    one_way, both = (movement_cut(dgx, MOVEMENTS[name]) for name in ("dram-gpus", "both"))
    assert (one_way.bytes_per_s, one_way.text) == (gbs(504), "8 GPU links of 63 GB/s")
    assert (both.bytes_per_s, both.text) == (gbs(281.6), "2 sockets' memory of 140.8 GB/s in and out")
    # Slower memory limits one way, too.
    slow = replace(dgx, memory_bytes_per_s=gbs(100))
    assert movement_cut(slow, MOVEMENTS["dram-gpus"]).text == "2 sockets' memory of 100 GB/s"
    # Drives of 63 GB/s through memory of 25 GB/s in and 25 GB/s out per socket.
    slow = replace(dgx, memory_bytes_per_s=gbs(50))
    assert movement_cut(slow, MOVEMENTS["drives-gpus"]).bytes_per_s == gbs(50)
    assert movement_cut(slow, MOVEMENTS["drives-dram"]).bytes_per_s == gbs(63)


def test_the_link_between_sockets_limits_what_hangs_on_one_side() -> None:
    # Four drives of 15.75 GB/s on cpu0 feed one GPU on each socket: half of it crosses.
    lopsided = Topology(
        id="t", name="T", n_sockets=2, socket_link_bytes_per_s=10 * GB,
        gpus=(Places(at=("cpu0", "cpu1"), link_bytes_per_s=20 * GB),),
        drives=(Places(at=("cpu0",), count=4, link_bytes_per_s=gbs(15.75)),),
    )  # fmt: skip
    cut = movement_cut(Inside(lopsided, Parts(2), Parts(4)), MOVEMENTS["drives-gpus"])
    assert cut.bytes_per_s == 30 * GB
    assert cut.text == "1 link between sockets of 10 GB/s and 1 GPU link of 20 GB/s"


def test_a_switch_with_two_uplinks_is_no_tree() -> None:
    dual = Topology(
        id="t", name="T", n_sockets=2, socket_link_bytes_per_s=GB,
        switches=(PcieSwitch(name=("sw0", "sw1"), at=("cpu0", "cpu1"), link_bytes_per_s=X16),),
        gpus=(Places(at=("sw0", "sw1"), count=8, link_bytes_per_s=X16),),
    )  # fmt: skip
    assert not is_tree(dual)
    cut = movement_cut(Inside(dual, Parts(8)), MOVEMENTS["dram-gpus"])
    assert (cut.bytes_per_s, cut.text) == (4 * X16, "4 uplinks of 63 GB/s shared by 8 GPUs")


def test_switches_behind_switches() -> None:
    deep = Topology(
        id="t", name="T", n_sockets=1,
        # The outer one stands first in the file.
        switches=(
            PcieSwitch(name=("outer0", "outer1"), at=("inner",), link_bytes_per_s=20 * GB),
            PcieSwitch(name=("inner",), at=("cpu0",), link_bytes_per_s=30 * GB),
        ),
        gpus=(Places(at=("outer0", "outer1", "inner"), link_bytes_per_s=16 * GB),),
    )  # fmt: skip
    machine = Inside(deep, Parts(3))
    cut = movement_cut(machine, MOVEMENTS["dram-gpus"])
    assert (cut.bytes_per_s, cut.text) == (30 * GB, "1 uplink of 30 GB/s shared by 3 GPUs")
    assert network_cut(machine, MOVEMENTS["dram-gpus"]).text == cut.text


def test_parts_are_dealt_out_to_sockets_first() -> None:
    of = CATALOG.topologies["oem-hgx-4switch"]
    assert [place for place, _ in deal(of, "drives", 5)] == ["psb1", "psb3", "psb2", "psb4", "psb1"]
    # The inline cards come before those beside the drives, on both sockets in turn.
    of = CATALOG.topologies["dgx-h100-h200"]
    assert [place for place, _ in deal(of, "nics", 3)] == ["cx7-0", "cx7-4", "cx7-1"]
    assert [place for place, _ in deal(of, "nics", 10)][-2:] == ["store0", "store1"]


def test_template_of_a_chassis_without_wiring() -> None:
    # Two GPUs behind one uplink of 20 GB/s; drives and cards share it.
    chassis = tiny.chassis()
    assert topology_of(chassis).evidence["gpus.0.at"].kind == "assumed"
    assert topology.host_link(chassis, tiny.gpu()).text == "1 uplink of 20 GB/s shared by 2 GPUs"
    assert topology.drive_read(chassis, tiny.drive(), 2).bytes_per_s == 8 * GB
    assert topology.fabric(chassis, tiny.FABRIC, 4).bytes_per_s == 20 * GB
    wide = tiny.chassis(uplinks=3, n_gpus=8, n_cpus=2)
    # Three, three and two GPUs of 16 GB/s behind 20 GB/s each.
    assert topology.host_link(wide, tiny.gpu()).bytes_per_s == 60 * GB
    assert list(topology_of(wide).parents.values()) == [
        (("cpu0", 20 * GB),), (("cpu0", 20 * GB),), (("cpu1", 20 * GB),)
    ]  # fmt: skip


def test_results_are_kept() -> None:
    of, card = CATALOG.chassis()["dell-xe9680"], CATALOG.gpus()["h200-sxm"]
    assert topology.host_link(of, card) is topology.host_link(of, card)


@pytest.mark.parametrize("chassis", CATALOG.chassis().values(), ids=list(CATALOG.chassis()))
def test_every_shipped_chassis_answers_every_question(chassis: Chassis) -> None:
    of = topology_of(chassis)
    assert list(topology_faults(of)) == []
    machine = Inside(of, Parts(chassis.n_gpus), Parts(chassis.drive_bays), Parts(chassis.nic_slots), 300 * GB)
    for movement in MOVEMENTS.values():
        alone, every = movement_cut(machine, movement, 1), movement_cut(machine, movement)
        assert 0 < alone.bytes_per_s <= every.bytes_per_s
        assert sum(link.n * link.each_bytes_per_s for link in every.links) == every.bytes_per_s


def test_traffic_of_the_memory_of_a_group() -> None:
    # Of 20 open sessions each 0.005 turns/s of 4 MiB: loaded once, a tenth from drives, 3 MiB stored in and out.
    at, build = Situation.of(tiny.scenario()), replace(tiny.build(), reach=100)
    limit = GROUP_LIMITS["dram_bandwidth"]
    assert limit.need(build, at) == Fraction(11 * 4 * 2**20, 2000) + 2 * Fraction(3 * 2**20, 200)
    # One module on each of two channels at 5,600 MT/s, four fifths of it, half of that planned.
    assert limit.have(build, at) == 2 * 5600 * MB * 8 * 2 // 5


# Widths of links.


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("Gen3 x16", 15.75), ("Gen4 x16", 31.5), ("Gen4 x4", 7.875), ("Gen5 x4", 15.75), ("Gen5 x16", 63),
        ("Gen6 x16", 128), ("Gen 5 x32", 126), ("144 GB/s", 144), ("400 Gbit/s", 50),
    ],
)  # fmt: skip
def test_width_of_a_link(text: str, rate: float) -> None:
    assert parse_link(text) == gbs(rate)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Gen5 x-16", "at least one lane"), ("Gen5 x0", "at least one lane"), ("0 GB/s", "carries something"),
        ("-5 GB/s", "negative"), ("Gen9 x16", "known: Gen3, Gen4, Gen5, Gen6"), ("Gen5", "such as 'Gen5 x16'"),
        ("x16", "such as 'Gen5 x16'"), ("PCIe 5.0 x16", "such as 'Gen5 x16'"), ("63", "no unit"), (16, "no unit"),
        ("63 Gbps", "write '63 Gbit/s'"), (True, "expected"),
    ],
)  # fmt: skip
def test_width_that_is_none(text: object, words: str) -> None:
    with pytest.raises(QuantityError, match=words.replace("(", r"\(")):
        parse_link(text)
