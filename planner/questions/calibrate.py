"""A start-up log against the model: what we predicted, what was seen, where the gap comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from planner.budget import Budget, at_load_bytes, default_batch, gpu_budget
from planner.copies import copies_on_load
from planner.enginelogs import EngineLog, Seen
from planner.engines import Measured
from planner.errors import InputError
from planner.kvcache import KvCache, kv_cache, rank_share
from planner.paging import Paging
from planner.pool import rank_paging
from planner.questions.identify import RunOf
from planner.units import format_gib

Unit = Literal["bytes", "tokens", "blocks", "x", "bytes/token"]


@dataclass(frozen=True)
class Comparison:
    """One figure of the log beside ours.

    Attributes
    ----------
    what : str
        In words.
    predicted : Fraction or int
        Ours.
    seen : Seen
        The log's, with its line.
    unit : str
        Of both.
    part_of_gap : int
        Bytes by which this figure explains that the KV memory seen differs from the predicted:
        above 0 where the engine took less than we said. 0 for figures that are no part of it.
    note : str
        What to know of it.
    """

    what: str
    predicted: Fraction | int
    seen: Seen
    unit: Unit
    part_of_gap: int = 0
    note: str = ""

    @property
    def gap(self) -> Fraction:
        """Ours over the log's, minus one."""
        return Fraction(self.predicted) / self.seen.number - 1 if self.seen.number else Fraction(0)

    @property
    def within_print(self) -> bool:
        """Whether ours lies within what the printed digits allow."""
        low, high = self.seen.low, self.seen.high
        return low is not None and high is not None and low <= self.predicted <= high


@dataclass(frozen=True)
class Calibration:
    """A log compared with our model.

    Attributes
    ----------
    comparisons : tuple of Comparison
        Figure by figure.
    kv_gap_bytes : int or None
        KV memory seen minus predicted, per GPU; None where the log does not say it.
    unexplained_bytes : int
        What of it no other figure of the log accounts for.
    measured : Measured or None
        What later runs may use; None where the log lacks weights or KV memory.
    notes : tuple of str
        What to know.
    """

    run: RunOf
    log: EngineLog
    budget: Budget
    comparisons: tuple[Comparison, ...]
    kv_gap_bytes: int | None
    unexplained_bytes: int
    measured: Measured | None
    notes: tuple[str, ...]


def calibrate(log: EngineLog, run: RunOf, name: str) -> Calibration:
    """Compare a log with the model.

    Raises
    ------
    InputError
        If the log holds no figure that the model predicts.
    """
    budget = gpu_budget(run.model, run.gpu, run.engine, run.weights, run.layout, run.launch)
    kv = kv_cache(run.model, run.kv_format, run.launch.draft_layers)
    paging = rank_paging(kv, run.layout, run.engine, run.model.family, run.launch.draft_tokens)
    comparisons = tuple(_comparisons(log, run, budget, kv, paging))
    if not comparisons:
        raise InputError(f"{log.path}: none of the figures that were read is one that the model predicts")
    seen_kv = log.one("kv_memory_bytes")
    gap = int(seen_kv.number) - budget.kv_bytes if seen_kv is not None else None
    explained = sum(comparison.part_of_gap for comparison in comparisons)
    return Calibration(
        run, log, budget, comparisons, gap, (gap or 0) - explained if gap is not None else 0,
        _measured(log, run, name, paging), tuple(_notes(log, run, paging)),
    )  # fmt: skip


def _comparisons(log: EngineLog, run: RunOf, budget: Budget, kv: KvCache, paging: Paging) -> Iterator[Comparison]:
    if log.engine == "lmcache":
        yield from _offload(log, run, kv)
        return
    yield from _memory(log, budget)
    step = run.launch.batched_tokens or default_batch(run.gpu, run.engine).batched_tokens
    longest = run.launch.max_model_tokens
    bytes_seen, tokens = log.one("kv_memory_bytes"), log.one("kv_tokens")
    if tokens is not None:
        ours = paging.printed_tokens(budget.kv_bytes, longest, step)
        yield Comparison("KV cache size as printed", ours, tokens, "tokens", note="from shape and profile alone")
    if tokens is not None and bytes_seen is not None:
        ours = paging.printed_tokens(int(bytes_seen.number), longest, step)
        yield Comparison("the same, from the memory seen", ours, tokens, "tokens", note="tests the shape alone")
    blocks = log.one("gpu_blocks")
    if blocks is not None and bytes_seen is not None:
        yield Comparison("blocks, from the memory seen", paging.n_blocks(int(bytes_seen.number)), blocks, "blocks")
    times = log.one("max_concurrency")
    if times is not None and bytes_seen is not None:
        ours_x = paging.printed_concurrency(int(bytes_seen.number), longest, step)
        yield Comparison("maximum concurrency, from the memory seen", ours_x, times, "x")


