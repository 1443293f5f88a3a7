"""How engines lay KV caches out in blocks, pages and groups of layers, and what they print about it.

::

    paging = lay_out(kinds, rules, block_tokens=16)
    paging.n_blocks(kv_bytes), paging.request_blocks(tokens), paging.printed_tokens(kv_bytes, ...)

A request of T tokens takes whole blocks of every group it has layers in: all of T in layers that
keep everything, a window in others, a page of state in recurrent ones. That is what capacity is
planned with. The engine's own start-up figures reckon more: see `Paging.admission_blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.errors import InputError
from planner.paging.base import Claim, Deployment, LayerKind, Paging, PagingRules, Prints, Style
from planner.paging.grouped import Group, GroupedPaging, attention_block, lay_out_grouped
from planner.paging.plain import PlainPaging, lay_out_plain
from planner.paging.pools import PoolPaging, PoolSizes, lay_out_pools

__all__ = [
    "Claim",
    "Deployment",
    "Group",
    "GroupedPaging",
    "LayerKind",
    "Paging",
    "PagingRules",
    "PlainPaging",
    "PoolPaging",
    "PoolSizes",
    "Prints",
    "Style",
    "attention_block",
    "lay_out",
]

_STYLES = {"grouped": lay_out_grouped, "pools": lay_out_pools, "plain": lay_out_plain}
_ALONE = Deployment()


def lay_out(
    kinds: Sequence[LayerKind], rules: PagingRules, block_tokens: int, deployment: Deployment = _ALONE
) -> Paging:
    """Return how one rank's caches lie in memory.

    Parameters
    ----------
    kinds : sequence of LayerKind
        What the rank holds, the main attention first; draft layers as kinds of their own or
        within one. Under pipeline parallelism their `model_layers` say how groups are formed.
    rules : PagingRules
        The engine's.
    block_tokens : int
        The engine's block or page size for the attention backend, before recurrent layers
        enlarge it. For latent attention next to recurrent layers: 128 (vllm 0.33.0
        platforms/interface.py:1087).
    deployment : Deployment
        Settings.

    Raises
    ------
    InputError
        If there are no layers, or the engine cannot bring their pages to one size.
    """
    if not any(kind.layers for kind in kinds):
        raise InputError("a rank without attention layers has no KV cache to lay out")
    return _STYLES[rules.style](kinds, rules, block_tokens, deployment)
