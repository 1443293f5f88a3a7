"""Bytes of KV cache: per token, per session, per rank.

bytes(T) = rate * T + constant + state: the parts of all layers summed, each in its own precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

from planner.attention import CachePart
from planner.errors import InputError, nearest
from planner.models import Model
from planner.units import ceil_div

_ENDLESS = 10**12
"""Tokens that fill every window."""


@dataclass(frozen=True, eq=False)
class KvCache:
    """The KV cache of a model in one format.

    Attributes
    ----------
    name : str
        The format.
    parts : tuple of CachePart
        The caches of all layers, draft layers included.
    custom : bool
        Whether the bytes were taken at the user's word: no engine has this format.
    """

    name: str
    parts: tuple[CachePart, ...]
    custom: bool = False

    @cached_property
    def rate(self) -> Fraction:
        """Bytes per token of one whole copy, of the parts that grow with the context."""
        return sum((p.layers * p.row_bytes for p in self.parts if p.grows), Fraction(0))

    @property
    def bytes_per_token(self) -> int:
        """The rate as whole bytes, rounded up."""
        return -int(-self.rate // 1)

    @property
    def state_bytes(self) -> Fraction:
        """Return the recurrent state of one sequence, of whatever length."""
        return sum((p.layers * p.state_bytes for p in self.parts), Fraction(0))

    def constant_bytes(self, tokens: int) -> Fraction:
        """Return what windows and states hold of a sequence of `tokens`."""
        return sum((p.sequence_bytes(tokens) for p in self.parts if not p.grows), Fraction(0))

    def deviation_bytes(self, tokens: int) -> Fraction:
        """Return no less than the standard deviation of a sequence whose length deviates by `tokens`.

        What grows deviates with the length. A window does at most as much, and at most half of what it holds when
        full, as does anything between none and that. Deviations of the parts add up at most.
        """
        total = self.rate * tokens
        for part in self.parts:
            if not part.grows:
                full = part.sequence_bytes(_ENDLESS) - part.sequence_bytes(0)
                total += min(part.layers * part.row_bytes * tokens, full / 2)
        return total

    def session_bytes(self, tokens: int) -> Fraction:
        """Return one copy of a sequence of `tokens`."""
        return self.rate * tokens + self.constant_bytes(tokens)

    def formula(self) -> str:
        """Return how the rate comes about, e.g. ``78 x 656 (latent) + 78 x 132 (indexer key)``."""
        terms = [f"{p.layers} x {float(p.row_bytes):g} ({p.name})" for p in self.parts if p.grows]
        return " + ".join(terms)


@cache
def kv_cache(model: Model, kv_format: str, draft_layers: int = 0) -> KvCache:
    """Return the KV cache of `model` in `kv_format`.

    Raises
    ------
    InputError
        If the model's attention has no rows in that format; names those it has.
    """
    parts: list[CachePart] = []
    for group in model.attention:
        if group.formats() and kv_format not in group.formats():
            hint = nearest(kv_format, group.formats())
            raise InputError(f"no KV format '{kv_format}' for {model.name} ({group.family}); {hint}")
        parts.extend(group.cache_parts(kv_format))
    for i in range(min(draft_layers, model.draft_layers) and len(model.attention[0].cache_parts(kv_format))):
        parts[i] = replace(parts[i], layers=parts[i].layers + min(draft_layers, model.draft_layers))
    return KvCache(kv_format, tuple(parts))


@cache
def custom_cache(model: Model, name: str, token_bytes: int) -> KvCache:
    """Return a KV cache of `token_bytes` per token that is split as the model's own would be."""
    like = next(iter(model.attention[0].cache_parts("bf16")))
    row = Fraction(token_bytes, model.layers)
    part = replace(like, name=name, layers=model.layers, row_bytes=row, row_formula="as given")
    return KvCache(name, (part,), custom=True)


def head_share(part: CachePart, tensor: int) -> Fraction:
    """Return which share of a row each of `tensor` ranks holds.

    Heads are split over ranks and copied beyond their number; a part without heads is copied to
    every rank.
    """
    return Fraction(max(1, ceil_div(part.heads, tensor)), part.heads)


def rank_share(part: CachePart, tensor: int, context: int, shards_indexer: bool) -> Fraction:
    """Return which share of one copy of `part` each rank holds: of its heads, and of its tokens."""
    share = head_share(part, tensor)
    if context > 1 and (part.context_sharded or shards_indexer):
        share /= context
    return share
