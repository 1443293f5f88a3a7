"""Grouped-query attention over a sliding window: a constant per sequence, no growth beyond it.

bytes(T) = layers * kv_heads * (key_dim + value_dim) * b * min(T, window).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.attention.gqa import Gqa
from planner.fields import Count, Flag, record


@FAMILIES.register("sliding_window")
@record
class SlidingWindow:
    """Layers whose tokens see only the `window` latest ones; else as `Gqa`.

    Attributes
    ----------
    window : int
        Tokens that a sequence keeps.
    layers, heads, kv_heads, key_dim, value_dim, bias, output_bias, head_norms, sinks
        As in `planner.attention.gqa.Gqa`.
    """

    family: Literal["sliding_window"] = "sliding_window"
    layers: Count
    window: Count
    heads: Count
    kv_heads: Count
    key_dim: Count
    value_dim: Count
    bias: Flag = False
    output_bias: Flag = False
    head_norms: Flag = False
    sinks: Flag = False

    @property
    def _whole(self) -> Gqa:
        return Gqa(
            layers=self.layers, heads=self.heads, kv_heads=self.kv_heads, key_dim=self.key_dim,
            value_dim=self.value_dim, bias=self.bias, output_bias=self.output_bias,
            head_norms=self.head_norms, sinks=self.sinks,
        )  # fmt: skip

    def formats(self) -> Mapping[str, str]:
        """Return the KV formats of K/V heads."""
        return self._whole.formats()

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the windowed cache."""
        (part,) = self._whole.cache_parts(kv_format)
        name = f"K and V, window {self.window}"
        return (replace(part, name=name, window_tokens=self.window, context_sharded=False),)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the same as over the whole context."""
        return self._whole.weights(hidden)

    def copied_weights(self) -> int:
        """Return 0: nothing is absorbed."""
        return 0

    def prefill_flops(self, position: int) -> int:
        """Return the work of the tokens within the window."""
        return self._whole.prefill_flops(min(position, self.window))

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return at most the window."""
        return {f"K and V, window {self.window}": min(context, self.window)}

    def tensor_limit(self) -> int:
        """Return the query heads."""
        return self.heads
