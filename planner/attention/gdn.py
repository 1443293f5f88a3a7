"""Gated delta networks (Qwen3-Next, Qwen3.5 and later): a matrix per value head instead of a cache.

state = (2 * key_heads * key_dim + value_heads * value_dim) * (kernel - 1) * 2
      + value_heads * value_dim * key_dim * s  bytes per layer and sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.attention.recurrent import Recurrent
from planner.fields import Count, record


@FAMILIES.register("gdn")
@record
class Gdn(Recurrent):
    """Layers with a gated delta rule.

    Attributes
    ----------
    key_heads, value_heads : int
        Heads of queries and keys, and of values.
    key_dim, value_dim : int
        Elements per head.
    """

    family: Literal["gdn"] = "gdn"
    key_heads: Count
    value_heads: Count
    key_dim: Count
    value_dim: Count

    @property
    def _channels(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    @property
    def _state(self) -> int:
        return self.value_heads * self.value_dim * self.key_dim

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the state, whatever the format."""
        return (self.state_part("delta-rule state", self._channels, self._state, self.tensor_limit()),)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return projections of queries, keys, values, gates and output; the rest is small."""
        values = self.value_heads * self.value_dim
        matrices = hidden * (self._channels + values) + values * hidden
        gates = 2 * hidden * self.value_heads
        small = self._channels * self.kernel + 2 * self.value_heads + self.value_dim
        return (
            Weights("delta-rule projections", self.layers * matrices, "attention", "tensor"),
            Weights("delta-rule gates", self.layers * gates, "other", "tensor"),
            Weights("delta-rule convolutions and norms", self.layers * small, "other", "tensor"),
        )

    def tensor_limit(self) -> int:
        """Return the heads of the lesser kind."""
        return min(self.key_heads, self.value_heads)

    def prefill_flops(self, position: int) -> int:
        """Return the recurrence's work, the same at every position."""
        return self.state_flops(self._state)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return nothing: a state is read whole."""
        return {}
