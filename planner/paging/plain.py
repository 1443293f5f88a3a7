"""Paging of an engine of which no more is known than its block: bytes, rounded up to blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.paging.base import Deployment, LayerKind, Paging, PagingRules
from planner.units import ceil_div


@dataclass(frozen=True)
class PlainPaging(Paging):
    """Every kind of layers takes the bytes of its tokens, in whole blocks.

    Attributes
    ----------
    kinds : tuple of LayerKind
        The layers of this rank.
    """

    kinds: tuple[LayerKind, ...]

    def _bytes(self, tokens: int, extra_tokens: int = 0, *, constants: bool = True) -> int:
        total = 0
        for kind in self.kinds:
            block = kind.own_block_tokens or self.block_tokens
            if not kind.grows and not constants:
                continue
            kept = tokens if kind.window_tokens is None else min(tokens, kind.window_tokens + extra_tokens)
            blocks = ceil_div(kept, block * kind.token_ranks)
            total += kind.layers * (kind.state_bytes - int(-blocks * block * kind.token_bytes // 1))
        return total

    def request_blocks(self, tokens: int, prefix_tokens: int = 0) -> int:
        """Return the bytes of a request of `tokens`, in blocks."""
        shared = self._bytes(self._whole(prefix_tokens), constants=False)
        return ceil_div(self._bytes(tokens) - shared, self.page_bytes)

    def prefix_blocks(self, tokens: int) -> int:
        """Return the whole blocks of a stored prefix."""
        return ceil_div(self._bytes(self._whole(tokens), constants=False), self.page_bytes)

    def _whole(self, tokens: int) -> int:
        ranks = max(kind.token_ranks for kind in self.kinds)
        return tokens // (self.block_tokens * ranks) * self.block_tokens * ranks

    def admission_blocks(self, tokens: int, batched_tokens: int) -> int:
        """Return the bytes of a request with a step's tokens in its windows."""
        return ceil_div(self._bytes(tokens, self.in_flight_tokens(batched_tokens)), self.page_bytes)

    def reserve_blocks(self, tokens: int, batched_tokens: int, prefills: int = 1) -> int:
        """Return what the tokens in flight hold in windowed layers."""
        in_flight = min(self.in_flight_tokens(batched_tokens), tokens * prefills)
        windowed = (kind for kind in self.kinds if kind.window_tokens is not None)
        size = sum((kind.layers * kind.token_bytes * in_flight for kind in windowed), Fraction(0))
        return -int(-size // self.page_bytes)

    def printed_tokens(self, kv_bytes: int, max_model_len: int, batched_tokens: int) -> int:
        """Return the tokens of the blocks."""
        return self.n_blocks(kv_bytes) * self.block_tokens


def lay_out_plain(
    kinds: Sequence[LayerKind], rules: PagingRules, block_tokens: int, deployment: Deployment
) -> PlainPaging:
    """Return the paging of `kinds` in blocks of the layers that keep everything."""
    rate = sum(kind.layers * kind.token_bytes for kind in kinds if kind.grows)
    page = max(1, -int(-rate * block_tokens // 1))
    return PlainPaging(rules, deployment, block_tokens, 1, page, 0, tuple(kinds))
