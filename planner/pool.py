"""KV pools: the memory of one attention group of a replica, in which whole sessions must fit.

A session lives in one pool. Sessions are floored per pool and then multiplied; totals are never
divided. How an engine's blocks and groups of layers round a session is in `planner.paging`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from planner.engines import Engine
from planner.errors import InputError
from planner.kvcache import KvCache, head_share
from planner.layout import Layout
from planner.paging import Claim, Deployment, LayerKind, Paging, lay_out
from planner.units import ceil, ceil_div

KNIFE_EDGE = Fraction(1, 20)
"""Below this share of a pool the distance to the next whole session is called a knife edge."""
_MOST_TOKENS = 2**32
_HYBRID_LATENT_BLOCK = 128
"""Least block of latent attention beside recurrent layers (vllm 0.33.0 platforms/interface.py:1087)."""


@dataclass(frozen=True)
class Sizes:
    """Tokens of a session in HBM.

    Attributes
    ----------
    session_tokens : int
        The planned context.
    prefix_tokens : int
        Leading tokens of it that are stored once per pool and prefix group.
    prefix_groups : int
        Different prefixes.
    scale : Fraction
        Factor on a session's bytes under flat accounting, else 1.
    """

    session_tokens: int
    prefix_tokens: int = 0
    prefix_groups: int = 1
    scale: Fraction = Fraction(1)


@dataclass(frozen=True)
class Pool:
    """One KV pool of a replica.

    Attributes
    ----------
    rank_bytes : int
        KV bytes of each GPU of the pool.
    tokens : int
        Tokens of one session that has the pool to itself.
    session_rank_bytes, fixed_rank_bytes : Fraction
        What one session takes of them, and what is taken once: shared prefixes, a block that the
        engine keeps, prompts being read.
    sessions : int
        Whole sessions.
    paging : Paging or None
        How the caches of one rank lie in memory.
    claims : tuple of Claim
        What sessions take as far as each of an engine's separate pools goes, the two figures above
        among them; empty where they are all.
    """

    rank_bytes: int
    tokens: int
    session_rank_bytes: Fraction
    fixed_rank_bytes: Fraction
    sessions: int
    paging: Paging | None = None
    claims: tuple[Claim, ...] = ()

    def _bytes_of(self, sessions: int) -> int:
        claims = self.claims or (Claim(self.fixed_rank_bytes, self.session_rank_bytes),)
        return max(ceil(claim.fixed_bytes + sessions * claim.session_bytes) for claim in claims)

    @property
    def exact_sessions(self) -> Fraction:
        """Sessions if they could be split."""
        return max(Fraction(0), (self.rank_bytes - self.fixed_rank_bytes) / self.session_rank_bytes)

    @property
    def missing_bytes(self) -> int:
        """Bytes per GPU that the next whole session lacks."""
        return self._bytes_of(self.sessions + 1) - self.rank_bytes

    @property
    def spare_bytes(self) -> int:
        """Bytes per GPU that may go before a session is lost."""
        return self.rank_bytes - self._bytes_of(self.sessions)

    @property
    def missing_tokens(self) -> int:
        """The same as `missing_bytes` in tokens of the pool."""
        return ceil_div(self.missing_bytes * self.tokens, self.rank_bytes) if self.rank_bytes > 0 else 0

    @property
    def knife_edge(self) -> int:
        """Return 1 if one more session is within 5 % of the pool, -1 if one fewer is, else 0."""
        edge = KNIFE_EDGE * self.rank_bytes
        if 0 < self.missing_bytes < edge:
            return 1
        return -1 if self.sessions and self.spare_bytes < edge else 0


@cache
def block_tokens(engine: Engine, family: str) -> int:
    """Return the engine's KV block for an attention family, before recurrent layers enlarge it."""
    if family == "compressed":
        return engine.compressed_block_tokens
    return engine.latent_block_tokens if family in ("mla", "dsa") else engine.block_tokens


