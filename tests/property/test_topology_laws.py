"""Laws of flows inside machines, on drawn ones: wider links never carry less, no flow passes any cut."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.topology import MOVEMENTS, Inside, Movement, Parts, movement_cut
from planner.topology.network import SINK, SOURCE, Edge, edges, network_cut
from planner.topology.tree import tree_cut
from planner.wiring import PcieSwitch, Places, Topology, topology_faults

RATES = st.integers(1, 40)
FLOWS = settings(max_examples=150, deadline=None, derandomize=True)


@st.composite
def topologies(draw: st.DrawFn, most_uplinks: int = 2) -> Topology:
    """Draw a machine of up to two sockets and five switches, some behind others, some with two uplinks."""
    sockets = draw(st.integers(1, 2))
    places = [f"cpu{i}" for i in range(sockets)]
    switches = []
    for i in range(draw(st.integers(0, 5))):
        at = draw(st.lists(st.sampled_from(places), min_size=1, max_size=most_uplinks, unique=True))
        switches.append(PcieSwitch(name=(f"sw{i}",), at=tuple(at), link_bytes_per_s=draw(RATES)))
        places.append(f"sw{i}")
    hung = {
        kind: tuple(
            Places(at=(draw(st.sampled_from(places)),), count=draw(st.integers(1, 3)), link_bytes_per_s=draw(RATES))
            for _ in range(draw(st.integers(1, 3)))
        )
        for kind in ("gpus", "drives", "nics")
    }
    made = Topology(
        id="t", name="T", n_sockets=sockets, socket_link_bytes_per_s=draw(RATES), switches=tuple(switches), **hung
    )
    assert list(topology_faults(made)) == []
    return made


@st.composite
def machines(draw: st.DrawFn, most_uplinks: int = 2) -> Inside:
    def parts() -> Parts:
        return Parts(draw(st.integers(0, 6)), draw(st.none() | RATES), draw(st.none() | RATES))

    made = Inside(draw(topologies(most_uplinks)), parts(), parts(), parts())
    return replace(made, memory_bytes_per_s=draw(st.none() | st.integers(2, 60)))


movements = st.sampled_from(list(MOVEMENTS.values()))


@FLOWS
@given(machines(), movements, st.data())
def test_no_flow_passes_a_cut(machine: Inside, movement: Movement, data: st.DataObject) -> None:
    found = edges(machine, movement)
    nodes = sorted({edge.start for edge in found} | {edge.end for edge in found} - {SOURCE, SINK})
    side = {SOURCE} | data.draw(st.sets(st.sampled_from(nodes)) if nodes else st.just(set())) - {SINK}
    across = [edge.bytes_per_s for edge in found if edge.start in side and edge.end not in side]
    if None not in across:
        assert movement_cut(machine, movement).bytes_per_s <= sum(size or 0 for size in across)


@FLOWS
@given(machines(), movements)
def test_the_cut_that_is_named_carries_just_the_flow(machine: Inside, movement: Movement) -> None:
    cut = network_cut(machine, movement)
    assert sum(link.n * link.each_bytes_per_s for link in cut.links) == cut.bytes_per_s
    without = [edge for edge in edges(machine, movement) if edge.link is None or edge.link not in cut.links]
    assert not reaches(without)
    assert cut.text


def reaches(found: list[Edge]) -> bool:
    reached, grown = {SOURCE}, True
    while grown:
        more = {edge.end for edge in found if edge.start in reached} - reached
        reached |= more
        grown = bool(more)
    return SINK in reached


@FLOWS
@given(machines(most_uplinks=1), movements.filter(lambda one: "dram" in (one.source, one.sink)))
def test_the_sums_of_a_tree_are_its_flow(machine: Inside, movement: Movement) -> None:
    free, up = replace(machine, memory_bytes_per_s=None), movement.sink == "dram"
    for n in (None, 1, 2):
        sums = tree_cut(free, movement.alone, up, n)
        flow = network_cut(free, movement, n)
        assert (sums.bytes_per_s, sums.text) == (flow.bytes_per_s, flow.text)
        assert {link.ends for link in sums.links} == {link.ends for link in flow.links}


@FLOWS
@given(machines(), movements, st.data())
def test_wider_links_never_carry_less(machine: Inside, movement: Movement, data: st.DataObject) -> None:
    of = machine.topology
    more = st.integers(0, 20)
    wider = replace(
        of,
        socket_link_bytes_per_s=(of.socket_link_bytes_per_s or 0) + data.draw(more),
        switches=tuple(replace(s, link_bytes_per_s=s.link_bytes_per_s + data.draw(more)) for s in of.switches),
        **{
            kind: tuple(replace(p, link_bytes_per_s=p.link_bytes_per_s + data.draw(more)) for p in getattr(of, kind))
            for kind in ("gpus", "drives", "nics")
        },
    )
    grown = replace(machine, topology=wider)
    if machine.memory_bytes_per_s is not None:
        grown = replace(grown, memory_bytes_per_s=machine.memory_bytes_per_s + data.draw(more))
    assert movement_cut(grown, movement).bytes_per_s >= movement_cut(machine, movement).bytes_per_s


@FLOWS
@given(machines(), movements, st.sampled_from(["gpus", "drives", "nics"]))
def test_more_parts_never_move_less(machine: Inside, movement: Movement, kind: str) -> None:
    parts: Parts = getattr(machine, kind)
    grown = replace(machine, **{kind: replace(parts, n=parts.n + 1)})  # type: ignore[arg-type]
    assert movement_cut(grown, movement).bytes_per_s >= movement_cut(machine, movement).bytes_per_s
    assert movement_cut(machine, movement, 1).bytes_per_s <= movement_cut(machine, movement).bytes_per_s
