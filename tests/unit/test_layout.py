"""Layouts: legality, weights per GPU, pools, whole sessions, knife edges; all by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.errors import InputError
from planner.kvcache import kv_cache
from planner.layout import (
    Layout,
    Pool,
    Sizes,
    block_tokens,
    copies_on_load,
    given_budget,
    gpu_budget,
    known_budget,
    kv_pool,
    layout_fault,
    offered_layouts,
    weights_per_gpu,
)
from planner.models import FeedForward
from tests.unit import tiny
from tests.unit.tiny import GIB, MIB, shelf

VLLM = shelf().engines.engines["vllm-0.33"]
SGLANG = shelf().engines.engines["sglang-0.5.23"]
H200 = shelf().catalog.gpus()["h200-sxm"]
GLM = shelf().model("glm-5.3")
KV = kv_cache(GLM, "fp8_ds_mla")
SESSION = Sizes(131_072)


@pytest.mark.parametrize(
    ("text", "layout", "name"),
    [
        ("tp8", Layout(tp=8), "tp8"),
        ("TP8-DCP8", Layout(tp=8, dcp=8), "tp8-dcp8"),
        ("ep8-dp8", Layout(dp=8, ep=8), "dp8-ep8"),
        ("pp2-tp8", Layout(tp=8, pp=2), "tp8-pp2"),
        ("tp1", Layout(), "tp1"),
    ],
)
def test_name_and_text_of_a_layout(text: str, layout: Layout, name: str) -> None:
    assert Layout.parse(text) == layout
    assert layout.name == name
    assert Layout.parse(name) == layout


@pytest.mark.parametrize("text", ["", "tp", "tp0", "tp-8", "tp8 dcp8", "xp8", "tp8-tp4", "tp8-", "8"])
def test_text_that_is_no_layout(text: str) -> None:
    with pytest.raises(InputError, match="tp8-dcp8"):
        Layout.parse(text)


def test_layouts_on_offer() -> None:
    moe, dense = shelf().model("glm-5"), shelf().model("llama-3.1-70b")
    assert [one.name for one in offered_layouts(8, 1, dense)] == [
        "tp1", "tp2", "tp2-dcp2", "tp4", "tp4-dcp2", "tp4-dcp4", "tp8", "tp8-dcp2", "tp8-dcp4", "tp8-dcp8"
    ]  # fmt: skip
    assert {"dp8-ep8", "dp4-tp2-ep8", "dp2-tp4-ep8"} <= {one.name for one in offered_layouts(8, 1, moe)}
    assert [one.name for one in offered_layouts(8, 2, moe)] == [
        "tp8-pp2", "tp8-pp2-dcp2", "tp8-pp2-dcp4", "tp8-pp2-dcp8", "dp16-ep16", "dp8-tp2-ep16", "dp4-tp4-ep16",
        "dp2-tp8-ep16",
    ]  # fmt: skip


def test_context_parallelism_of_sparse_attention_needs_its_backend() -> None:
    assert "not known to run on sm120" in layout_fault(Layout(tp=8, dcp=8), GLM, VLLM, KV, "sm120")


FAULTS = [
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp8", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp8-dcp8", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp8-dcp3", "must divide"),
    ("glm-5.3", "bf16", VLLM, "tp8-dcp8", "needs the KV format fp8_ds_mla"),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp3", "64 attention heads cannot be split over 3"),
    ("glm-5.3", "fp8_ds_mla", VLLM, "dp8-ep8", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "dp3-ep3", "256 experts cannot be spread over 3"),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp8-ep4", "experts spread over all 8 ranks"),
    ("glm-5.3", "fp8_ds_mla", VLLM, "dp8", "just more replicas"),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp8-pp99", "78 layers make no 99 stages"),
    ("llama-3.1-70b", "bf16", VLLM, "tp8-dcp8", "keeps 1 copies"),
    ("llama-3.1-70b", "bf16", VLLM, "tp16-dcp2", ""),
    ("llama-3.1-70b", "bf16", VLLM, "dp8-ep8", "experts"),
    ("gpt-oss-120b", "bf16", VLLM, "tp8-dcp8", "sliding-window"),
    ("qwen3-235b-a22b", "bf16", VLLM, "tp8-dcp2", ""),
]


@pytest.mark.parametrize(("model", "kv_format", "engine", "layout", "words"), FAULTS)
def test_fault_of_a_layout(model: str, kv_format: str, engine: object, layout: str, words: str) -> None:
    found = shelf().model(model)
    fault = layout_fault(Layout.parse(layout), found, engine, kv_cache(found, kv_format), "sm90")  # type: ignore[arg-type]
    assert (words in fault) if words else fault == ""


def test_engine_without_context_parallelism() -> None:
    engine = tiny.engine(context_parallel=False)
    assert "no decode context parallelism" in layout_fault(Layout(tp=8, dcp=8), GLM, engine, KV, "sm90")


# The run of GLM-5.3-FP8 on 8 x H200 that was published: 25.94 GiB of KV cache per GPU.
MEASURED = int(25.94 * GIB)


@pytest.mark.parametrize(
    ("layout", "engine", "sessions", "exact"),
    [
        ("tp8", VLLM, 3, 3.94),
        ("tp8-dcp8", VLLM, 31, 31.5),
        ("tp8-dcp8", SGLANG, 23, 23.2),  # SGLang copies the indexer's keys
    ],
)
def test_pool_of_the_measured_run(layout: str, engine: object, sessions: int, exact: float) -> None:
    pool = kv_pool(MEASURED, KV, Layout.parse(layout), engine, 64, SESSION)  # type: ignore[arg-type]
    assert pool.sessions == sessions
    assert float(pool.exact_sessions) == pytest.approx(exact, abs=0.05)


def test_tokens_of_the_measured_pool_come_in_blocks() -> None:
    pool = kv_pool(MEASURED, KV, Layout(tp=8), VLLM, 64, SESSION)
    assert pool.tokens == MEASURED // (53_940 * 64) * 64
    assert pool.tokens == pytest.approx(516_372, rel=0.001)


def test_pool_by_hand() -> None:
    # 100 MiB at 4,096 B per token and blocks of 16; sessions of 1,000 tokens take 1,008.
    pool = kv_pool(100 * MIB, tiny.kv(), Layout(), tiny.engine(), 16, Sizes(1000))
    assert pool.tokens == 25_600
    assert pool.session_rank_bytes == 1008 * 4096
    assert pool.sessions == 25
    assert pool.spare_bytes == 100 * MIB - 25 * 1008 * 4096
    assert pool.missing_bytes == 26 * 1008 * 4096 - 100 * MIB
    assert pool.missing_tokens == 608  # 26 x 1,008 - 25,600


def test_prefix_is_stored_once_per_pool_and_group() -> None:
    # 500 of 1,000 tokens shared: 496 in whole blocks; 3 prefixes; 512 tokens per session remain.
    pool = kv_pool(100 * MIB, tiny.kv(), Layout(), tiny.engine(), 16, Sizes(1000, 500, 3))
    assert pool.prefix_rank_bytes == 3 * 496 * 4096
    assert pool.session_rank_bytes == 512 * 4096
    assert pool.sessions == (25_600 - 3 * 496) // 512 == 47


def test_tensor_parallelism_splits_heads_and_then_copies_them() -> None:
    sizes = [
        kv_pool(MIB, tiny.kv(), Layout(tp=tp), tiny.engine(), 16, Sizes(16)).session_rank_bytes for tp in (1, 2, 4)
    ]
    assert sizes == [16 * 4096, 16 * 2048, 16 * 2048]


def test_pipeline_stage_with_most_layers_limits() -> None:
    # 8 layers in 3 stages: the fullest holds 3.
    pool = kv_pool(MIB, tiny.kv(), Layout(pp=3), tiny.engine(), 16, Sizes(16))
    assert pool.session_rank_bytes == 16 * 4096 * Fraction(3, 8)


def test_context_parallelism_spreads_blocks() -> None:
    # 4 ranks over 2 heads keep 2 copies; dcp2 spreads the tokens of each over two.
    pool = kv_pool(MIB, tiny.kv(), Layout(tp=4, dcp=2), tiny.engine(), 16, Sizes(33))
    assert pool.session_rank_bytes == 64 * 4096 / 4
    assert pool.tokens == 1024


def test_windowed_layers_take_whole_blocks_of_their_window() -> None:
    model = shelf().model("gpt-oss-120b")
    pool = kv_pool(GIB, kv_cache(model, "bf16"), Layout(), VLLM, 16, Sizes(1000))
    assert pool.session_rank_bytes == 1008 * 36_864 + 128 * 36_864


def test_no_memory_no_session() -> None:
    for memory in (0, -5):
        pool = kv_pool(memory, tiny.kv(), Layout(), tiny.engine(), 16, Sizes(1000))
        assert (pool.rank_bytes, pool.tokens, pool.sessions, pool.missing_tokens) == (0, 0, 0, 0)
        assert pool.missing_bytes == 1008 * 4096


@pytest.mark.parametrize(
    ("memory", "sessions", "edge"),
    [
        (1000, 3, 0),  # 300 each: 100 to spare, 200 short of the next, an edge is 50
        (900, 3, -1),  # nothing to spare
        (944, 3, -1),  # 44 to spare, the edge is 47.2
        (950, 3, 0),  # 50 to spare, the edge is 47.5
        (1199, 3, 1),  # 1 short of the next
        (1143, 3, 1),  # 57 short, the edge is 57.15
        (1142, 3, 0),  # 58 short, the edge is 57.1
        (299, 0, 1),
        (10, 0, 0),
    ],
)
def test_knife_edge_is_five_percent_of_the_pool(memory: int, sessions: int, edge: int) -> None:
    pool = Pool(memory, memory, Fraction(300), Fraction(0), sessions)
    assert (int(pool.exact_sessions), pool.knife_edge) == (sessions, edge)


def test_weights_by_hand() -> None:
    # Per layer: projections 655,360 and feed-forward 1,572,864 split; norms 17 x 512 copied; ends 512,000 each.
    model = tiny.model()
    split, ends, norms = 8 * (655_360 + 1_572_864), 512_000, 17 * 512
    assert weights_per_gpu(model, "bf16", Layout()) == 2 * (split + 2 * ends + norms)
    assert weights_per_gpu(model, "bf16", Layout(tp=2)) == split + 2 * ends + 2 * norms
    # Four stages of two layers; one of the two ends at most.
    assert weights_per_gpu(model, "bf16", Layout(pp=4)) == 2 * (split // 4 + ends) + norms // 2


def test_weights_with_experts() -> None:
    # 4 experts of 3 x 512 x 256 in each of 8 layers: over 4 expert ranks one each; attention copied.
    forward = FeedForward(expert_layers=8, experts=4, active_experts=2, expert_size=256)
    model = tiny.model(feed_forward=forward)
    experts = 8 * 4 * 3 * 512 * 256
    rest = 8 * 655_360 + 8 * 512 * 4 + 17 * 512 + 2 * 512_000
    assert weights_per_gpu(model, "bf16", Layout(dp=4, ep=4)) == 2 * (experts // 4 + rest)
    assert weights_per_gpu(model, "bf16", Layout()) == 2 * (experts + rest)


@pytest.mark.parametrize(("layout", "gib"), [("dp8-ep8", 105.08), ("tp8", 88.6)])
def test_weights_per_gpu_of_glm_5_3(layout: str, gib: float) -> None:
    # kv-facts.md 3.3 and its corrections; the absorbed copies (0.3 GiB under TP8, 2.1 under DP8) come on top.
    found = weights_per_gpu(GLM, "fp8", Layout.parse(layout)) / GIB
    assert gib - 0.5 < found < gib + 2.2


def test_budget_by_hand() -> None:
    budget = gpu_budget(tiny.model(), tiny.gpu(), tiny.engine(), "bf16", Layout(), 1024)
    weights = weights_per_gpu(tiny.model(), "bf16", Layout())
    assert budget.usable_bytes == 16 * GIB
    assert budget.runtime_bytes == GIB
    assert budget.kv_bytes == 15 * GIB - weights
    assert budget.usable_bytes == budget.weights_bytes + budget.runtime_bytes + budget.kv_bytes


def test_sparse_workspace_grows_with_the_longest_context() -> None:
    def workspace(context: int) -> int:
        return dict(gpu_budget(GLM, H200, VLLM, "fp8", Layout(tp=8), context).runtime)["sparse prefill workspace"]

    # kv-facts.md 4.2: 0.70 GiB at 131,072, 1.09 at 202,752, 2.25 at 1,048,576.
    gib = [round(workspace(context) / GIB, 2) for context in (131_072, 202_752, 1_048_576)]
    assert gib == [0.70, 1.09, 2.25]


def test_measured_run_replaces_the_estimate() -> None:
    estimate = gpu_budget(GLM, H200, VLLM, "fp8", Layout(tp=8), 131_072)
    run = ("glm-5.3", "vllm-0.33", "fp8", "fp8_ds_mla", "h200-sxm")
    known = known_budget(estimate, shelf().engines.measured, run, Layout(tp=8))
    assert (known.evidence, known.kv_bytes) == ("measured", round(25.94 * GIB))
    assert known.usable_bytes == known.weights_bytes + known.runtime_bytes + known.kv_bytes
    spread = known_budget(estimate, shelf().engines.measured, run, Layout(tp=8, dcp=8))
    assert (spread.evidence, spread.kv_bytes) == ("derived", known.kv_bytes)
    other = known_budget(estimate, shelf().engines.measured, (*run[:4], "h100-sxm"), Layout(tp=8))
    assert other is estimate
    assert given_budget(estimate, 5, 7).kv_bytes == 7


def test_blocks_and_copies() -> None:
    assert (block_tokens(VLLM, "dsa"), block_tokens(VLLM, "gqa")) == (64, 16)
    assert copies_on_load(KV, Layout(tp=8), VLLM) == 8
    assert copies_on_load(KV, Layout(tp=8, dcp=8), VLLM) == 1
    assert copies_on_load(KV, Layout(dp=8, ep=8), VLLM) == 1
    latent, key = 78 * 656, 21 * 132
    assert copies_on_load(KV, Layout(tp=8, dcp=8), SGLANG) == Fraction(latent + 8 * key, latent + key)
    assert copies_on_load(tiny.kv(), Layout(tp=2), tiny.engine()) == 1
    assert copies_on_load(tiny.kv(), Layout(tp=8), tiny.engine()) == 4


def test_flat_surcharge_scales_the_session() -> None:
    pool = kv_pool(100 * MIB, tiny.kv(), Layout(), tiny.engine(), 16, Sizes(1024, scale=Fraction(77, 100)))
    assert pool.session_rank_bytes == 4 * MIB * Fraction(77, 100)
    assert replace(pool, sessions=0).exact_sessions == Fraction(100, 4) / Fraction(77, 100)
