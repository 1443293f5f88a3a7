"""What layers with a recurrent state have in common: a constant per sequence, no growth.

bytes(T) = layers * (convolution window + state). The KV format does not touch them: their types
are the model's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from planner.attention.base import CachePart
from planner.fields import Count, record

StateType = Literal["fp32", "bf16"]
STATE_BYTES: Mapping[str, int] = {"fp32": 4, "bf16": 2}
CONVOLUTION_BYTES = 2
"""The convolution's last inputs are kept in BF16."""


@record
class Recurrent:
    """Layers that carry a state along instead of keeping tokens.

    Attributes
    ----------
    layers : int
        How many.
    kernel : int
        Length of the short convolution; its last kernel - 1 inputs are kept.
    state_type : {'fp32', 'bf16'}
        In which the state is kept.
    """

    layers: Count
    kernel: Count
    state_type: StateType

    def formats(self) -> Mapping[str, str]:
        """Return nothing: a KV format does not touch a state."""
        return {}

    def latent_heads(self, *, decode: bool) -> int:
        """Return 0: no vector is shared by all heads."""
        return 0

    def scan_flops(self, position: int) -> int:
        """Return 0: no indexer."""
        return 0

    def copied_weights(self) -> int:
        """Return 0: nothing is absorbed."""
        return 0

    def rope_elements(self) -> int:
        """Return 0: the order of tokens is in the recurrence."""
        return 0

    def state_part(self, name: str, convolved: int, state: int, heads: int) -> CachePart:
        """Return the part of `convolved` channels and `state` elements, split over `heads`."""
        convolution = convolved * (self.kernel - 1) * CONVOLUTION_BYTES
        held = Fraction(convolution + state * STATE_BYTES[self.state_type])
        formula = f"{convolved} channels x {self.kernel - 1} x 2 B + {state} x {STATE_BYTES[self.state_type]} B"
        return CachePart(
            name,
            self.layers,
            Fraction(0),
            heads,
            context_sharded=False,
            state_bytes=held,
            draft_bytes=Fraction(convolved * CONVOLUTION_BYTES),
            row_formula=formula,
        )

    def state_flops(self, state: int) -> int:
        """Return 6 FLOP per element of the state and token: decay, update and read-out."""
        return 6 * self.layers * state
