"""What stands in a machine: its wiring, and the parts that move bytes, dealt out to their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeVar

from planner.wiring import Places, Topology

LeafKind = Literal["gpus", "drives", "nics"]
LEAF_KINDS: tuple[LeafKind, ...] = ("gpus", "drives", "nics")
T = TypeVar("T")


@dataclass(frozen=True)
class Parts:
    """Equal parts of one kind.

    Attributes
    ----------
    n : int
        How many.
    up_bytes_per_s, down_bytes_per_s : int or None
        What one moves itself, towards the processors and away from them; None for as much as its
        link carries.
    """

    n: int = 0
    up_bytes_per_s: int | None = None
    down_bytes_per_s: int | None = None


@dataclass(frozen=True)
class Inside:
    """A machine with its parts.

    Attributes
    ----------
    memory_bytes_per_s : int or None
        Of the DRAM of one socket, reads and writes together; None where it is not to limit.
    """

    topology: Topology
    gpus: Parts = field(default_factory=Parts)
    drives: Parts = field(default_factory=Parts)
    nics: Parts = field(default_factory=Parts)
    memory_bytes_per_s: int | None = None


@dataclass(frozen=True)
class Group:
    """Equal parts in one place.

    Attributes
    ----------
    at : str
        The processor or switch that they hang on.
    n : int
        How many.
    link_bytes_per_s : int
        Of the link of one.
    up_bytes_per_s, down_bytes_per_s : int
        What one moves, over its link.
    """

    kind: LeafKind
    at: str
    n: int
    link_bytes_per_s: int
    up_bytes_per_s: int
    down_bytes_per_s: int

    @property
    def name(self) -> str:
        """Text that tells it apart from the other groups of a machine."""
        return f"{self.kind} at {self.at} by {self.link_bytes_per_s / 1e9:g}"


def groups(inside: Inside, kind: LeafKind, n: int | None = None) -> tuple[Group, ...]:
    """Return where the parts of one kind hang, equal ones in one place together.

    With `n`, only so many of them, those that share most: an attention group's GPUs may be
    neighbours, so that is careful.
    """
    parts: Parts = getattr(inside, kind)
    return tuple(
        Group(kind, at, many, link, *(link if own is None else min(own, link) for own in _own(parts)))
        for (at, link), many in hung(inside.topology, kind, parts.n, n).items()
    )


def hung(topology: Topology, kind: LeafKind, many: int, n: int | None = None) -> dict[tuple[str, int], int]:
    """Return how many parts hang in each place by a link of one width; see `groups`."""
    counts: dict[tuple[str, int], int] = {}
    for place in deal(topology, kind, many):
        counts[place] = counts.get(place, 0) + 1
    return counts if n is None else _first(counts, n)


def _own(parts: Parts) -> tuple[int | None, int | None]:
    return parts.up_bytes_per_s, parts.down_bytes_per_s


def _first(counts: dict[tuple[str, int], int], n: int) -> dict[tuple[str, int], int]:
    left, kept = n, {}
    for place, many in sorted(counts.items(), key=lambda item: -item[1]):
        if left:
            kept[place] = min(many, left)
            left -= kept[place]
    return kept


@lru_cache(4096)
def deal(topology: Topology, kind: LeafKind, n: int) -> tuple[tuple[str, int], ...]:
    """Return (place, width of its link) of each of `n` parts: dealt out in turn, sockets first.

    Who fills a machine spreads drives and cards evenly; more than the described machine has begin
    again at the first place.
    """
    order = _in_turn(topology, getattr(topology, kind))
    return tuple(order[i % len(order)] for i in range(n)) if order else ()


def _in_turn(topology: Topology, entries: Sequence[Places]) -> list[tuple[str, int]]:
    each = [(at, entry.link_bytes_per_s) for entry in entries for at in entry.each]
    return _spread([(path(topology, at), (at, link)) for at, link in each], 0)


def path(topology: Topology, place: str) -> tuple[str, ...]:
    """Return the way from a processor to a place, by the first link of each switch."""
    links = topology.parents.get(place)
    return (*path(topology, links[0][0]), place) if links else (place,)


def _spread(items: Sequence[tuple[tuple[str, ...], T]], depth: int) -> list[T]:
    """Take items in turn from each branch, and within a branch from each of its own."""
    branches: dict[str, list[tuple[tuple[str, ...], T]]] = {}
    for way, item in items:
        branches.setdefault(way[depth] if depth < len(way) else "", []).append((way, item))
    if "" in branches and len(branches) == 1:
        return [item for _, item in items]
    return list(_turns([_spread(branch, depth + 1) if name else [i for _, i in branch]
                        for name, branch in branches.items()]))  # fmt: skip


def _turns(lists: Sequence[Sequence[T]]) -> Iterator[T]:
    for i in range(max(map(len, lists), default=0)):
        yield from (each[i] for each in lists if i < len(each))
