"""Exact dominance: drop an item if another is at least as good in every coordinate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import numpy

_SMALL = 48
_BLOCK = 256
_KILLERS = 32


def undominated(vectors: Sequence[tuple[int, ...]] | numpy.ndarray) -> list[int]:
    """Return the indices of the vectors that no other dominates; less is better everywhere.

    Of equal vectors the first is kept. Sorted lexicographically, a dominating vector always
    stands before the one it dominates, so one pass against what is kept suffices. Coordinates
    must fit 64 bits: they are cents, watts, bytes and counts of one group.
    """
    if len(vectors) > _SMALL:
        return _large(vectors)
    rows = vectors if isinstance(vectors, list) else cast("numpy.ndarray", vectors).tolist()
    return _small(rows)


def undominated_within(classes: Sequence[Hashable], vectors: Sequence[tuple[int, ...]] | numpy.ndarray) -> list[int]:
    """Return the indices of the vectors that no other of the same class dominates."""
    members: dict[Hashable, list[int]] = {}
    for i, each in enumerate(classes):
        members.setdefault(each, []).append(i)
    if len(members) == 1:
        return undominated(vectors)
    return sorted(own[k] for own in members.values() for k in undominated(_some(vectors, own)))


def _some(
    vectors: Sequence[tuple[int, ...]] | numpy.ndarray, places: list[int]
) -> Sequence[tuple[int, ...]] | numpy.ndarray:
    if isinstance(vectors, list):
        return [vectors[i] for i in places]
    return cast("numpy.ndarray", vectors)[places]


def _small(vectors: Sequence[Sequence[int]]) -> list[int]:
    kept: list[int] = []
    for i in sorted(range(len(vectors)), key=lambda i: (vectors[i], i)):
        mine = vectors[i]
        if not any(all(a <= b for a, b in zip(vectors[j], mine, strict=True)) for j in kept):
            kept.append(i)
    return sorted(kept)


def _large(vectors: Sequence[tuple[int, ...]] | numpy.ndarray) -> list[int]:
    import numpy

    table = numpy.asarray(vectors, dtype=numpy.int64)
    if table.shape[1] == 0:
        return [0]
    # numpy sorts by the last key first; the sort is stable, so equal vectors stay in order.
    order = numpy.lexsort(table.T[::-1])
    table = table[order]
    left = _survivors(table)
    kept: list[int] = []
    front = numpy.empty_like(table)
    for start in range(0, len(left), _BLOCK):
        block = left[start : start + _BLOCK]
        block = block[~_dominated(table[block], front[: len(kept)])]
        block = block[~_dominated_before(table[block])]
        front[len(kept) : len(kept) + len(block)] = table[block]
        kept += block.tolist()
    return sorted(int(order[place]) for place in kept)


def _survivors(table: numpy.ndarray) -> numpy.ndarray:
    """Return the places of rows that a few good rows do not dominate: most go at once."""
    import numpy

    places = numpy.arange(len(table))
    if len(table) <= 4 * _BLOCK:
        return places
    # Good rows are those whose coordinates are small as ranks; they are compared exactly.
    ranks = sum(numpy.argsort(numpy.argsort(column, kind="stable"), kind="stable") for column in table.T)
    killers = numpy.sort(numpy.argsort(ranks, kind="stable")[:_KILLERS])
    gone = numpy.zeros(len(table), dtype=bool)
    for killer in killers:
        worse = (table[killer] <= table).all(axis=1)
        # A row is not worse than itself, nor than an equal one that stands after it.
        worse[: killer + 1] = False
        gone |= worse
    return places[~gone]


def _dominated_before(rows: numpy.ndarray) -> numpy.ndarray:
    """Return which rows another that stands before them dominates; that it may be dominated itself changes nothing."""
    import numpy

    worse = numpy.triu(numpy.ones((len(rows), len(rows)), dtype=bool), 1)
    for column in rows.T:
        worse &= column[:, None] <= column[None, :]
    return numpy.asarray(worse.any(axis=0))


def _dominated(rows: numpy.ndarray, front: numpy.ndarray) -> numpy.ndarray:
    import numpy

    gone = numpy.zeros(len(rows), dtype=bool)
    for start in range(0, len(front), _BLOCK):
        some = front[start : start + _BLOCK]
        left = numpy.flatnonzero(~gone)
        if not len(left):
            break
        worse = numpy.ones((len(some), len(left)), dtype=bool)
        for column in range(rows.shape[1]):
            worse &= some[:, column, None] <= rows[None, left, column]
        gone[left] = worse.any(axis=0)
    return gone
