"""The memory of one GPU: what is visible, what the engine may use, what is left for the KV cache.

KV = visible * utilisation - weights - contexts - activations - graphs - workspaces, per engine
version; or, where the engine leaves a reserve instead, KV = visible - reserve - weights - contexts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal

from planner.attention.dsa import Dsa
from planner.attention.mla import Mla
from planner.engines import Activations, Batch, Engine, Measured, Reserve, Workspace
from planner.errors import InputError
from planner.hardware import Gpu
from planner.layout import Layout
from planner.models import Model
from planner.units import ceil, ceil_div
from planner.weights import weight_parts, weights_per_gpu

Evidence = Literal["measured", "given", "derived", "assumed"]
Run = tuple[str, str, str, str, str]
"""Ids of model, engine, weight format, KV format and GPU."""
AT_LOAD = ("sparse prefill workspace", "indexer's selections")
"""Parts of the runtime that vLLM allocates while it loads a model."""
_PACKED = ("", "fp8_ds_mla", "nvfp4_ds_mla")
"""KV formats whose prefill unpacks rows into a workspace; the most careful where none is named."""
_MANY_RANKS = 4
_LATENT = ("mla", "dsa", "compressed")


@dataclass(frozen=True)
class Launch:
    """Options an engine is started with, as far as they move its memory; None for its default.

    Attributes
    ----------
    max_model_tokens : int
        Longest context that it is told to take.
    utilisation_fraction : Fraction or None
        Of visible memory (vLLM ``gpu_memory_utilization``, SGLang ``mem_fraction_static``).
    max_sequences, batched_tokens : int or None
        Largest batch.
    draft_layers, draft_tokens : int
        Draft layers that it keeps, and tokens that it proposes per step with them.
    kv_format : str
        KV format; empty for the one that takes most.
    """

    max_model_tokens: int
    utilisation_fraction: Fraction | None = None
    max_sequences: int | None = None
    batched_tokens: int | None = None
    draft_layers: int = 0
    draft_tokens: int = 0
    kv_format: str = ""


@dataclass(frozen=True)
class Budget:
    """What one GPU's memory goes to, in bytes; the parts add up to `usable_bytes`.

    Attributes
    ----------
    visible_bytes : int
        What the engine sees as total.
    usable_bytes : int
        What it may use of that.
    weights_bytes : int
        Of the fullest pipeline stage.
    runtime : tuple of (str, int)
        Named parts of what the engine keeps for itself.
    kv_bytes : int
        The rest; below zero where the weights do not fit.
    evidence : {'measured', 'given', 'derived', 'assumed'}
        Of the KV bytes.
    weights : tuple of (str, int)
        Named parts of the weights, each rounded up, where they are derived.
    """

    visible_bytes: int
    usable_bytes: int
    weights_bytes: int
    runtime: tuple[tuple[str, int], ...]
    kv_bytes: int
    evidence: Evidence
    weights: tuple[tuple[str, int], ...] = ()

    @property
    def runtime_bytes(self) -> int:
        """All that the engine keeps for itself."""
        return sum(size for _, size in self.runtime)


def visible_bytes(gpu: Gpu, engine: Engine) -> int:
    """Return what the engine sees as total: what logs of this GPU print, else the engine's usual share."""
    return gpu.visible_bytes or int(gpu.memory_bytes * engine.runtime.visible_fraction)


def default_batch(gpu: Gpu, engine: Engine) -> Batch:
    """Return the largest batch that the engine prepares for on this GPU.

    Raises
    ------
    InputError
        If the profile names none for so little memory.
    """
    for batch in engine.runtime.batches:
        if gpu.memory_bytes >= batch.from_memory_bytes and gpu.architecture not in batch.not_on:
            return batch
    raise InputError(f"{engine.name} {engine.version}: no batch is given for {gpu.name}")


@cache
def gpu_budget(model: Model, gpu: Gpu, engine: Engine, weight_format: str, layout: Layout, launch: Launch) -> Budget:
    """Return the memory budget of one GPU from shape and engine profile alone."""
    batch = _batch(gpu, engine, layout, launch)
    visible = visible_bytes(gpu, engine)
    usable = _usable(model, gpu, engine, layout, launch, batch)
    weights = weight_parts(model, weight_format, layout, engine, launch.draft_layers)
    held = weights_per_gpu(model, weight_format, layout, engine, launch.draft_layers)
    element = model.checkpoint(weight_format).experts
    parts = _runtime(model, gpu, engine, element, layout, launch, batch)
    runtime = tuple((name, ceil(size)) for name, size in parts if size)
    kv = usable - held - sum(size for _, size in runtime)
    return Budget(visible, usable, held, runtime, kv, "derived", tuple((n, ceil(size)) for n, size in weights))