@cache
def rank_kinds(kv: KvCache, layout: Layout, engine: Engine, draft_tokens: int = 0) -> tuple[LayerKind, ...]:
    """Return what one rank of the fullest pipeline stage holds of each part of the cache."""
    main = kv.parts[0].name
    kinds = []
    for part in kv.parts:
        ranks = layout.dcp if part.context_sharded or engine.shards_indexer else 1
        share = head_share(part, layout.tp)
        state = (part.state_bytes + draft_tokens * part.draft_bytes) * share
        kinds.append(
            LayerKind(
                name=part.name, layers=ceil_div(part.layers, layout.pp), token_bytes=part.row_bytes * share,
                state_bytes=ceil(state), window_tokens=part.window_tokens, chunked=part.chunked,
                beside=main if part.with_latent else "", model_layers=part.layers,
                token_ranks=ranks if part.grows else 1, own_block_tokens=part.block_tokens,
                page_multiple_bytes=part.page_multiple,
            )
        )  # fmt: skip
    return tuple(kinds)


@cache
def rank_paging(
    kv: KvCache, layout: Layout, engine: Engine, family: str, draft_tokens: int = 0, prefix_caching: bool | None = None
) -> Paging:
    """Return how one rank's caches lie in memory; prefix caching as the engine does by default if not said."""
    states = any(part.state_bytes for part in kv.parts)
    caching = engine.paging.caches_states or not states
    every_state = any(group_name == "state-space state" for group_name in (part.name for part in kv.parts))
    deployment = Deployment(
        state_chunk_tokens=engine.paging.state_chunk if every_state else 0,
        prefix_caching=caching if prefix_caching is None else prefix_caching,
        draft_tokens=draft_tokens,
        stages=layout.pp,
        packs=family == "compressed",
    )
    larger = states and family in ("mla", "dsa") and engine.paging.style == "grouped"
    block = _HYBRID_LATENT_BLOCK if larger else block_tokens(engine, family)
    return lay_out(rank_kinds(kv, layout, engine, draft_tokens), engine.paging, block, deployment)


@cache
def pool_fault(kv: KvCache, layout: Layout, engine: Engine, family: str) -> str:
    """Return why the engine cannot lay these caches out; empty where it can."""
    try:
        rank_paging(kv, layout, engine, family)
    except InputError as fault:
        return str(fault)
    return ""


@cache
def kv_pool(
    kv_bytes: int, kv: KvCache, layout: Layout, engine: Engine, family: str, prompt_tokens: int, sizes: Sizes,
    draft_tokens: int = 0,
) -> Pool:  # fmt: skip
    """Return the pool of one attention group of a replica; the fullest pipeline stage limits it.

    Parameters
    ----------
    prompt_tokens : int
        Most tokens of one step, which prompts being read hold beyond the windows of their layers.
    draft_tokens : int
        Tokens that speculation proposes per step, for which recurrent layers keep states.
    """
    paging, usable = rank_paging(kv, layout, engine, family, draft_tokens), max(0, kv_bytes)
    claims = paging.claims(sizes.session_tokens, sizes.prefix_tokens, sizes.prefix_groups, prompt_tokens)
    if sizes.scale != 1:
        claims = tuple(Claim(Fraction(0), claim.session_bytes * sizes.scale) for claim in claims)
    least = min(claims, key=lambda claim: (usable - claim.fixed_bytes) / claim.session_bytes)
    sessions = max(0, int((usable - least.fixed_bytes) // least.session_bytes))
    grows = any(part.grows for part in kv.parts)
    tokens = longest_tokens(paging, usable, prompt_tokens) if grows else paging.n_blocks(usable) * paging.block_tokens
    return Pool(usable, tokens, least.session_bytes, least.fixed_bytes, sessions, paging, claims)


@cache
def longest_tokens(paging: Paging, kv_bytes: int, prompt_tokens: int) -> int:
    """Return the most tokens of one session that has the pool to itself, by bisection."""

    def fits(tokens: int) -> bool:
        claims = paging.claims(tokens, 0, 1, prompt_tokens)
        return all(claim.fixed_bytes + claim.session_bytes <= kv_bytes for claim in claims)

    low, high = 0, paging.block_tokens
    while high < _MOST_TOKENS and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
