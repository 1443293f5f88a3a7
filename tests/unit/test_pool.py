"""Pools: whole sessions, blocks, prefixes, windows and states, knife edges; all by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from planner.attention.gdn import Gdn
from planner.attention.gqa import Gqa
from planner.attention.mla import Mla
from planner.attention.sliding_window import SlidingWindow
from planner.budget import Launch, known_budget
from planner.engines import Engine
from planner.kvcache import KvCache, kv_cache
from planner.layout import Layout
from planner.paging import PagingRules
from planner.pool import Pool, Sizes, block_tokens, kv_pool, rank_kinds, rank_paging
from tests.unit import tiny
from tests.unit.tiny import GIB, MIB, shelf

ENGINES = shelf().engines.engines
VLLM, SGLANG = ENGINES["vllm-0.33"], ENGINES["sglang-0.5.23"]
GLM = shelf().model("glm-5.3")
KV = kv_cache(GLM, "fp8_ds_mla")
SESSION = Sizes(131_072)
STEP = 8192

ALONE = Layout()
HEADS: dict[str, Any] = {"heads": 8, "kv_heads": 2, "key_dim": 64, "value_dim": 64}
FULL, WINDOW = Gqa(layers=8, **HEADS), SlidingWindow(layers=8, **HEADS, window=128)
STATE = Gdn(layers=8, kernel=4, state_type="fp32", key_heads=4, value_heads=4, key_dim=64, value_dim=64)
STATE_BYTES = 3 * 4 * 64 * 3 * 2 + 4 * 64 * 64 * 4
"""Of one layer and sequence."""


def paged(style: str, **changes: Any) -> Engine:
    rules = {"style": style, "prints": "tokens", "null_blocks": 0}
    return tiny.engine(paging=PagingRules(**(rules | changes)))  # type: ignore[arg-type]


def cache_of(*groups: Any) -> KvCache:
    return kv_cache(tiny.model(attention=groups), "bf16")


def pool(
    memory: int, sizes: Sizes, layout: Layout = ALONE, engine: Engine | None = None, kv: KvCache | None = None,
    step: int = 1,
) -> Pool:  # fmt: skip
    return kv_pool(memory, kv or tiny.kv(), layout, engine or tiny.engine(), "gqa", step, sizes)


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
def test_pool_of_the_measured_run(layout: str, engine: Engine, sessions: int, exact: float) -> None:
    found = kv_pool(MEASURED, KV, Layout.parse(layout), engine, "dsa", STEP, SESSION)
    assert found.sessions == sessions
    assert float(found.exact_sessions) == pytest.approx(exact, abs=0.05)


def test_tokens_of_the_measured_pool_come_in_blocks_one_of_which_is_kept() -> None:
    found = kv_pool(MEASURED, KV, Layout(tp=8), VLLM, "dsa", STEP, SESSION)
    assert found.tokens == (MEASURED // (53_940 * 64) - 1) * 64
    assert found.tokens == pytest.approx(516_372, rel=0.001)


def test_glm_5_3_as_planned_with_the_newest_engine() -> None:
    gpu, launch = shelf().catalog.gpus()["h200-sxm"], Launch(131_072)
    budget = known_budget(GLM, gpu, VLLM, "fp8", KV.name, Layout(tp=8), launch, shelf().engines.measured)
    found = kv_pool(budget.kv_bytes, KV, Layout(tp=8), VLLM, "dsa", STEP, SESSION)
    assert budget.weights_bytes / GIB == pytest.approx(88.57, abs=0.005)
    assert budget.kv_bytes / GIB == pytest.approx(32.49, abs=0.005)
    assert (budget.evidence, found.tokens, found.sessions) == ("derived", 646_592, 4)


@pytest.mark.parametrize("style", ["plain", "grouped"])
def test_pool_by_hand(style: str) -> None:
    # 100 MiB at 4,096 B per token and blocks of 16; sessions of 1,000 tokens take 1,008.
    found = pool(100 * MIB, Sizes(1000), engine=paged(style))
    assert (found.tokens, found.sessions) == (25_600, 25)
    assert (found.session_rank_bytes, found.fixed_rank_bytes) == (1008 * 4096, 0)
    assert found.spare_bytes == 100 * MIB - 25 * 1008 * 4096
    assert found.missing_bytes == 26 * 1008 * 4096 - 100 * MIB
    assert found.missing_tokens == 608  # 26 x 1,008 - 25,600


@pytest.mark.parametrize("style", ["plain", "grouped"])
def test_blocks_that_no_session_gets(style: str) -> None:
    found = pool(63 * 16 * 4096, Sizes(1000), engine=paged(style, null_blocks=1))
    assert (found.sessions, found.missing_bytes, found.fixed_rank_bytes) == (0, 16 * 4096, 16 * 4096)
    assert found.tokens == 62 * 16
    assert pool(64 * 16 * 4096, Sizes(1000), engine=paged(style, null_blocks=1)).sessions == 1


@pytest.mark.parametrize("style", ["plain", "grouped", "pools"])
def test_prefix_is_stored_once_per_pool_and_group(style: str) -> None:
    # 500 of 1,000 tokens shared: 496 in whole blocks; 3 prefixes; 512 tokens per session remain.
    found = pool(100 * MIB, Sizes(1000, 500, 3), engine=paged(style))
    assert found.fixed_rank_bytes == 3 * 496 * 4096
    assert found.session_rank_bytes == 512 * 4096
    assert found.sessions == (25_600 - 3 * 496) // 512 == 47


def test_tensor_parallelism_splits_heads_and_then_copies_them() -> None:
    sizes = [pool(MIB, Sizes(16), Layout(tp=tp)).session_rank_bytes for tp in (1, 2, 4)]
    assert sizes == [16 * 4096, 16 * 2048, 16 * 2048]


def test_pipeline_stage_with_most_layers_limits() -> None:
    # 8 layers in 3 stages: the fullest holds 3.
    assert pool(MIB, Sizes(16), Layout(pp=3)).session_rank_bytes == 16 * 4096 * Fraction(3, 8)


@pytest.mark.parametrize("style", ["plain", "grouped"])
def test_context_parallelism_spreads_blocks(style: str) -> None:
    # 4 ranks over 2 heads keep 2 copies; dcp2 spreads the tokens of each over two: 33 take two blocks of 32.
    found = pool(MIB, Sizes(33), Layout(tp=4, dcp=2), paged(style))
    assert found.session_rank_bytes == 64 * 4096 // 4
    assert found.tokens == 1024


@pytest.mark.parametrize("style", ["plain", "grouped"])
def test_windows_hold_whole_blocks_and_the_tokens_in_flight(style: str) -> None:
    # Steps of 64 tokens, two of them in flight. Plainly: 1,008 tokens whole and 128 in the window each, 128 in flight
    # once. In groups of blocks: 63 and, as a window of 128 may touch a block more, 9 of them; the prompt that is read
    # holds 17 to 18 blocks, 8 of them for what is in flight.
    found = pool(GIB, Sizes(1000), engine=paged(style), kv=cache_of(FULL, WINDOW), step=64)
    blocks, fixed = {"plain": (63 + 8, 8), "grouped": (63 + 9, 8)}[style]
    assert found.session_rank_bytes == blocks * 16 * 4096
    assert found.fixed_rank_bytes == fixed * 16 * 4096
    assert found.sessions == (GIB // (16 * 4096) - fixed) // blocks


def test_windows_of_short_sessions_hold_no_more_than_these() -> None:
    found = pool(GIB, Sizes(100), engine=paged("grouped"), kv=cache_of(FULL, WINDOW), step=4096)
    assert (found.session_rank_bytes, found.fixed_rank_bytes) == (2 * 7 * 16 * 4096, 0)


def test_states_are_held_per_session_beside_the_tokens() -> None:
    plain = pool(GIB, Sizes(1000), engine=paged("plain"), kv=cache_of(FULL, STATE))
    page = 16 * 4096
    assert plain.session_rank_bytes == -(-(1008 * 4096 + 8 * STATE_BYTES) // page) * page
    # In groups: pages grow to what a state fills, 144 tokens of 512 B per layer, and a session holds two states.
    grouped = pool(GIB, Sizes(1000), engine=paged("grouped"), kv=cache_of(FULL, STATE))
    assert STATE_BYTES == 70_144 <= 144 * 512
    assert grouped.session_rank_bytes == (7 + 2) * 8 * 144 * 512


def test_pools_of_sglang_are_parted_by_ratios() -> None:
    # Per token of the full pool 4,096 B and four fifths as much in windows; the session's 1,008 tokens limit.
    engine, kv = paged("pools"), cache_of(FULL, WINDOW)
    found = pool(GIB, Sizes(1000), engine=engine, kv=kv, step=64)
    assert found.session_rank_bytes == 1008 * 4096 * Fraction(9, 5)
    # With 150 tokens the window pool does: 128 and two pages of 16 each, and 128 tokens in flight.
    short = pool(GIB, Sizes(150), engine=engine, kv=kv, step=64)
    cell = 4096 * Fraction(9, 5) / Fraction(4, 5)
    assert (short.fixed_rank_bytes, short.session_rank_bytes) == (128 * cell, 160 * cell)


def test_states_of_sglang_take_nine_tenths_of_what_tokens_take() -> None:
    # Three slots of eight layers per session against one that is kept; nine of 19 parts are for states.
    found = pool(20 * MIB, Sizes(16), engine=paged("pools"), kv=cache_of(FULL, STATE))
    slot = 8 * STATE_BYTES * Fraction(19, 9)
    assert (found.fixed_rank_bytes, found.session_rank_bytes) == (slot, 3 * slot)


@pytest.mark.parametrize("style", ["plain", "grouped", "pools"])
def test_no_memory_no_session(style: str) -> None:
    for memory in (0, -5):
        found = pool(memory, Sizes(1000), engine=paged(style))
        assert (found.rank_bytes, found.tokens, found.sessions, found.missing_tokens) == (0, 0, 0, 0)
        assert found.missing_bytes == 1008 * 4096


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
    found = Pool(memory, memory, Fraction(300), Fraction(0), sessions)
    assert (int(found.exact_sessions), found.knife_edge) == (sessions, edge)


def test_flat_surcharge_scales_the_session_and_keeps_nothing_apart() -> None:
    found = pool(100 * MIB, Sizes(1024, scale=Fraction(77, 100)), engine=paged("grouped", null_blocks=1))
    assert (found.session_rank_bytes, found.fixed_rank_bytes) == (4 * MIB * Fraction(77, 100), 0)
    assert replace(found, sessions=0).exact_sessions == Fraction(100, 4) / Fraction(77, 100)


def test_blocks_by_family() -> None:
    families = ("gqa", "mla", "dsa", "compressed")
    assert [block_tokens(VLLM, family) for family in families] == [16, 64, 64, 256]
    assert [block_tokens(SGLANG, family) for family in families] == [1, 64, 64, 256]


def test_latent_attention_beside_states_has_larger_blocks() -> None:
    latent = Mla(layers=8, heads=8, rank=512, rope=64, nope=64, value_dim=64, query_rank=0)
    assert rank_paging(cache_of(latent), ALONE, VLLM, "mla").block_tokens == 64
    assert rank_paging(cache_of(latent, STATE), ALONE, VLLM, "mla").block_tokens == 128


def test_what_a_rank_holds_of_each_part() -> None:
    # 4 ranks, 2 heads, 8 layers in 3 stages, tokens over 2 ranks; states are split over their 4 heads.
    full, state = rank_kinds(cache_of(FULL, STATE), Layout(tp=4, pp=3, dcp=2), VLLM)
    assert (full.layers, full.model_layers, full.token_bytes, full.token_ranks) == (3, 8, 256, 2)
    assert (state.layers, state.token_bytes, state.state_bytes, state.token_ranks) == (3, 0, STATE_BYTES // 4, 1)
    for engine, ranks in ((VLLM, 8), (SGLANG, 1)):
        latent, key = rank_kinds(KV, Layout(tp=8, dcp=8), engine)
        assert (latent.token_ranks, key.token_ranks, key.beside) == (8, ranks, "latent")


def test_knife_edge_counts_every_pool() -> None:
    # The pool of full layers is the nearest to the next session; with its bytes the window pool lacks some.
    one_head: dict[str, Any] = {"heads": 8, "key_dim": 64, "value_dim": 64}
    kv = cache_of(Gqa(layers=8, kv_heads=2, **one_head), SlidingWindow(layers=18, kv_heads=1, **one_head, window=512))
    memory, layout = 4_801_722, Layout(tp=2, pp=2)
    found = pool(memory, Sizes(155_939), layout, SGLANG, kv, 2048)
    assert pool(memory + found.missing_bytes, Sizes(155_939), layout, SGLANG, kv, 2048).sessions == found.sessions + 1
