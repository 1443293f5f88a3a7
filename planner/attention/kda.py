"""Kimi delta attention: a gated delta rule with one decay per channel.

state = 3 * heads * dim * (kernel - 1) * 2 + heads * dim^2 * s  bytes per layer and sequence; the
recurrent part is kept in fp32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.attention.recurrent import Recurrent
from planner.fields import Count, Flag, record


@FAMILIES.register("kda")
@record
class Kda(Recurrent):
    """Layers with Kimi delta attention.

    Attributes
    ----------
    heads, dim : int
        Heads, alike for queries, keys and values, and their elements.
    full_rank_gate : bool
        Whether the output gate is a full matrix instead of two of rank `dim`.
    """

    family: Literal["kda"] = "kda"
    heads: Count
    dim: Count
    full_rank_gate: Flag = False

    @property
    def _state(self) -> int:
        return self.heads * self.dim**2

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the state, whatever the format."""
        return (self.state_part("delta-attention state", 3 * self.heads * self.dim, self._state, self.heads),)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return projections, the decay's and the gate's low-rank pair, and the small rest."""
        inner = self.heads * self.dim
        pair = hidden * self.dim + self.dim * inner
        gate = hidden * inner if self.full_rank_gate else pair
        small = 3 * inner * self.kernel + inner + self.heads + self.dim
        return (
            Weights("delta-attention projections", self.layers * 4 * hidden * inner, "attention", "tensor"),
            Weights("delta-attention gates", self.layers * (pair + gate + hidden * self.heads), "attention", "tensor"),
            Weights("delta-attention convolutions and norms", self.layers * small, "other", "tensor"),
        )

    def tensor_limit(self) -> int:
        """Return the heads."""
        return self.heads

    def prefill_flops(self, position: int) -> int:
        """Return the recurrence's work, the same at every position."""
        return self.state_flops(self._state)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return nothing: a state is read whole."""
        return {}
