"""Weights of one GPU: what is split, copied, padded and added on load; by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.attention.dsa import Dsa
from planner.attention.mla import Mla
from planner.engines import Engine, FormatRule
from planner.layout import Layout
from planner.models import Checkpoint, Extra, FeedForward, Model
from planner.weights import weight_parts, weights_per_gpu
from tests.unit import tiny
from tests.unit.tiny import GIB, shelf

VLLM = shelf().engines.engines["vllm-0.33"]
GLM = shelf().model("glm-5.3")

# Of the tiny model, all layers: query and output projections, those of K and V, feed-forward, norms; one vocabulary.
QO, KV, FF, NORMS, END = 8 * 524_288, 8 * 131_072, 8 * 1_572_864, 17 * 512, 512_000
EXPERTS = FeedForward(expert_layers=8, experts=4, active_experts=2, expert_size=200)


def weights(layout: Layout, model: Model | None = None, engine: Engine | None = None, draft: int = 0) -> int:
    return weights_per_gpu(model or tiny.model(), "bf16", layout, engine or tiny.engine(), draft)


def parts(layout: Layout, model: Model | None = None, engine: Engine | None = None) -> dict[str, Fraction]:
    return dict(weight_parts(model or tiny.model(), "bf16", layout, engine or tiny.engine()))


def test_matrices_are_split_and_norms_copied() -> None:
    assert weights(Layout()) == 2 * (QO + KV + FF + 2 * END + NORMS)
    assert weights(Layout(tp=2)) == QO + KV + FF + 2 * END + 2 * NORMS


def test_k_and_v_projections_are_copied_beyond_their_heads() -> None:
    # Two heads over four and eight ranks: each rank keeps one head.
    for tp in (4, 8):
        assert parts(Layout(tp=tp))["K and V projections, copied beyond their heads"] == 2 * KV // 2
        assert weights(Layout(tp=tp)) == 2 * (QO + FF + 2 * END) // tp + KV + 2 * NORMS


def test_pipeline_stages_hold_their_layers_and_one_end_of_the_vocabulary() -> None:
    assert weights(Layout(pp=4)) == 2 * ((QO + KV + FF) // 4 + END) + NORMS // 2
    # 8 layers in 3 stages: the fullest holds 3.
    assert weights(Layout(pp=3)) == -(-2 * (3 * (QO + KV + FF + NORMS) // 8 + END) // 1)


def test_tied_embedding_is_held_once_and_by_both_ends_of_a_pipeline() -> None:
    tied = tiny.model(tied=True)
    assert weights(Layout(), tied) == weights(Layout()) - 2 * END
    assert weights(Layout(pp=4), tied) == weights(Layout(pp=4))


def test_spread_experts_are_whole_and_attention_is_copied() -> None:
    # 4 experts of 3 x 512 x 200 in each of 8 layers: over 4 expert ranks one each.
    model = tiny.model(feed_forward=EXPERTS)
    experts, rest = 8 * 4 * 3 * 512 * 200, QO + KV + 8 * 512 * 4 + NORMS + 2 * END
    assert weights(Layout(dp=4, ep=4), model) == 2 * (experts // 4 + rest)
    assert weights(Layout(), model) == 2 * (experts + rest)


@pytest.mark.parametrize(
    ("layout", "factor"),
    [
        (Layout(), Fraction(768, 512) * Fraction(256, 200)),
        (Layout(tp=2), Fraction(768, 512) * Fraction(128, 100)),  # 200 / 2 = 100, padded to 128
        (Layout(tp=8), Fraction(768, 512) * Fraction(128, 25)),
        (Layout(dp=4, ep=4), Fraction(768, 512) * Fraction(256, 200)),  # whole experts
    ],
)
def test_experts_are_padded_to_what_kernels_ask_for(layout: Layout, factor: Fraction) -> None:
    rule = FormatRule(format="bf16", architectures=("a",), hidden_multiple=384, inner_multiple=128)
    model, padded = tiny.model(feed_forward=EXPERTS), tiny.engine(weight_formats=(rule,))
    assert parts(layout, model, padded)["experts"] == factor * parts(layout, model)["experts"]
    assert parts(layout, model, padded)["embedding and output head"] == 4 * END // layout.tp


def test_kernels_that_keep_more_than_the_file_has() -> None:
    rule = FormatRule(format="bf16", architectures=("a",), loaded=Fraction(9, 4))
    model = tiny.model(feed_forward=EXPERTS)
    assert parts(Layout(), model, tiny.engine(weight_formats=(rule,)))["experts"] == 8 * 4 * 3 * 512 * 200 * Fraction(
        9, 4
    )


def test_experts_between_projections_are_padded_at_their_own_width() -> None:
    rule = FormatRule(format="bf16", architectures=("a",), hidden_multiple=256)
    model = tiny.model(feed_forward=replace(EXPERTS, expert_hidden=128))
    assert parts(Layout(), model, tiny.engine(weight_formats=(rule,)))["experts"] == 2 * 8 * 4 * 3 * 256 * 200


@pytest.mark.parametrize("element", [2, 4])
def test_position_tables_span_every_position_on_every_rank_and_stage(element: int) -> None:
    # 2^20 positions of 64 elements, whatever context is planned.
    run = replace(tiny.engine().runtime, position_bytes=Fraction(element))
    for layout in (Layout(), Layout(tp=2), Layout(pp=4)):
        assert parts(layout, engine=tiny.engine(runtime=run))["position tables"] == 2**20 * 64 * element


def test_latent_attention_is_absorbed_into_bf16_copies() -> None:
    latent = Mla(layers=8, heads=8, rank=256, rope=32, nope=64, value_dim=64, query_rank=0)
    model = tiny.model(attention=(latent,))
    absorbed = 2 * 8 * 8 * (64 + 64) * 256
    for layout, share in ((Layout(), 1), (Layout(tp=4), 4), (Layout(pp=2), 2), (Layout(tp=2, pp=2), 4)):
        assert parts(layout, model)["absorbed projections in BF16"] == absorbed // share
    # Down-projections and norms are copied: 8 x (512 x 288 + 256) elements; with the layers' norms.
    assert parts(Layout(tp=4), model)["copied on every rank"] == 2 * (8 * (512 * 288 + 256) + NORMS)


def test_indexer_is_copied_on_every_rank() -> None:
    latent = {"layers": 8, "heads": 8, "rank": 256, "rope": 32, "nope": 64, "value_dim": 64, "query_rank": 128}
    sparse = Dsa(**latent, indexer_layers=2, indexer_heads=4, indexer_dim=32, topk=64)  # type: ignore[arg-type]
    dense = tiny.model(attention=(Mla(**latent),))  # type: ignore[arg-type]
    more = 2 * (128 * 4 * 32 + 512 * 32 + 512 * 4 + 2 * 32)
    for layout in (Layout(), Layout(tp=8)):
        assert weights(layout, tiny.model(attention=(sparse,))) - weights(layout, dense) == 2 * more


def test_extras_are_split_or_copied() -> None:
    extras = (Extra(name="encoder", count=1000, split="none"), Extra(name="towers", count=8000))
    assert weights(Layout(tp=4), tiny.model(extra=extras)) - weights(Layout(tp=4)) == 2 * (1000 + 2000)


def test_attention_may_be_kept_in_a_format_of_its_own() -> None:
    mixed = Checkpoint(format="bf16", experts="bf16", linear="int8-channel", attention="bf16")
    all_int8 = Checkpoint(format="bf16", experts="bf16", linear="int8-channel")
    found = [weights(Layout(), tiny.model(checkpoints=(one,))) for one in (mixed, all_int8)]
    assert found == [2 * (QO + KV + 2 * END + NORMS) + FF, QO + KV + FF + 2 * (2 * END + NORMS)]


def test_draft_layers_come_whole_on_top() -> None:
    # One layer, a projection of 2 x 512^2 and five norms.
    draft = (QO + KV + FF) // 8 + 2 * 512**2 + 5 * 512
    assert weights(Layout(), draft=1) - weights(Layout()) == 2 * draft
    assert weights(Layout(pp=4), draft=2) - weights(Layout(pp=4)) == 4 * draft


def test_weights_per_gpu_of_glm_5_3() -> None:
    # kv-facts.md, corrections and 3.4: 88.6 GiB under TP8; the file under DP8+EP8, draft layer included, 105.08 GiB.
    assert weights_per_gpu(GLM, "fp8", Layout(tp=8), VLLM) / GIB == pytest.approx(88.57, abs=0.005)
    spread = dict(weight_parts(GLM, "fp8", Layout(dp=8, ep=8), VLLM, 1))
    added = spread.pop("position tables"), spread.pop("absorbed projections in BF16")
    assert [float(size) / GIB for size in added] == pytest.approx([0.125, 2.133], abs=0.001)
    assert float(sum(spread.values())) / GIB == pytest.approx(105.08, abs=0.1)


@pytest.mark.parametrize("layout", ["tp1", "tp8", "dp8-ep8", "tp4-pp2"])
def test_parts_add_up(layout: str) -> None:
    found = weight_parts(GLM, "fp8", Layout.parse(layout), VLLM, 1)
    assert -(-sum(size for _, size in found) // 1) == weights_per_gpu(GLM, "fp8", Layout.parse(layout), VLLM, 1)
    assert all(size > 0 for _, size in found)
