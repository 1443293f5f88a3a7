"""Grouped-query attention over a sliding window: a constant per sequence, no growth beyond it.

bytes(T) = layers * kv_heads * (key_dim + value_dim) * b * min(T, window).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from planner.attention.base import FAMILIES, CachePart
from planner.attention.gqa import Heads
from planner.fields import Count, record


@FAMILIES.register("sliding_window")
@record
class SlidingWindow(Heads):
    """Layers whose tokens see only the `window` latest ones.

    Attributes
    ----------
    window : int
        Tokens that a sequence keeps.
    """

    family: Literal["sliding_window"] = "sliding_window"
    window: Count

    @property
    def _part_name(self) -> str:
        return f"K and V, window {self.window}"

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the windowed cache."""
        whole = self.part(kv_format)
        return (replace(whole, name=self._part_name, window_tokens=self.window, context_sharded=False),)

    def prefill_flops(self, position: int) -> int:
        """Return the work of the tokens within the window."""
        return self.attention_flops(min(position, self.window))

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return at most the window."""
        return {self._part_name: min(context, self.window)}
