"""One pool of equal blocks that groups of layers share, as vLLM keeps its caches.

A request draws blocks for every group from the same pool; a block's bytes are those of the
largest group. How the layers fall into groups is in `planner.paging.grouping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from planner.paging.base import Deployment, LayerKind, Paging, PagingRules
from planner.paging.grouping import Buckets, one_group, packed, unified
from planner.units import ceil_div


@dataclass(frozen=True)
class Group:
    """Groups of layers that are alike.

    Attributes
    ----------
    count : int
        How many there are.
    block_tokens : int
        Tokens of the sequence per block, over all context ranks.
    window_tokens : int or None
        Their window or chunk.
    chunked : bool
        Whether it is a chunk.
    state_pages : int
        Blocks per sequence, whatever its length; 0 where tokens are stored.
    step_tokens : int
        Tokens of a decoding request whose steps are not settled; what left their window stays.
    """

    count: int
    block_tokens: int
    window_tokens: int | None = None
    chunked: bool = False
    state_pages: int = 0
    step_tokens: int = 1

    @property
    def grows(self) -> bool:
        """Whether it keeps every token."""
        return not self.state_pages and self.window_tokens is None

    def blocks(self, tokens: int) -> int:
        """Return the most blocks of one decoding request in one of these groups.

        n tokens in a row touch at most floor((n - 2) / block) + 2 blocks.
        """
        if self.state_pages:
            return self.state_pages
        blocks = ceil_div(tokens, self.block_tokens)
        if self.window_tokens is None:
            return blocks
        if self.chunked:
            return min(blocks, ceil_div(self.window_tokens, self.block_tokens))
        kept = self.window_tokens - 1 + self.step_tokens
        return min(blocks, (kept - 2) // self.block_tokens + 2)

    def admission(self, tokens: int, in_flight_tokens: int) -> int:
        """Return the blocks that start-up reckons with, all tokens in flight being this request's.

        Source: vllm 0.33.0 v1/kv_cache_interface.py:878 (chunk) and :937 (window).
        """
        if self.window_tokens is None:
            return self.blocks(tokens)
        if self.chunked:
            return ceil_div(min(self.window_tokens + in_flight_tokens, tokens), self.block_tokens)
        return ceil_div(min(self.window_tokens - 1 + in_flight_tokens, tokens), self.block_tokens) + 1

    def peak(self, tokens: int, in_flight_tokens: int) -> int:
        """Return the most blocks that a request of `tokens` holds while it is read.

        Source: vllm 0.33.0 v1/core/single_type_kv_cache_manager.py:225.
        """
        return min(ceil_div(tokens, self.block_tokens), self.admission(tokens, in_flight_tokens))


@dataclass(frozen=True)
class GroupedPaging(Paging):
    """Blocks of one size, drawn by every group of layers.

    Attributes
    ----------
    groups : tuple of Group
        The groups.
    """

    groups: tuple[Group, ...]

    def _alignment(self) -> int:
        """Tokens at whose multiples a prefix can end: blocks of all groups end there."""
        return lcm(*(group.block_tokens for group in self.groups))

    def _shared(self, prefix_tokens: int) -> int:
        whole = prefix_tokens // self._alignment() * self._alignment()
        if not self.deployment.prefix_caching:
            return 0
        return sum(g.count * (whole // g.block_tokens) for g in self.groups if g.grows)

    def request_blocks(self, tokens: int, prefix_tokens: int = 0) -> int:
        """Return what a decoding request of `tokens` holds, without what it shares of a prefix."""
        return sum(group.count * group.blocks(tokens) for group in self.groups) - self._shared(prefix_tokens)

    def prefix_blocks(self, tokens: int) -> int:
        """Return what a stored prefix holds: its tokens, the last window, one state."""
        whole = tokens // self._alignment() * self._alignment()
        if not whole or not self.deployment.prefix_caching:
            return 0
        ends = sum(g.count * (1 if g.state_pages else g.blocks(whole)) for g in self.groups if not g.grows)
        return self._shared(tokens) + ends

    def admission_blocks(self, tokens: int, batched_tokens: int) -> int:
        """Return what start-up reckons a request of `tokens` at; the printed concurrency divides by it."""
        in_flight = self.in_flight_tokens(batched_tokens)
        checkpoints = self.rules.checkpoint_pages if self.deployment.prefix_caching else 0
        states = sum(group.count for group in self.groups if group.state_pages)
        return sum(g.count * g.admission(tokens, in_flight) for g in self.groups) + states * checkpoints

    def reserve_blocks(self, tokens: int, batched_tokens: int, prefills: int = 1) -> int:
        """Return what prompts being read hold beyond `request_blocks`, over all of the pool together.

        In every windowed group the tokens in flight, each prompt's share in whole blocks and none
        above its peak; in every group of states the page that is saved amid a prefill.
        """
        in_flight = self.in_flight_tokens(batched_tokens)
        checkpoints = self.rules.checkpoint_pages if self.deployment.prefix_caching else 0
        blocks = 0
        for group in self.groups:
            if group.state_pages:
                blocks += group.count * checkpoints * prefills
            elif group.window_tokens is not None:
                together = (in_flight + prefills * (group.block_tokens - 1)) // group.block_tokens
                each = max(0, group.peak(tokens, in_flight) - group.blocks(tokens))
                blocks += group.count * min(together, prefills * each)
        return blocks

    def printed_tokens(self, kv_bytes: int, max_model_len: int, batched_tokens: int) -> int:
        """Return the printed "KV cache size"; see `PagingRules.prints`."""
        blocks = self.n_blocks(kv_bytes)
        if self.rules.prints == "concurrency":
            return int(self.printed_concurrency(kv_bytes, max_model_len, batched_tokens) * max_model_len)
        if self.rules.prints == "groups":
            return blocks // self.n_groups * min(g.block_tokens for g in self.groups)
        return blocks * self.block_tokens


def lay_out_grouped(
    kinds: Sequence[LayerKind], rules: PagingRules, block_tokens: int, deployment: Deployment
) -> GroupedPaging:
    """Return the paging of `kinds`; the attention block grows where recurrent layers need it."""
    kinds = [k for k in kinds if k.total_layers]
    if not deployment.frees_windows and any(k.grows for k in kinds):
        kinds = [replace(k, window_tokens=None, chunked=False, own_block_tokens=None) for k in kinds]
    block = attention_block(kinds, rules, block_tokens, deployment)
    if len({_nature(k) for k in kinds}) == 1:
        buckets = one_group(kinds, block)
    elif deployment.packs:
        buckets = packed(kinds, block)
    else:
        buckets = unified(_joined(kinds), rules, block)
    groups = _groups(buckets, rules, deployment)
    count = sum(group.count for group in groups)
    return GroupedPaging(rules, deployment, block, count, buckets.page_bytes, buckets.padding_layers, groups)


def attention_block(kinds: Sequence[LayerKind], rules: PagingRules, block_tokens: int, deployment: Deployment) -> int:
    """Return the tokens of an attention block: no smaller than what a recurrent state fills.

    Source: vllm 0.33.0 platforms/interface.py:1098.
    """
    state = max((k.state_bytes for k in kinds), default=0)
    attention = next((k for k in kinds if k.grows and not k.beside), None)
    if not state or attention is None:
        return block_tokens
    multiple = lcm(rules.state_block_multiple, block_tokens)
    if deployment.saves_every_state:
        multiple = lcm(multiple, deployment.state_chunk_tokens)
    return max(block_tokens, multiple * -int(-state // (multiple * attention.token_bytes)))


def _nature(kind: LayerKind) -> tuple[int | None, bool, int]:
    """Return what must agree for all layers to live in one group."""
    return kind.window_tokens, kind.chunked, kind.state_bytes


def _joined(kinds: Sequence[LayerKind]) -> list[LayerKind]:
    """Give a cache that lives beside another's layers to those layers, evenly."""
    joined = []
    for kind in kinds:
        guests = [k for k in kinds if k.beside == kind.name]
        extra = sum((k.token_bytes * k.total_layers / kind.total_layers for k in guests), Fraction(0))
        if not kind.beside:
            joined.append(replace(kind, token_bytes=kind.token_bytes + extra))
    return joined


def _groups(buckets: Buckets, rules: PagingRules, deployment: Deployment) -> tuple[Group, ...]:
    pages = rules.cached_state_pages if deployment.prefix_caching else rules.state_pages
    pages = 0 if deployment.saves_every_state else pages + deployment.draft_tokens
    step_tokens = rules.steps_in_flight * (1 + deployment.draft_tokens)
    return tuple(
        Group(
            bucket.groups,
            bucket.block_tokens * bucket.kind.token_ranks,
            bucket.kind.window_tokens,
            bucket.kind.chunked,
            pages if bucket.kind.state_bytes else 0,
            step_tokens,
        )
        for bucket in buckets.buckets
    )
