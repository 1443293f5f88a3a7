"""Speed by hand: a dense model and one with experts on an H200 and an H20, drafts, measured rows, ceilings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from planner import rates, service
from planner.kvcache import kv_cache
from planner.layout import Layout
from planner.measured import prefill_measured, prompt_measured, rows_of, sessions_measured
from planner.scenario import Scenario, Service, Serving
from planner.service import Traffic, bound, decode_step_s, peak_flops, prefill_tokens_per_s, prompt_seconds
from planner.throughput import Row, Throughput
from planner.work import Batch, Run, experts_hit, flops_per_token, step_work
from tests.unit import tiny
from tests.unit.tiny import PERCENT, shelf

T = 10**12
MS = Fraction(1, 1000)
PEAKS = {"h200-sxm": (989 * T, 1979 * T, 4800 * 10**9), "h20-141": (148 * T, 296 * T, 4000 * 10**9)}
"""BF16 and FP8 FLOP/s, bytes/s; both have 450 GB/s between GPUs."""
FABRIC = 450 * 10**9


def run(model: str, gpu: str, layout: str, weights: str, kv: str, **changes: object) -> Run:
    found = shelf()
    engine, known = found.engines.engines["vllm-0.33"], found.model(model)
    made = Run(
        known, found.catalog.gpus()[gpu], engine.service, weights, kv_cache(known, kv), Layout.parse(layout), 8192,
        FABRIC,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("gpu", list(PEAKS))
def test_decode_step_of_a_dense_model_by_hand(gpu: str) -> None:
    # Llama 3.1 70B in BF16 on eight ranks: one K/V head each; 32 sessions at 8,192 tokens.
    bf16, _, memory = PEAKS[gpu]
    matrices = 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672)
    norms, head = 161 * 8192, 128256 * 8192
    reached = memory * 60 * PERCENT
    products = 32 * 2 * (Fraction(matrices + head, 8) + norms) / (bf16 * 50 * PERCENT)
    read = (Fraction(2 * matrices + 2 * head, 8) + 2 * norms) / reached
    attended = 32 * Fraction(2 * 80 * 64 * 256 * 8192, 8) / (bf16 * 40 * PERCENT)
    rows = 32 * 30 * 2 * 8192 * 80 / reached
    sent = 32 * 80 * 2 * Fraction(2 * 7, 8) * 8192 * 2 / (FABRIC * 50 * PERCENT)
    cached = 32 * 80 * 256 * 2 * 8192 / reached
    step = (2 + 80 * Fraction(8, 100)) * MS + max(products, read) + max(attended, cached) + rows + sent
    assert decode_step_s(run("llama-3.1-70b", gpu, "tp8", "bf16", "bf16"), 32, 8192) == step
    # Reading the weights decides on the H200, multiplying on the H20.
    assert (read > products) == (gpu == "h200-sxm")


@pytest.mark.parametrize("gpu", list(PEAKS))
def test_prefill_of_a_dense_model_by_hand(gpu: str) -> None:
    # A chunk of 8,192 tokens, all counted at position 8,192: products and attention decide.
    bf16, _, memory = PEAKS[gpu]
    matrices = 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672)
    reached = memory * 60 * PERCENT
    products = 8192 * 2 * (Fraction(matrices, 8) + 161 * 8192) / (bf16 * 50 * PERCENT)
    attended = 8192 * Fraction(2 * 80 * 64 * 256 * 8192, 8) / (bf16 * 40 * PERCENT)
    rows = 8192 * 30 * 2 * 8192 * 80 / reached
    sent = 8192 * 80 * 2 * Fraction(2 * 7, 8) * 8192 * 2 / (FABRIC * 50 * PERCENT)
    chunk = (2 + 80 * Fraction(8, 100)) * MS + products + attended + rows + sent
    dense = run("llama-3.1-70b", gpu, "tp8", "bf16", "bf16")
    assert prefill_tokens_per_s(dense, 8192) == 8192 / chunk
    assert prompt_seconds(dense, 8192, 8192) == chunk
    assert prompt_seconds(dense, 0, 8192) == 0
    assert prompt_seconds(dense, 2 * 8192, 8192) == 2 * chunk


@pytest.mark.parametrize("gpu", list(PEAKS))
def test_decode_step_of_experts_behind_sparse_attention_by_hand(gpu: str) -> None:
    # GLM-5 in FP8, attention data-parallel on eight GPUs, experts spread: 64 sessions are 8 on each GPU.
    bf16, fp8, memory = PEAKS[gpu]
    reached, context = memory * 60 * PERCENT, 65536
    own = {"fp8": 1257504768 + 11614027776 + 715653120 + 679477248 + 2831155200, "bf16": 199680 + 15355392 + 117964800}
    own["bf16"] += 964608
    corrections, head, experts = 19200, 154880 * 6144, 724775731200
    hit = Fraction(-(-(10**9) * (1 - Fraction(248, 256) ** 64) // 1), 10**9)
    # FP8 comes with an fp32 scale per 128 x 128 block.
    read = (1 + Fraction(4, 128 * 128)) * (own["fp8"] + Fraction(experts, 8) * hit)
    read += 2 * own["bf16"] + 4 * corrections + 2 * head
    active = 75 * 8 * 3 * 6144 * 2048
    flops = 8 * 2 * (sum(own.values()) + corrections + head) + 64 * Fraction(2 * active, 8)
    products = max(flops / (fp8 * 50 * PERCENT), read / reached)
    # 2,048 latents of 656 B and every indexer key of 132 B; scores over 576 and values over 512 elements.
    cached = 8 * 78 * (2048 * 656 + context * 132) / reached
    attended = 8 * 2 * 78 * 64 * (2 * 512 + 64) * 2048 / (bf16 * 40 * PERCENT)
    attended += 8 * 2 * 78 * 32 * 128 * context / (fp8 * 40 * PERCENT)
    rows = 8 * 30 * 2 * 6144 * 78 / reached
    sent = 64 * Fraction(2 * 2 * 6144 * 7 * 75, 8) / (FABRIC * 50 * PERCENT)
    step = (2 + 78 * Fraction(8, 100)) * MS + products + max(attended, cached) + rows + sent
    assert decode_step_s(run("glm-5", gpu, "dp8-ep8", "fp8", "fp8_ds_mla"), 64, context) == step


def test_h20_decodes_like_an_h200_but_does_not_prefill_like_one() -> None:
    fast, slow = (run("glm-5", gpu, "dp8-ep8", "fp8", "fp8_ds_mla") for gpu in PEAKS)
    assert decode_step_s(slow, 64, 65536) / decode_step_s(fast, 64, 65536) < Fraction(7, 5)
    assert prefill_tokens_per_s(fast, 65536) / prefill_tokens_per_s(slow, 65536) > 4
    at_best = (bound(r, Traffic(65536, 512, 64)).requests_per_s for r in (fast, slow))
    assert next(at_best) / next(at_best) == Fraction(1979, 296)


def test_latent_attention_wastes_the_tiles_that_tensor_ranks_leave_empty() -> None:
    # 64 query heads over eight ranks are eight each, and the kernel computes 64.
    split, whole = (run("glm-5", "h200-sxm", layout, "fp8", "fp8_ds_mla") for layout in ("tp8", "dp8-ep8"))
    one, eight = Batch(1, 1, 65536, prefill=False), Batch(8, 1, 65536, prefill=False)
    assert step_work(split, one, least=False).attention_flops == step_work(whole, eight, least=False).attention_flops
    assert step_work(split, one, least=True).attention_flops * 8 == step_work(split, one, least=False).attention_flops
    spread = run("glm-5", "h200-sxm", "tp8-dcp8", "fp8", "fp8_ds_mla")
    assert step_work(spread, one, least=False).attention_flops * 8 == step_work(split, one, least=False).attention_flops


def test_experts_that_a_batch_meets() -> None:
    glm, dense = shelf().model("glm-5"), shelf().model("llama-3.1-70b")
    assert [round(float(experts_hit(glm, n, least=False)), 2) for n in (1, 8, 32, 64, 128)] == [
        0.03, 0.22, 0.64, 0.87, 0.98,
    ]  # fmt: skip
    assert experts_hit(glm, 4096, least=True) == Fraction(8, 256)
    assert experts_hit(dense, 9, least=False) == 0


def test_peaks_by_format() -> None:
    gpus = shelf().catalog.gpus()
    assert peak_flops(gpus["b200"], "nvfp4") == 9000 * T
    assert peak_flops(gpus["h200-sxm"], "fp8") == 1979 * T
    assert peak_flops(gpus["h200-sxm"], "mxfp4") == 989 * T
    assert flops_per_token(shelf().model("glm-5"), 0) == pytest.approx(2 * 40e9, rel=0.05)


def test_pipeline_stages_prefill_together_and_decode_in_turn() -> None:
    one, two = (run("llama-3.1-70b", "h200-sxm", layout, "bf16", "bf16") for layout in ("tp8", "tp8-pp2"))
    assert prefill_tokens_per_s(two, 8192) == 2 * prefill_tokens_per_s(one, 8192)
    assert decode_step_s(two, 32, 8192) > decode_step_s(one, 32, 8192)
    short, long = (prompt_seconds(two, n, 8192) / prompt_seconds(one, n, 8192) for n in (1024, 64 * 8192))
    assert short == pytest.approx(1, abs=0.01)
    assert long < Fraction(6, 10)


# Drafts


def test_drafts_cost_steps_and_pay_by_what_is_accepted() -> None:
    plain = run("glm-5", "h200-sxm", "dp8-ep8", "fp8", "fp8_ds_mla")
    drafted = replace(plain, draft_tokens=3, draft_layers=1)
    assert decode_step_s(drafted, 64, 65536) > decode_step_s(plain, 64, 65536)
    rate = [
        service.requests_per_s(drafted, Traffic(8192, 1024, 16, Fraction(text))) for text in ("1", "1.64", "3.5")
    ]  # fmt: skip
    assert rate == sorted(rate)
    assert rate[0] < service.requests_per_s(plain, Traffic(8192, 1024, 16)) < rate[2]


def test_drafts_without_a_known_gain_gain_nothing() -> None:
    serving = replace(tiny.scenario().serving, draft_layers=1)
    assert rates.accepted_tokens(replace(tiny.scenario(), serving=serving)) == 1
    told = replace(serving, accepted=Fraction(3, 2))
    assert rates.accepted_tokens(replace(tiny.scenario(), serving=told)) == Fraction(3, 2)


# Ceilings


def at(**changes: object) -> Scenario:
    base = tiny.scenario()
    assert base.service is not None
    return replace(base, service=replace(base.service, **changes))  # type: ignore[type-var]


def test_ceilings_are_the_engines_unless_the_scenario_says() -> None:
    engine = tiny.engine().service
    assert (rates.prefill_ceiling(at(), engine), rates.decode_ceiling(at(), engine)) == (
        Fraction(1, 2),
        Fraction(9, 10),
    )
    said = at(prefill_ceiling_fraction=Fraction(1, 5), decode_ceiling_fraction=Fraction(3, 5))
    assert (rates.prefill_ceiling(said, engine), rates.decode_ceiling(said, engine)) == (Fraction(1, 5), Fraction(3, 5))
    assert rates.prefill_ceiling(replace(at(), service=None), engine) == Fraction(1, 2)


def test_prompts_take_time_from_decode() -> None:
    core = tiny.core()
    alone, beside = (rates.decode_sessions(core, at(), Fraction(n)) for n in (0, 500))
    assert beside < alone
    assert rates.decode_sessions(core, at(decode_ceiling_fraction=Fraction(1, 2)), Fraction(0)) < alone


def test_no_session_where_a_step_is_too_slow_or_prompts_take_all() -> None:
    core = tiny.core()
    assert rates.decode_sessions(core, at(decode_tokens_per_s=101), Fraction(0)) == 0
    assert rates.decode_sessions(core, at(), Fraction(10**9)) == 0


# Measured rows


def row(concurrency: int, rate: str, **changes: object) -> Row:
    values: dict[str, object] = {
        "line": concurrency, "model": "tiny", "gpu": "gpu", "layout": "tp1", "input_tokens": 1024,
        "output_tokens": 256, "concurrency": concurrency, "output_tokens_per_s": Fraction(rate),
    }  # fmt: skip
    return Row(**(values | changes))  # type: ignore[arg-type]


def sessions(*found: Row, between: str = "0.02", context: int = 1024, roofline: int = 99) -> int | None:
    return sessions_measured(found, lambda _: Fraction(between), context, lambda: roofline)


def test_sessions_are_the_largest_concurrency_that_keeps_the_rate() -> None:
    # 50 tokens/s each: 16 x 60, 32 x 50, 64 x 20.
    every = (row(32, "1600"), row(16, "960"), row(64, "1280"))
    assert sessions(*every) == 32
    assert sessions(*every, between="0.0167") == 16
    # Nothing is promised beyond the largest, and below the smallest the roofline speaks.
    assert sessions(*every, between="10") == 64
    assert sessions(*every, between="0.001") == 15
    assert sessions(*every, between="0.001", roofline=7) == 7


def test_a_slow_row_ends_what_is_promised() -> None:
    assert sessions(row(16, "960"), row(32, "320"), row(64, "6400")) == 16


def test_only_rows_as_long_as_planned_say_anything_of_decode() -> None:
    assert sessions(row(16, "960"), context=1281) is None
    # Of several contexts the nearest counts, of equal ones the slower.
    near, far = row(16, "960"), row(16, "160", input_tokens=8192)
    assert sessions(near, far) == 16
    assert sessions(near, row(16, "160")) == 15


def test_time_between_tokens_is_taken_as_measured() -> None:
    assert sessions(row(16, "960", token_s=Fraction(1, 10))) == 15


def test_prompts_measured_alone_say_what_prefill_does() -> None:
    one = Run.of(tiny.core())
    alone = row(1, "50", first_token_s=Fraction(1, 10), output_tokens=1)
    slowed = Fraction(flops_per_token(one.model, 512), flops_per_token(one.model, 4096))
    assert prefill_measured([alone], one, 512, Fraction(1)) == 10240
    assert prefill_measured([alone], one, 4096, Fraction(1)) == 10240 * slowed
    # A prompt as short as none measured takes as long as the shortest, a longer one in proportion.
    assert prompt_measured([alone], one, 10, 512) == Fraction(1, 10)
    assert prompt_measured([alone], one, 4096, 512) == Fraction(4, 10)
    assert prompt_measured([alone], one, 10, 4096) == Fraction(1, 10) / slowed
    cached = replace(alone, prefix_tokens=1024)
    assert prefill_measured([cached], one, 512, Fraction(1)) is None
    assert prompt_measured([cached], one, 10, 512) is None


def test_rows_under_load_raise_prefill_but_never_lower_it() -> None:
    one, busy = Run.of(tiny.core()), row(16, "960")
    assert prefill_measured([busy], one, 512, Fraction(1000)) == 960 * 4
    assert prefill_measured([busy], one, 512, Fraction(5000)) is None
    assert prompt_measured([busy], one, 10, 512) is None


def table(*found: Row) -> Throughput:
    return Throughput("runs.csv", "digest", "rows", found)


@pytest.mark.parametrize(
    ("change", "applies"),
    [
        ({}, True), ({"gpu": "other"}, False), ({"layout": "tp2"}, False), ({"model": "other"}, False),
        ({"engine": "Engine"}, True), ({"engine": "engine"}, True), ({"engine": "vllm"}, False),
        ({"weights": "fp8"}, False), ({"weights": "bf16"}, True), ({"kv_format": "fp8"}, False),
    ],
)  # fmt: skip
def test_rows_apply_where_all_that_they_name_agrees(change: dict[str, str], applies: bool) -> None:
    found = rows_of(table(row(1, "50", **change)), Run.of(tiny.core()), ("engine", "Engine"))
    assert bool(found) == applies


def test_measured_rows_take_the_place_of_the_roofline() -> None:
    core, plain = tiny.core(), at()
    measured = replace(plain, throughput=table(row(8, "480"), row(16, "640")))
    assert rates.decode_sessions(core, measured, Fraction(0)) == 8
    assert rates.decode_sessions(core, plain, Fraction(0)) > 100
    elsewhere = replace(plain, throughput=table(row(8, "480", gpu="other")))
    assert rates.decode_sessions(core, elsewhere, Fraction(0)) == rates.decode_sessions(core, plain, Fraction(0))
    slow = replace(plain, throughput=table(row(1, "50", first_token_s=Fraction(1))))
    # 1,024 tokens/s on each of two replicas, half planned, by FLOP at 1,024 instead of 512 on average.
    assert rates.prefill_tokens_per_s(core, slow) == int(
        1024 * Fraction(flops_per_token(core.model, 512), flops_per_token(core.model, 1024))
    )
    assert rates.prompt_seconds(core, slow) > 1


def test_prompts_beyond_those_of_a_row_come_on_top() -> None:
    core = tiny.core()
    measured = replace(at(), throughput=table(row(8, "480")))
    # The row's own are 480 x 4 = 1,920 tokens/s for eight sessions: 240 each.
    assert rates.decode_sessions(core, measured, Fraction(240)) == 8
    assert rates.decode_sessions(core, measured, Fraction(2400)) < 8


def test_serving_and_service_have_their_defaults() -> None:
    assert Serving(engines=("a",), weights=("b",)).accepted is None
    made = Service(decode_tokens_per_s=1, first_token_s=Fraction(1))
    assert (made.prefill_ceiling_fraction, made.decode_ceiling_fraction, made.measured) == (None, None, None)


def bent(rng: Random, seen: list[int]) -> Callable[[int], Fraction]:
    """Return a share that rises with n, steeper from some n on, and notes what it is asked."""
    start, rise = Fraction(rng.randint(1, 900), 1000), Fraction(rng.randint(1, 3000), 10**5)
    bend, steeper = rng.randint(1, 300), Fraction(rng.randint(0, 5000), 10**5)

    def busy(n: int) -> Fraction:
        seen.append(n)
        return start + rise * n + steeper * max(0, n - bend)

    return busy


def test_the_largest_number_under_a_ceiling_takes_few_looks() -> None:
    rng, looks = Random(3), 0
    for _ in range(2000):
        seen: list[int] = []
        busy, most, ceiling = bent(rng, seen), rng.choice((1, 2, 50, 4096)), Fraction(rng.randint(1, 120), 100)
        found = service.largest(busy, ceiling, most, 64)
        looks += len(seen)
        assert found == 0 or busy(found) <= ceiling
        assert found == most or busy(found + 1) > ceiling
    assert looks < 5 * 2000