@dataclass(frozen=True)
class _Step:
    """The largest batch of this launch: sequences, and new tokens of one attention group."""

    sequences: int
    tokens: int


def _batch(gpu: Gpu, engine: Engine, layout: Layout, launch: Launch) -> _Step:
    default = default_batch(gpu, engine)
    sequences = default.tensor_sequences if default.tensor_sequences and layout.tp * layout.dp >= _MANY_RANKS else None
    return _Step(
        launch.max_sequences or sequences or default.max_sequences, launch.batched_tokens or default.batched_tokens
    )


def _usable(model: Model, gpu: Gpu, engine: Engine, layout: Layout, launch: Launch, batch: _Step) -> int:
    visible = visible_bytes(gpu, engine)
    share = launch.utilisation_fraction or engine.utilisation_fraction
    if share is None:
        if engine.reserve is None:
            raise InputError(f"{engine.name} {engine.version} names neither 'utilisation' nor 'reserve'")
        reserve = reserve_bytes(engine.reserve, model, gpu, layout, batch.sequences, batch.tokens)
        left = Fraction(max(0, gpu.memory_bytes - reserve), gpu.memory_bytes)
        share = Fraction(round(left * 1000), 1000)
    return int(visible * share)


def reserve_bytes(rule: Reserve, model: Model, gpu: Gpu, layout: Layout, sequences: int, tokens: int) -> int:
    """Return what an engine leaves free by rule; see `Reserve` for the formula."""
    ranks = layout.tp * layout.dp
    reserve = rule.base_bytes + rule.chunk_bytes * tokens + rule.rank_bytes * ranks * layout.pp
    reserve += rule.sequence_bytes * sequences
    if layout.dp > 1:
        many = rule.many_bytes if sequences > rule.many_sequences else 0
        reserve += (rule.group_bytes + many) * sequences * layout.dp
    if layout.pp == 1 and layout.dcp == 1:
        reserve += rule.latent_bytes if model.family in _LATENT else rule.graphs_bytes
    if gpu.memory_bytes >= rule.floor_from_bytes:
        reserve = max(reserve, rule.floor_bytes)
    return reserve + (rule.expert_bytes if layout.ep > 1 else 0)


def _runtime(
    model: Model, gpu: Gpu, engine: Engine, element: str, layout: Layout, launch: Launch, batch: _Step
) -> Iterator[tuple[str, Fraction | int]]:
    run = engine.runtime
    talks = layout.tp > 1 or layout.ep > 1 or layout.pcp > 1
    linked = run.base_parallel_bytes if gpu.fabric_bytes_per_s else run.base_bridged_bytes
    yield "communication and context", linked if talks else run.base_single_bytes
    if run.activations is not None:
        yield "activations", activations(run.activations, model, layout, batch.sequences, batch.tokens)
        yield "image encoder's input and output", encoder_bytes(model, batch.tokens, run.activations.stream)
    if run.workspace is not None:
        kernels = engine.weight_rule(element)
        experts = expert_workspace(run.workspace, model, layout, batch.tokens)
        yield from _workspace(
            run.workspace, model, layout, launch, batch.tokens, experts * (not kernels or kernels.workspace)
        )
    yield "graphs", run.graphs_bytes
    yield "expert all-to-all buffers", run.expert_buffer_bytes if layout.ep > 1 else 0


def activations(rule: Activations, model: Model, layout: Layout, sequences: int, tokens: int) -> Fraction:
    """Return the peak of activations in bytes; see `Activations` for the formula."""
    stream = tokens * model.hidden
    sampler = (rule.sampler * sequences + rule.vocabulary) * model.vocabulary
    sampler += rule.stream * stream + rule.sampled * sequences * model.hidden
    inner = Fraction(model.feed_forward.dense_size * bool(model.feed_forward.dense_layers), layout.tp)
    layer = rule.widest * tokens * inner + rule.streams * stream
    first = model.attention[0]
    if isinstance(first, Mla):
        layer += rule.latent * Fraction(first.heads, layout.tp) * (first.nope + first.value_dim)
    if isinstance(first, Dsa):
        layer += rule.scores_bytes
    return rule.base_bytes + max(sampler, layer)


