"""The inside of a machine as a flow network: the greatest flow of a movement, and its narrowest cut.

Every processor and switch stands there twice, for bytes on their way to the memory ("up") and for
bytes that come from it ("down"), as the two directions of a link do not share its width. A socket's
memory stands between the two. It carries reads and writes over the same channels: a movement that
crosses it twice (from drives into memory, from memory into GPUs) has half of it. Whole numbers go
in, so whole numbers come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.topology.contents import Group, Inside, groups
from planner.topology.cut import Cut, CutLink
from planner.topology.links import leaf_link
from planner.topology.movements import Movement
from planner.wiring import Topology

if TYPE_CHECKING:
    import networkx

Node = tuple[str, str]
SOURCE: Node = ("source", "")
SINK: Node = ("sink", "")


@dataclass(frozen=True)
class Edge:
    """One direction of a link; `link` is None where nothing limits."""

    start: Node
    end: Node
    link: CutLink | None = None

    @property
    def bytes_per_s(self) -> int | None:
        """What it carries, all its links together."""
        return None if self.link is None else self.link.n * self.link.each_bytes_per_s


def edges(inside: Inside, movement: Movement, n: int | None = None) -> list[Edge]:
    """Return the network of a movement; with `n`, only so many of the parts that `movement.alone` names."""
    topology = inside.topology
    found: list[Edge] = []
    for kind, up in ((movement.source, True), (movement.sink, False)):
        if kind == "dram":
            found += [_end(cpu, up) for cpu in topology.cpus]
        else:
            parts = groups(inside, kind, n if kind == movement.alone else None)
            found += [edge for group in parts for edge in _leaf(group, up)]
            found += list(_ways(topology, parts, up))
    found += [_memory(inside, cpu, movement.twice) for cpu in topology.cpus]
    # Where bytes cross the memory on their way, they land beside the processor of their sink.
    return found + list(_between(topology, up=movement.source != "dram"))


def _end(cpu: str, up: bool) -> Edge:
    return Edge(SOURCE, (cpu, "in")) if up else Edge((cpu, "out"), SINK)


def _leaf(group: Group, up: bool) -> Iterator[Edge]:
    link = leaf_link(group, up)
    yield Edge(SOURCE, (group.at, "up"), link) if up else Edge((group.at, "down"), SINK, link)


def _ways(topology: Topology, parts: Sequence[Group], up: bool) -> Iterator[Edge]:
    """Yield the links from switches to processors, or back."""
    kind = parts[0].kind if parts else ""
    for name, links in topology.parents.items():
        behind = tuple((group.name, group.n) for group in parts if name in above(topology, group.at))
        for over, width in links:
            link = CutLink("uplink", 1, width, (over, name), behind, kind)
            yield Edge((name, "up"), (over, "up"), link) if up else Edge((over, "down"), (name, "down"), link)
    for cpu in topology.cpus:
        yield Edge((cpu, "up"), (cpu, "in")) if up else Edge((cpu, "out"), (cpu, "down"))


def above(topology: Topology, place: str) -> set[str]:
    """Return a place and all that it hangs on."""
    return {place}.union(*(above(topology, over) for over, _ in topology.parents.get(place, ())))


def _memory(inside: Inside, cpu: str, twice: bool) -> Edge:
    size = inside.memory_bytes_per_s
    if size is None:
        return Edge((cpu, "in"), (cpu, "out"))
    link = CutLink("memory", 1, size // 2 if twice else size, (f"memory of {cpu}", cpu))
    return Edge((cpu, "in"), (cpu, "out"), link)


def _between(topology: Topology, up: bool) -> Iterator[Edge]:
    side = "up" if up else "down"
    for one in topology.cpus:
        for other in topology.cpus:
            if one != other and topology.socket_link_bytes_per_s is not None:
                link = CutLink("socket link", 1, topology.socket_link_bytes_per_s, (one, other))
                yield Edge((one, side), (other, side), link)


def as_graph(found: Sequence[Edge]) -> networkx.DiGraph[Node]:
    """Return the edges as a graph with capacities; edges side by side add up."""
    import networkx

    graph: networkx.DiGraph[Node] = networkx.DiGraph()
    graph.add_nodes_from((SOURCE, SINK))
    for edge in found:
        before = graph.get_edge_data(edge.start, edge.end, {"capacity": 0})
        if edge.bytes_per_s is None or "capacity" not in before:
            graph.add_edge(edge.start, edge.end)
        else:
            graph.add_edge(edge.start, edge.end, capacity=before["capacity"] + edge.bytes_per_s)
    return graph


def network_cut(inside: Inside, movement: Movement, n: int | None = None) -> Cut:
    """Return the greatest flow of a movement and the links that decide it.

    Of several narrowest places the one nearest to the parts is named.
    """
    import networkx

    found = edges(inside, movement, n)
    graph, start, end = as_graph(found), SOURCE, SINK
    # The library names the cut nearest to the end: let that be where the parts are.
    if movement.sink == "dram":
        graph, start, end = graph.reverse(), SINK, SOURCE
    value, (near, far) = networkx.minimum_cut(graph, start, end)
    inner = near if start == SOURCE else far
    links = [edge.link for edge in found if edge.link and edge.start in inner and edge.end not in inner]
    return Cut(int(value), lambda: links, movement.twice)
