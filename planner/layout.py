"""How a replica lies on GPUs: degrees of parallelism, their names, which of them are legal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from planner.engines import Engine
from planner.errors import InputError
from planner.kvcache import KvCache
from planner.models import Model

_CONTEXT_FAMILIES = ("gqa", "mla", "dsa")
_WORD = re.compile(r"(tp|dp|pp|ep|dcp|pcp)([1-9]\d*)")


@dataclass(frozen=True, order=True)
class Layout:
    """Degrees of parallelism of one replica.

    Attributes
    ----------
    tp, dp, pp, dcp : int
        Tensor, data (attention) and pipeline parallelism; ranks over which decode context
        parallelism spreads tokens: within the tensor ranks, or over those of `pcp`.
    ep : int
        Ranks over which whole experts are spread; 1 where experts are split like matrices.
    pcp : int
        Further ranks that share the work of a prompt (prefill context parallelism). They keep
        attention's weights and, unless `dcp` spans them, the KV cache once more each.
    """

    tp: int = 1
    dp: int = 1
    pp: int = 1
    ep: int = 1
    dcp: int = 1
    pcp: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.dp * self.pp * self.pcp

    @property
    def name(self) -> str:
        """Return e.g. ``tp8``, ``tp8-dcp8``, ``dp8-ep8``, ``tp8-pp2``."""
        words = [("dp", self.dp), ("tp", self.tp), ("pp", self.pp), ("ep", self.ep), ("dcp", self.dcp)]
        words.append(("pcp", self.pcp))
        return "-".join(f"{word}{n}" for word, n in words if n > 1) or "tp1"

    @classmethod
    def parse(cls, text: str) -> Layout:
        """Read a layout's name.

        Raises
        ------
        InputError
            If the text is none.
        """
        degrees: dict[str, int] = {}
        for word in text.lower().split("-"):
            match = _WORD.fullmatch(word)
            if match is None or match[1] in degrees:
                raise InputError(f"'{text}' is no layout; expected words such as tp8, tp8-dcp8, dp8-ep8 or tp8-pp2")
            degrees[match[1]] = int(match[2])
        return cls(**degrees)


def offered_layouts(gpus_per_node: int, n_nodes: int, model: Model) -> Iterator[Layout]:
    """Yield every layout of replicas within a node, or over `n_nodes` whole nodes.

    Within a node: tensor parallelism over each divisor of its GPUs, with context parallelism over
    each divisor of that. With experts also data-parallel attention over all ranks of a replica.
    Tensor parallelism stays within a node: its all-reduce does not bear a network. Illegal ones
    are sorted out by `layout_fault`. Prefill context parallelism is legal where named but not
    offered: no public run shows its memory.
    """
    divisors = [n for n in range(1, gpus_per_node + 1) if gpus_per_node % n == 0]
    for tensor in divisors:
        inside = [Layout(tp=tensor, dcp=context) for context in divisors if tensor % context == 0]
        if n_nodes == 1:
            yield from inside
        elif tensor == gpus_per_node:
            yield from (replace(layout, pp=n_nodes) for layout in inside)
    if model.feed_forward.experts:
        sizes = divisors if n_nodes == 1 else [gpus_per_node * n_nodes]
        for size in sizes:
            for tensor in (n for n in divisors if size % n == 0 and n < size):
                yield Layout(tp=tensor, dp=size // tensor, ep=size)


@cache
def layout_fault(layout: Layout, model: Model, engine: Engine, kv: KvCache, architecture: str) -> str:
    """Return why the model cannot run so; empty where it can."""
    experts, limit = model.feed_forward.experts, min(g.tensor_limit() for g in model.attention)
    heads = min((p.heads for p in kv.parts if p.row_bytes and not p.with_latent), default=1)
    ranks = layout.tp * layout.dp * layout.pcp
    if limit % layout.tp:
        return f"{limit} attention heads cannot be split over {layout.tp} ranks"
    if heads > 1 and heads % layout.tp and layout.tp % heads:
        return f"{heads} KV heads cannot be split over {layout.tp} ranks"
    if layout.ep > 1 and (not experts or experts % layout.ep):
        return f"{experts} experts cannot be spread over {layout.ep} ranks"
    if layout.ep > 1 and layout.ep != ranks:
        return f"experts spread over all {ranks} ranks of a stage, not {layout.ep}"
    if layout.dp > 1 and layout.ep == 1:
        return "data-parallel attention without expert parallelism is just more replicas"
    if layout.pp > model.layers:
        return f"{model.layers} layers make no {layout.pp} stages"
    if layout.pcp > 1 and not engine.prefill_context_parallel:
        return f"{engine.name} {engine.version} has no prefill context parallelism"
    if layout.pcp > 1 and model.family not in ("mla", "dsa"):
        return "prefill context parallelism is for latent attention alone"
    if layout.pcp > 1 and any(p.state_bytes for p in kv.parts):
        return "prefill context parallelism does not go with recurrent layers"
    if layout.pcp > 1 and layout.dcp > 1 and model.family != "dsa":
        return "prefill and decode context parallelism go together with sparse latent attention alone"
    return _context_fault(layout, model, engine, kv, heads, architecture) if layout.dcp > 1 else ""


def _context_fault(layout: Layout, model: Model, engine: Engine, kv: KvCache, heads: int, architecture: str) -> str:
    if not engine.context_parallel:
        return f"{engine.name} {engine.version} has no decode context parallelism"
    if any(p.window_tokens is not None for p in kv.parts):
        return "decode context parallelism does not go with sliding-window layers"
    if any(p.state_bytes for p in kv.parts):
        return "decode context parallelism does not go with recurrent layers"
    if model.family not in _CONTEXT_FAMILIES:
        return f"decode context parallelism is not known of the attention family {model.family}"
    if model.family == "dsa" and kv.name != "fp8_ds_mla" and not kv.custom:
        return "decode context parallelism of sparse attention needs the KV format fp8_ds_mla"
    if model.family == "dsa" and architecture not in engine.sparse_context_architectures:
        return f"decode context parallelism of sparse attention is not known to run on {architecture}"
    if layout.pcp > 1:
        return _spanning_fault(layout, heads)
    copies = layout.tp if heads == 1 else layout.tp // heads
    if layout.dcp > copies or copies % layout.dcp:
        kept = "one copy" if copies <= 1 else f"{copies} copies"
        return f"tp{layout.tp} keeps {kept} of the KV cache; dcp{layout.dcp} must divide them"
    return ""


def _spanning_fault(layout: Layout, heads: int) -> str:
    both = layout.tp * layout.pcp
    if layout.dcp not in (layout.pcp, both):
        return f"beside pcp{layout.pcp}, dcp{layout.dcp} must be {layout.pcp} or {both}"
    if layout.dcp == both and heads > 1 and layout.tp > 1:
        return f"dcp{both} over tensor ranks needs as many copies of the KV cache; {heads} KV heads are split instead"
    return ""
