"""Will it fit? One model on one GPU count, layout by layout, without prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.budget import Budget, Launch, default_batch, given_budget, gpu_budget, known_budget
from planner.cores import layout_evidence
from planner.doubts import Doubt, deciding
from planner.engines import Engine, EngineShelf
from planner.errors import InputError
from planner.hardware import Gpu
from planner.kvcache import KvCache, rank_share
from planner.layout import Layout, layout_fault, offered_layouts
from planner.models import Model
from planner.pool import Pool, Sizes, kv_pool, pool_fault
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
    launch : Launch
        Options of the engine.
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
    launch: Launch
    n_nodes: int = 1
    weights_bytes: int | None = None
    kv_bytes: int | None = None

    @property
    def step_tokens(self) -> int:
        """Most tokens of one step."""
        return self.launch.batched_tokens or default_batch(self.gpu, self.engine).batched_tokens


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
    fault = format_fault(q)
    if fault:
        raise InputError(f"{q.model.name} on {q.gpu.name}: {fault}")
    wanted = (layout,) if layout else tuple(offered_layouts(q.n_gpus, q.n_nodes, q.model))
    for each in wanted:
        yield fit_one(q, shelf, each)


def format_fault(q: FitQuestion) -> str:
    """Return why KV or weight format cannot be used there; empty where they can."""
    fault = (
        ""
        if q.kv.custom
        else q.engine.kv_format_fault(q.kv.name, q.model.family, q.gpu.architecture, q.model.attention)
    )
    return fault or q.engine.weight_format_fault(q.weights, q.gpu.architecture)


def fit_one(q: FitQuestion, shelf: EngineShelf, layout: Layout) -> Fit:
    """Return the answer for one layout, with the reason where it does not run."""
    total = q.n_gpus * q.n_nodes
    if layout.gpus > total or total % layout.gpus:
        return Fit(layout, "derived", fault=f"{layout.name} takes {layout.gpus} GPUs; {total} are there")
    fault = layout_fault(layout, q.model, q.engine, q.kv, q.gpu.architecture)
    fault = fault or pool_fault(q.kv, layout, q.engine, q.model.family)
    if fault:
        return Fit(layout, "derived", fault=fault)
    budget = fit_budget(q, shelf, layout)
    sizes, draft = Sizes(q.context_tokens), q.launch.draft_tokens
    pool = kv_pool(budget.kv_bytes, q.kv, layout, q.engine, q.model.family, q.step_tokens, sizes, draft)
    replicas = total // layout.gpus
    fault = ""
    if budget.kv_bytes <= 0:
        over = -budget.kv_bytes / 2**30
        fault = f"weights and runtime exceed the memory by {over:.2f} GiB per GPU"
    return Fit(
        layout, layout_evidence(budget.evidence, layout, q.gpu), budget, pool, replicas,
        replicas * layout.dp, q.n_nodes, _rank_rate(q, layout), fault,
    )  # fmt: skip


def fit_budget(q: FitQuestion, shelf: EngineShelf, layout: Layout) -> Budget:
    """Return the budget of one GPU: as given, as a public run measured it, or as derived."""
    if q.weights_bytes is None and q.kv_bytes is None:
        return known_budget(q.model, q.gpu, q.engine, q.weights, q.kv.name, layout, q.launch, shelf.measured)
    budget = gpu_budget(q.model, q.gpu, q.engine, q.weights, layout, q.launch)
    weights = budget.weights_bytes if q.weights_bytes is None else q.weights_bytes
    kv = q.kv_bytes if q.kv_bytes is not None else budget.usable_bytes - weights - budget.runtime_bytes
    if weights + kv > budget.visible_bytes:
        over = (weights + kv - budget.visible_bytes) / 2**30
        raise InputError(f"the given weights and KV bytes exceed the memory of {q.gpu.name} by {over:.2f} GiB per GPU")
    return given_budget(budget, weights, kv, "given")


def _rank_rate(q: FitQuestion, layout: Layout) -> Fraction:
    total = Fraction(0)
    for part in q.kv.parts:
        if part.grows:
            share = rank_share(part, layout.tp, layout.dcp, q.engine.shards_indexer)
            total += share * ceil_div(part.layers, layout.pp) * part.row_bytes
    return total


def longest_context(question: FitQuestion, fit: Fit) -> int:
    """Return the most tokens one session can have in an empty pool, as far as the model goes."""
    return min(fit.pool.tokens, question.model.max_context_tokens) if fit.pool else 0


def doubts(question: FitQuestion, shelf: EngineShelf, fit: Fit) -> tuple[Doubt, ...]:
    """Return the constants of the engine's profile that decide the whole sessions of `fit`."""
    if fit.pool is None or fit.budget is None or fit.budget.evidence not in ("derived", "assumed"):
        return ()

    def sessions_with(engine: Engine) -> int:
        return fit_one(replace(question, engine=engine), shelf, fit.layout).sessions // max(1, fit.pools)

    return tuple(deciding(question.engine, fit.pool.sessions, sessions_with))
