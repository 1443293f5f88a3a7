"""Groups that do both, only decode or only prefill: which limits concern them, and what each turn moves.

A session lives on a decode group: its tiers, its place in GPU memory while it is in flight. Each turn its
context goes over the fabric to a prefill group, and what was prefilled comes back. Both go through the
host memory of both sides, where tiers store and read them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from planner.build import Build, Core
from planner.copies import copies_on_load
from planner.engines import Cache
from planner.flows import Flows
from planner.problem import Situation

BOTH, DECODE, PREFILL = "both", "decode", "prefill"

_OF_PREFILL = frozenset({"prompt_slots", "staging"})
_OF_SESSIONS = frozenset({"hbm", "decode", "dram", "nvme", "nvme_read", "nvme_write", "nvme_endurance"})
# Who loads a context apart from who would prefill it again has no recompute of its own to be held against.
_NOT_OF: dict[str, frozenset[str]] = {
    BOTH: _OF_PREFILL | {"transfer"},
    DECODE: _OF_PREFILL | {"prefill", "worth"},
    PREFILL: _OF_SESSIONS | {"worth"},
}


def concerns(kind: str, role: str) -> bool:
    """Return whether a group limit bounds groups of a role."""
    return kind not in _NOT_OF[role]


# What a turn moves


def tokens_of_role(role: str, chunk_tokens: int, flows: Flows) -> Fraction:
    """Return the prompt tokens that a group of a role prefills with each turn; 0 where it only decodes.

    Where a session is loaded a chunk's unstored tail is prefilled again, half a chunk on average; where
    it is lost, its whole context. To prefill groups all contexts come in whole chunks, unless they are lost.
    """
    if role == DECODE:
        return Fraction(0)
    whole = 1 - flows.lost if role == PREFILL else flows.loaded
    return flows.new_tokens + whole * Fraction(chunk_tokens, 2) + flows.again_tokens


def turn_tokens(build: Build, at: Situation) -> Fraction:
    """Return the prompt tokens that the groups of a build prefill with each turn."""
    return tokens_of_role(build.core.role, build.cache.chunk_tokens, at.flows)


def handed_tokens(cache: Cache, at: Situation) -> Fraction:
    """Return what a turn prefills on a prefill group, and hands to its decode group."""
    return tokens_of_role(PREFILL, cache.chunk_tokens, at.flows)


def context_bytes(build: Build, at: Situation) -> Fraction:
    """Return what a turn sends from its decode group to a prefill group: its context, unless that is lost."""
    size = build.core.footprint
    return (1 - at.flows.lost) * size.resume_bytes * size.copies


def handed_bytes(build: Build, at: Situation) -> Fraction:
    """Return what a turn sends from its prefill group to its decode group: all that was prefilled."""
    size = build.core.footprint
    return handed_tokens(build.cache, at) * size.kv.rate * size.copies


def has_tiers(at: Situation) -> bool:
    """Return whether sessions are kept below GPU memory."""
    return (at.scenario.tiers.dram, at.scenario.tiers.nvme) != ("none", "none")


def into_gpus(build: Build, at: Situation) -> Fraction:
    """Return the bytes of a turn from host memory into GPUs; copies are pulled by each rank."""
    return _into_gpus(build.core, build.cache, at)


@lru_cache(maxsize=64)
def _into_gpus(core: Core, cache: Cache, at: Situation) -> Fraction:
    size, flows = core.footprint, at.flows
    pulled = copies_on_load(size.kv, core.layout, core.engine, size.sizes.session_tokens)
    if core.role == PREFILL:
        return (1 - flows.lost) * size.resume_bytes * pulled
    loaded = flows.loaded * size.resume_bytes * pulled
    if core.role == DECODE:
        return loaded + handed_tokens(cache, at) * size.kv.rate * pulled
    return loaded


def out_of_gpus(build: Build, at: Situation) -> Fraction:
    """Return the bytes of a turn from GPUs into host memory.

    On a decode group that is the answer, for what was prefilled arrives there, and the context that is
    still in GPU memory on its way to the prefill group.
    """
    return handed_bytes(build, at) if build.core.role == PREFILL else _out_of_gpus(build.core, at)


@lru_cache(maxsize=64)
def _out_of_gpus(core: Core, at: Situation) -> Fraction:
    size, flows = core.footprint, at.flows
    each = size.kv.rate * size.copies
    if core.role == DECODE:
        stored = flows.answer_tokens * each if has_tiers(at) else Fraction(0)
        return stored + flows.from_gpu * size.resume_bytes * size.copies
    return flows.stored_tokens * each if has_tiers(at) else Fraction(0)


def through_memory(build: Build, at: Situation) -> Fraction:
    """Return the bytes of a turn that host memory reads and writes."""
    size, flows = build.core.footprint, at.flows
    loads, stores = into_gpus(build, at), out_of_gpus(build, at)
    if build.core.role == PREFILL:
        # The context is written before it is read, what was prefilled read after it was written.
        return context_bytes(build, at) + loads + stores + handed_bytes(build, at)
    drives = at.scenario.tiers.nvme != "none"
    staged = flows.from_nvme * size.resume_bytes * size.copies
    if build.core.role == DECODE:
        # What goes to drives is read for it: the answer and what arrived. The context is read for the cards.
        arrived = handed_bytes(build, at)
        written = (flows.answer_tokens * size.kv.rate * size.copies + arrived) if drives else Fraction(0)
        return loads + stores + staged + arrived + written + context_bytes(build, at)
    # Of pooled tiers another node's memory is read, and this one's written.
    remote = 2 * flows.loaded * size.resume_bytes * size.copies if at.pooled else 0
    return loads + staged + (2 if drives else 1) * stores + remote