def _memory(log: EngineLog, budget: Budget) -> Iterator[Comparison]:
    named = dict(budget.runtime)
    at_load = at_load_bytes(budget) if log.engine == "vllm" else 0
    working = sum(size for part, size in named.items() if part in _WORKING)
    pairs = (
        ("visible memory", budget.visible_bytes, "total_gpu_memory_bytes", 0, ""),
        ("memory it may use", budget.usable_bytes, "requested_bytes", 1, ""),
        ("model loaded", budget.weights_bytes + at_load, "weights_bytes", -1,
         "with the workspace that is reserved at load" if at_load else ""),
        ("activation peak", working, "activation_bytes", -1, "with workspaces of experts and image encoder"),
        ("communication and the like", named.get("communication and context", 0), "non_torch_bytes", -1, ""),
        ("graphs inside the budget", named.get("graphs", 0), "graph_estimate_bytes", -1, ""),
        ("KV memory", budget.kv_bytes, "kv_memory_bytes", 0, ""),
    )  # fmt: skip
    for what, ours, key, sign, note in pairs:
        seen = (
            log.one(key) if key in ("total_gpu_memory_bytes", "requested_bytes", "kv_memory_bytes") else _most(log, key)
        )
        if seen is not None and (ours or sign == 0 or seen.number):
            yield Comparison(what, ours, seen, "bytes", sign * (int(seen.number) - ours), note)


_WORKING = ("activations", "image encoder's input and output", "workspace of experts")


def _most(log: EngineLog, key: str) -> Seen | None:
    """Return the largest figure over ranks: the fullest rank limits the pool."""
    found = [seen for seen in log.all(key) if not isinstance(seen.value, str)]
    return max(found, key=lambda seen: seen.number, default=None)


def _offload(log: EngineLog, run: RunOf, kv: KvCache) -> Iterator[Comparison]:
    whole = kv.rate
    share = sum(
        (rank_share(p, run.layout.tp, run.layout.dcp, run.engine.shards_indexer) * p.layers * p.row_bytes
         for p in kv.parts if p.grows), Fraction(0),
    )  # fmt: skip
    copies = copies_on_load(kv, run.layout, run.engine)
    for key, words in (("store_bytes_per_token", "stored"), ("retrieve_bytes_per_token", "retrieved")):
        seen = log.narrowest(key)
        if seen is None:
            continue
        ways = {"one rank's share": share, "one whole copy": whole, "every rank's share together": whole * copies}
        name, ours = min(ways.items(), key=lambda item: abs(item[1] - seen.number))
        yield Comparison(f"bytes {words} per token", ours, seen, "bytes/token", note=f"taken as {name}")


def _measured(log: EngineLog, run: RunOf, name: str, paging: Paging) -> Measured | None:
    weights, kv = _most(log, "weights_bytes"), log.one("kv_memory_bytes")
    # SGLang parts its memory into pools of which the log tells some; what it allots to one alone is all of it.
    parted = log.engine == "sglang" and (paging.n_groups > 1 or log.one("draft_k_bytes") is not None)
    if weights is None or kv is None or not kv.number or log.engine == "lmcache" or parted:
        return None
    index = log.one("index_bytes")
    memory = int(kv.number) + (int(index.number) if index is not None else 0)
    plain = replace(run.layout, dcp=1)
    if int(weights.number) + memory > run.gpu.memory_bytes:
        return None
    return Measured(
        id=name, model=run.model.id, engine=run.engine.id, weights=run.weights, kv_format=run.kv_format,
        gpu=run.gpu.id, layout=plain.name, weights_memory_bytes=int(weights.number), kv_memory_bytes=memory,
        max_model_tokens=run.launch.max_model_tokens, utilisation_fraction=run.launch.utilisation_fraction,
        max_sequences=run.launch.max_sequences, batched_tokens=run.launch.batched_tokens, source=("own-log",),
        note=f"read from {log.path.rsplit('/', 1)[-1]}, {log.engine} {log.version}",
    )  # fmt: skip


def _notes(log: EngineLog, run: RunOf, paging: Paging) -> Iterator[str]:
    yield from log.faults
    weights, kv = _most(log, "weights_bytes"), log.one("kv_memory_bytes")
    if weights is not None and kv is not None and int(weights.number) + int(kv.number) > run.gpu.memory_bytes:
        yield (
            f"weights and KV memory as logged exceed the {format_gib(run.gpu.memory_bytes)} of {run.gpu.name}: "
            "the GPU or the log is another; nothing is written of it"
        )
    yield from log.notes
    if paging.n_groups > 1 and log.one("kv_tokens") is not None:
        yield (
            "the printed KV cache size of a model with windows or recurrent layers is no capacity: it moves with the "
            "longest context and the largest batch; `fit` counts sessions from blocks"
        )
