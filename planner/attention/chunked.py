"""Grouped-query attention within chunks: tokens see their own chunk of the sequence only.

bytes(T) = layers * kv_heads * (key_dim + value_dim) * b * min(T, chunk): a sequence keeps at most
the chunk it is in. Llama 4 runs three of four layers so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from planner.attention.base import FAMILIES, CachePart
from planner.attention.gqa import Heads
from planner.fields import Count, record


@FAMILIES.register("chunked")
@record
class Chunked(Heads):
    """Layers whose tokens see the chunk that they are in.

    Attributes
    ----------
    chunk : int
        Tokens of a chunk (``attention_chunk_size``).
    """

    family: Literal["chunked"] = "chunked"
    chunk: Count

    @property
    def _part_name(self) -> str:
        return f"K and V, chunk {self.chunk}"

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the cache of one chunk."""
        whole = self.part(kv_format)
        return (replace(whole, name=self._part_name, window_tokens=self.chunk, chunked=True, context_sharded=False),)

    def prefill_flops(self, position: int) -> int:
        """Return the work of the tokens of the chunk before `position`."""
        return self.attention_flops(position % self.chunk)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return at most a chunk."""
        return {self._part_name: min(context, self.chunk)}
