"""Coarse service rates of a core: prefill from FLOP/s, decode from memory bandwidth.

These are floors from rooflines with the engine's stated efficiency, not predictions. Floats are
used here: the inputs are efficiencies known to one digit; results are rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from planner.build import Core
from planner.hardware import Gpu
from planner.kvcache import rank_share
from planner.models import Model
from planner.units import ceil_div

_MOST_SESSIONS = 4096


def flops_per_token(model: Model, position: int) -> int:
    """Return FLOP to prefill one token at `position`: two per active weight, and attention."""
    attention = sum(group.prefill_flops(position) for group in model.attention)
    return 2 * model.derived_active_parameters + attention


def peak_flops(gpu: Gpu, element: str) -> int:
    """Return the dense peak at which weights of an element format are multiplied on `gpu`.

    Formats that the GPU has no units for are widened to BF16 first.
    """
    rates = {"fp8": gpu.dense.fp8_flops, "fp8-channel": gpu.dense.fp8_flops}
    rates |= {"nvfp4": gpu.dense.fp4_flops, "mxfp4": gpu.dense.fp4_flops}
    return rates.get(element) or gpu.dense.bf16_flops


@dataclass(frozen=True)
class _Run:
    """A core as far as service rates see it: the chassis around its GPUs makes no difference."""

    key: tuple[object, ...]
    core: Core = field(compare=False)

    @classmethod
    def of(cls, core: Core) -> _Run:
        weights = (core.weights, core.budget.weights_bytes)
        return cls((core.gpu, core.model, core.engine, *weights, core.layout, core.footprint.kv, core.n_gpus), core)


def prefill_tokens_per_s(core: Core, position: int) -> int:
    """Return the tokens per second that all GPUs of a group prefill at `position`."""
    return _prefill_tokens_per_s(_Run.of(core), position)


@lru_cache(maxsize=4096)
def _prefill_tokens_per_s(run: _Run, position: int) -> int:
    core = run.core
    checkpoint = core.model.checkpoint(core.weights)
    element = checkpoint.experts if core.model.feed_forward.experts else checkpoint.linear
    effective = peak_flops(core.gpu, element) * core.engine.service.prefill_fraction
    return int(core.n_gpus * effective // flops_per_token(core.model, position))


def prompt_seconds(core: Core, tokens: int, position: int) -> Fraction:
    """Return the time to prefill one prompt of `tokens` new tokens alone on a group.

    Its attention and dense layers run on the ranks of its own attention group, its experts on all
    expert ranks of its replica.
    """
    return _prompt_seconds(_Run.of(core), tokens, position)


@lru_cache(maxsize=4096)
def _prompt_seconds(run: _Run, tokens: int, position: int) -> Fraction:
    core = run.core
    model, layout = core.model, core.layout
    checkpoint, ff = model.checkpoint(core.weights), model.feed_forward
    element = checkpoint.experts if ff.experts else checkpoint.linear
    rank = peak_flops(core.gpu, element) * core.engine.service.prefill_fraction
    experts = 2 * ff.expert_layers * ff.active_experts * ff.expert_parameters(model.hidden)
    rest = flops_per_token(model, position) - experts
    own, spread = layout.tp * layout.pp, max(layout.ep, layout.tp) * layout.pp
    return tokens * (rest / (rank * own) + experts / (rank * spread))


def decode_step_s(core: Core, sessions: int, context: int) -> float:
    """Return the seconds of one decode step of a replica with `sessions` at `context` tokens."""
    model, layout = core.model, core.layout
    dense, experts = _weights_bytes(core)
    hit = 1.0
    if model.feed_forward.experts:
        idle = 1 - model.feed_forward.active_experts / model.feed_forward.experts
        hit = 1 - idle**sessions
    read = ceil_div(sessions, layout.dp) * _session_read_bytes(core, context)
    bandwidth = core.gpu.memory_bandwidth_bytes_per_s * float(core.engine.service.decode_fraction)
    stage = (max(dense, 0.0) + experts * hit + read) / bandwidth
    return float(core.engine.service.step_floor_s) + layout.pp * stage


@lru_cache(maxsize=4096)
def _weights_bytes(core: Core) -> tuple[float, float]:
    """Return the bytes of dense and of expert weights per GPU."""
    model, layout = core.model, core.layout
    element = model.checkpoint(core.weights).element_bytes("expert")
    ranks = layout.ep if layout.ep > 1 else layout.tp
    experts = sum(float(w.count * element) for w in model.weights if w.kind == "expert") / ranks / layout.pp
    dense = core.budget.weights_bytes - experts
    return dense, experts


@lru_cache(maxsize=4096)
def _session_read_bytes(core: Core, context: int) -> float:
    tokens: dict[str, int] = {}
    for group in core.model.attention:
        tokens |= group.read_fraction_tokens(context)
    total = 0.0
    for part in core.footprint.kv.parts:
        share = rank_share(part, core.layout.tp, core.layout.dcp, core.engine.shards_indexer)
        layers = ceil_div(part.layers, core.layout.pp)
        total += float(share * layers * part.row_bytes) * tokens.get(part.name, context)
        total += 2 * float(share * layers * part.state_bytes)  # read and written back
    return total


def decode_sessions(core: Core, tokens_per_s: int, context: int) -> int:
    """Return how many sessions one replica decodes at `tokens_per_s` each, by bisection."""
    return _decode_sessions(_Run.of(core), tokens_per_s, context)


@lru_cache(maxsize=4096)
def _decode_sessions(run: _Run, tokens_per_s: int, context: int) -> int:
    core = run.core
    target = 1 / tokens_per_s
    low, high = 0, _MOST_SESSIONS
    while low < high:
        middle = (low + high + 1) // 2
        if decode_step_s(core, middle, context) <= target:
            low = middle
        else:
            high = middle - 1
    return low
