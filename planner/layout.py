"""How a replica lies on GPUs: legality, weights per GPU, KV pools, whole sessions per pool.

A session lives in one KV pool. Sessions are floored per pool and then multiplied; totals are
never divided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal

from planner.engines import Engine, Measured
from planner.errors import InputError
from planner.hardware import Gpu
from planner.kvcache import KvCache, rank_share
from planner.models import Model
from planner.units import ceil, ceil_div

Evidence = Literal["measured", "given", "derived", "assumed"]
Run = tuple[str, str, str, str, str]
"""Ids of model, engine, weight format, KV format and GPU."""
KNIFE_EDGE = Fraction(1, 20)
"""Below this share of a pool the distance to the next whole session is called a knife edge."""

_WORD = re.compile(r"(tp|dp|pp|ep|dcp)([1-9]\d*)")


@dataclass(frozen=True, order=True)
class Layout:
    """Degrees of parallelism of one replica.

    Attributes
    ----------
    tp, dp, pp, dcp : int
        Tensor, data (attention) and pipeline parallelism; ranks over which decode context
        parallelism spreads tokens, within the tensor ranks.
    ep : int
        Ranks over which whole experts are spread; 1 where experts are split like matrices.
    """

    tp: int = 1
    dp: int = 1
    pp: int = 1
    ep: int = 1
    dcp: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.dp * self.pp

    @property
    def name(self) -> str:
        """Return e.g. ``tp8``, ``tp8-dcp8``, ``dp8-ep8``, ``tp8-pp2``."""
        words = [("dp", self.dp), ("tp", self.tp), ("pp", self.pp), ("ep", self.ep), ("dcp", self.dcp)]
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
    are sorted out by `layout_fault`.
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
    grows = [p for p in kv.parts if p.window_tokens is None]
    heads = min((p.heads for p in grows), default=1)
    if limit % layout.tp:
        return f"{limit} attention heads cannot be split over {layout.tp} ranks"
    if heads > 1 and heads % layout.tp and layout.tp % heads:
        return f"{heads} KV heads cannot be split over {layout.tp} ranks"
    if layout.ep > 1 and (not experts or experts % layout.ep):
        return f"{experts} experts cannot be spread over {layout.ep} ranks"
    if layout.ep > 1 and layout.ep != layout.tp * layout.dp:
        return f"experts spread over all {layout.tp * layout.dp} ranks of a stage, not {layout.ep}"
    if layout.dp > 1 and layout.ep == 1:
        return "data-parallel attention without expert parallelism is just more replicas"
    if layout.pp > model.layers:
        return f"{model.layers} layers make no {layout.pp} stages"
    return _context_fault(layout, model, engine, kv, heads, architecture) if layout.dcp > 1 else ""


def _context_fault(layout: Layout, model: Model, engine: Engine, kv: KvCache, heads: int, architecture: str) -> str:
    if not engine.context_parallel:
        return f"{engine.name} has no decode context parallelism"
    if any(p.window_tokens is not None for p in kv.parts):
        return "decode context parallelism does not go with sliding-window layers"
    if model.family == "dsa" and kv.name != "fp8_ds_mla" and not kv.custom:
        return "decode context parallelism of sparse attention needs the KV format fp8_ds_mla"
    if model.family == "dsa" and architecture not in engine.sparse_context_architectures:
        return f"decode context parallelism of sparse attention is not known to run on {architecture}"
    copies = layout.tp if heads == 1 else layout.tp // heads
    if layout.dcp > copies or copies % layout.dcp:
        return f"tp{layout.tp} keeps {max(copies, 1)} copies of the KV cache; dcp{layout.dcp} must divide them"
    return ""


@dataclass(frozen=True)
class Budget:
    """What one GPU's memory goes to, in bytes; the parts add up to `usable_bytes`.

    Attributes
    ----------
    visible_bytes : int
        What the engine sees as total.
    usable_bytes : int
        Visible times utilisation.
    weights_bytes : int
        Of the fullest pipeline stage.
    runtime : tuple of (str, int)
        Named parts of what the engine keeps for itself.
    kv_bytes : int
        The rest; below zero where the weights do not fit.
    evidence : {'measured', 'derived', 'assumed'}
        Of the KV bytes.
    """

    visible_bytes: int
    usable_bytes: int
    weights_bytes: int
    runtime: tuple[tuple[str, int], ...]
    kv_bytes: int
    evidence: Evidence

    @property
    def runtime_bytes(self) -> int:
        """All that the engine keeps for itself."""
        return sum(size for _, size in self.runtime)


@cache
def weights_per_gpu(model: Model, weight_format: str, layout: Layout, draft_layers: int = 0) -> int:
    """Return the weight bytes of the fullest GPU, rounded up.

    Matrices are split over the tensor ranks, experts over the expert ranks, the rest is copied;
    a pipeline stage holds its layers, the first also the embedding, the last the output head.
    """
    checkpoint = model.checkpoint(weight_format)
    stage = Fraction(ceil_div(model.layers, layout.pp), model.layers)
    experts = layout.ep if layout.ep > 1 else layout.tp
    total, ends = Fraction(0), {"first": Fraction(0), "last": Fraction(0)}
    for weights in model.weights:
        size = weights.count * checkpoint.element_bytes(weights.kind)
        if weights.split in ends:
            ends[weights.split] += size / layout.tp
        else:
            total += stage * size / {"tensor": layout.tp, "expert": experts, "none": 1}[weights.split]
    for weights in model.draft_weights if draft_layers else ():
        size = draft_layers * weights.count * checkpoint.draft_element_bytes(weights.kind)
        total += size / {"tensor": layout.tp, "expert": experts, "none": 1}[weights.split]
    total += sum(ends.values()) if layout.pp == 1 else max(ends.values())
    absorbed = 2 * sum(group.copied_weights() for group in model.attention)
    return ceil(total + stage * Fraction(absorbed, layout.tp))


@cache
def gpu_budget(
    model: Model, gpu: Gpu, engine: Engine, weight_format: str, layout: Layout,
    max_context_tokens: int, draft_layers: int = 0,
) -> Budget:  # fmt: skip
    """Return the memory budget of one GPU from shape and engine profile alone."""
    run = engine.runtime
    visible = int(gpu.memory_bytes * run.visible_fraction)
    usable = int(visible * engine.utilisation_fraction)
    weights = weights_per_gpu(model, weight_format, layout, draft_layers)
    logits = run.logits_factor * run.max_sequences * model.vocabulary
    activations = logits + run.hidden_factor * run.batched_tokens * model.hidden
    runtime = [
        ("context and communication", run.base_parallel_bytes if layout.gpus > 1 else run.base_single_bytes),
        ("activations", ceil(activations)),
        ("graphs", run.graphs_bytes),
    ]
    if model.family == "dsa":
        long = max_context_tokens > run.sparse_long_from_tokens
        factor = run.sparse_workspace_long_factor if long else run.sparse_workspace_factor
        workspace = factor * max_context_tokens * run.sparse_row_bytes
        runtime.append(("sparse prefill workspace", workspace))
    if layout.ep > 1:
        runtime.append(("expert all-to-all buffers", run.expert_buffer_bytes))
    kv = usable - weights - sum(size for _, size in runtime)
    return Budget(visible, usable, weights, tuple(runtime), kv, "derived")


def given_budget(estimate: Budget, weights_bytes: int, kv_bytes: int, evidence: Evidence = "measured") -> Budget:
    """Return `estimate` with weights and KV bytes from elsewhere; the difference is runtime."""
    rest = estimate.usable_bytes - weights_bytes - kv_bytes
    runtime = (("runtime, as measured", rest),)
    return Budget(estimate.visible_bytes, estimate.usable_bytes, weights_bytes, runtime, kv_bytes, evidence)


def known_budget(estimate: Budget, rows: tuple[Measured, ...], run: Run, layout: Layout) -> Budget:
    """Return the budget of a public run of the same combination, else `estimate`.

    Context parallelism changes what a GPU's KV bytes hold, not how many there are: a run of the
    same layout without it counts too, and the result is then derived, not measured.
    """
    plain = replace(layout, dcp=1)
    for row in rows:
        if (row.model, row.engine, row.weights, row.kv_format, row.gpu) == run and row.layout == plain.name:
            evidence: Evidence = "measured" if layout == plain else "derived"
            return given_budget(estimate, row.weights_memory_bytes, row.kv_memory_bytes, evidence)
    return estimate


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
    """One KV pool of a replica: the memory in which whole sessions must fit.

    Attributes
    ----------
    rank_bytes : int
        KV bytes of each GPU of the pool.
    tokens : int
        Tokens it holds of growing parts, in whole blocks.
    session_rank_bytes, prefix_rank_bytes : Fraction
        What one session takes on each rank, and what the shared prefixes take once.
    sessions : int
        Whole sessions.
    """

    rank_bytes: int
    tokens: int
    session_rank_bytes: Fraction
    prefix_rank_bytes: Fraction
    sessions: int

    @property
    def exact_sessions(self) -> Fraction:
        """Sessions if they could be split."""
        return max(Fraction(0), (self.rank_bytes - self.prefix_rank_bytes) / self.session_rank_bytes)

    @property
    def missing_bytes(self) -> int:
        """Bytes per GPU that the next whole session lacks."""
        return ceil(self.prefix_rank_bytes + (self.sessions + 1) * self.session_rank_bytes) - self.rank_bytes

    @property
    def spare_bytes(self) -> int:
        """Bytes per GPU that may go before a session is lost."""
        return self.rank_bytes - ceil(self.prefix_rank_bytes + self.sessions * self.session_rank_bytes)

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
    """Return the engine's KV block for an attention family."""
    return engine.latent_block_tokens if family in ("mla", "dsa") else engine.block_tokens


