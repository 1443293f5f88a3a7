"""Mamba-2 layers of hybrids such as Nemotron-H.

state = (heads * dim + 2 * groups * state) * (kernel - 1) * 2 + heads * dim * state * s  bytes per
layer and sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planner.attention.base import FAMILIES, CachePart, Weights
from planner.attention.recurrent import Recurrent
from planner.fields import Count, record


@FAMILIES.register("mamba2")
@record
class Mamba2(Recurrent):
    """Layers with a selective state space.

    Attributes
    ----------
    heads, dim : int
        Heads and their elements (``mamba_num_heads``, ``mamba_head_dim``).
    groups : int
        Groups of heads that share input and output matrices.
    state : int
        State elements per channel (``ssm_state_size``).
    """

    family: Literal["mamba2"] = "mamba2"
    heads: Count
    dim: Count
    groups: Count
    state: Count

    @property
    def _channels(self) -> int:
        return self.heads * self.dim + 2 * self.groups * self.state

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the state, whatever the format."""
        held = self.heads * self.dim * self.state
        return (self.state_part("state-space state", self._channels, held, self.heads),)

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the in- and output projections and the small rest."""
        inner = self.heads * self.dim
        matrices = hidden * (inner + self._channels + self.heads) + inner * hidden
        small = self._channels * (self.kernel + 1) + 3 * self.heads + inner
        return (
            Weights("state-space projections", self.layers * matrices, "attention", "tensor"),
            Weights("state-space convolutions and norms", self.layers * small, "other", "tensor"),
        )

    def tensor_limit(self) -> int:
        """Return the heads."""
        return self.heads

    def prefill_flops(self, position: int) -> int:
        """Return the recurrence's work, the same at every position."""
        return self.state_flops(self.heads * self.dim * self.state)

    def decode_flops(self, position: int) -> int:
        """Return the same as for prefill."""
        return self.prefill_flops(position)

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return nothing: a state is read whole."""
        return {}
