"""Attention families: one file each, found by the word ``family`` in a model's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from planner.attention import chunked, compressed, dsa, gdn, gqa, indexed_gqa, kda, mamba2, mla, sliding_window
from planner.attention.base import FAMILIES, Attention, CachePart, WeightKind, Weights

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema


class _Tagged:
    """Lets pydantic choose the family's record by its ``family`` key."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        from pydantic_core import core_schema

        choices = {name: handler.generate_schema(FAMILIES[name]) for name in FAMILIES}
        return core_schema.tagged_union_schema(choices, "family")


AnyAttention = Annotated[Attention, _Tagged()]

__all__ = [
    "FAMILIES",
    "AnyAttention",
    "Attention",
    "CachePart",
    "WeightKind",
    "Weights",
    "chunked",
    "compressed",
    "dsa",
    "gdn",
    "gqa",
    "indexed_gqa",
    "kda",
    "mamba2",
    "mla",
    "sliding_window",
]
