"""Copies of a session's caches over links and in tiers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from planner.attention.gdn import Gdn
from planner.attention.gqa import Gqa
from planner.attention.kda import Kda
from planner.attention.mla import Mla
from planner.copies import copies_on_load, stored_copies
from planner.kvcache import kv_cache
from planner.layout import Layout
from tests.unit import tiny
from tests.unit.tiny import shelf

VLLM, SGLANG = (shelf().engines.engines[name] for name in ("vllm-0.33", "sglang-0.5.23"))
KV = kv_cache(shelf().model("glm-5.3"), "fp8_ds_mla")
ONCE, PER_RANK = tiny.offload(latent="once"), tiny.offload(latent="per rank")
LATENT, KEY = 78 * 656, 21 * 132


@pytest.mark.parametrize(
    ("layout", "copies"),
    [("tp8", 8), ("tp8-dcp8", 1), ("tp8-dcp2", 4), ("dp8-ep8", 1), ("tp8-pp2", 8), ("tp4-pcp2", 8),
     ("tp4-pcp2-dcp2", 4), ("tp4-pcp2-dcp8", 1)],
)  # fmt: skip
def test_every_rank_pulls_the_latent_that_it_holds(layout: str, copies: int) -> None:
    assert copies_on_load(KV, Layout.parse(layout), VLLM) == copies
    assert stored_copies(KV, Layout.parse(layout), VLLM, PER_RANK) == copies
    assert stored_copies(KV, Layout.parse(layout), VLLM, ONCE) == 1


def test_indexer_that_is_not_spread_is_pulled_by_every_rank() -> None:
    spread = Layout(tp=8, dcp=8)
    assert copies_on_load(KV, spread, SGLANG) == Fraction(LATENT + 8 * KEY, LATENT + KEY)
    assert stored_copies(KV, spread, SGLANG, ONCE) == 1


@pytest.mark.parametrize(("tp", "copies"), [(1, 1), (2, 1), (4, 2), (8, 4)])
def test_heads_are_copied_beyond_their_number_whatever_the_product(tp: int, copies: int) -> None:
    for product in (ONCE, PER_RANK):
        assert stored_copies(tiny.kv(), Layout(tp=tp), tiny.engine(), product) == copies
    assert copies_on_load(tiny.kv(), Layout(tp=tp), tiny.engine()) == copies


@pytest.mark.parametrize(
    ("layout", "copies"), [("tp8", 1), ("dp8-ep8", 1), ("tp8-pp2", 8), ("tp8-dcp2", 4), ("tp4-pcp2", 8)]
)  # fmt: skip
def test_some_products_keep_the_latent_once_under_plain_tensor_parallelism_only(layout: str, copies: int) -> None:
    product = tiny.offload(latent="once if plain")
    assert stored_copies(KV, Layout.parse(layout), VLLM, product) == copies


@pytest.mark.parametrize("tokens", [1, 8192, 131_072])
def test_sessions_of_hybrids_are_copied_by_what_they_hold(tokens: int) -> None:
    # Qwen3-Next under TP8: 2 heads are held four times, states once; at 128Ki tokens 3.2 GB against 40 MB.
    heads: dict[str, Any] = {"heads": 16, "kv_heads": 2, "key_dim": 256, "value_dim": 256}
    gdn = Gdn(layers=36, kernel=4, state_type="bf16", key_heads=16, value_heads=32, key_dim=128, value_dim=128)
    kv = kv_cache(tiny.model(attention=(Gqa(layers=12, **heads), gdn)), "bf16")
    rows, states = 24_576 * tokens, 39_518_208
    copies = Fraction(4 * rows + states, rows + states)
    assert stored_copies(kv, Layout(tp=8), VLLM, PER_RANK, tokens) == copies
    assert copies_on_load(kv, Layout(tp=8), VLLM, tokens) == copies


def test_hybrids_are_not_recognised_as_latent() -> None:
    latent = Mla(layers=8, heads=8, rank=512, rope=64, nope=64, value_dim=64, query_rank=0)
    kda = Kda(layers=24, kernel=4, state_type="fp32", heads=8, dim=64)
    alone, hybrid = (kv_cache(tiny.model(attention=groups), "bf16") for groups in ((latent,), (latent, kda)))
    assert stored_copies(alone, Layout(tp=8), VLLM, ONCE) == 1
    rows, states = 8 * 1152 * 8192, int(hybrid.state_bytes)
    assert stored_copies(hybrid, Layout(tp=8), VLLM, ONCE, 8192) == Fraction(8 * rows + states, rows + states)
