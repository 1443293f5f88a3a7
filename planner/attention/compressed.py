"""DeepSeek-V4's attention: one shared head, compressed caches beside a short window.

Layers of ratio r keep one row for r tokens; those of the lower ratio also an indexer key for r
tokens. Every layer keeps the last `window` tokens whole, and compressing layers a ring of partial
sums in fp32 (two windows of r tokens where windows overlap, as for ratio 4).

bytes(T) = T * (sparse * (row + key) / sparse_ratio + dense * row / dense_ratio)
         + layers * window * row + rings.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.fields import Count, Whole, record

_FORMATS: Mapping[str, str] = {
    "bf16": "2 B per element",
    "fp8": "1 B per element, one scale per tensor",
    "fp8_ds_mla": "fp8 latent, a scale byte per 64, BF16 rope",
}

# Tokens of a block where the kernels fix it (vllm 0.33.0 models/deepseek_v4/compressor.py:163, mla/sparse_swa.py:85).
_WINDOW_BLOCK = 64
_SPARSE_RING_BLOCK = 4
_DENSE_RING_BLOCK = 8


def _part(
    name: str, layers: int, row: Fraction, formula: str, page: int, window: int | None = None, block: int | None = None
) -> CachePart:
    return CachePart(
        name, layers, row, context_sharded=False, window_tokens=window, block_tokens=block, page_multiple=page,
        row_formula=formula,
    )  # fmt: skip


@FAMILIES.register("compressed")
@record
class Compressed:
    """Layers with compressed caches.

    Attributes
    ----------
    layers, heads : int
        All layers; query heads.
    dim, rope : int
        Elements of the one shared key and value, and how many of them carry the position.
    query_rank, output_rank, output_groups : int
        Of the low-rank query and output projections.
    sparse_layers, sparse_ratio : int
        Layers with an indexer and how many tokens share a row there.
    dense_layers, dense_ratio : int
        The same of layers that read every compressed row.
    window : int
        Latest tokens kept whole in every layer.
    indexer_heads, indexer_dim, topk : int
        Query heads of the indexer, elements per key, rows that attention reads.
    """

    family: Literal["compressed"] = "compressed"
    layers: Count
    heads: Count
    dim: Count
    rope: Whole
    query_rank: Count
    output_rank: Count
    output_groups: Count
    sparse_layers: Count
    sparse_ratio: Count
    dense_layers: Whole
    dense_ratio: Count
    window: Count
    indexer_heads: Count
    indexer_dim: Count
    topk: Count

    def formats(self) -> Mapping[str, str]:
        """Return the formats of the shared row."""
        return _FORMATS

    def _row(self, kv_format: str) -> Fraction:
        # 448 fp8 + 64 BF16 + 8 scale bytes (7 and one of padding) make 584 of V4's 512 elements.
        packed = (self.dim - self.rope) + 2 * self.rope + self.dim // 64
        return {"bf16": Fraction(2 * self.dim), "fp8": Fraction(self.dim), "fp8_ds_mla": Fraction(packed)}[kv_format]

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return compressed rows, indexer keys, windows and rings."""
        row = self._row(kv_format)
        key = Fraction(self.indexer_dim + 4 * self.indexer_dim // 128)
        overlap = 2 * self.sparse_ratio
        ring = Fraction(2 * 2 * 4)  # sum and weight, two overlapping windows, fp32
        each = f"{self.dim} with rope {self.rope}, {kv_format}"
        page = 576 if kv_format == "fp8_ds_mla" else 512
        sparse, dense = f"1 per {self.sparse_ratio}", f"1 per {self.dense_ratio}"
        parts = (
            _part(f"latent, {sparse}", self.sparse_layers, row / self.sparse_ratio, each, page),
            _part(f"indexer key, {sparse}", self.sparse_layers, key / self.sparse_ratio,
                  f"{self.indexer_dim} fp8 + an fp32 scale", page),
            _part(f"latent, {dense}", self.dense_layers, row / self.dense_ratio, each, page),
            _part(f"latent, window {self.window}", self.layers, row, each, page, self.window, _WINDOW_BLOCK),
            _part(f"compressor ring {overlap}", self.sparse_layers, ring * self.dim, "fp32", page, overlap,
                  _SPARSE_RING_BLOCK),
            _part(f"indexer ring {overlap}", self.sparse_layers, ring * self.indexer_dim, "fp32", page, overlap,
                  _SPARSE_RING_BLOCK),
            _part(f"compressor ring {self.dense_ratio}", self.dense_layers, Fraction(2 * 4 * self.dim), "fp32", page,
                  self.dense_ratio, _DENSE_RING_BLOCK),
        )  # fmt: skip
        return tuple(part for part in parts if part.layers)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return low-rank projections, compressors and the indexer, all of them but heads copied."""
        inner = self.heads * self.dim
        down = hidden * (self.query_rank + self.dim)
        up = self.query_rank * inner + inner * self.output_rank + self.output_groups * self.output_rank * hidden
        compress = 2 * hidden * self.dim * (2 * self.sparse_layers + self.dense_layers)
        compress += 4 * hidden * self.indexer_dim * self.sparse_layers
        biases = self.dim * (2 * self.sparse_ratio * self.sparse_layers + self.dense_ratio * self.dense_layers)
        biases += 2 * self.sparse_ratio * self.indexer_dim * self.sparse_layers
        indexer = self.query_rank * self.indexer_heads * self.indexer_dim
        norms = self.layers * (self.query_rank + self.dim + self.heads)
        norms += self.dim * (self.sparse_layers + self.dense_layers) + self.indexer_dim * self.sparse_layers
        return (
            Weights("attention down-projections", self.layers * down, "attention", "none"),
            Weights("attention per-head projections", self.layers * up, "attention", "tensor"),
            Weights("compressors", compress, "other", "none"),
            Weights("compressor positions", biases, "other", "none"),
            Weights("indexer projections", self.sparse_layers * indexer, "attention", "none"),
            Weights("indexer head weights", self.sparse_layers * hidden * self.indexer_heads, "other", "none"),
            Weights("attention norms and sinks", norms, "other", "none"),
        )

    def copied_weights(self) -> int:
        """Return 0: keys and values are one vector, nothing is absorbed."""
        return 0

    def tensor_limit(self) -> int:
        """Return the query heads."""
        return self.heads

    def rope_elements(self) -> int:
        """Return the position part's elements."""
        return self.rope

    def prefill_flops(self, position: int) -> int:
        """Return window, selected and compressed rows, and the indexer's scan."""
        one = 4 * self.heads * self.dim
        rows = self.layers * min(position, self.window)
        rows += self.sparse_layers * min(position // self.sparse_ratio, self.topk)
        rows += self.dense_layers * (position // self.dense_ratio)
        return one * rows + self.scan_flops(position)

    def scan_flops(self, position: int) -> int:
        """Return the indexer's work over all earlier keys."""
        return 2 * self.sparse_layers * self.indexer_heads * self.indexer_dim * (position // self.sparse_ratio)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def latent_heads(self, *, decode: bool) -> int:
        """Return all query heads: they share one key and value."""
        return self.heads

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return the rows selected, as tokens, and everything else whole."""
        parts = self.cache_parts("bf16")
        windows = {part.name: min(context, part.window_tokens) for part in parts if part.window_tokens}
        return windows | {f"latent, 1 per {self.sparse_ratio}": min(context, self.topk * self.sparse_ratio)}
