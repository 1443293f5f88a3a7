"""Laws of speed that hold for every model, GPU and layout: more is never slower, longer is never faster."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.hardware import Gpu
from planner.kvcache import kv_cache
from planner.layout import Layout
from planner.planning import solve_scenario
from planner.service import (
    Traffic,
    bound,
    decode_sessions,
    decode_step_s,
    prefill_tokens_per_s,
    prompt_seconds,
    requests_per_s,
    token_seconds,
)
from planner.work import Run
from tests.unit.tiny import shelf, shipped

WAYS = (
    ("glm-5", "fp8", "fp8_ds_mla", ("tp8", "dp8-ep8", "dp4-tp2-ep8", "tp8-dcp8", "dp16-ep16")),
    ("deepseek-v3", "fp8", "bf16", ("tp8", "dp8-ep8", "tp8-pp2")),
    ("deepseek-v4-flash", "mxfp4", "fp8_ds_mla", ("tp4", "dp4-ep4")),
    ("llama-3.1-70b", "bf16", "bf16", ("tp1", "tp8", "tp4-pp2")),
    ("qwen3.5-397b-a17b", "bf16", "bf16", ("tp8", "dp8-ep8")),
    ("gpt-oss-120b", "mxfp4", "bf16", ("tp1", "tp8")),
)
QUICK = settings(max_examples=60, deadline=None)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    model, weights, kv, layouts = draw(st.sampled_from(WAYS))
    found = shelf()
    known = found.model(model)
    gpu = found.catalog.gpus()[draw(st.sampled_from(["h20-141", "h200-sxm", "b200", "mi300x", "rtx-pro-6000"]))]
    engine = found.engines.engines[draw(st.sampled_from(["vllm-0.33", "sglang-0.5.23", "generic"]))]
    layout = Layout.parse(draw(st.sampled_from(layouts)))
    drafts = draw(st.sampled_from([0, 0, 1, 3])) if known.draft_layers else 0
    return Run(
        known, gpu, engine.service, weights, kv_cache(known, kv), layout, draw(st.sampled_from([512, 2048, 8192])),
        gpu.fabric_bytes_per_s or gpu.host_link_bytes_per_s, drafts, int(drafts > 0),
    )  # fmt: skip


CONTEXTS = st.integers(1, 131072)
SESSIONS = st.integers(1, 512)


def times(run: Run, sessions: int, context: int) -> tuple[Fraction, ...]:
    return (
        decode_step_s(run, sessions, context), 1 / prefill_tokens_per_s(run, context),
        prompt_seconds(run, 5000, context),
    )  # fmt: skip


def faster(gpu: Gpu, what: str) -> Gpu:
    if what == "flops":
        dense = gpu.dense
        return replace(gpu, dense=replace(dense, bf16_flops=2 * dense.bf16_flops, fp8_flops=2 * (dense.fp8_flops or 0)))
    return replace(gpu, **{what: 2 * getattr(gpu, what)})


@QUICK
@given(runs(), SESSIONS, CONTEXTS)
@pytest.mark.parametrize(
    "what", ["memory_bandwidth_bytes_per_s", "fabric_bytes_per_s", "host_link_bytes_per_s", "flops"]
)
def test_a_faster_gpu_is_never_slower(what: str, run: Run, sessions: int, context: int) -> None:
    better = replace(run, gpu=faster(run.gpu, what))
    assert all(
        new <= old for new, old in zip(times(better, sessions, context), times(run, sessions, context), strict=True)
    )
    load = Traffic(context, 500, sessions)
    assert requests_per_s(better, load) >= requests_per_s(run, load)
    assert bound(better, load).requests_per_s >= bound(run, load).requests_per_s


@QUICK
@given(runs(), SESSIONS, CONTEXTS, CONTEXTS)
def test_a_longer_context_is_never_faster(run: Run, sessions: int, one: int, other: int) -> None:
    short, long = sorted((one, other))
    assert all(a <= b for a, b in zip(times(run, sessions, short), times(run, sessions, long), strict=True))


@QUICK
@given(runs(), SESSIONS, SESSIONS, CONTEXTS)
def test_more_sessions_never_make_a_step_faster(run: Run, one: int, other: int, context: int) -> None:
    few, many = sorted((one, other))
    assert decode_step_s(run, few, context) <= decode_step_s(run, many, context)


@QUICK
@given(runs(), st.integers(1, 8192), st.integers(1, 400), st.integers(1, 300))
def test_the_estimate_never_beats_the_bound(run: Run, given_tokens: int, answered: int, concurrency: int) -> None:
    load = Traffic(given_tokens, answered, concurrency)
    least = bound(run, load)
    assert requests_per_s(run, load) <= least.requests_per_s
    assert token_seconds(run, load) >= least.token_s
    assert prompt_seconds(run, given_tokens, given_tokens // 2) >= least.first_token_s


@QUICK
@given(runs(), CONTEXTS, st.fractions("1/200", 1), st.fractions(0, "1/50"), st.fractions("1/10", 1))
def test_sessions_are_the_most_that_fit(
    run: Run, context: int, step: Fraction, share: Fraction, ceiling: Fraction
) -> None:
    found = decode_sessions(run, context, step, ceiling, share)

    def busy(n: int) -> Fraction:
        return decode_step_s(run, n, context) / step + n * share

    assert found == 0 or busy(found) <= ceiling
    assert found == 4096 or busy(found + 1) > ceiling


@QUICK
@given(runs(), st.integers(1, 100_000), st.integers(1, 100_000), CONTEXTS)
def test_a_longer_prompt_takes_no_less_time(run: Run, one: int, other: int, context: int) -> None:
    short, long = sorted((one, other))
    assert prompt_seconds(run, short, context) <= prompt_seconds(run, long, context)


# What it decides


def test_capacity_alone_buys_the_h20_and_speed_the_h200() -> None:
    # The H20 holds the cache for less; its FLOP/s do not prefill beside decode, so that it would take two nodes.
    bought = {}
    for variant in (None, "capacity-only", "h20-only"):
        solved = solve_scenario(shipped("h20-or-h200", variant), shelf())
        ((build, count),) = solved.fleet.items()
        bought[variant] = (build.core.gpu.id, count, solved.capex)
    assert [bought[v][:2] for v in bought] == [("h200-sxm", 1), ("h20-141", 1), ("h20-141", 2)]
    assert bought["capacity-only"][2] < bought[None][2] < bought["h20-only"][2]
