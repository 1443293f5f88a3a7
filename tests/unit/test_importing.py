"""Models from Hugging Face configurations: published figures, formats of weights, and every way to be refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.importing import Imported, Wishes, import_config, import_model
from planner.importing.families import READERS
from planner.kvcache import kv_cache
from planner.models import Model
from planner.schema import schema_text
from tests.unit import hf_configs as hf
from tests.unit.tiny import shelf


def write(folder: Path, config: dict[str, Any], name: str = "config.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return path


def made(folder: Path, config: dict[str, Any], **wishes: Any) -> Imported:
    return import_model(write(folder, config), Wishes(**wishes))


def refused(folder: Path, config: dict[str, Any], **wishes: Any) -> str:
    with pytest.raises(InputError) as fault:
        made(folder, config, **wishes)
    return str(fault.value)


def but(config: dict[str, Any], *without: str, **changes: Any) -> dict[str, Any]:
    """Return a copy of a configuration with changes; in its language model where it has several parts."""
    new = copy.deepcopy(config)
    inner = new.get("text_config", new)
    for key in without:
        del inner[key]
    inner.update(changes)
    return new


# As published or derived by hand: parameters, KV B/token in BF16 and FP8, what does not grow at full context.
FIGURES: dict[str, tuple[int, int, int, int]] = {
    "LLAMA_8B": (8_030_261_248, 131_072, 65_536, 0),
    "LLAMA_70B": (70_553_706_496, 327_680, 163_840, 0),
    "LLAMA_405B": (405_853_388_800, 516_096, 258_048, 0),
    "MIXTRAL_8X7B": (46_702_792_704, 131_072, 65_536, 0),
    "MIXTRAL_8X22B": (140_620_634_112, 229_376, 114_688, 0),
    "QWEN3_06B": (596_049_920, 114_688, 57_344, 0),
    "QWEN3_8B": (8_190_735_360, 147_456, 73_728, 0),
    "QWEN3_32B": (32_762_123_264, 262_144, 131_072, 0),
    "QWEN3_30B": (30_532_122_624, 98_304, 49_152, 0),
    "QWEN3_235B": (235_093_634_560, 192_512, 96_256, 0),
    "QWEN3_CODER": (480_154_875_392, 253_952, 126_976, 0),
    "QWEN3_VL_8B": (8_767_123_696, 147_456, 73_728, 0),
    "QWEN35_27B": (27_356_728_560, 65_536, 32_768, 153_944_064),
    "QWEN35_35B": (35_107_181_936, 20_480, 10_240, 64_389_120),
    "QWEN35_122B": (122_562_817_776, 24_576, 12_288, 153_649_152),
    "QWEN35_397B": (396_802_360_816, 30_720, 15_360, 192_061_440),
    "DEEPSEEK_V3": (671_026_419_200, 70_272, 35_136, 0),
    "DEEPSEEK_V32": (671_877_944_064, 78_324, 43_188, 0),
    "DEEPSEEK_V4_FLASH": (284_334_567_511, 6_229, 3_461, 17_842_176),
    "DEEPSEEK_V4_PRO": (1_572_999_528_803, 8_918, 4_954, 26_705_920),
    "KIMI_K2": (1_026_408_232_448, 70_272, 35_136, 0),
    "KIMI_K25": (1_026_879_376_368, 70_272, 35_136, 0),
    "KIMI_K3": (2_779_931_834_976, 27_648, 13_824, 449_372_160),
    "GLM_5": (743_911_218_432, 100_152, 55_224, 0),
    "GLM_52": (743_377_019_904, 92_628, 47_700, 0),
    "MINIMAX_M2": (228_689_764_864, 253_952, 126_976, 0),
    "MINIMAX_M3": (426_174_572_928, 137_472, 76_032, 0),
    "GPT_OSS_20B": (20_914_757_184, 24_576, 12_288, 3_145_728),
    "GPT_OSS_120B": (116_829_156_672, 36_864, 18_432, 4_718_592),
    "GEMMA_4_31B": (31_383_189_296, 81_920, 40_960, 838_860_800),
    "GEMMA_4_26B": (25_820_354_096, 20_480, 10_240, 209_715_200),
    "LLAMA_4_SCOUT": (107_769_861_120, 49_152, 24_576, 1_207_959_552),
    "MIMO_7B": (7_622_619_136, 147_456, 73_728, 0),
    "MIMO_V2": (308_778_780_864, 23_040, 11_520, 25_559_040),
    "STEP_37": (196_956_130_368, 49_152, 24_576, 69_206_016),
    "STEP_35": (196_956_130_368, 49_152, 24_576, 69_206_016),
    "QWEN3_NEXT": (79_674_391_296, 24_576, 12_288, 39_518_208),
    "GLM_45_AIR": (106_852_251_264, 188_416, 94_208, 0),
    "KIMI_VL": (16_407_656_048, 31_104, 15_552, 0),
    "MINISTRAL_3B": (3_849_090_048, 106_496, 53_248, 0),
    "GEMMA_3_27B": (27_432_406_640, 81_920, 40_960, 436_207_616),
    "NEMOTRON_NANO": (31_577_940_288, 6_144, 3_072, 49_082_368),
    "NEMOTRON_SUPER": (120_668_707_840, 8_192, 4_096, 170_229_760),
    "NEMOTRON_ULTRA": (549_308_993_536, 12_288, 6_144, 407_961_600),
    "NEMOTRON_H_56B": (56_324_350_464, 40_960, 20_480, 912_605_184),
}


def test_every_configuration_has_figures() -> None:
    assert set(FIGURES) == {name for name in vars(hf) if name.isupper()}


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str, tmp_path: Path) -> None:
    parameters, wide, narrow, constant = FIGURES[name]
    model = made(tmp_path, getattr(hf, name)).model
    cache = kv_cache(model, "bf16")
    assert model.derived_parameters == parameters
    assert (cache.bytes_per_token, kv_cache(model, "fp8").bytes_per_token) == (wide, narrow)
    assert cache.constant_bytes(model.max_context_tokens) == constant


@pytest.mark.parametrize(
    ("name", "kv_format", "rate"),
    [
        ("DEEPSEEK_V32", "fp8_ds_mla", 48_068),
        ("DEEPSEEK_V4_FLASH", "fp8_ds_mla", 3_850),
        ("DEEPSEEK_V4_PRO", "fp8_ds_mla", 5_511),
        ("GLM_5", "fp8_ds_mla", 61_464),
        ("GLM_5", "nvfp4_ds_mla", 37_752),
        ("GLM_52", "fp8_ds_mla", 53_940),
        ("KIMI_K3", "fp8_ds_mla", 15_744),
    ],
)
def test_other_formats(name: str, kv_format: str, rate: int, tmp_path: Path) -> None:
    assert int(kv_cache(made(tmp_path, getattr(hf, name)).model, kv_format).rate) == rate


def test_glm_to_the_byte(tmp_path: Path) -> None:
    model = made(tmp_path, hf.GLM_52).model
    draft = sum(w.count for w in model.draft_weights)
    assert model.derived_parameters + draft == 753_329_940_480
    assert model.file_bytes("bf16") == 1_506_659_919_872


def test_gpt_oss_to_the_byte(tmp_path: Path) -> None:
    assert made(tmp_path, hf.GPT_OSS_120B).model.file_bytes("mxfp4") == 65_248_815_744


def test_hidden_draft_of_qwen(tmp_path: Path) -> None:
    # By hand: queries with a gate beside them, keys, values, output, their norms; a dense layer; projection, 5 norms.
    layer = 5120 * (2 * 24 + 2 * 4 + 24) * 256 + 2 * 256 + 3 * 5120 * 17_408
    draft = layer + 2 * 5120**2 + 5 * 5120
    model = made(tmp_path, hf.QWEN35_27B).model
    assert model.file_bytes("bf16") == 2 * (model.derived_parameters + draft)


CATALOGUED = {
    "llama-3.1-8b": "LLAMA_8B", "llama-3.1-70b": "LLAMA_70B", "llama-3.1-405b": "LLAMA_405B",
    "mixtral-8x7b": "MIXTRAL_8X7B", "qwen3-8b": "QWEN3_8B", "qwen3-32b": "QWEN3_32B", "qwen3-30b-a3b": "QWEN3_30B",
    "qwen3-235b-a22b": "QWEN3_235B", "qwen3-coder-480b-a35b": "QWEN3_CODER", "deepseek-v3": "DEEPSEEK_V3",
    "deepseek-v3.2": "DEEPSEEK_V32", "kimi-k2": "KIMI_K2", "kimi-k2.5": "KIMI_K25", "glm-5": "GLM_5",
    "glm-5.2": "GLM_52", "glm-5.3": "GLM_52", "minimax-m2": "MINIMAX_M2", "gpt-oss-20b": "GPT_OSS_20B",
    "gpt-oss-120b": "GPT_OSS_120B", "mixtral-8x22b": "MIXTRAL_8X22B", "qwen3-0.6b": "QWEN3_06B",
    "qwen3-vl-8b": "QWEN3_VL_8B", "qwen3.5-27b": "QWEN35_27B", "qwen3.5-35b-a3b": "QWEN35_35B",
    "qwen3.5-122b-a10b": "QWEN35_122B", "qwen3.5-397b-a17b": "QWEN35_397B", "deepseek-v4-flash": "DEEPSEEK_V4_FLASH",
    "deepseek-v4-pro": "DEEPSEEK_V4_PRO", "kimi-k3": "KIMI_K3", "minimax-m3": "MINIMAX_M3",
    "gemma-4-31b": "GEMMA_4_31B", "gemma-4-26b-a4b": "GEMMA_4_26B", "llama-4-scout": "LLAMA_4_SCOUT",
    "mimo-v2-flash": "MIMO_V2", "nemotron-3-nano": "NEMOTRON_NANO", "nemotron-3-super": "NEMOTRON_SUPER",
    "nemotron-3-ultra": "NEMOTRON_ULTRA", "nemotron-h-56b": "NEMOTRON_H_56B", "step-3.7-flash": "STEP_37",
    "step-3.5-flash": "STEP_35", "qwen3-next-80b-a3b": "QWEN3_NEXT", "glm-4.5-air": "GLM_45_AIR",
    "kimi-vl-a3b": "KIMI_VL", "ministral-3-3b": "MINISTRAL_3B", "gemma-3-27b": "GEMMA_3_27B",
}  # fmt: skip


@pytest.mark.parametrize("ident", CATALOGUED)
def test_the_same_as_the_catalogue(ident: str, tmp_path: Path) -> None:
    known = shelf().models[ident]
    model = made(tmp_path, getattr(hf, CATALOGUED[ident])).model
    beside = sum(extra.count for extra in model.extra) - sum(extra.count for extra in known.extra)
    more = model.derived_parameters - known.derived_parameters - beside
    assert more == 0
    # Not every configuration names the draft layers that its files hold, or the other way round.
    drafted = min(model.draft_layers, known.draft_layers)
    for kv_format in known.attention[0].formats():
        assert kv_cache(model, kv_format).rate == kv_cache(known, kv_format).rate
        drafts = [kv_cache(one, kv_format, drafted).rate for one in (model, known)]
        assert drafts[0] == drafts[1]
    word = model.checkpoints[0].format
    if word in {checkpoint.format for checkpoint in known.checkpoints}:
        assert model.weight_bytes(word, drafted) - known.weight_bytes(word, drafted) == 2 * beside


def test_every_reader_is_named_by_its_type() -> None:
    assert {"llama", "glm_moe_dsa", "deepseek_v4", "nemotron_h", "kimi_linear", "minimax_m3", "gemma3_text"} <= set(
        READERS
    )


def test_the_file_reads_back_as_the_record(tmp_path: Path) -> None:
    one = made(tmp_path, hf.QWEN35_35B, id="own", name="Own model", weights=("fp8", "nvfp4"))
    (tmp_path / "layer").mkdir()
    (tmp_path / "layer" / "own.yaml").write_text(one.text, encoding="utf-8")
    from planner.loading import load_shelf

    back = load_shelf([tmp_path / "layer"]).models["own"]
    assert figures(back) == figures(one.model)
    assert [checkpoint.format for checkpoint in back.checkpoints] == ["bf16", "fp8", "nvfp4"]
    assert "assumed" in back.checkpoints[1].note.lower()
    assert figures(import_config(tmp_path / "config.json"))[:4] == figures(back)[:4]


def figures(model: Model) -> tuple[Any, ...]:
    caches = [kv_cache(model, name) for name in model.attention[0].formats()]
    rates = [(cache.rate, cache.constant_bytes(model.max_context_tokens)) for cache in caches]
    weights = [model.file_bytes(checkpoint.format) for checkpoint in model.checkpoints]
    return model.derived_parameters, model.derived_active_parameters, model.max_context_tokens, rates, weights


def shape(
    kind: str, hidden: int, inner: int, layers: int, heads: int, kv: int, vocabulary: int, **more: Any
) -> dict[str, Any]:
    return {"model_type": kind, "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocabulary,
            "max_position_embeddings": 8192, "dtype": "bfloat16", **more}  # fmt: skip


LITE = {"moe_intermediate_size": 1408, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_experts_per_tok": 6, "first_k_dense_replace": 1}  # fmt: skip
PIXTRAL = {"head_dim": 64, "hidden_size": 1024, "image_size": 1540, "intermediate_size": 4096, "model_type": "pixtral",
           "num_attention_heads": 16, "num_channels": 3, "num_hidden_layers": 24, "patch_size": 14}  # fmt: skip
MISTRAL_24B = shape("mistral", 5120, 32768, 40, 32, 8, 131072, head_dim=128, sliding_window=None)
LLAMA_4_TILES = {"hidden_act": "gelu", "hidden_size": 1408, "image_size": 336, "intermediate_size": 5632,
                 "model_type": "llama4_vision_model", "multi_modal_projector_bias": False, "num_attention_heads": 16,
                 "num_channels": 3, "num_hidden_layers": 34, "patch_size": 14, "pixel_shuffle_ratio": 0.5,
                 "projector_dropout": 0.0, "projector_input_dim": 4096, "projector_output_dim": 4096,
                 "rope_theta": 10000, "vision_feature_select_strategy": "default",
                 "vision_output_dim": 4096}  # fmt: skip
# Shapes as in the models' configurations, against the published totals that the catalogue holds with their sources.
COUNTED: dict[str, dict[str, Any]] = {
    "mistral-7b-v0.1": shape("mistral", 4096, 14336, 32, 32, 8, 32000, sliding_window=4096),
    "mistral-7b": shape("mistral", 4096, 14336, 32, 32, 8, 32768, sliding_window=None),
    "qwen2.5-7b": shape("qwen2", 3584, 18944, 28, 28, 4, 152064),
    "gemma-7b": shape("gemma", 3072, 24576, 28, 16, 16, 256000),
    "gemma-2-9b": shape("gemma2", 3584, 14336, 42, 16, 8, 256000, sliding_window=4096),
    "gemma-3-1b": shape("gemma3_text", 1152, 6912, 26, 4, 1, 262144, sliding_window=512),
    "phi-4": shape("phi3", 5120, 17920, 40, 40, 10, 100352),
    "qwen1.5-moe-a2.7b": shape("qwen2_moe", 2048, 5632, 24, 16, 16, 151936, num_experts=60, num_experts_per_tok=4,
                               moe_intermediate_size=1408, shared_expert_intermediate_size=5632),
    "deepseek-v2-lite": shape("deepseek_v2", 2048, 10944, 27, 16, 16, 102400, **LITE),
    "smollm3-3b": shape("smollm3", 2048, 11008, 36, 16, 4, 128256),
    "gemma-3-27b": hf.GEMMA_3_27B,
    "kimi-vl-a3b": hf.KIMI_VL,
    "ministral-3-3b": hf.MINISTRAL_3B,
    "llama-4-scout": hf.LLAMA_4_SCOUT | {"vision_config": LLAMA_4_TILES},
    "mistral-small-3.1-24b": {"model_type": "mistral3", "text_config": MISTRAL_24B, "spatial_merge_size": 2,
                              "multimodal_projector_bias": False, "vision_config": PIXTRAL},
}  # fmt: skip


@pytest.mark.parametrize("ident", COUNTED)
def test_published_counts(ident: str, tmp_path: Path) -> None:
    known = shelf().models[ident]
    assert known.parameters is not None and known.source
    model = made(tmp_path, COUNTED[ident]).model
    assert model.derived_parameters == known.parameters
    assert (model.encoder_item_tokens, model.encoder_item_elements) == (
        known.encoder_item_tokens,
        known.encoder_item_elements,
    )


# By the rule of each: tokens and values of the largest image.
LARGEST: dict[str, tuple[int, int]] = {
    "gemma-3-27b": (256, 3 * 896 * 896),
    "ministral-3-3b": (55 * 55, 3 * 1540 * 1540),
    "mistral-small-3.1-24b": (55 * 55, 3 * 1540 * 1540),
    "kimi-vl-a3b": (4096 // 4, 4096 * 3 * 14 * 14),
    "llama-4-scout": (17 * 144, 17 * 3 * 336 * 336),
}


@pytest.mark.parametrize("ident", LARGEST)
def test_the_largest_image(ident: str, tmp_path: Path) -> None:
    model = made(tmp_path, COUNTED[ident]).model
    assert (model.encoder_item_tokens, model.encoder_item_elements) == LARGEST[ident]
    by_processor = ident in ("kimi-vl-a3b", "llama-4-scout")
    assert ("image processor" in str(model.evidence.get("encoder_item"))) is by_processor


def test_images_of_any_size_have_no_largest(tmp_path: Path) -> None:
    for config in (hf.QWEN3_VL_8B, hf.KIMI_K25, hf.GEMMA_4_31B, hf.LLAMA_4_SCOUT):
        model = made(tmp_path, config).model
        assert model.encoder and model.encoder_item_tokens is None and model.encoder_item_elements is None


def test_an_image_that_does_not_divide_has_no_largest(tmp_path: Path) -> None:
    odd = copy.deepcopy(hf.MINISTRAL_3B)
    odd["vision_config"]["image_size"] = 1541
    assert made(tmp_path, odd).model.encoder_item_tokens is None
    del odd["vision_config"]["image_size"]
    assert made(tmp_path, odd).model.encoder_item_tokens is None


ENCODER_FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("llama-4-scout", {"pixel_shuffle_ratio": 0.3}, "expected 1, 0.5 or 0.25"),
    ("llama-4-scout", {"pixel_shuffle_ratio": 0.25}, "is not 1408 by the square"),
    ("llama-4-scout", {"vision_output_dim": 1}, "as 'projector_output_dim'"),
    ("llama-4-scout", {"odd": 1}, "unknown key 'vision_config.odd'"),
    ("kimi-vl-a3b", {"merge_kernel_size": [2]}, "merge_kernel_size"),
]


@pytest.mark.parametrize(("ident", "change", "words"), ENCODER_FAULTS)
def test_encoders_that_are_not_known(ident: str, change: dict[str, Any], words: str, tmp_path: Path) -> None:
    config = copy.deepcopy(COUNTED[ident])
    config["vision_config"] |= change
    assert words in refused(tmp_path, config)


# Draft layers, windows and position tables ---------------------------------------------------------------------------


def test_kimi_vl_holds_no_draft_layers(tmp_path: Path) -> None:
    one = made(tmp_path, hf.KIMI_VL).model
    assert one.draft_layers == 0 and "num_nextn_predict_layers" in one.note and "class defines" in one.note
    assert made(tmp_path, but(hf.KIMI_VL, num_nextn_predict_layers=1)).model.draft_layers == 1


@pytest.mark.parametrize("name", ["DEEPSEEK_V3", "DEEPSEEK_V32", "GLM_45_AIR", "GLM_52", "KIMI_K2", "KIMI_K25"])
def test_the_number_of_draft_layers_must_be_told(name: str, tmp_path: Path) -> None:
    config, key = getattr(hf, name), "num_nextn_predict_layers"
    told = config.get("text_config", config)[key]
    assert "--assume num_nextn_predict_layers=" in refused(tmp_path, but(config, key))
    model = made(tmp_path, but(config, key), assumed={key: told}).model
    assert model.draft_layers == told and f"{key}={told}" in model.note


def test_only_an_index_tells_a_vocabulary_that_stands_twice(tmp_path: Path) -> None:
    assert "--index" in made(tmp_path, hf.GLM_45_AIR).model.note
    names = dict.fromkeys(["model.embed_tokens.weight", "model.layers.46.embed_tokens.weight"], "a")
    index = write(tmp_path, {"metadata": {"total_size": 1}, "weight_map": names}, "index.json")
    model = made(tmp_path, hf.GLM_45_AIR, index=index).model
    assert "--index" not in model.note
    # The count that the catalogue quotes from the files: main layers, draft layer, embedding and head once more;
    # the corrections of 46 routers take 4 bytes each.
    assert model.file_bytes("bf16") == 2 * 110_468_824_832 + 2 * 46 * 128


def test_draft_layers_of_qwen3_next_are_read_from_the_index(tmp_path: Path) -> None:
    plain = made(tmp_path, hf.QWEN3_NEXT)
    assert plain.model.draft_layers == 0 and "--index" in plain.model.note and "draft layers" in plain.warnings[0]
    names = dict.fromkeys(["model.layers.0.mlp.gate.weight", "mtp.fc.weight", "mtp.layers.0.mlp.gate.weight"], "a")
    index = write(tmp_path, {"metadata": {"total_size": 162_649_725_440}, "weight_map": names}, "index.json")
    one = made(tmp_path, hf.QWEN3_NEXT, index=index)
    assert one.model.draft_layers == 1 and not one.warnings
    assert one.model.evidence["draft_layers"].kind == "derived"
    # The count of the files on the hub.
    assert one.model.file_bytes("bf16") == one.model.checkpoints[0].bytes == 2 * 81_324_862_720
    bare = write(tmp_path, {"metadata": {"total_size": 1}, "weight_map": {"model.norm.weight": "a"}}, "bare.json")
    assert made(tmp_path, hf.QWEN3_NEXT, index=bare).model.draft_layers == 0
    given = made(tmp_path, hf.QWEN3_NEXT, assumed={"num_nextn_predict_layers": 1})
    assert given.model.draft_layers == 1 and not given.warnings


def test_an_index_that_disagrees_on_draft_layers_is_told(tmp_path: Path) -> None:
    names = {"model.layers.0.mlp.gate.weight": "a"}
    index = write(tmp_path, {"metadata": {"total_size": 1}, "weight_map": names}, "index.json")
    one = made(tmp_path, hf.GLM_45_AIR, index=index)
    assert "the index names 0 draft layers, the configuration 1" in one.warnings[0]


MISTRAL = shape("mistral", 64, 128, 4, 4, 2, 100)


def test_a_window_of_mistral_must_be_told(tmp_path: Path) -> None:
    found = refused(tmp_path, MISTRAL)
    assert "'sliding_window' is missing" in found and "--assume sliding_window=null" in found
    whole = made(tmp_path, MISTRAL, assumed={"sliding_window": None}).model
    assert [group.family for group in whole.attention] == ["gqa"] and "sliding_window=null" in whole.note
    near = made(tmp_path, MISTRAL, assumed={"sliding_window": 4096}).model
    assert [group.family for group in near.attention] == ["sliding_window"]
    # Other classes take none, so that nothing is asked.
    made(tmp_path, MISTRAL | {"model_type": "ministral3", "head_dim": 16})


def test_heads_of_step_s_windows_must_be_told(tmp_path: Path) -> None:
    bare = but(hf.STEP_37, "attention_other_setting")
    assert "--assume num_sliding_attention_heads=" in refused(tmp_path, bare)
    one = made(tmp_path, bare, assumed={"num_sliding_attention_heads": 96}).model
    assert one.derived_parameters == FIGURES["STEP_37"][0]
    assert one.evidence["attention.1.heads"].kind == "assumed"
    odd = copy.deepcopy(hf.STEP_37)
    odd["attention_other_setting"]["num_attention_heads"] = 97
    assert "no multiple of 8" in refused(tmp_path, odd)
    odd["attention_other_setting"] |= {"num_attention_heads": 96, "odd": 1}
    assert "unknown key 'attention_other_setting.odd'" in refused(tmp_path, odd)


def test_step_rotates_half_of_heads_without_a_window(tmp_path: Path) -> None:
    far, near = made(tmp_path, hf.STEP_35).model.attention
    assert (far.rope_elements(), near.rope_elements()) == (64, 128)
    for key, value, words in (
        ("partial_rotary_factors", [0.5, 1.0, 1.0, 0.5] * 12, "differ between layers"),
        ("partial_rotary_factors", [0] * 45, "expected shares"),
        ("moe_layers_enum", "3,45", "numbers of layers"),
        ("moe_layers_enum", 3, "numbers of layers"),
        ("first_k_dense_replace", 2, "disagree"),
    ):
        assert words in refused(tmp_path, but(hf.STEP_35, **{key: value}))


LINEAR_8 = {"factor": 8.0, "rope_type": "linear"}


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_scaling": LINEAR_8},
        {"rope_scaling": {"factor": 8.0, "type": "linear"}},
        {"rope_parameters": LINEAR_8},
        {"rope_parameters": {"full_attention": LINEAR_8, "sliding_attention": {"rope_type": "default"}}},
        {"rope_parameters": {"sliding_attention": {"factor": 2.0, "rope_type": "linear"}, "full_attention": LINEAR_8}},
    ],
)
def test_positions_are_those_of_the_scaled_table(scaling: dict[str, Any], tmp_path: Path) -> None:
    model = made(tmp_path, but(hf.GEMMA_3_27B, "rope_scaling", **scaling)).model
    assert (model.max_context_tokens, model.positions_tokens) == (131_072, 8 * 131_072)
    assert model.evidence["positions"].kind == "derived"


@pytest.mark.parametrize(
    "scaling",
    [
        {},
        {"rope_scaling": None},
        {"rope_scaling": {"factor": 8.0, "rope_type": "yarn"}},
        {"rope_scaling": {"factor": 1.0, "rope_type": "linear"}},
        {"rope_parameters": {"full_attention": {"rope_type": "default"}, "sliding_attention": None}},
    ],
)
def test_positions_without_linear_scaling(scaling: dict[str, Any], tmp_path: Path) -> None:
    assert made(tmp_path, but(hf.GEMMA_3_27B, "rope_scaling", **scaling)).model.positions_tokens is None


def test_keys_of_published_files_that_do_not_matter(tmp_path: Path) -> None:
    odd = {"layernorm_full_attention_beta": 1.0, "layernorm_linear_attention_beta": 1.0, "layernorm_mlp_beta": 1.0,
           "mlp_intermediate_size": 8192, "shared_moe_mode": "sigmoid"}  # fmt: skip
    made(tmp_path, but(hf.MINIMAX_M2, **odd))
    gemma = COUNTED["gemma-2-9b"]
    made(tmp_path, gemma | {"cache_implementation": "hybrid", "sliding_window_size": 4096})
    assert "as 'sliding_window'" in refused(tmp_path, gemma | {"sliding_window_size": 1})
    made(tmp_path, COUNTED["phi-4"] | {"attention_bias": False})
    assert "biases are not known" in refused(tmp_path, COUNTED["phi-4"] | {"attention_bias": True})
    assert "no window" in refused(tmp_path, but(hf.QWEN3_NEXT, use_sliding_window=True))


# Small shapes of further types ---------------------------------------------------------------------------------------

TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100, "max_position_embeddings": 4096,
        "dtype": "bfloat16", "tie_word_embeddings": False}  # fmt: skip
DRAFTS = {"num_nextn_predict_layers": 1}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {"kv_lora_rank": 32, "q_lora_rank": 48, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
          "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1, **EXPERTS}  # fmt: skip
# By hand: projections 64 x (64 + 32 + 32 + 64), feed-forward 3 x 64 x 128, two norms; 4 layers; embedding, head, norm.
PLAIN = 4 * (64 * 192 + 3 * 64 * 128 + 2 * 64) + 2 * 6400 + 64
SMALL: list[tuple[str, dict[str, Any], int, int]] = [
    # Parameters beyond PLAIN, and KV B/token in BF16 (4 layers x 2 heads x 2 x 16 x 2 B = 512).
    ("llama", {}, 0, 512),
    ("llama", {"attention_bias": True, "mlp_bias": True}, 4 * (128 + 64) + 4 * (256 + 64), 512),
    ("mistral", {"sliding_window": None}, 0, 512),
    ("mistral", {"sliding_window": 1024}, 0, 0),
    ("ministral3", {}, 0, 512),
    ("qwen2", {}, 4 * 128, 512),
    ("qwen3", {}, 4 * 32, 512),
    ("qwen3", {"use_sliding_window": True, "sliding_window": 128, "max_window_layers": 1}, 4 * 32, 128),
    ("gemma", {}, 0, 512),
    ("gemma2", {"sliding_window": 128}, 4 * 128, 256),
    ("phi3", {}, 0, 512),
    ("granite", {}, 0, 512),
    ("olmo2", {}, 4 * 96, 512),
    ("olmo3", {"sliding_window": 128}, 4 * 96, 128),
    ("cohere2", {"sliding_window": 128}, 0, 128),
    ("smollm3", {}, 0, 512),
    ("exaone4", {"sliding_window": 128, "sliding_window_pattern": 4}, 4 * 32, 128),
    ("seed_oss", {"attention_bias": True}, 4 * 128, 512),
    ("ernie4_5", {"use_bias": False}, 0, 512),
    ("glm4", {"attention_bias": True}, 4 * 128 + 4 * 128, 512),
]


@pytest.mark.parametrize(("kind", "more", "beyond", "rate"), SMALL)
def test_small_dense_shapes(kind: str, more: dict[str, Any], beyond: int, rate: int, tmp_path: Path) -> None:
    model = made(tmp_path, TINY | {"model_type": kind} | more).model
    assert (model.derived_parameters - PLAIN, kv_cache(model, "bf16").rate) == (beyond, rate)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "qwen2_moe", "num_experts": 8, "shared_expert_intermediate_size": 64, **EXPERTS},
        {"model_type": "phimoe", "num_local_experts": 8, "num_experts_per_tok": 2},
        {"model_type": "granitemoe", "num_local_experts": 8, "num_experts_per_tok": 2},
        {"model_type": "glm4_moe", "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1, **EXPERTS,
         **DRAFTS},
        {"model_type": "hy_v3", "num_experts": 8, "num_shared_experts": 1, **EXPERTS, **DRAFTS},
        {"model_type": "ernie4_5_moe", "moe_num_experts": 8, "moe_k": 2, "moe_num_shared_experts": 1,
         **EXPERTS},
        {"model_type": "deepseek_v2", **LATENT},
        {"model_type": "deepseek_v2", **LATENT, "q_lora_rank": None},
        {"model_type": "glm4_moe_lite", **LATENT, **DRAFTS},
        {"model_type": "mistral4", **LATENT},
        {"model_type": "gemma3_text", "sliding_window": 128},
        {"model_type": "gemma3n_text", "sliding_window": 128, "num_kv_shared_layers": 1,
         "vocab_size_per_layer_input": 90},
        {"model_type": "qwen3_next", "num_experts": 8, "shared_expert_intermediate_size": 32, "linear_num_key_heads": 2,
         "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
         "linear_conv_kernel_dim": 4,
         **EXPERTS},
        {"model_type": "granitemoehybrid", "num_local_experts": 0, "shared_intermediate_size": 128, "mamba_n_heads": 8,
         "layer_types": ["mamba", "mamba", "attention", "mamba"], "mamba_d_head": 16, "mamba_n_groups": 1,
         "mamba_d_state": 16, "mamba_d_conv": 4},
    ],
    ids=lambda config: str(config["model_type"]),
)  # fmt: skip
def test_small_shapes_of_other_types(config: dict[str, Any], tmp_path: Path) -> None:
    model = made(tmp_path, TINY | config).model
    assert model.derived_parameters > 12_800
    assert kv_cache(model, "bf16").session_bytes(4096) > 0


def test_gemma3_takes_its_class_s_sizes_and_says_so(tmp_path: Path) -> None:
    # As google/gemma-3-4b-it writes it, vision left out; the class's 5:1 pattern, heads of 256.
    inner = {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
             "sliding_window": 1024}  # fmt: skip
    config = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": inner,
              "torch_dtype": "bfloat16"}  # fmt: skip
    one = made(tmp_path, config)
    cache = kv_cache(one.model, "bf16")
    assert (cache.rate, cache.constant_bytes(131_072)) == (20_480, 121_634_816)
    assert one.model.evidence["attention.0.kv_heads"].text == "default of the configuration class (transformers 5.24.0)"
    assert "num_key_value_heads 4" in one.model.note
    assert "not counted" in one.model.note and "encoder_parameters" in one.warnings[0]
    assert one.model.tied and one.model.encoder


def test_glm_flash(tmp_path: Path) -> None:
    # The configuration class's own shape, with the pool of 4 that is deployed: 11 x 1,024 + 11 x 132 / 4.
    inner = {"model_type": "glm5_next_text", "vocab_size": 154880, "hidden_size": 4096, "intermediate_size": 12288,
             "moe_intermediate_size": 2048, "num_hidden_layers": 45, "num_attention_heads": 64, "n_shared_experts": 1,
             "n_routed_experts": 288, "num_experts_per_tok": 8, "kv_lora_rank": 512, "q_lora_rank": 1536,
             "qk_rope_head_dim": 0, "v_head_dim": 256, "qk_nope_head_dim": 256, "max_position_embeddings": 1048576,
             "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32, "index_kpool": 4, "linear_num_heads": 64,
             "linear_head_dim": 128, "linear_conv_kernel_dim": 4, "dtype": "bfloat16", **DRAFTS}  # fmt: skip
    model = made(tmp_path, {"model_type": "glm5_next", "text_config": inner, "tie_word_embeddings": False}).model
    cache = kv_cache(model, "bf16")
    assert (cache.rate, kv_cache(model, "fp8").rate, int(cache.state_bytes)) == (11_627, 5_995, 147_619_840)
    # Published as 320 B with a draft layer of about 7 B.
    assert 312e9 < model.derived_parameters < 314e9 and 16e9 < model.derived_active_parameters < 18e9


def test_encoder_parameters_may_be_given(tmp_path: Path) -> None:
    one = made(tmp_path, hf.LLAMA_4_SCOUT, assumed={"encoder_parameters": 872_000_000})
    assert not one.warnings
    assert one.model.derived_parameters == FIGURES["LLAMA_4_SCOUT"][0] + 872_000_000
    assert "encoder_parameters=872000000" in one.model.note


def test_a_wrapped_language_model_may_be_of_another_type(tmp_path: Path) -> None:
    inner = TINY | {"model_type": "ministral3"}
    config = {"model_type": "mistral3", "text_config": inner, "tie_word_embeddings": False, "dtype": "bfloat16"}
    assert kv_cache(made(tmp_path, config).model, "bf16").rate == 512


# Quantisation --------------------------------------------------------------------------------------------------------


def quantised(folder: Path, config: dict[str, Any], scheme: dict[str, Any]) -> Any:
    return made(folder, but(config, quantization_config=scheme)).model.checkpoints[0]


def group(
    bits: int, kind: str, strategy: str, size: int | None = None, block_structure: Any = None, **more: Any
) -> dict[str, Any]:
    weights = {"num_bits": bits, "type": kind, "strategy": strategy, "group_size": size, "symmetric": True,
               "block_structure": block_structure}  # fmt: skip
    scheme = {"quant_method": "compressed-tensors", "ignore": ["lm_head"], **more}
    return scheme | {"config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


def activated(scheme: dict[str, Any], kind: str, *, dynamic: bool) -> dict[str, Any]:
    """Return a scheme with activations in 8 bits."""
    scheme["config_groups"]["group_0"]["input_activations"] = {"num_bits": 8, "type": kind, "dynamic": dynamic}
    return scheme


MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0.self_attn*",
            *(f"model.layers.{i}.self_attn*" for i in range(1, 32))]}  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "word", "linear", "attention"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", "fp8", ""),
        ({"quant_method": "fp8"}, "fp8", "fp8-channel", ""),
        (
            {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["self_attn", "lm_head"]},
            "fp8",
            "fp8-channel",
            "bf16",
        ),
        (group(8, "float", "channel"), "fp8", "fp8-channel", ""),
        (activated(group(8, "float", "channel"), "float", dynamic=True), "fp8-dynamic", "fp8-channel", ""),
        (activated(group(8, "float", "tensor"), "float", dynamic=False), "fp8", "fp8-channel", ""),
        (
            activated(group(8, "float", "block", block_structure=[128, 128]), "float", dynamic=True),
            "fp8",
            "fp8",
            "",
        ),
        (group(8, "int", "channel"), "int8", "int8-channel", ""),
        (activated(group(8, "int", "channel"), "int", dynamic=True), "w8a8", "int8-channel", ""),
        (group(4, "int", "group", 128), "int4", "int4-g128", ""),
        (group(4, "int", "group", 32), "int4", "int4", ""),
        (group(4, "float", "group", 32), "mxfp4", "mxfp4", ""),
        (group(4, "float", "tensor_group", 16), "nvfp4", "nvfp4", ""),
        (group(4, "int", "group", 32, ignore=["lm_head", "re:.*self_attn.*"]), "int4", "int4", "bf16"),
        (
            {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"},
            "int4",
            "int4-g128",
            "",
        ),
        (
            {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": False},
            "int4",
            "int4-g128",
            "",
        ),
        (
            {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*attn.*": {}}},
            "int4",
            "int4-g128",
            "bf16",
        ),
        (MODELOPT, "nvfp4", "nvfp4", "bf16"),
        (
            {"quant_algo": "FP8", "exclude_modules": ["lm_head"], "producer": {"name": "modelopt"}},
            "fp8",
            "fp8-channel",
            "",
        ),
    ],
)
def test_formats(scheme: dict[str, Any], word: str, linear: str, attention: str, tmp_path: Path) -> None:
    found = quantised(tmp_path, hf.LLAMA_8B, scheme)
    assert (found.format, found.linear, found.attention, found.other) == (word, linear, attention, "bf16")


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes"),
        ({"quant_method": "gguf"}, "gguf"),
        ({"quant_method": "fp9"}, "did you mean 'fp8'"),
        ({"quant_method": 8}, "not known"),
        ({"quant_method": "fp8", "weight_block_size": [64, 64]}, "weight_block_size"),
        ({"quant_method": "fp8", "surprise": 1}, "unknown key 'quantization_config.surprise'"),
        ({"quant_method": "awq", "bits": 8, "group_size": 128}, "8 bits"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "groups of 64"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"+:.*down.*": {"bits": 8}}}, "other bits"),
        (group(4, "int", "channel"), "4-bit int weights by channel"),
        (group(4, "int", "group", 128) | {"ignore": None}, "'quantization_config.ignore' is missing"),
        (group(8, "int", "channel", ignore=["re:(a+)+b"]), "repeats"),
        (group(8, "int", "channel", ignore=["re:("]), "no regular expression"),
        (group(8, "int", "channel", ignore=["model.layers.0.self_atn.q_proj"]), "names no matrix"),
        (group(8, "int", "channel", sparsity_config={"format": "sparse-24-bitmask"}), "sparse"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "what stays unquantised is not told"),
        ({"quant_method": "modelopt", "quant_algo": "W3A16", "ignore": []}, "'W3A16' are not known"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32, "ignore": []}, "expected 16"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "quantized_layers"),
    ],
)
def test_formats_that_are_not_known(scheme: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert words in refused(tmp_path, but(hf.LLAMA_8B, quantization_config=scheme))


def test_a_quantisation_beside_the_configuration(tmp_path: Path) -> None:
    left_out = ["lm_head", "model.layers.0*", "model.layers.1.*", "model.layers.2.*", "model.layers.78*"]
    left_out += [f"model.layers.{i}.{part}*" for i in range(3, 78) for part in ("self_attn", "mlp.shared_experts")]
    beside = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
                               "exclude_modules": left_out}}  # fmt: skip
    write(tmp_path, beside, "hf_quant_config.json")
    model = made(tmp_path, hf.GLM_52).model
    found = model.checkpoints[0]
    assert (found.format, found.experts, found.linear, found.draft) == ("nvfp4", "nvfp4", "bf16", "bf16")
    # nvidia's published total is within half a megabyte: scales of whole tensors are counted nowhere.
    assert 0 < 464_795_267_072 - model.file_bytes("nvfp4") < 500_000


def test_mixed_matrices_count_as_the_larger_format(tmp_path: Path) -> None:
    scheme = MODELOPT | {"ignore": ["lm_head", "model.layers.3.mlp.down_proj"]}
    found = quantised(tmp_path, hf.LLAMA_8B, scheme)
    assert (found.linear, found.attention) == ("bf16", "nvfp4")
    assert "mlp.down_proj" in found.note and "too much" in found.note


def test_listed_modules(tmp_path: Path) -> None:
    layers = {f"model.layers.{i}.self_attn.{m}_proj": {"quant_algo": "FP8"} for i in range(32) for m in "qkvo"}
    layers |= {f"model.layers.{i}.mlp.{m}_proj": {"quant_algo": "NVFP4", "group_size": 16}
               for i in range(32) for m in ("gate", "up", "down")}  # fmt: skip
    scheme = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    found = quantised(tmp_path, hf.LLAMA_8B, scheme)
    assert (found.linear, found.attention) == ("nvfp4", "fp8-channel")
    layers["model.layers.0.mixer.proj"] = {"quant_algo": "FP8"}
    assert "names no matrix" in refused(tmp_path, but(hf.LLAMA_8B, quantization_config=scheme))


def test_experts_of_v4_must_be_told(tmp_path: Path) -> None:
    assert "'expert_dtype' is missing" in refused(tmp_path, but(hf.DEEPSEEK_V4_FLASH, "expert_dtype"))
    one = made(tmp_path, but(hf.DEEPSEEK_V4_FLASH, "expert_dtype"), assumed={"expert_dtype": "fp8"})
    assert one.model.checkpoints[0].experts == "fp8"


def again(layers: range, experts: str) -> dict[str, Any]:
    """Return a quantisation of experts alone, over FP8."""
    listed = {f"layers.{i}.ffn.experts": {"quant_algo": experts, "group_size": 16} for i in layers}
    return {"quant_method": "fp8", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": experts, "group_size": 16,
            "weight_block_size": [128, 128], "ignore": ["mtp.*"], "quantized_layers": listed}  # fmt: skip


@pytest.mark.parametrize(("dtype", "draft"), [("fp4", "mxfp4"), ("fp8", "fp8")])
def test_draft_layers_keep_their_experts_when_others_are_quantised_again(
    dtype: str, draft: str, tmp_path: Path
) -> None:
    found = quantised(tmp_path, but(hf.DEEPSEEK_V4_FLASH, expert_dtype=dtype), again(range(43), "NVFP4"))
    assert (found.format, found.experts, found.linear, found.draft) == ("nvfp4", "nvfp4", "fp8", draft)


def test_layers_without_an_indexer_have_no_matrices_of_one(tmp_path: Path) -> None:
    m3 = {f"model.layers.{i}.self_attn.{name}_proj": {"quant_algo": "MXFP8", "group_size": 32} for i in range(60)
          for name in ("q", "k", "v", "o", "index_q", "index_k") if i >= 3 or "index" not in name}  # fmt: skip
    scheme = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": m3}
    assert quantised(tmp_path, hf.MINIMAX_M3, scheme).attention == "mxfp8"
    owners = {0, 1, 2, *range(6, 78, 4)}
    parts = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj", "indexer.wq_b", "indexer.wk")
    glm = {f"model.layers.{i}.self_attn.{name}": {"quant_algo": "FP8"} for i in range(78) for name in parts
           if i in owners or "indexer" not in name}  # fmt: skip
    scheme["quantized_layers"] = glm
    assert quantised(tmp_path, hf.GLM_52, scheme).attention == "fp8-channel"


def test_index_gives_the_published_bytes(tmp_path: Path) -> None:
    names = {"model.embed_tokens.weight": "a", "model.layers.61.embed_tokens.weight": "b"}
    index = write(tmp_path, {"metadata": {"total_size": 688_590_000_000}, "weight_map": names}, "index.json")
    found = made(tmp_path, hf.DEEPSEEK_V3, index=index).model.checkpoints[0]
    assert (found.bytes, found.draft_vocabulary) == (688_590_000_000, True)
    bad = write(tmp_path, {"metadata": {"total_size": "big"}}, "bad.json")
    assert "total_size" in refused(tmp_path, hf.DEEPSEEK_V3, index=bad)
    assert "cannot be read" in refused(tmp_path, hf.DEEPSEEK_V3, index=tmp_path / "none.json")


# Refusals ------------------------------------------------------------------------------------------------------------

MALFORMED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ":1:1: is not JSON: found the end of the file"),
    "blank": (b" \n ", ":2:2: is not JSON"),
    "a list": (b"[1, 2]", ":1:1: expected keys and values"),
    "a number": (b"3", "expected keys and values"),
    "truncated": (b'{"model_type": "llama",\n "hidden_size": ', ":2:17: is not JSON"),
    "truncated text": (b'{"model_type": "lla', ":1:16: is not JSON: a text that does not end"),
    "trailing": (b'{"model_type": "llama"} x', "after the end of the value"),
    "comma": (b'{"model_type": "llama",}', "remove the comma"),
    "bare key": (b"{model_type: 1}", "a key in double quotes"),
    "colon": (b'{"model_type" 1}', "where ':' is meant"),
    "separator": (b'{"a": 1 "b": 2}', "where ',' or '}' is meant"),
    "leading zero": (b'{"model_type": "llama", "vocab_size": 010}', "where a value is meant"),
    "hex": (b'{"vocab_size": 0x10}', "where a value is meant"),
    "byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "is UTF-16 text"),
    "latin": (b'{"a": "\xe9"}', ":1:8: is not UTF-8 text"),
    "surrogate": (b'{"a": "\\ud800"}', "surrogate"),
    "control": (b'{"a": "\x01"}', "a text that does not end"),
    "depth": (b'{"a":' * 5000 + b"1" + b"}" * 5000, "nested deeper than"),
    "lists in depth": (b"[" * 100_000, "nested deeper than"),
    "no type": (b"{}", "the key 'model_type' is missing"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files(name: str, tmp_path: Path) -> None:
    data, words = MALFORMED[name]
    path = tmp_path / "config.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as fault:
        import_config(path)
    assert words in str(fault.value) and "config.json" in str(fault.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.json", tmp_path / ("x" * 300)):
        with pytest.raises(InputError):
            import_config(path)


VALUES: list[tuple[str, str, str]] = [
    ("num_hidden_layers", "32.0", "found 32.0, expected a whole number"),
    ("num_hidden_layers", '"32"', "found '32', expected a whole number"),
    ("num_hidden_layers", "true", "found true, expected a whole number"),
    ("num_hidden_layers", "-1", "found -1"),
    ("num_hidden_layers", "0", "found 0"),
    ("num_hidden_layers", "[32]", "found [32]"),
    ("num_hidden_layers", "null", "is null"),
    ("num_hidden_layers", "1000000", "layers are more than"),
    ("hidden_size", "1e300", "found 1e+300"),
    ("hidden_size", "NaN", "found nan"),
    ("hidden_size", "-Infinity", "found -inf"),
    ("hidden_size", "9" * 5000, "a number of 5000 digits"),
    ("hidden_size", "9" * 39, "at most"),
    ("num_key_value_heads", "5", "no multiple of 5"),
    ("mlp_bias", "1", "found 1, expected true or false"),
    ("torch_dtype", '"int3"', "expected 'bfloat16'"),
    ("torch_dtype", "3", "found 3"),
    ("model_type", "7", "expected text"),
    ("model_type", '"lama"', "did you mean 'llama'?"),
    ("model_type", '"bert"', "no decoder"),
    ("architectures", '["LlamaForSequenceClassification"]', "writes no text"),
    ("architectures", "[3]", "writes no text"),
    ("is_encoder_decoder", "true", "a decoder alone"),
    ("sliding_window", "4096", "no window"),
    ("quantization_config", "[]", "expected keys and values"),
    ("rope_parameters", '{"partial_rotary_factor": "half"}', "a share above 0"),
]


@pytest.mark.parametrize(("key", "value", "words"), VALUES)
def test_wrong_values(key: str, value: str, words: str, tmp_path: Path) -> None:
    config = but(hf.LLAMA_8B, **{key: "HERE"})
    path = tmp_path / "config.json"
    text = json.dumps(config, indent=2).replace('"HERE"', value)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as fault:
        import_config(path)
    line = next(i for i, one in enumerate(text.splitlines(), 1) if one.strip().startswith(f'"{key}"'))
    assert any(words in problem.message + problem.hint for problem in fault.value.problems)
    assert any(problem.line == line and problem.column for problem in fault.value.problems)


def test_infinity_does_not_matter_where_nothing_does(tmp_path: Path) -> None:
    endless = made(tmp_path, hf.NEMOTRON_SUPER | {"time_step_limit": [0.0, float("inf")]})
    assert endless.model.weights == made(tmp_path, hf.NEMOTRON_SUPER).model.weights


def test_unknown_keys_are_refused(tmp_path: Path) -> None:
    config = but(hf.LLAMA_8B, cross_layer_share=2, num_key_value_head=8)
    found = refused(tmp_path, config)
    assert "unknown key 'cross_layer_share': it may change the memory" in found
    assert "--ignore cross_layer_share if it surely does not matter" in found
    assert "did you mean 'num_key_value_heads'?" in found
    made(tmp_path, config, ignored=("cross_layer_share", "num_key_value_head"))


def test_all_problems_at_once(tmp_path: Path) -> None:
    found = refused(tmp_path, but(hf.QWEN35_35B, "linear_key_head_dim", head_dim="256", odd=1, num_experts=None))
    for words in (
        "linear_key_head_dim' is missing",
        "found '256'",
        "unknown key 'text_config.odd'",
        "num_experts' is null",
    ):
        assert words in found


def test_duplicate_keys(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(hf.LLAMA_8B)[:-1] + ',\n"hidden_size": 1}', encoding="utf-8")
    with pytest.raises(InputError, match=r"config.json:2:1: the key 'hidden_size' stands twice"):
        import_config(path)


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    (but(hf.GLM_52, indexer_types=["full"] * 77), "has 77 items, the model has 78 layers"),
    (but(hf.GLM_52, indexer_types=["full"] * 78), "'indexer_types' and 'index_topk_freq' disagree"),
    (but(hf.GLM_52, mlp_layer_types=["sparse"] * 78), "disagree"),
    (but(hf.GLM_52, qk_head_dim=200), "qk_head_dim"),
    (but(hf.GLM_52, num_experts=12), "as 'n_routed_experts'"),
    (but(hf.GLM_52, num_experts_per_tok=300), "300 experts per token of 256"),
    (but(hf.QWEN35_27B, layer_types=["full_attention"] * 64), "disagree"),
    (but(hf.QWEN35_27B, layer_types=["linear"] * 64), "expected full_attention or linear_attention"),
    (but(hf.GPT_OSS_20B, layer_types=["full_attention"] * 3), "has 3 items"),
    (but(hf.NEMOTRON_NANO, num_hidden_layers=53), "'num_hidden_layers' says 53"),
    (but(hf.NEMOTRON_NANO, hybrid_override_pattern="MXE"), "signs"),
    (but(hf.DEEPSEEK_V4_FLASH, compress_ratios=[4] * 9), "has 9 items"),
    (but(hf.DEEPSEEK_V4_FLASH, compress_ratios=[5] * 43), "found 5"),
    (but(hf.MINIMAX_M3, moe_layer_freq=[2] * 60), "zeros and ones"),
    (but(hf.MIMO_V2, sliding_window_size=64), "as 'sliding_window'"),
    (but(hf.KIMI_K3, linear_attn_config={"kda_layers": [1], "full_attn_layers": [2]}), "do not share out"),
    (but(hf.QWEN3_30B, mlp_only_layers=[99]), "numbers of layers"),
    (but(hf.GEMMA_4_31B, num_kv_shared_layers=60), "cannot all share"),
    (hf.QWEN3_VL_8B | {"tie_word_embeddings": True}, "disagree"),
    (hf.QWEN3_VL_8B | {"hidden_size": 1}, "in the language model"),
]


@pytest.mark.parametrize(("config", "words"), CONTRADICTIONS, ids=[words for _, words in CONTRADICTIONS])
def test_contradictions(config: dict[str, Any], words: str, tmp_path: Path) -> None:
    inner = config.get("text_config", {})
    if (
        words == "disagree"
        and "tie_word_embeddings" in config
        and "vision_config" in config
        and "layer_types" not in inner
    ):
        config = but(config, tie_word_embeddings=False)
    assert words in refused(tmp_path, config)


def test_a_model_type_that_is_refused_says_why(tmp_path: Path) -> None:
    found = refused(tmp_path, TINY | {"model_type": "nemotron-nas", "block_configs": []})
    assert "differ from layer to layer" in found
    assert "known: " in refused(tmp_path, TINY | {"model_type": "zzz"})
    assert "known: " in refused(tmp_path, {"model_type": "zzz_vl", "text_config": TINY | {"model_type": "llama"}})


def test_a_missing_dtype(tmp_path: Path) -> None:
    assert "--assume dtype=bfloat16" in refused(tmp_path, but(hf.LLAMA_8B, "torch_dtype"))
    one = made(tmp_path, but(hf.LLAMA_8B, "torch_dtype"), assumed={"dtype": "bfloat16"})
    assert one.model.weight_bytes("bf16") == 2 * 8_030_261_248
    assert "16 bits" in made(tmp_path, hf.GPT_OSS_20B).warnings[0]


def test_assumed_values_are_marked(tmp_path: Path) -> None:
    config = but(hf.MINIMAX_M2, "num_key_value_heads")
    assert "num_key_value_heads' is missing" in refused(tmp_path, config)
    one = made(tmp_path, config, assumed={"num_key_value_heads": 8})
    assert one.model.evidence["attention.0.kv_heads"].kind == "assumed"
    assert "num_key_value_heads=8" in one.model.note


def test_a_context_that_no_key_tells_carries_its_reason(tmp_path: Path) -> None:
    one = made(tmp_path, hf.GEMMA_3_27B)
    assert 'max_context: {value: 131072 tokens, derived: "default of the configuration class' in one.text
    bare = but(hf.LLAMA_8B, "max_position_embeddings")
    one = made(tmp_path, bare, assumed={"max_position_embeddings": 8192})
    assert one.model.evidence["max_context"].kind == "assumed"


def test_the_schema_allows_evidence_beside_every_plain_value() -> None:
    defs = json.loads(schema_text("catalog"))["$defs"]
    fields = defs["kind-model"]["properties"]
    for key, kind in (("tied", "boolean"), ("hidden", "integer"), ("name", "string")):
        plain, valued = defs[fields[key]["$ref"].removeprefix("#/$defs/")]["anyOf"]
        assert plain["type"] == valued["properties"]["value"]["type"] == kind
        assert {"assumed", "derived", "source"} <= valued["properties"].keys() and valued["required"] == ["value"]


def test_options_that_meet_nothing(tmp_path: Path) -> None:
    assert "is asked for by nobody" in refused(tmp_path, hf.LLAMA_8B, assumed={"surprise": 1})
    assert "is given in the file already" in refused(tmp_path, hf.LLAMA_8B, assumed={"vocab_size": 1})
    assert "is no key of the file" in refused(tmp_path, hf.LLAMA_8B, ignored=("surprise",))
    assert "cannot be ignored" in refused(tmp_path, hf.LLAMA_8B, ignored=("vocab_size",))
    assert "unknown element format 'fp7'" in refused(tmp_path, hf.LLAMA_8B, weights=("fp7",))
    assert "expected a whole number" in refused(tmp_path, hf.LLAMA_4_SCOUT, assumed={"encoder_parameters": "many"})


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def command() -> Iterator[Any]:
    import typer
    from typer.testing import CliRunner

    from planner.cli.importing import register

    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)
    runner = CliRunner()
    yield lambda *words: runner.invoke(app, ["import", *map(str, words)])


def test_command_writes_the_file_and_talks_on_stderr(command: Any, tmp_path: Path) -> None:
    path = write(tmp_path, hf.QWEN3_8B)
    done = command(path, "--id", "own", "--name", "Own", "--weights-format", "fp8")
    assert done.exit_code == 0 and done.stdout.startswith("# yaml") and "id: own" in done.stdout
    for words in (
        "KV bf16: 147,456 B/token",
        "parameters: 8,190,735,360",
        "weights bf16: 16,381,470,720 B",
        "weights fp8",
    ):
        assert words in done.stderr
    out = tmp_path / "own.yaml"
    assert command(path, "--id", "own", "-o", out).exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("# yaml") and not list(tmp_path.glob(".*"))


def test_command_refuses(command: Any, tmp_path: Path) -> None:
    path = write(tmp_path, but(hf.QWEN3_8B, odd=1))
    assert isinstance(command(path).exception, InputError)
    assert command(path, "--ignore", "odd").exit_code == 0
    out = tmp_path / "none.yaml"
    command(path, "-o", out)
    assert not out.exists()
    assert "expected KEY=VALUE" in str(command(path, "--assume", "odd").exception)


def test_command_tells_the_difference_to_the_index(command: Any, tmp_path: Path) -> None:
    path = write(tmp_path, hf.LLAMA_8B)
    index = write(tmp_path, {"metadata": {"total_size": 16_060_522_497}}, "model.safetensors.index.json")
    assert "+1 B" in command(path, "--index", index).stderr
