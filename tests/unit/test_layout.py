"""Layouts: their names, which are offered, which of them run."""

from __future__ import annotations

import pytest

from planner.attention.gdn import Gdn
from planner.attention.gqa import Gqa
from planner.attention.indexed_gqa import IndexedGqa
from planner.errors import InputError
from planner.kvcache import kv_cache
from planner.layout import Layout, layout_fault, offered_layouts
from planner.models import FeedForward
from tests.unit import tiny
from tests.unit.tiny import shelf

VLLM = shelf().engines.engines["vllm-0.33"]
SGLANG = shelf().engines.engines["sglang-0.5.23"]
GLM = shelf().model("glm-5.3")
KV = kv_cache(GLM, "fp8_ds_mla")


@pytest.mark.parametrize(
    ("text", "layout", "name"),
    [
        ("tp8", Layout(tp=8), "tp8"),
        ("TP8-DCP8", Layout(tp=8, dcp=8), "tp8-dcp8"),
        ("ep8-dp8", Layout(dp=8, ep=8), "dp8-ep8"),
        ("pp2-tp8", Layout(tp=8, pp=2), "tp8-pp2"),
        ("pcp2-tp4-dcp8", Layout(tp=4, dcp=8, pcp=2), "tp4-dcp8-pcp2"),
        ("tp1", Layout(), "tp1"),
    ],
)
def test_name_and_text_of_a_layout(text: str, layout: Layout, name: str) -> None:
    assert Layout.parse(text) == layout
    assert layout.name == name
    assert Layout.parse(name) == layout


def test_gpus_of_a_replica() -> None:
    assert Layout.parse("dp2-tp4-ep8").gpus == 8
    assert Layout.parse("tp8-pp2-dcp8").gpus == 16
    assert Layout.parse("tp4-pcp2-dcp8").gpus == 8


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
    ("llama-3.1-70b", "bf16", VLLM, "tp8-dcp8", "keeps one copy"),
    ("llama-3.1-70b", "bf16", VLLM, "tp16-dcp2", ""),
    ("llama-3.1-70b", "bf16", VLLM, "dp8-ep8", "experts"),
    ("gpt-oss-120b", "bf16", VLLM, "tp8-dcp8", "sliding-window"),
    ("qwen3-235b-a22b", "bf16", VLLM, "tp8-dcp2", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp4-pcp2", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp4-pcp2-ep8", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp4-pcp2-dcp2", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp4-pcp2-dcp8", ""),
    ("glm-5.3", "fp8_ds_mla", VLLM, "tp4-pcp2-dcp4", "dcp4 must be 2 or 8"),
    ("llama-3.1-70b", "bf16", VLLM, "tp4-pcp2-dcp8", "for latent attention alone"),
    ("glm-5.3", "fp8_ds_mla", SGLANG, "tp4-pcp2", "has no prefill context parallelism"),
]


@pytest.mark.parametrize(("model", "kv_format", "engine", "layout", "words"), FAULTS)
def test_fault_of_a_layout(model: str, kv_format: str, engine: object, layout: str, words: str) -> None:
    found = shelf().model(model)
    fault = layout_fault(Layout.parse(layout), found, engine, kv_cache(found, kv_format), "sm90")  # type: ignore[arg-type]
    assert (words in fault) if words else fault == ""


def test_engine_without_context_parallelism() -> None:
    engine = tiny.engine(context_parallel=False)
    assert "no decode context parallelism" in layout_fault(Layout(tp=8, dcp=8), GLM, engine, KV, "sm90")


def test_recurrent_layers_bar_context_parallelism() -> None:
    gqa = Gqa(layers=2, heads=8, kv_heads=1, key_dim=64, value_dim=64)
    gdn = Gdn(layers=6, kernel=4, state_type="bf16", key_heads=8, value_heads=8, key_dim=64, value_dim=64)
    hybrid = tiny.model(attention=(gqa, gdn))
    fault = layout_fault(Layout(tp=8, dcp=8), hybrid, VLLM, kv_cache(hybrid, "bf16"), "sm90")
    assert "recurrent layers" in fault


def test_context_parallelism_of_indexed_heads_is_not_known() -> None:
    # As MiniMax-M3: tp8 keeps two copies of 4 heads; no run shows that their indexer's keys are spread.
    m3 = IndexedGqa(
        layers=60, heads=64, kv_heads=4, key_dim=128, value_dim=128, indexer_layers=57, indexer_heads=4,
        indexer_dim=128, selected=2048,
    )  # fmt: skip
    model = tiny.model(attention=(m3,), feed_forward=FeedForward(dense_layers=60, dense_size=1024))
    kv = kv_cache(model, "bf16")
    assert "indexed_gqa" in layout_fault(Layout(tp=8, dcp=2), model, VLLM, kv, "sm90")
    assert layout_fault(Layout(tp=8), model, VLLM, kv, "sm90") == ""
