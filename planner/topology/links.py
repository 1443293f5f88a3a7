"""Links as a cut names them."""

from __future__ import annotations

from planner.topology.contents import Group
from planner.topology.cut import CutLink, LinkKind


def leaf_link(group: Group, up: bool) -> CutLink:
    """Return the links of a group of parts, named by what is narrower: the part or its link."""
    each = group.up_bytes_per_s if up else group.down_bytes_per_s
    narrow = group.link_bytes_per_s <= each
    kinds: dict[str, LinkKind] = {
        "gpus": "gpus",
        "drives": "drive links" if narrow else "drives read" if up else "drives write",
        "nics": "nic links" if narrow else "nics",
    }
    return CutLink(kinds[group.kind], group.n, each, (group.at, group.name), ((group.name, group.n),), group.kind)
