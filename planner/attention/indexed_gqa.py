"""Grouped-query attention with block selection by an indexer (MiniMax-M3, Qwen sparse attention).

bytes(T) = (layers * kv_heads * (key_dim + value_dim) * b + indexer_layers * indexer_dim * i) * T.
The indexer keeps one key per token, which all ranks copy; sparsity shrinks reads, not storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.attention.gqa import Heads
from planner.fields import Count, Number, record


@FAMILIES.register("indexed_gqa")
@record
class IndexedGqa(Heads):
    """Layers with K/V heads of which an indexer picks the blocks to read.

    Attributes
    ----------
    indexer_layers : int
        How many of the layers own an indexer and store its keys.
    indexer_heads, indexer_dim : int
        Its query heads and elements per key.
    indexer_key_bytes : Fraction
        Bytes per element of the stored key (``indexer_key``); 2 where it stays BF16.
    selected : int
        Tokens that the indexed layers read.
    """

    family: Literal["indexed_gqa"] = "indexed_gqa"
    indexer_layers: Count
    indexer_heads: Count
    indexer_dim: Count
    indexer_key_bytes: Number = Fraction(2)
    selected: Count

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the K/V cache and the indexer's."""
        formula = f"one key of {self.indexer_dim}, {float(self.indexer_key_bytes):g} B per element"
        size = self.indexer_dim * self.indexer_key_bytes
        keys = CachePart(
            "indexer key", self.indexer_layers, size, context_sharded=False, with_latent=True, row_formula=formula
        )
        return (self.part(kv_format), keys)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return those of the heads and, copied on every rank, the indexer's."""
        matrices = hidden * self.indexer_dim * (self.indexer_heads + 1)
        return (
            *super().weights(hidden),
            Weights("indexer projections", self.indexer_layers * matrices, "attention", "none"),
            Weights("indexer norms", self.indexer_layers * 2 * self.indexer_dim, "other", "none"),
        )

    def prefill_flops(self, position: int) -> int:
        """Return dense work in layers without an indexer, the selection and its scan in the others."""
        one = 2 * self.heads * (self.key_dim + self.value_dim)
        dense = (self.layers - self.indexer_layers) * one * position
        return dense + self.indexer_layers * one * min(position, self.selected) + self.scan_flops(position)

    def scan_flops(self, position: int) -> int:
        """Return the indexer's work over all earlier tokens."""
        return 2 * self.indexer_layers * self.indexer_heads * self.indexer_dim * position

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return the mean over dense and indexed layers, but every indexer key."""
        dense = (self.layers - self.indexer_layers) * context
        picked = self.indexer_layers * min(context, self.selected)
        return {"K and V": -(-(dense + picked) // self.layers), "indexer key": context}