@cache
def kv_pool(kv_bytes: int, kv: KvCache, layout: Layout, engine: Engine, block: int, sizes: Sizes) -> Pool:
    """Return the pool of one attention group of a replica.

    Tokens are counted in blocks of `block` tokens per context rank. With pipeline stages the
    fullest stage limits.
    """
    block *= layout.dcp
    whole = _rounded(sizes.session_tokens, block)
    prefix = min(sizes.prefix_tokens // block * block, whole)
    rate = window = Fraction(0)
    for part in kv.parts:
        share = rank_share(part, layout.tp, layout.dcp, engine.shards_indexer)
        size = share * ceil_div(part.layers, layout.pp) * part.row_bytes
        if part.window_tokens is None:
            rate += size
        else:
            window += size * _rounded(min(sizes.session_tokens, part.window_tokens), block)
    session = (rate * (whole - prefix) + window) * sizes.scale
    shared = rate * prefix * sizes.prefix_groups
    usable = max(0, kv_bytes)
    tokens = int(usable // (rate * block)) * block if rate else 0
    sessions = max(0, int((usable - shared) // session))
    return Pool(usable, tokens, session, shared, sessions)


def _rounded(tokens: int, block: int) -> int:
    return ceil_div(tokens, block) * block


@cache
def copies_on_load(kv: KvCache, layout: Layout, engine: Engine) -> Fraction:
    """Return how many times a session's bytes cross the host links when it is resumed.

    Every rank of the attention group pulls what it holds, so copies are pulled as often.
    """
    return _copies(kv, layout, engine, latent_once=False)


@cache
def stored_copies(kv: KvCache, layout: Layout, engine: Engine) -> Fraction:
    """Return how many copies of a session a node's tier holds.

    A latent cache is stored once whatever the tensor parallelism. Of K/V heads every rank stores
    its own shard, so beyond one rank per head the tier holds copies (LMCache's server per node:
    ``kv_world_size`` collapses to the pipeline and context ranks for latent attention only).
    """
    return _copies(kv, layout, engine, latent_once=True)


def _copies(kv: KvCache, layout: Layout, engine: Engine, *, latent_once: bool) -> Fraction:
    total = held = Fraction(0)
    for part in kv.parts:
        size = part.layers * part.row_bytes
        ranks = layout.tp * rank_share(part, layout.tp, layout.dcp, engine.shards_indexer)
        total += size
        held += size * (1 if latent_once and part.heads == 1 else ranks)
    return held / total
