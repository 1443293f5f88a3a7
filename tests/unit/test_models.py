"""Attention families, parameters, weights and KV bytes against published figures (kv-facts.md)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner.attention import FAMILIES, Attention
from planner.attention.dsa import Dsa
from planner.attention.gqa import Gqa
from planner.attention.mla import Mla
from planner.attention.sliding_window import SlidingWindow
from planner.errors import InputError
from planner.kvcache import custom_cache, kv_cache, rank_share
from planner.models import Model
from tests.unit.tiny import shelf

IDS = sorted({model.id for model in shelf().models.values()})

# Bytes per token of one whole copy, without draft layers: kv-facts.md, 1.4 and the model table.
RATES = {
    ("glm-5", "bf16"): 100_152,
    ("glm-5", "fp8_ds_mla"): 61_464,
    ("glm-5", "fp8"): 55_224,
    ("glm-5", "nvfp4_ds_mla"): 37_752,
    ("glm-5.2", "bf16"): 92_628,
    ("glm-5.2", "fp8_ds_mla"): 53_940,
    ("glm-5.2", "fp8"): 47_700,
    ("glm-5.2", "nvfp4_ds_mla"): 30_228,
    ("glm-5.3", "fp8_ds_mla"): 53_940,
    ("glm-4.6", "bf16"): 376_832,
    ("glm-4.6", "fp8"): 188_416,
    ("deepseek-v3", "bf16"): 70_272,
    ("deepseek-v3", "fp8"): 35_136,
    ("deepseek-v3.2", "bf16"): 78_324,
    ("deepseek-v3.2", "fp8_ds_mla"): 48_068,
    ("deepseek-v3.2", "fp8"): 43_188,
    ("kimi-k2", "bf16"): 70_272,
    ("kimi-k2.5", "fp8"): 35_136,
    ("qwen3-8b", "bf16"): 147_456,
    ("qwen3-32b", "bf16"): 262_144,
    ("qwen3-30b-a3b", "bf16"): 98_304,
    ("qwen3-235b-a22b", "bf16"): 192_512,
    ("qwen3-235b-a22b", "fp8"): 96_256,
    ("qwen3-coder-480b-a35b", "fp8"): 126_976,
    ("llama-3.1-8b", "bf16"): 131_072,
    ("llama-3.1-70b", "bf16"): 327_680,
    ("llama-3.1-405b", "bf16"): 516_096,
    ("gpt-oss-20b", "bf16"): 24_576,
    ("gpt-oss-120b", "bf16"): 36_864,
    ("gpt-oss-120b", "fp8"): 18_432,
    ("mixtral-8x7b", "bf16"): 131_072,
    ("minimax-m2", "bf16"): 253_952,
}


@pytest.mark.parametrize(("model", "kv_format"), RATES, ids=["-".join(key) for key in RATES])
def test_bytes_per_token_as_published(model: str, kv_format: str) -> None:
    assert kv_cache(shelf().model(model), kv_format).bytes_per_token == RATES[model, kv_format]


def test_every_model_has_a_published_rate() -> None:
    assert {model for model, _ in RATES} == set(IDS)


WITH_DRAFT = {
    ("glm-5", "fp8_ds_mla"): 62_252,
    ("glm-5", "bf16"): 101_436,
    ("glm-5.2", "fp8_ds_mla"): 54_728,
    ("glm-5.2", "bf16"): 93_912,
    ("glm-5.2", "nvfp4_ds_mla"): 30_712,
}


@pytest.mark.parametrize(("model", "kv_format"), WITH_DRAFT, ids=["-".join(key) for key in WITH_DRAFT])
def test_draft_layer_adds_one_layer_with_an_indexer_of_its_own(model: str, kv_format: str) -> None:
    found = shelf().model(model)
    assert kv_cache(found, kv_format, 1).bytes_per_token == WITH_DRAFT[model, kv_format]
    assert kv_cache(found, kv_format, 9).bytes_per_token == WITH_DRAFT[model, kv_format]


def test_window_layers_hold_a_constant() -> None:
    # gpt-oss-120b: 18 layers x 8 heads x (64 + 64) x 2 B x window 128 = 4.7 MB; gpt-oss-20b 3.1 MB.
    cache = kv_cache(shelf().model("gpt-oss-120b"), "bf16")
    assert cache.constant_bytes(131_072) == 18 * 8 * 128 * 2 * 128 == 4_718_592
    assert cache.constant_bytes(100) == 18 * 8 * 128 * 2 * 100
    assert cache.session_bytes(131_072) == 36_864 * 131_072 + 4_718_592
    assert kv_cache(shelf().model("gpt-oss-20b"), "bf16").constant_bytes(10**6) == 3_145_728


def test_formula_of_the_rate_is_shown() -> None:
    assert kv_cache(shelf().model("glm-5"), "fp8_ds_mla").formula() == "78 x 656 (latent) + 78 x 132 (indexer key)"


def test_unknown_format_names_those_that_exist() -> None:
    with pytest.raises(InputError, match="fp8_ds_mla, nvfp4_ds_mla"):
        kv_cache(shelf().model("glm-5"), "zzz")


def test_custom_format_is_spread_over_the_layers() -> None:
    cache = custom_cache(shelf().model("glm-5"), "report-int4", 30_732)
    assert (cache.bytes_per_token, cache.custom, cache.parts[0].row_bytes) == (30_732, True, 394)
    assert custom_cache(shelf().model("glm-5"), "r", 30_000).session_bytes(128_000) == 3_840_000_000


# Every attention family against at least one published row (kv-facts.md, 1.3 and 2.1).
ROWS = {
    "dsa": [("fp8_ds_mla", 656), ("bf16", 1152), ("fp8", 576), ("nvfp4_ds_mla", 352)],
    "mla": [("bf16", 1152), ("fp8", 576), ("fp8_ds_mla", 656)],
    "gqa": [("bf16", 512), ("fp8", 256), ("fp8_per_token_head", 264), ("int4_per_token_head", 136), ("nvfp4", 144)],
    "sliding_window": [("bf16", 512), ("fp8", 256)],
}
LATENT = {"layers": 1, "heads": 64, "rank": 512, "rope": 64, "nope": 192, "value_dim": 256, "query_rank": 2048}
HEADS = {"layers": 1, "heads": 8, "kv_heads": 1, "key_dim": 128, "value_dim": 128}
ONE_LAYER: dict[str, Attention] = {
    "dsa": Dsa(**LATENT, indexer_layers=1, indexer_heads=32, indexer_dim=128, topk=2048),
    "mla": Mla(**LATENT),
    "gqa": Gqa(**HEADS),
    "sliding_window": SlidingWindow(**HEADS, window=128),
}


@pytest.mark.parametrize("family", list(FAMILIES))
def test_rows_of_each_family_as_published(family: str) -> None:
    group = ONE_LAYER[family]
    assert {name for name, _ in ROWS[family]} <= set(group.formats())
    for kv_format, size in ROWS[family]:
        assert group.cache_parts(kv_format)[0].row_bytes == size


def test_indexer_keys_are_132_bytes_beside_every_format() -> None:
    for kv_format in ONE_LAYER["dsa"].formats():
        assert ONE_LAYER["dsa"].cache_parts(kv_format)[1].row_bytes == 132


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_family_answers_every_question(family: str) -> None:
    group = ONE_LAYER[family]
    names = {part.name for part in group.cache_parts("bf16")}
    assert set(group.read_fraction_tokens(100_000)) == names
    assert all(0 < tokens <= 100_000 for tokens in group.read_fraction_tokens(100_000).values())
    assert group.prefill_flops(1000) >= group.prefill_flops(100) > 0
    assert group.tensor_limit() > 0
    assert sum(weights.count for weights in group.weights(1024)) > 0


def test_attention_that_forgets_reads_less_not_stores_less() -> None:
    assert ONE_LAYER["dsa"].read_fraction_tokens(131_072) == {"latent": 2048, "indexer key": 131_072}
    assert ONE_LAYER["sliding_window"].read_fraction_tokens(131_072) == {"K and V, window 128": 128}
    assert ONE_LAYER["mla"].read_fraction_tokens(131_072) == {"latent": 131_072}


# Exact counts from the official configurations: kv-facts.md, 1.1 and the model table.
PARAMETERS = {
    "glm-5": 743_911_218_432,
    "glm-5.2": 743_377_019_904,
    "glm-5.3": 743_377_019_904,
    "deepseek-v3": 671_026_419_200,
    "kimi-k2": 1_026_408_232_448,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "qwen3-coder-480b-a35b": 480_154_875_392,
    "mixtral-8x7b": 46_702_792_704,
}
# Published in round figures only.
ROUND = {
    "glm-4.6": 358e9, "deepseek-v3.2": 671e9, "kimi-k2.5": 1026e9, "minimax-m2": 228.69e9, "gpt-oss-20b": 21e9,
    "gpt-oss-120b": 117e9,
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_exact(name: str) -> None:
    model = shelf().model(name)
    # DeepSeek publishes without the routers' corrections, 256 of them in each of 58 layers.
    corrections = model.feed_forward.expert_layers * model.feed_forward.experts * model.feed_forward.router_bias
    assert PARAMETERS[name] in (model.derived_parameters, model.derived_parameters - corrections)


@pytest.mark.parametrize("name", ROUND)
def test_parameters_are_near_the_round_figure(name: str) -> None:
    assert shelf().model(name).derived_parameters == pytest.approx(ROUND[name], rel=0.02)


def test_every_model_has_a_published_count() -> None:
    assert set(PARAMETERS) | set(ROUND) == set(IDS)


@pytest.mark.parametrize("name", IDS)
def test_catalogue_repeats_the_count_that_follows_from_the_shape(name: str) -> None:
    model = shelf().model(name)
    if model.parameters is not None:
        assert model.parameters == pytest.approx(model.derived_parameters, rel=0.01)


@pytest.mark.parametrize(
    ("name", "billions"),
    [("glm-5", 40), ("deepseek-v3", 37), ("kimi-k2", 32), ("qwen3-235b-a22b", 22.19), ("qwen3-30b-a3b", 3.35),
     ("qwen3-coder-480b-a35b", 35.47), ("gpt-oss-120b", 5.1), ("mixtral-8x7b", 12.9), ("minimax-m2", 10.4)],
)  # fmt: skip
def test_active_parameters(name: str, billions: float) -> None:
    # Published counts include the embedding look-up or not, and are rounded.
    model = shelf().model(name)
    embedding = 0 if model.tied else model.vocabulary * model.hidden
    found = model.derived_active_parameters / 1e9
    assert found * 0.97 <= billions <= (found + embedding / 1e9) * 1.04


def test_bf16_checkpoint_of_glm_5_2_is_byte_exact() -> None:
    # The index says 1,506,659,919,872; 256 corrections of 76 routers are fp32: 2 B each beyond ours.
    model = shelf().model("glm-5.2")
    assert model.weight_bytes("bf16", 1) + 256 * 76 * 2 == 1_506_659_919_872


def published() -> list[tuple[Model, str]]:
    models = [shelf().model(name) for name in IDS]
    return [(model, one.format) for model in models for one in model.checkpoints if one.bytes]


@pytest.mark.parametrize(("model", "weights"), [pytest.param(m, w, id=f"{m.id}-{w}") for m, w in published()])
def test_files_are_within_half_a_percent_of_the_published_bytes(model: Model, weights: str) -> None:
    total = model.checkpoint(weights).bytes
    assert total is not None
    assert model.file_bytes(weights) == pytest.approx(total, rel=0.005)


@pytest.mark.parametrize(
    ("name", "weights", "total"),
    [
        ("glm-5.2", "fp8", 755_617_140_416),
        ("glm-5.2", "nvfp4", 464_795_267_072),
        ("glm-5", "bf16", 1_507_728_316_928),
        ("deepseek-v3", "fp8", 688.59e9),
        ("deepseek-v3.2", "fp8", 687.84e9),
        ("qwen3-30b-a3b", "bf16", 61.06e9),
        ("qwen3-235b-a22b", "bf16", 470.2e9),
        ("mixtral-8x7b", "bf16", 93.41e9),
        ("gpt-oss-120b", "mxfp4", 65_248_815_744),
    ],
)
def test_files_against_the_facts(name: str, weights: str, total: float) -> None:
    assert shelf().model(name).file_bytes(weights) == pytest.approx(total, rel=0.005)


def test_draft_layer_that_repeats_embedding_and_head() -> None:
    # Files only: in memory they stand once. 2 matrices of 129,280 x 7,168 in bf16.
    model = shelf().model("deepseek-v3")
    assert model.checkpoint("fp8").draft_vocabulary
    assert model.file_bytes("fp8") - model.weight_bytes("fp8", 1) == 2 * 129_280 * 7_168 * 2
    assert model.file_bytes("nvfp4") == model.weight_bytes("nvfp4", 1)


def test_missing_checkpoint_names_those_that_exist() -> None:
    with pytest.raises(InputError, match="bf16, fp8, nvfp4"):
        shelf().model("glm-5").checkpoint("int4")


def test_share_of_a_rank() -> None:
    (heads,) = Gqa(**(HEADS | {"kv_heads": 8})).cache_parts("bf16")
    (latent,) = Mla(**LATENT).cache_parts("bf16")
    key = ONE_LAYER["dsa"].cache_parts("bf16")[1]
    assert [rank_share(heads, tp, 1, True) for tp in (1, 2, 8, 16)] == [
        1,
        Fraction(1, 2),
        Fraction(1, 8),
        Fraction(1, 8),
    ]
    assert [rank_share(latent, tp, 1, True) for tp in (1, 8)] == [1, 1]
    assert rank_share(latent, 8, 8, True) == Fraction(1, 8)
    assert (rank_share(key, 8, 8, True), rank_share(key, 8, 8, False)) == (Fraction(1, 8), 1)
    assert rank_share(heads, 16, 2, True) == Fraction(1, 16)


def test_llama_70b_under_tp8_holds_an_eighth_per_rank() -> None:
    cache = kv_cache(shelf().model("llama-3.1-70b"), "bf16")
    assert sum(rank_share(p, 8, 1, True) * p.layers * p.row_bytes for p in cache.parts) == 40_960


# Which KV format exists where: kv-facts.md, 1.3 and 1.4.
LEGAL = [
    ("vllm-0.33", "fp8_ds_mla", "dsa", "sm90", True),
    ("vllm-0.33", "bf16", "dsa", "sm90", True),
    ("vllm-0.33", "fp8", "dsa", "sm90", False),
    ("vllm-0.33", "fp8", "dsa", "sm100", True),
    ("vllm-0.33", "nvfp4_ds_mla", "dsa", "sm90", False),
    ("vllm-0.33", "nvfp4_ds_mla", "dsa", "sm100", True),
    ("sglang-0.5.23", "nvfp4_ds_mla", "dsa", "sm100", False),
    ("vllm-0.33", "fp8", "gqa", "sm90", True),
]


@pytest.mark.parametrize(("engine", "kv_format", "family", "architecture", "legal"), LEGAL)
def test_legality_of_kv_formats(engine: str, kv_format: str, family: str, architecture: str, legal: bool) -> None:
    fault = shelf().engines.engines[engine].kv_format_fault(kv_format, family, architecture)
    assert (fault == "") is legal


@pytest.mark.parametrize("name", ["int4", "int4_per_token_head"])
def test_no_engine_has_an_int4_latent(name: str) -> None:
    for engine in shelf().engines.engines.values():
        assert engine.kv_format_fault(name, "dsa", "sm100")
        assert engine.kv_format_fault(name, "mla", "sm100")


def test_dense_latent_prefill_is_per_head() -> None:
    # DeepSeek-V3 at 64Ki: 2 x 61 x 128 x (128 + 64 + 128) per token seen, and the projection of the
    # latents back to heads once per 4,096 tokens.
    (group,) = shelf().model("deepseek-v3").attention
    per_head = 2 * 61 * 128 * (128 + 64 + 128) * 65536
    project = 2 * 61 * 128 * 512 * (128 + 128) * 65536 // 4096
    assert group.prefill_flops(65536) == per_head + project
