"""Will it fit? One model on one GPU count, layout by layout, without prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from planner.cores import layout_evidence
from planner.engines import Engine, EngineShelf
from planner.errors import InputError
from planner.hardware import Gpu
from planner.kvcache import KvCache, rank_share
from planner.layout import (
    Budget,
    Layout,
    Pool,
    Sizes,
    block_tokens,
    given_budget,
    gpu_budget,
    known_budget,
    kv_pool,
    layout_fault,
    offered_layouts,
)
from planner.models import Model
from planner.units import ceil_div


@dataclass(frozen=True)
class FitQuestion:
    """What is asked.

    Attributes
    ----------
    n_gpus : int
        GPUs of a node.
    n_nodes : int
        Nodes that one replica may span.
    weights_bytes, kv_bytes : int or None
        Measured per GPU, used instead of our estimate.
    """

    model: Model
    engine: Engine
    weights: str
    kv: KvCache
    gpu: Gpu
    n_gpus: int
    context_tokens: int
    n_nodes: int = 1
    weights_bytes: int | None = None
    kv_bytes: int | None = None


@dataclass(frozen=True)
class Fit:
    """One layout's answer.

    Attributes
    ----------
    fault : str
        Why it does not run; the rest is None then where it cannot be known.
    sessions_per_node : int
        Whole sessions of all pools of a node; for replicas over several nodes, of all of them
        divided by the nodes, rounded down.
    """

    layout: Layout
    evidence: str
    budget: Budget | None = None
    pool: Pool | None = None
    replicas: int = 0
    pools: int = 0
    n_nodes: int = 1
    rank_bytes_per_token: Fraction = Fraction(0)
    fault: str = ""

    @property
    def sessions(self) -> int:
        """Whole sessions over all pools."""
        return self.pools * self.pool.sessions if self.pool else 0

    @property
    def sessions_per_node(self) -> int:
        """Sessions by node."""
        return self.sessions // self.n_nodes

    def nodes_for(self, sessions: int, per_pool: int | None = None) -> int | None:
        """Return the nodes that hold `sessions` at once; None where a pool holds none."""
        each = self.pools * (self.pool.sessions if per_pool is None and self.pool else per_pool or 0)
        return ceil_div(sessions, each) * self.n_nodes if each else None


def fits(question: FitQuestion, shelf: EngineShelf, layout: Layout | None) -> Iterator[Fit]:
    """Yield the answer for one layout, or for every layout worth a look.

    Raises
    ------
    InputError
        If the KV or weight format does not exist there.
    """
    q = question
    fault = "" if q.kv.custom else q.engine.kv_format_fault(q.kv.name, q.model.family, q.gpu.architecture)
    fault = fault or q.engine.weight_format_fault(q.weights, q.gpu.architecture)
    if fault:
        raise InputError(f"{q.model.name} on {q.gpu.name}: {fault}")
    wanted = (layout,) if layout else tuple(offered_layouts(q.n_gpus, q.n_nodes, q.model))
    for each in wanted:
        yield _fit(q, shelf, each)


def _fit(q: FitQuestion, shelf: EngineShelf, layout: Layout) -> Fit:
    total = q.n_gpus * q.n_nodes
    if layout.gpus > total or total % layout.gpus:
        return Fit(layout, "derived", fault=f"{layout.name} takes {layout.gpus} GPUs; {total} are there")
    fault = layout_fault(layout, q.model, q.engine, q.kv, q.gpu.architecture)
    if fault:
        return Fit(layout, "derived", fault=fault)
    budget = _budget(q, shelf, layout)
    block = block_tokens(q.engine, q.model.family)
    pool = kv_pool(budget.kv_bytes, q.kv, layout, q.engine, block, Sizes(q.context_tokens))
    replicas = total // layout.gpus
    fault = ""
    if budget.kv_bytes <= 0:
        over = -budget.kv_bytes / 2**30
        fault = f"weights and runtime exceed the memory by {over:.2f} GiB per GPU"
    return Fit(
        layout, layout_evidence(budget.evidence, layout, q.gpu), budget, pool, replicas,
        replicas * layout.dp, q.n_nodes, _rank_rate(q, layout), fault,
    )  # fmt: skip


def _budget(q: FitQuestion, shelf: EngineShelf, layout: Layout) -> Budget:
    budget = gpu_budget(q.model, q.gpu, q.engine, q.weights, layout, q.context_tokens)
    if q.weights_bytes is None and q.kv_bytes is None:
        run = (q.model.id, q.engine.id, q.weights, q.kv.name, q.gpu.id)
        return known_budget(budget, shelf.measured, run, layout)
    weights = budget.weights_bytes if q.weights_bytes is None else q.weights_bytes
    kv = q.kv_bytes if q.kv_bytes is not None else budget.usable_bytes - weights - budget.runtime_bytes
    if weights + kv > budget.visible_bytes:
        over = (weights + kv - budget.visible_bytes) / 2**30
        raise InputError(f"the given weights and KV bytes exceed the memory of {q.gpu.name} by {over:.2f} GiB per GPU")
    return given_budget(budget, weights, kv, "given")


def _rank_rate(q: FitQuestion, layout: Layout) -> Fraction:
    total = Fraction(0)
    for part in q.kv.parts:
        if part.window_tokens is None:
            share = rank_share(part, layout.tp, layout.dcp, q.engine.shards_indexer)
            total += share * ceil_div(part.layers, layout.pp) * part.row_bytes
    return total


def longest_context(question: FitQuestion, fit: Fit) -> int:
    """Return the most tokens one session can have in an empty pool, in whole blocks."""
    return fit.pool.tokens if fit.pool else 0
