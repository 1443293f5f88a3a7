"""Multi-head, grouped-query and multi-query attention over the whole context.

bytes(T) = layers * kv_heads * (key_dim + value_dim) * b * T, with b bytes per element.
Heads are split over tensor-parallel ranks; beyond kv_heads ranks they are copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.fields import Count, Flag, Whole, record

_ELEMENTS: Mapping[str, tuple[Fraction, int, str]] = {
    # format: bytes per element, bytes per head and token beside it, a word on it
    "bf16": (Fraction(2), 0, "2 B per element"),
    "fp8": (Fraction(1), 0, "1 B per element, one scale per tensor"),
    "fp8_per_token_head": (Fraction(1), 8, "1 B per element, fp32 scale per token, head, K and V"),
    "int4_per_token_head": (Fraction(1, 2), 8, "half a byte per element and two fp32 scales"),
    "nvfp4": (Fraction(9, 16), 0, "half a byte per element, one fp8 scale per 16"),
    "fp32": (Fraction(4), 0, "4 B per element, for models kept in fp32"),
}


def head_row_bytes(kv_format: str, key_dim: int, value_dim: int) -> Fraction:
    """Return bytes per token of one KV head."""
    element, beside, _ = _ELEMENTS[kv_format]
    return (key_dim + value_dim) * element + beside


@record
class Heads:
    """Layers with key/value heads, whatever part of the context they see.

    Attributes
    ----------
    layers : int
        How many layers of this kind the model has.
    heads, kv_heads : int
        Query heads and key/value heads.
    key_dim, value_dim : int
        Elements per head; equal in most models.
    bias : bool
        Whether the four projections carry a bias.
    output_bias : bool
        Whether the output projection carries one too, if `bias`.
    head_norms : bool
        Whether queries and keys are normalised per head.
    projection_norms : bool
        Whether they are normalised over all heads together, each element with its own weight.
    sinks : bool
        Whether each head has a learned sink.
    gate : bool
        Whether the output is gated by a second projection of the size of the queries.
    rotary : int or None
        Elements per head that carry the position; `key_dim` if left out, 0 without position.
    stored_layers : int or None
        How many of the layers own a KV cache; the others read that of an earlier layer. All if
        left out.
    """

    layers: Count
    heads: Count
    kv_heads: Count
    key_dim: Count
    value_dim: Count
    bias: Flag = False
    output_bias: Flag = False
    head_norms: Flag = False
    projection_norms: Flag = False
    sinks: Flag = False
    gate: Flag = False
    rotary: Whole | None = None
    stored_layers: Whole | None = None

    def formats(self) -> Mapping[str, str]:
        """Return the KV formats of K/V heads."""
        return {name: word for name, (_, _, word) in _ELEMENTS.items()}

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return projections, biases and norms."""
        query = self.heads * self.key_dim
        key, value = self.kv_heads * self.key_dim, self.kv_heads * self.value_dim
        output = self.heads * self.value_dim
        small = (query + key + value) * self.bias + hidden * (self.bias and self.output_bias)
        small += 2 * self.key_dim * self.head_norms + self.heads * self.sinks
        small += (query + key) * self.projection_norms
        owned = self.stored
        return (
            Weights("attention projections", hidden * self.layers * (query + output), "attention", "tensor"),
            Weights("K and V projections", hidden * owned * (key + value), "attention", "tensor", self.kv_heads),
            Weights("attention output gates", hidden * self.layers * output * self.gate, "attention", "tensor"),
            Weights("attention biases and norms", self.layers * small, "other", "none"),
        )

    @property
    def stored(self) -> int:
        """Layers that own a KV cache."""
        return self.layers if self.stored_layers is None else self.stored_layers

    def rope_elements(self) -> int:
        """Return the rotated elements of a head."""
        return self.key_dim if self.rotary is None else self.rotary

    def copied_weights(self) -> int:
        """Return 0: nothing is absorbed."""
        return 0

    def tensor_limit(self) -> int:
        """Return the query heads."""
        return self.heads

    def part(self, kv_format: str) -> CachePart:
        """Return the cache of K and V rows over the whole context."""
        per_head = head_row_bytes(kv_format, self.key_dim, self.value_dim)
        formula = f"{self.kv_heads} kv heads x ({self.key_dim} + {self.value_dim}), {kv_format}"
        return CachePart("K and V", self.stored, self.kv_heads * per_head, self.kv_heads, row_formula=formula)

    def latent_heads(self, *, decode: bool) -> int:
        """Return 0: no vector is shared by all heads."""
        return 0

    def scan_flops(self, position: int) -> int:
        """Return 0: no indexer."""
        return 0

    def attention_flops(self, seen: int) -> int:
        """Return 2 FLOP per multiply-add for scores and values over `seen` earlier tokens."""
        return 2 * self.layers * self.heads * (self.key_dim + self.value_dim) * seen


@FAMILIES.register("gqa")
@record
class Gqa(Heads):
    """Layers with multi-head, grouped-query or multi-query attention over the whole context."""

    family: Literal["gqa"] = "gqa"

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return one cache of K and V rows."""
        return (self.part(kv_format),)

    def prefill_flops(self, position: int) -> int:
        """Return the work over all earlier tokens."""
        return self.attention_flops(position)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return the whole context."""
        return {"K and V": context}
