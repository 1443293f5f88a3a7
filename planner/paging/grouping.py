"""How layers fall into groups of equal bytes per block."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from planner.errors import InputError
from planner.paging.base import LayerKind, PagingRules, page_of
from planner.units import ceil_div


@dataclass(frozen=True)
class Bucket:
    """Layers that may share a group, and into how many groups they are dealt.

    Attributes
    ----------
    kinds : tuple of LayerKind
        Kinds of the same nature.
    block_tokens : int
        Tokens of their block, per context rank.
    groups : int
        Groups they make.
    """

    kinds: tuple[LayerKind, ...]
    block_tokens: int
    groups: int = 1

    @property
    def kind(self) -> LayerKind:
        """The first kind; the others have the same window and state."""
        return self.kinds[0]

    @property
    def layers(self) -> int:
        """Layers of all stages."""
        return sum(k.total_layers for k in self.kinds)

    def page(self, kind: LayerKind) -> int:
        """Return the bytes of a layer's page."""
        return page_of(kind, self.block_tokens)

    def counts(self) -> dict[int, int]:
        """Return the layers of all stages per page size."""
        counts: dict[int, int] = {}
        for kind in self.kinds:
            counts[self.page(kind)] = counts.get(self.page(kind), 0) + kind.total_layers
        return counts

    def widest(self, groups: int) -> int:
        """Return the bytes per block of the largest of `groups` groups, over all stages."""
        return sum(ceil_div(k.total_layers, groups) * self.page(k) for k in self.kinds)

    def rank_bytes(self) -> int:
        """Return the bytes per block on this rank of the largest group."""
        return sum(ceil_div(k.layers, self.groups) * self.page(k) for k in self.kinds)


@dataclass(frozen=True)
class Buckets:
    """All groups of a rank.

    Attributes
    ----------
    buckets : tuple of Bucket
        With their numbers of groups.
    page_bytes : int
        Bytes of a block on this rank.
    padding_layers : int
        Layer places without a layer.
    """

    buckets: tuple[Bucket, ...]
    page_bytes: int
    padding_layers: int = 0


def one_group(kinds: Sequence[LayerKind], block_tokens: int) -> Buckets:
    """Return all layers as one group: rows may differ in size, blocks hold the same tokens.

    Source: vllm 0.33.0 v1/core/kv_cache_planning.py:1147.
    """
    bucket = Bucket(tuple(kinds), kinds[0].own_block_tokens or block_tokens)
    return Buckets((bucket,), bucket.rank_bytes())


def unified(kinds: Sequence[LayerKind], rules: PagingRules, block_tokens: int) -> Buckets:
    """Return groups of equally many layers whose pages were made equal.

    Pages smaller than the largest get more tokens where they divide it, else padding, as
    recurrent states always do. Source: vllm 0.33.0 v1/core/kv_cache_planning.py:346, :524.
    """
    sizes = {k.name: page_of(k, k.own_block_tokens or block_tokens) for k in kinds}
    page = max(sizes.values())
    merged: dict[Hashable, list[LayerKind]] = {}
    for kind in kinds:
        merged.setdefault(_spec(kind), []).append(kind)
    buckets = [
        Bucket(tuple(members), _enlarged(members[0], sizes[members[0].name], page, rules, block_tokens))
        for members in merged.values()
    ]
    size = _group_layers([b.layers for b in buckets], rules)
    dealt = [Bucket(b.kinds, b.block_tokens, ceil_div(b.layers, size)) for b in buckets]
    on_rank = max(ceil_div(sum(k.layers for k in b.kinds), b.groups) for b in dealt)
    padding = sum(b.groups * size - b.layers for b in dealt)
    return Buckets(tuple(dealt), on_rank * page, padding)


def _spec(kind: LayerKind) -> Hashable:
    """Return what must agree for layers to share a group in `unified`; a draft's layers may."""
    return kind.token_bytes, kind.state_bytes, kind.window_tokens, kind.chunked, kind.token_ranks, kind.own_block_tokens


def _enlarged(kind: LayerKind, size: int, page: int, rules: PagingRules, block_tokens: int) -> int:
    block = kind.own_block_tokens or block_tokens
    if kind.state_bytes or size == page:
        return block
    if page % size == 0:
        return block * (page // size)
    if rules.pads_pages:
        return block
    raise InputError(f"the engine cannot pad a page of {size:,} B ({kind.name}) to one of {page:,} B")


def _group_layers(layers: Sequence[int], rules: PagingRules) -> int:
    """Layers per group: the least of a kind, or the most where that pads little."""
    return max(layers) if max(layers) < rules.widen_below * min(layers) else min(layers)


def packed(kinds: Sequence[LayerKind], block_tokens: int) -> Buckets:
    """Return groups whose blocks hold pages of different sizes side by side.

    A bucket with as many layers of each page size repeats a pattern of one layer of each. Those
    that mix sizes stay whole, and set how many repeats a group has; the others are dealt out
    accordingly. States, and windows where nothing repeats, are dealt out so as not to widen the
    block. A block has the bytes of the largest group. Source: vllm 0.33.0
    v1/core/kv_cache_planning.py:914.
    """
    found: dict[Hashable, list[LayerKind]] = {}
    for kind in kinds:
        block = kind.own_block_tokens or block_tokens
        found.setdefault((kind.window_tokens, kind.chunked, kind.state_bytes, block), []).append(kind)
    buckets = [Bucket(tuple(m), m[0].own_block_tokens or block_tokens) for m in found.values()]
    repeats = _repeats(buckets)
    split = [_dealt(b, _pattern_groups(b, repeats)) for b in buckets]

    def is_state(bucket: Bucket) -> bool:
        window = bucket.kind.window_tokens is not None and not bucket.kind.chunked
        return bool(bucket.kind.state_bytes) or (repeats == 0 and window)

    split = _capped(split, is_state)
    page = max(b.rank_bytes() for b in split)
    padding = sum(b.groups * ceil_div(n, b.groups) - n for b in split for n in b.counts().values())
    return Buckets(tuple(split), page, padding)


def _dealt(bucket: Bucket, groups: int) -> Bucket:
    return Bucket(bucket.kinds, bucket.block_tokens, groups)


def _balanced(bucket: Bucket) -> bool:
    return len(set(bucket.counts().values())) == 1


def _pattern_groups(bucket: Bucket, repeats: int) -> int:
    return ceil_div(max(bucket.counts().values()), repeats) if repeats and _balanced(bucket) else 1


def _repeats(buckets: Sequence[Bucket]) -> int:
    """Repeats of the pattern per group that pad least, the larger of equals; 0 where nothing repeats."""
    balanced = [b for b in buckets if _balanced(b)]
    floor = max((max(b.counts().values()) for b in balanced if len(b.counts()) > 1), default=0)
    if not floor:
        return 0
    layers = [max(b.counts().values()) for b in balanced]
    return min(range(floor, max(layers) + 1), key=lambda n: (sum(-count % n for count in layers), -n))


def _capped(buckets: Sequence[Bucket], is_state: Callable[[Bucket], bool]) -> list[Bucket]:
    """Deal states out to as many groups as keep them within the block that the others need."""
    anchor = max(b.widest(b.layers if is_state(b) else b.groups) for b in buckets)
    capped = []
    for bucket in buckets:
        per_block = max(anchor // bucket.page(bucket.kind), 1)
        least = ceil_div(bucket.layers, per_block) if is_state(bucket) else 1
        capped.append(_dealt(bucket, max(bucket.groups, least)))
    return capped
