"""A pool per kind of layers, as SGLang keeps them: full tokens, windows, recurrent state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.paging.base import Claim, Deployment, LayerKind, Paging, PagingRules, ceil_to
from planner.units import ceil_div


@dataclass(frozen=True)
class PoolSizes:
    """What the pools of a rank hold.

    Attributes
    ----------
    full_tokens, window_tokens : int
        Tokens of the layers that keep everything and of those with a window.
    state_slots : int
        Sequences' states, those kept for prefixes included.
    """

    full_tokens: int
    window_tokens: int
    state_slots: int


@dataclass(frozen=True)
class PoolPaging(Paging):
    """Separate pools; its blocks are pages of the full pool.

    The budget is first parted into tokens and state, then into full and windowed layers (sglang
    0.5.23 srt/mem_cache/kv_cache_configurator.py:3352, srt/model_executor/pool_configurator.py:786).
    Each pool has one page more than the budget was divided for.

    Attributes
    ----------
    full_bytes, window_bytes : Fraction
        Bytes per token of the full and of the windowed layers; the former with the draft's.
    window_tokens : int
        The longest window.
    slot_bytes : int
        Recurrent state of one sequence.
    """

    full_bytes: Fraction
    window_bytes: Fraction
    window_tokens: int
    slot_bytes: int

    def sizes(self, kv_bytes: int, slots: int | None = None) -> PoolSizes:
        """Return what `kv_bytes` hold; `slots` gives the state slots instead of their share."""
        left = Fraction(max(0, kv_bytes))
        if self.slot_bytes:
            spare = self.rules.spare_state_slots
            share = self.rules.state_pool
            slots = max(0, int(left * share / (1 + share) // self.slot_bytes) - spare) if slots is None else slots
            left = max(Fraction(0), left - (slots + spare) * self.slot_bytes)
        ratio = self.rules.window_pool if self.full_bytes else Fraction(1)
        cell = self.full_bytes + ratio * self.window_bytes
        tokens = self._whole(int(left // cell)) if cell else 0
        full = tokens if self.full_bytes else 0
        return PoolSizes(full, self._whole(int(tokens * ratio)) if self.window_bytes else 0, slots or 0)

    def _whole(self, tokens: int) -> int:
        return tokens // self.block_tokens * self.block_tokens

    def n_blocks(self, kv_bytes: int) -> int:
        """Return the pages of the full pool, or of the only one there is."""
        sizes = self.sizes(kv_bytes)
        return (sizes.full_tokens if self.full_bytes else sizes.window_tokens) // self.block_tokens

    def usable_blocks(self, kv_bytes: int) -> int:
        """Return `n_blocks`: the page that pads a pool comes on top."""
        return self.n_blocks(kv_bytes)

    def request_blocks(self, tokens: int, prefix_tokens: int = 0) -> int:
        """Return the pages of a request in the full pool."""
        return ceil_div(tokens, self.block_tokens) - self.prefix_blocks(prefix_tokens)

    def prefix_blocks(self, tokens: int) -> int:
        """Return the whole pages of a stored prefix in the full pool."""
        return tokens // self.block_tokens if self.deployment.prefix_caching else 0

    def admission_blocks(self, tokens: int, batched_tokens: int) -> int:
        """Return the pages of a request; nothing else is reckoned."""
        return ceil_div(tokens, self.block_tokens)

    def reserve_blocks(self, tokens: int, batched_tokens: int, prefills: int = 1) -> int:
        """Return the pages of the tokens in flight in the window pool."""
        in_flight = min(self.in_flight_tokens(batched_tokens), tokens * prefills)
        return ceil_div(in_flight, self.block_tokens) if self.window_bytes else 0

    def window_held(self, tokens: int) -> int:
        """Return the tokens of a request in the window pool."""
        slack = self.rules.window_slack_pages * self.block_tokens
        return min(ceil_to(tokens, self.block_tokens), ceil_to(self.window_tokens, self.block_tokens) + slack)

    def request_bytes(self, tokens: int, prefix_tokens: int = 0) -> int:
        """Return the bytes of a request over all pools."""
        full = self.request_blocks(tokens, prefix_tokens) * self.block_tokens * self.full_bytes
        window = self.window_held(tokens) * self.window_bytes
        return -int(-(full + window) // 1) + self._slots() * self.slot_bytes

    def _slots(self) -> int:
        return self.rules.state_slots if self.deployment.prefix_caching else 1

    def sessions(self, kv_bytes: int, tokens: int, batched_tokens: int, prefills: int = 1) -> int:
        """Return how many whole requests fit into every pool."""
        sizes = self.sizes(kv_bytes)
        limits = []
        if self.full_bytes:
            limits.append(sizes.full_tokens // ceil_to(tokens, self.block_tokens))
        if self.window_bytes:
            reserve = self.reserve_blocks(tokens, batched_tokens, prefills) * self.block_tokens
            limits.append(max(0, sizes.window_tokens - reserve) // self.window_held(tokens))
        if self.slot_bytes:
            limits.append(sizes.state_slots // self._slots())
        return min(limits)

    def claims(self, tokens: int, prefix_tokens: int, prefixes: int, batched_tokens: int) -> tuple[Claim, ...]:
        """Return what requests take of each pool, in bytes of the memory that is parted into pools."""
        states = 1 + self.rules.state_pool if self.slot_bytes else Fraction(1)
        ratio = self.rules.window_pool if self.full_bytes else Fraction(1)
        cell = (self.full_bytes + ratio * self.window_bytes) * states
        claims = []
        if self.full_bytes:
            own = self.request_blocks(tokens, prefix_tokens) * self.block_tokens
            shared = self.prefix_blocks(prefix_tokens) * self.block_tokens * prefixes
            claims.append(Claim(shared * cell, own * cell))
        if self.window_bytes:
            reserve = self.reserve_blocks(tokens, batched_tokens) * self.block_tokens
            claims.append(Claim(reserve * cell / ratio, self.window_held(tokens) * cell / ratio))
        if self.slot_bytes:
            slot = self.slot_bytes * states / self.rules.state_pool
            claims.append(Claim(self.rules.spare_state_slots * slot, self._slots() * slot))
        return tuple(claims)

    def printed_tokens(self, kv_bytes: int, max_model_len: int, batched_tokens: int) -> int:
        """Return the tokens of the full pool, or of the only one there is."""
        return self.n_blocks(kv_bytes) * self.block_tokens


def lay_out_pools(
    kinds: Sequence[LayerKind], rules: PagingRules, block_tokens: int, deployment: Deployment
) -> PoolPaging:
    """Return the pools of `kinds`; `block_tokens` is the page size.

    Tokens dealt out over ranks count at their share of a row.
    """
    full = sum((k.layers * k.token_bytes / k.token_ranks for k in kinds if k.grows), Fraction(0))
    windowed = [k for k in kinds if k.window_tokens is not None]
    window = sum((k.layers * k.token_bytes for k in windowed), Fraction(0))
    longest = max((k.window_tokens or 0 for k in windowed), default=0)
    slot = sum(k.layers * k.state_bytes for k in kinds)
    pools = sum(map(bool, (full, window, slot)))
    page = max(1, -int(-(full or window) * block_tokens // 1))
    return PoolPaging(rules, deployment, block_tokens, pools, page, 0, full, window, longest, slot)
