"""Multi-head latent attention: one vector per token and layer that all heads share.

bytes(T) = layers * row * T; row is 2 * (rank + rope) in BF16. There are no heads to split, so
every tensor-parallel rank keeps a full copy; decode context parallelism spreads the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights, row
from planner.fields import Count, Flag, Whole, record

_ROWS: Mapping[str, tuple[Callable[[int, int], Fraction], str]] = {
    "bf16": (lambda rank, rope: row(2 * (rank + rope)), "2 B per element"),
    "fp8": (lambda rank, rope: row(rank + rope), "1 B per element, no scale per token"),
    "fp8_ds_mla": (
        lambda rank, rope: rank + row(4 * rank, 128) + 2 * rope,
        "fp8 latent, an fp32 scale per 128, BF16 rope",
    ),
    "nvfp4_ds_mla": (
        lambda rank, rope: row(rank, 2) + rope + row(rank, 16),
        "4-bit latent, an fp8 scale per 16, fp8 rope",
    ),
}


def latent_row_bytes(kv_format: str, rank: int, rope: int) -> Fraction:
    """Return bytes per token and layer of the latent vector."""
    return _ROWS[kv_format][0](rank, rope)


def latent_formats() -> Mapping[str, str]:
    """Return the formats of the latent vector with a word on each."""
    return {name: word for name, (_, word) in _ROWS.items()}


@record
class Latent:
    """Layers with a latent vector per token, dense or behind an indexer.

    Attributes
    ----------
    layers, heads : int
        Layers of this kind; query heads.
    rank : int
        Elements of the compressed latent (``kv_lora_rank``).
    rope : int
        Elements of the position part (``qk_rope_head_dim``).
    nope : int
        Elements per head without position (``qk_nope_head_dim``).
    value_dim : int
        Elements per head of the values (``v_head_dim``).
    query_rank : int
        ``q_lora_rank``; 0 where queries are not compressed.
    gate : bool
        Whether the output is gated by a projection of the size of the values.
    """

    layers: Count
    heads: Count
    rank: Count
    rope: Whole
    nope: Count
    value_dim: Count
    query_rank: Whole
    gate: Flag = False

    def formats(self) -> Mapping[str, str]:
        """Return the formats of the latent vector."""
        return latent_formats()

    def copied_weights(self) -> int:
        """Return W_UK and W_UV, which engines absorb into BF16 copies for decode."""
        return self.layers * self.heads * (self.nope + self.value_dim) * self.rank

    def tensor_limit(self) -> int:
        """Return the query heads."""
        return self.heads

    def rope_elements(self) -> int:
        """Return the position part's elements."""
        return self.rope

    def latent_part(self, kv_format: str) -> CachePart:
        """Return the latent cache."""
        formula = f"latent {self.rank} + rope {self.rope}, {kv_format}"
        size = latent_row_bytes(kv_format, self.rank, self.rope)
        return CachePart("latent", self.layers, size, row_formula=formula)

    def latent_weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the down-projections (copied), the per-head matrices (split) and the norms."""
        query_in = self.query_rank or hidden
        down = hidden * (self.rank + self.rope) + hidden * self.query_rank
        up = query_in * self.heads * (self.nope + self.rope)
        up += self.rank * self.heads * (self.nope + self.value_dim)
        up += (1 + self.gate) * self.heads * self.value_dim * hidden
        norms = self.query_rank + self.rank
        return (
            Weights("attention down-projections", self.layers * down, "attention", "none"),
            Weights("attention per-head projections", self.layers * up, "attention", "tensor"),
            Weights("attention norms", self.layers * norms, "other", "none"),
        )

    def latent_heads(self, *, decode: bool) -> int:
        """Return all query heads."""
        return self.heads

    def latent_flops(self, seen: int) -> int:
        """Return the work over `seen` tokens in latent space: scores over rank + rope, values over rank."""
        return 2 * self.layers * self.heads * (2 * self.rank + self.rope) * seen


PREFILL_CHUNK_TOKENS = 4096
"""Tokens over which dense prefill spreads the projection of the cached context back to heads; engines
prefill in chunks of 2,048 to 16,384."""


@FAMILIES.register("mla")
@record
class Mla(Latent):
    """Layers with dense multi-head latent attention."""

    family: Literal["mla"] = "mla"

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the latent cache."""
        return (self.latent_part(kv_format),)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the parameters of latent attention."""
        return self.latent_weights(hidden)

    def prefill_flops(self, position: int) -> int:
        """Return the work of per-head attention, which dense prefill uses, with its projections.

        Scores over nope + rope and values per head are a third of the work in latent space; the
        cached latents are projected up to heads once per chunk.
        """
        per_head = 2 * self.layers * self.heads * (self.nope + self.rope + self.value_dim) * position
        project = 2 * self.layers * self.heads * self.rank * (self.nope + self.value_dim) * position
        return per_head + project // PREFILL_CHUNK_TOKENS

    def decode_flops(self, position: int) -> int:
        """Return the work in latent space: decode does not project the cache back to heads."""
        return self.latent_flops(position)

    def latent_heads(self, *, decode: bool) -> int:
        """Return all query heads in decode; prefill works per head."""
        return self.heads if decode else 0

    def scan_flops(self, position: int) -> int:
        """Return 0: no indexer."""
        return 0

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return the whole context."""
        return {"latent": context}
