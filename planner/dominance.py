"""Exact dominance: drop an item if another is at least as good in every coordinate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

_SMALL = 48


def undominated(vectors: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the indices of the vectors that no other dominates; less is better everywhere.

    Of equal vectors the first is kept. Sorted lexicographically, a dominating vector always
    stands before the one it dominates, so one pass against what is kept suffices. Coordinates
    must fit 64 bits: they are cents, watts, bytes and counts of one group.
    """
    order = sorted(range(len(vectors)), key=lambda i: (vectors[i], i))
    return sorted(_small(vectors, order) if len(order) <= _SMALL else _large(vectors, order))


def undominated_within(classes: Sequence[Hashable], vectors: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the indices of the vectors that no other of the same class dominates."""
    members: dict[Hashable, list[int]] = {}
    for i, each in enumerate(classes):
        members.setdefault(each, []).append(i)
    return sorted(own[k] for own in members.values() for k in undominated([vectors[i] for i in own]))


def _small(vectors: Sequence[tuple[int, ...]], order: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for i in order:
        mine = vectors[i]
        if not any(all(a <= b for a, b in zip(vectors[j], mine, strict=True)) for j in kept):
            kept.append(i)
    return kept


def _large(vectors: Sequence[tuple[int, ...]], order: Sequence[int]) -> list[int]:
    import numpy

    table = numpy.array([vectors[i] for i in order], dtype=numpy.int64)
    front = numpy.empty_like(table)
    kept: list[int] = []
    for place, i in enumerate(order):
        mine = table[place]
        if not bool((front[: len(kept)] <= mine).all(axis=1).any()):
            front[len(kept)] = mine
            kept.append(i)
    return kept
