"""Flows in a machine whose switches each have one uplink: no search is needed.

What passes a link is the lesser of its width and of what its branches bring. That is the greatest
flow of `network`, a thousand times faster: candidates ask it for every count of every drive.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.topology.contents import Group
from planner.topology.cut import Cut, CutLink
from planner.topology.links import leaf_link
from planner.wiring import Topology


def is_tree(topology: Topology) -> bool:
    """Return whether every switch hangs on one thing only."""
    return all(len(links) == 1 for links in topology.parents.values())


def tree_cut(topology: Topology, parts: Sequence[Group], up: bool) -> Cut:
    """Return what `parts` move to or from memory that does not limit.

    Of several narrowest places the one nearest to the parts is named.
    """
    below: dict[str, list[CutLink]] = {}
    for group in parts:
        below.setdefault(group.at, []).append(leaf_link(group, up))
    kind = parts[0].kind if parts else ""
    # A switch stands behind what it hangs on, however the file orders them.
    for name in reversed(_outwards(topology)):
        ((above, width),) = topology.parents[name]
        full = below.pop(name, [])
        if width < sum(link.n * link.each_bytes_per_s for link in full):
            behind = tuple(group for link in full for group in link.behind)
            full = [CutLink("uplink", 1, width, (above, name), behind, kind)]
        below.setdefault(above, []).extend(full)
    links = tuple(link for cpu in topology.cpus for link in below.get(cpu, ()))
    return Cut(sum(link.n * link.each_bytes_per_s for link in links), links)


def _outwards(topology: Topology) -> list[str]:
    parents, order = topology.parents, dict.fromkeys(topology.cpus)
    while len(order) < len(parents) + topology.n_sockets:
        order |= dict.fromkeys(name for name, ((above, _),) in parents.items() if above in order)
    return [name for name in order if name in parents]
