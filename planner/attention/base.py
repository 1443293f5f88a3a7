"""What every attention family answers: cache parts, parameters, work per token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from planner.registry import Registry

WeightKind = Literal["expert", "linear", "attention", "head", "other", "fp32"]
"""What a checkpoint may quantise apart: routed experts, other matrices of the feed-forward layers,
matrices of attention, the output head, the unquantised rest, and what is kept in fp32 in any case."""


WeightSplit = Literal["tensor", "shared", "expert", "none", "first", "last"]


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
    chunked : bool
        Whether the window starts anew at every multiple of its length instead of sliding.
    state_bytes : Fraction
        Bytes per sequence and layer that do not depend on its length (recurrent state).
    draft_bytes : Fraction
        Further such bytes per token that speculation proposes: a convolution keeps its inputs too.
    with_latent : bool
        Whether engines lay it in one group with the layer's main cache (an indexer's keys).
    block_tokens : int or None
        Tokens of its block where the kernel fixes them apart from the engine's block.
    page_multiple : int
        Kernels pad a layer's page to a multiple of so many bytes.
    row_formula : str
        How `row_bytes` (or `state_bytes`) comes about, for reading.
    """

    name: str
    layers: int
    row_bytes: Fraction
    heads: int = 1
    context_sharded: bool = True
    window_tokens: int | None = None
    chunked: bool = False
    state_bytes: Fraction = Fraction(0)
    draft_bytes: Fraction = Fraction(0)
    with_latent: bool = False
    block_tokens: int | None = None
    page_multiple: int = 1
    row_formula: str = ""

    @property
    def grows(self) -> bool:
        """Whether it grows with the context without limit."""
        return self.window_tokens is None and not self.state_bytes

    def sequence_bytes(self, tokens: int) -> Fraction:
        """Return one copy of what a sequence of `tokens` keeps in all its layers."""
        kept = tokens if self.window_tokens is None else min(tokens, self.window_tokens)
        return self.layers * (self.row_bytes * kept + self.state_bytes)


@dataclass(frozen=True)
class Weights:
    """A group of parameters that are quantised and split alike.

    Attributes
    ----------
    name : str
        What they are.
    count : int
        Parameters in the whole model.
    kind : {'expert', 'linear', 'attention', 'head', 'other', 'fp32'}
        How checkpoints quantise them.
    split : {'tensor', 'shared', 'expert', 'none', 'first', 'last'}
        ``tensor``: over the ranks of tensor parallelism; ``shared``: so too, but copied where experts
        are spread over several attention groups; ``expert``: over all ranks of expert or
        tensor parallelism; ``none``: a full copy on every rank; ``first`` and ``last``: the
        vocabulary matrices, which only the first and last pipeline stage hold.
    pieces : int or None
        Into how many pieces ``tensor`` can split them; ranks beyond keep copies.
    """

    name: str
    count: int
    kind: WeightKind
    split: WeightSplit
    pieces: int | None = None


class Attention(Protocol):
    """A group of layers with the same attention; families register a record that meets this."""

    @property
    def family(self) -> str:
        """The family's name."""
        ...

    @property
    def layers(self) -> int:
        """How many layers are of this kind."""
        ...

    def formats(self) -> Mapping[str, str]:
        """Return the KV formats that this family has rows for; none where the format does not touch it."""
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

    def decode_flops(self, position: int) -> int:
        """Return the same for a token that is decoded, which kernels may compute another way."""
        ...

    def scan_flops(self, position: int) -> int:
        """Return the part of both that is an indexer's scan, which every tensor rank repeats; 0 without one."""
        ...

    def latent_heads(self, *, decode: bool) -> int:
        """Return the query heads that read one shared vector, which kernels take in tiles; 0 where none do."""
        ...

    def read_fraction_tokens(self, context: int) -> Mapping[str, int]:
        """Return per cache part how many tokens one decode step reads at `context`."""
        ...

    def tensor_limit(self) -> int:
        """Return into how many ranks the attention heads can be split."""
        ...

    def rope_elements(self) -> int:
        """Return the elements per position of the engine's table of sines and cosines; 0 without one."""
        ...


FAMILIES: Registry[type] = Registry("attention family")


def row(numerator: int, denominator: int = 1) -> Fraction:
    """Return exact bytes of a row."""
    return Fraction(numerator, denominator)