def encoder_bytes(model: Model, tokens: int, element: Fraction) -> Fraction:
    """Return what the largest batch of images takes: their values and what the encoder makes of them."""
    if not model.encoder:
        return Fraction(0)
    if model.encoder_item_tokens is None or model.encoder_item_elements is None:
        return element * tokens * model.hidden
    items = max(1, tokens // model.encoder_item_tokens)
    return element * items * (model.encoder_item_elements + model.encoder_item_tokens * model.hidden)


def _workspace(
    rule: Workspace, model: Model, layout: Layout, launch: Launch, tokens: int, experts: Fraction
) -> Iterator[tuple[str, Fraction]]:
    sparse = Fraction(0)
    first = model.attention[0]
    if isinstance(first, Dsa):
        heads = ceil_div(first.heads, layout.tp)
        factor = rule.long_factor if launch.max_model_tokens > rule.long_from_tokens else rule.factor
        padded = rule.padded if launch.kv_format in _PACKED else 0
        sparse = tokens * (rule.query * heads + padded * ceil_div(heads, 64) * 64)
        sparse += factor * launch.max_model_tokens * rule.row_bytes
        yield "indexer's selections", rule.picked * tokens * first.topk
    yield "sparse prefill workspace", sparse
    # One buffer serves both: experts need what they take beyond the sparse prefill.
    yield "workspace of experts", max(Fraction(0), experts - sparse)


def expert_workspace(rule: Workspace, model: Model, layout: Layout, tokens: int) -> Fraction:
    """Return the workspaces of fused experts; see `Workspace` for the formula.

    With experts spread, every rank gathers the tokens of all attention groups.
    """
    ff = model.feed_forward
    if not ff.experts:
        return Fraction(0)
    inner = Fraction(ff.expert_size, layout.tp * layout.pcp if layout.ep == 1 else 1)
    width = Fraction(ff.expert_hidden or model.hidden)
    at_once = tokens * layout.dp
    return rule.experts * at_once * ff.active_experts * (max(inner, width) + max(2 * inner, width))


def at_load_bytes(budget: Budget) -> int:
    """Return what vLLM allocates of the runtime while it loads a model, so that its log counts it as weights."""
    return sum(size for name, size in budget.runtime if name in AT_LOAD)


def given_budget(estimate: Budget, weights_bytes: int, kv_bytes: int, evidence: Evidence = "measured") -> Budget:
    """Return `estimate` with weights and KV bytes from elsewhere; the difference is runtime."""
    usable = max(estimate.usable_bytes, weights_bytes + kv_bytes)
    runtime = (("runtime, as measured", usable - weights_bytes - kv_bytes),)
    return Budget(estimate.visible_bytes, usable, weights_bytes, runtime, kv_bytes, evidence)


def known_budget(
    model: Model, gpu: Gpu, engine: Engine, weight_format: str, kv_format: str, layout: Layout, launch: Launch,
    rows: tuple[Measured, ...],
) -> Budget:  # fmt: skip
    """Return the budget of a run of the same combination, else the derived one.

    A run with other options or another KV format counts too: our estimate of what they change is
    added to what it measured, and the result is then derived. So it is with context parallelism,
    which changes what a GPU's KV bytes hold, not how many there are.
    """
    estimate = gpu_budget(model, gpu, engine, weight_format, layout, launch)
    plain, wanted = replace(layout, dcp=1), (model.id, engine.id, weight_format, gpu.id)
    fitting = [row for row in rows if (row.model, row.engine, row.weights, row.gpu) == wanted]
    fitting = [row for row in fitting if row.layout == plain.name]
    for row in sorted(fitting, key=lambda row: row.kv_format != kv_format):
        as_run = _as_run(row, launch)
        if as_run == launch and row.kv_format == kv_format:
            evidence: Evidence = "measured" if layout == plain else "derived"
            return given_budget(estimate, row.weights_memory_bytes, row.kv_memory_bytes, evidence)
        run_estimate = gpu_budget(model, gpu, engine, weight_format, layout, as_run)
        kv = row.kv_memory_bytes + estimate.kv_bytes - run_estimate.kv_bytes
        weights = row.weights_memory_bytes + at_load_bytes(estimate) - at_load_bytes(run_estimate)
        return given_budget(estimate, weights, kv, "derived")
    return estimate


def unused_runs(
    model: Model, gpu: Gpu, engine: Engine, weight_format: str, layout: Layout, rows: tuple[Measured, ...]
) -> Iterator[str]:
    """Yield why runs of the same model that the catalogue has do not count here."""
    wanted = {"gpu": gpu.id, "engine": engine.id, "weights": weight_format, "layout": replace(layout, dcp=1).name}
    for row in rows:
        other = [f"{key} {getattr(row, key)}" for key, value in wanted.items() if getattr(row, key) != value]
        if row.model == model.id and other:
            yield f"the run '{row.id}' is not used: it has {', '.join(other)}"


def _as_run(row: Measured, launch: Launch) -> Launch:
    return Launch(
        row.max_model_tokens or launch.max_model_tokens, row.utilisation_fraction, row.max_sequences,
        row.batched_tokens, launch.draft_layers, launch.draft_tokens, row.kv_format if launch.kv_format else "",
    )  # fmt: skip
