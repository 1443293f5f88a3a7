"""How many copies of a session's caches cross a link or lie in a tier, by layout, engine and product."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from planner.engines import Cache, Engine
from planner.kvcache import KvCache, rank_share
from planner.layout import Layout

REFERENCE_TOKENS = 131_072
"""Context at which growing caches, windows and states are weighed against each other, if none is given."""


@cache
def copies_on_load(kv: KvCache, layout: Layout, engine: Engine, tokens: int = REFERENCE_TOKENS) -> Fraction:
    """Return how many times a session's bytes cross the host links when it is resumed.

    Every rank of the attention group pulls what it holds, so copies are pulled as often.
    """
    return _copies(kv, layout, engine, tokens, latent_once=False)


@cache
def stored_copies(
    kv: KvCache, layout: Layout, engine: Engine, product: Cache, tokens: int = REFERENCE_TOKENS
) -> Fraction:
    """Return how many copies of a session the tiers of a node hold.

    A product may keep a cache that all ranks hold alike once, some only where nothing but tensor
    parallelism within a node is at work, or not beside an indexer's keys; of K/V heads every rank
    stores its own shard, so beyond one rank per head the tier holds copies. Products that recognise
    such models by their attention being latent throughout store hybrids per rank again.
    """
    alike = all(part.heads == 1 and not part.state_bytes for part in kv.parts)
    plain = layout.pp == layout.pcp == layout.dcp == 1
    dense = not any(part.with_latent for part in kv.parts)
    once = {
        "once": True, "once if plain": plain, "once if plain and dense": plain and dense, "per rank": False
    }[product.latent]  # fmt: skip
    return _copies(kv, layout, engine, tokens, latent_once=once and alike)


def _copies(kv: KvCache, layout: Layout, engine: Engine, tokens: int, *, latent_once: bool) -> Fraction:
    total = held = Fraction(0)
    for part in kv.parts:
        size = part.sequence_bytes(tokens)
        ranks = layout.tp * layout.pcp * rank_share(part, layout.tp, layout.dcp, engine.shards_indexer)
        total += size
        held += size * (1 if latent_once and part.heads == 1 else ranks)
    return held / total
