"""What every attention family answers: cache parts, parameters, work per token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from planner.registry import Registry

WeightKind = Literal["expert", "linear", "other"]
"""What a checkpoint may quantise apart: routed experts, other matrices, the unquantised rest."""


@dataclass(frozen=True)
class CachePart:
    """One of the caches that a model's layers own.

    Attributes
    ----------
    name : str
        E.g. ``latent`` or ``indexer key``.
    layers : int
        How many layers own one.
    row_bytes : Fraction
        Bytes per token and layer, of one whole copy.
    heads : int
        Into how many equal pieces tensor parallelism can split a row; 1 means every rank holds
        a full copy.
    context_sharded : bool
        Whether decode context parallelism spreads its tokens over ranks on every engine.
    window_tokens : int or None
        The most tokens a sequence keeps in it; None without limit.
    row_formula : str
        How `row_bytes` comes about, for reading.
    """

    name: str
    layers: int
    row_bytes: Fraction
    heads: int = 1
    context_sharded: bool = True
    window_tokens: int | None = None
    row_formula: str = ""


@dataclass(frozen=True)
class Weights:
    """A group of parameters that are quantised and split alike.

    Attributes
    ----------
    name : str
        What they are.
    count : int
        Parameters in the whole model.
    kind : {'expert', 'linear', 'other'}
        How checkpoints quantise them.
    split : {'tensor', 'expert', 'none', 'first', 'last'}
        ``tensor``: over the ranks of tensor parallelism; ``expert``: over all ranks of expert or
        tensor parallelism; ``none``: a full copy on every rank; ``first`` and ``last``: the
        vocabulary matrices, which only the first and last pipeline stage hold.
    """

    name: str
    count: int
    kind: WeightKind
    split: Literal["tensor", "expert", "none", "first", "last"]


class Attention(Protocol):
    """A group of layers with the same attention; families register a record that meets this."""

    family: str
    layers: int

    def formats(self) -> Mapping[str, str]:
        """Return the KV formats that this family has rows for, with a word on each."""
        ...

    def cache_parts(self, kv_format: str) -> tuple[CachePart, ...]:
        """Return the caches of these layers in `kv_format`; KeyError for an unknown one."""
        ...

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the parameters of these layers at the model's hidden size."""
        ...

    def copied_weights(self) -> int:
        """Return parameters that engines keep a second time in BF16 (absorbed projections)."""
        ...

    def prefill_flops(self, position: int) -> int:
        """Return attention FLOP for one new token at `position`, projections excluded."""
        ...

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return per cache part how many tokens one decode step reads at `context`."""
        ...

    def tensor_limit(self) -> int:
        """Return into how many ranks the attention heads can be split."""
        ...


FAMILIES: Registry[type] = Registry("attention family")


def row(numerator: int, denominator: int = 1) -> Fraction:
    """Return exact bytes of a row."""
    return Fraction(numerator, denominator)
