"""What to change when a model does not fit, or no whole session does: one change at a time, tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.engines import EngineShelf
from planner.kvcache import kv_cache
from planner.layout import Layout
from planner.questions.fit import Fit, FitQuestion, fit_one, fits, format_fault

_UTILISATIONS = (Fraction(95, 100), Fraction(97, 100))
_BATCH = 2048
_SEQUENCES = 256
_MOST_GPUS = 64


@dataclass(frozen=True)
class Advice:
    """One change that makes it fit.

    Attributes
    ----------
    change : str
        In words.
    option : str
        What to write on the command line for it.
    layout : str
        The layout that holds most then.
    sessions : int
        Whole sessions over all pools.
    """

    change: str
    option: str
    layout: str
    sessions: int


def advice(question: FitQuestion, shelf: EngineShelf, layout: Layout | None) -> Iterator[Advice]:
    """Yield single changes after which at least one whole session fits, the smallest of each kind."""
    for variant, change, option in _variants(question):
        best = _best(variant, shelf, layout)
        if best is not None and best.sessions:
            yield Advice(change, option, best.layout.name, best.sessions)
    if layout is not None:
        best = _best(question, shelf, None)
        if best is not None and best.sessions:
            yield Advice("another layout", f"--layout {best.layout.name}", best.layout.name, best.sessions)
    yield from _more_gpus(question, shelf)
    yield from _shorter(question, shelf, layout)


def _best(question: FitQuestion, shelf: EngineShelf, layout: Layout | None) -> Fit | None:
    if format_fault(question):
        return None
    found = [fit for fit in fits(question, shelf, layout) if fit.pool is not None and not fit.fault]
    return max(found, key=lambda fit: fit.sessions, default=None)


def _variants(q: FitQuestion) -> Iterator[tuple[FitQuestion, str, str]]:
    now = q.model.weight_bytes(q.weights)
    for checkpoint in q.model.checkpoints:
        if q.model.weight_bytes(checkpoint.format) < now:
            name = checkpoint.format
            yield replace(q, weights=name), f"weights in {name}", f"--weights {name}"
    for name in q.model.attention[0].formats():
        if not q.kv.custom and kv_cache(q.model, name).rate < q.kv.rate:
            launch = replace(q.launch, kv_format=name)
            other = kv_cache(q.model, name, launch.draft_layers)
            yield replace(q, kv=other, launch=launch), f"KV cache in {name}", f"--kv {name}"
    now_share = q.launch.utilisation_fraction or q.engine.utilisation_fraction
    for share in _UTILISATIONS:
        if now_share is not None and share > now_share:
            launch = replace(q.launch, utilisation_fraction=share)
            words = f"{float(share):.0%} of memory, if nothing else runs on the GPU"
            yield replace(q, launch=launch), words, f"--utilisation {float(share):.0%}"
            break
    if q.step_tokens > _BATCH and q.engine.runtime.activations is not None:
        launch = replace(q.launch, batched_tokens=_BATCH, max_sequences=_SEQUENCES)
        words = f"batches of {_SEQUENCES} sequences and {_BATCH:,} tokens, which slows prefill"
        yield replace(q, launch=launch), words, f"--max-num-batched-tokens {_BATCH} --max-num-seqs {_SEQUENCES}"


def _more_gpus(q: FitQuestion, shelf: EngineShelf) -> Iterator[Advice]:
    count = q.n_gpus * 2
    while q.n_nodes == 1 and count <= 8:
        best = _best(replace(q, n_gpus=count), shelf, None)
        if best is not None and best.sessions:
            yield Advice(f"{count} GPUs in a node", f"--gpus {count}", best.layout.name, best.sessions)
            return
        count *= 2
    nodes = q.n_nodes * 2
    while nodes * q.n_gpus <= _MOST_GPUS and q.n_gpus >= 8:
        best = _best(replace(q, n_nodes=nodes), shelf, None)
        if best is not None and best.sessions:
            yield Advice(f"replicas over {nodes} nodes", f"--nodes {nodes}", best.layout.name, best.sessions)
            return
        nodes *= 2


def _shorter(q: FitQuestion, shelf: EngineShelf, layout: Layout | None) -> Iterator[Advice]:
    """Yield the longest context that fits, by bisection below the one asked for."""
    wanted = [layout] if layout else [fit.layout for fit in fits(q, shelf, None) if not fit.fault]
    longest, best = 0, None
    for each in wanted:
        low, high = 0, q.context_tokens
        while high - low > max(1, q.context_tokens // 1024):
            middle = (low + high) // 2
            low, high = (middle, high) if _at(q, shelf, each, middle).sessions else (low, middle)
        if low > longest:
            longest, best = low, _at(q, shelf, each, low)
    if best is not None:
        words = f"at most {longest:,} tokens per session"
        yield Advice(words, f"--context {longest}", best.layout.name, best.sessions)


def _at(q: FitQuestion, shelf: EngineShelf, layout: Layout, tokens: int) -> Fit:
    launch = replace(q.launch, max_model_tokens=tokens)
    return fit_one(replace(q, context_tokens=tokens, launch=launch), shelf, layout)
