"""What a movement reaches, and the links that decide it, said in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

LinkKind = Literal[
    "uplink", "socket link", "memory", "gpus", "drives read", "drives write", "drive links", "nics", "nic links"
]


@dataclass(frozen=True)
class CutLink:
    """Equal links that are full.

    Attributes
    ----------
    kind : str
        What they are.
    n : int
        How many, side by side in this place.
    each_bytes_per_s : int
        Of one of them.
    ends : tuple of str
        Its two ends, the one nearer to the memory first; a group of parts by its name.
    behind : tuple of (str, int)
        Groups of parts behind it that take part in the movement, and how many each has.
    what : str
        The kind of those parts.
    """

    kind: LinkKind
    n: int
    each_bytes_per_s: int
    ends: tuple[str, str]
    behind: tuple[tuple[str, int], ...] = ()
    what: str = ""


@dataclass(frozen=True)
class Cut:
    """The narrowest place of a movement.

    Attributes
    ----------
    bytes_per_s : int
        Nominal, one direction: the most that can flow, which is what these links carry together.
    find : callable
        Finds the links that are full. Plans ask for thousands of flows and for few explanations.
    twice : bool
        Whether each byte crosses the memory twice.
    """

    bytes_per_s: int
    find: Callable[[], Sequence[CutLink]] = tuple
    twice: bool = False

    @cached_property
    def links(self) -> tuple[CutLink, ...]:
        """The links that are full; nothing flows around them."""
        return tuple(self.find())

    @cached_property
    def text(self) -> str:
        """What limits, e.g. ``4 uplinks of 63 GB/s shared by 8 GPUs``."""
        kinds: dict[tuple[LinkKind, int], list[CutLink]] = {}
        order = list(_NAMES)
        for link in sorted(self.links, key=lambda link: (order.index(link.kind), -link.each_bytes_per_s)):
            kinds.setdefault((link.kind, link.each_bytes_per_s), []).append(link)
        return " and ".join(_words(*key, links, self.twice) for key, links in kinds.items()) or "nothing to move"


_NAMES: dict[LinkKind, tuple[str, str]] = {
    "uplink": ("uplink of", "uplinks of"),
    "socket link": ("link between sockets of", "links between sockets of"),
    "memory": ("socket's memory of", "sockets' memory of"),
    "gpus": ("GPU link of", "GPU links of"),
    "drives read": ("drive reading", "drives reading"),
    "drives write": ("drive writing", "drives writing"),
    "drive links": ("drive link of", "drive links of"),
    "nics": ("card of", "cards of"),
    "nic links": ("card link of", "card links of"),
}
PARTS = {"gpus": ("GPU", "GPUs"), "drives": ("drive", "drives"), "nics": ("card", "cards")}


def counted(n: int, kind: str) -> str:
    """Return e.g. ``1 GPU`` or ``8 drives``."""
    return f"{n} {PARTS[kind][n != 1]}"


def _words(kind: LinkKind, each: int, links: Sequence[CutLink], twice: bool) -> str:
    n = sum(link.n for link in links)
    text = f"{n} {_NAMES[kind][n != 1]} {each / 1e9:g} GB/s"
    if kind == "memory" and twice:
        return f"{text} in and out"
    if kind != "uplink":
        return text
    # What has several of these links is counted once.
    sharers: dict[str, dict[str, int]] = {}
    for link in links:
        sharers.setdefault(link.what, {}).update(link.behind)
    return f"{text} shared by {' and '.join(counted(sum(many.values()), what) for what, many in sharers.items())}"
