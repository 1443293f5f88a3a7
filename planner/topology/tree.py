"""Flows in a machine whose switches each have one uplink: no search is needed.

What passes a link is the lesser of its width and of what its branches bring. That is the greatest
flow of `network`, a thousand times faster: candidates ask it for every count of every drive.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache

from planner.topology.contents import Inside, LeafKind, groups, hung
from planner.topology.cut import Cut, CutLink
from planner.topology.links import leaf_link
from planner.wiring import Topology


@lru_cache(4096)
def is_tree(topology: Topology) -> bool:
    """Return whether every switch hangs on one thing only."""
    return all(len(links) == 1 for links in topology.parents.values())


def tree_cut(inside: Inside, kind: LeafKind, up: bool, n: int | None = None) -> Cut:
    """Return what the parts of a kind, or `n` of them, move to or from memory that does not limit.

    Of several narrowest places the one nearest to the parts is named.
    """
    parts = getattr(inside, kind)
    own = parts.up_bytes_per_s if up else parts.down_bytes_per_s
    branches = _branches(inside.topology, kind, parts.n, n)
    return Cut(sum(_carried(branch, own) for branch in branches), lambda: _full(inside, kind, up, n))


@dataclass(frozen=True)
class _Branch:
    """What hangs in one place: (number, width) of parts, (number, width, branch) of switches that are alike."""

    parts: tuple[tuple[int, int], ...]
    switches: tuple[tuple[int, int, _Branch], ...]

    @cached_property
    def empty(self) -> bool:
        """Whether no part hangs on it or behind it."""
        return not self.parts and not self.switches


@lru_cache(16384)
def _branches(topology: Topology, kind: LeafKind, many: int, n: int | None) -> tuple[_Branch, ...]:
    counts = hung(topology, kind, many, n)

    def branch(place: str) -> _Branch:
        here = tuple((some, width) for (at, width), some in counts.items() if at == place)
        links = [(links[0], name) for name, links in topology.parents.items()]
        below = Counter((width, branch(name)) for (above, width), name in links if above == place)
        return _Branch(here, tuple((some, *alike) for alike, some in below.items() if not alike[1].empty))

    return tuple(made for made in map(branch, topology.cpus) if not made.empty)


def _carried(branch: _Branch, own: int | None) -> int:
    total = 0
    for some, width in branch.parts:
        total += some * (width if own is None or width < own else own)
    for some, width, inner in branch.switches:
        total += some * min(width, _carried(inner, own))
    return total


def _full(inside: Inside, kind: LeafKind, up: bool, n: int | None) -> list[CutLink]:
    """Return the links that are full: those of the parts, or an uplink before all that it cannot bear."""
    topology = inside.topology
    below: dict[str, list[CutLink]] = {}
    for group in groups(inside, kind, n):
        below.setdefault(group.at, []).append(leaf_link(group, up))
    for name in reversed(_outwards(topology)):
        ((above, width),) = topology.parents[name]
        full = below.pop(name, [])
        if width < sum(link.n * link.each_bytes_per_s for link in full):
            behind = tuple(group for link in full for group in link.behind)
            full = [CutLink("uplink", 1, width, (above, name), behind, kind)]
        below.setdefault(above, []).extend(full)
    return [link for cpu in topology.cpus for link in below.get(cpu, ())]


def _outwards(topology: Topology) -> list[str]:
    """Return the switches, each behind what it hangs on, however the file orders them."""
    parents, order = topology.parents, dict.fromkeys(topology.cpus)
    while len(order) < len(parents) + topology.n_sockets:
        order |= dict.fromkeys(name for name, ((above, _),) in parents.items() if above in order)
    return [name for name in order if name in parents]
