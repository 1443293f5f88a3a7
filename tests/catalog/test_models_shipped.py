"""The shipped models: shapes, parameters, bytes and KV cache against what is published of them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from planner.kvcache import kv_cache
from planner.layout import Layout
from planner.models import BYTES_PER_WEIGHT, Model
from planner.questions.identify import match_model
from planner.reading import source_ids
from planner.views.model import show_report
from planner.weights import weights_per_gpu
from tests.ground_truth.rows import HERE, Row, read_rows
from tests.unit.tiny import GIB, shelf

MODELS = {model.id: model for model in shelf().models.values()}
FOLDER = Path(__file__).parents[2] / "catalog" / "models"


def model_of(name: str) -> Model:
    return shelf().model(name)


# Names, sources, files.


def test_breadth() -> None:
    assert len(MODELS) >= 65
    files = {path.stem for path in FOLDER.glob("*.yaml")} - {"sources"}
    assert files == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_sources_stand_in_the_file(name: str) -> None:
    model = MODELS[name]
    assert model.source
    assert all(one.source for one in model.checkpoints)
    named = {*model.source, *(s for one in model.checkpoints for s in one.source)}
    assert set(source_ids(list(named))) <= set(shelf().catalog.sources.by_id)


def test_names_are_unique() -> None:
    # Whatever case and signs a log writes them in.
    plain = Counter(
        name
        for model in MODELS.values()
        for name in {"".join(c for c in one.lower() if c.isalnum()) for one in (model.id, *model.aliases)}
    )
    assert [name for name, count in plain.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite"),
        ("RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic", "llama-3.1-70b"),
        ("redhatai/Llama-3.3-70B-Instruct-quantized.w8a8", "llama-3.1-70b"),
        ("meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b"),
        ("RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-quantized.w8a8", "mistral-small-3.1-24b"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout"),
        ("moonshotai/Kimi-VL-A3B-Instruct", "kimi-vl-a3b"),
        ("cyankiwi/Kimi-Linear-48B-A3B-Instruct-AWQ-4bit", "kimi-linear-48b-a3b"),
        ("cyankiwi/gemma-4-31B-it-AWQ-4bit", "gemma-4-31b"),
        ("Qwen/Qwen1.5-MoE-A2.7B", "qwen1.5-moe-a2.7b"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "qwen3-coder-30b-a3b"),
        ("Qwen3.5-122B-A10B-NVFP4", "qwen3.5-122b-a10b"),
        ("deepseek-ai/DeepSeek-V4-Flash-0731", "deepseek-v4-flash"),
        ("deepseek-ai/DeepSeek-V4-Pro-DSpark", "deepseek-v4-pro"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"),
        ("LibertAIDAI/GLM-5.3-Flash-NVFP4", "glm-5.3-flash"),
        ("zai-org/GLM-5.1-FP8", "glm-5"),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8", "nemotron-3-nano"),
        ("tencent/Hy3-FP8", "hy3"),
        ("stepfun-ai/Step-3.5-Flash", "step-3.5-flash"),
        ("mistralai/Mistral-Medium-3.5-128B", "mistral-medium-3.5-128b"),
        ("GLM-4.7-Flash-AWQ", "glm-4.7-flash"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"),
        ("casperhansen/deepseek-r1-distill-llama-70b-awq", "llama-3.1-70b"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek-r1-distill-qwen-7b"),
        ("RedHatAI/DeepSeek-R1-Distill-Qwen-32B-FP8-dynamic", "deepseek-r1-distill-qwen-32b"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("casperhansen/llama-3-70b-instruct-awq", "llama-3-70b"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2"),
        ("TheBloke/Mistral-7B-Instruct-v0.2-AWQ", "mistral-7b-v0.2"),
        ("RedHatAI/Mistral-Small-24B-Instruct-2501-FP8-dynamic", "mistral-small-24b-2501"),
        ("RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-quantized.w4a16", "mistral-small-3.1-24b"),
        ("mistralai/Mistral-Large-Instruct-2411", "mistral-large-2407"),
        ("mistralai/Devstral-Small-2507", "devstral-small-24b"),
        ("mistralai/Magistral-Small-2506", "devstral-small-24b"),
        ("mistralai/Magistral-Small-2509", "mistral-small-3.1-24b"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"),
        ("Qwen/Qwen2-7B-Instruct", "qwen2.5-7b"),
        ("Qwen/Qwen2-72B-Instruct-GPTQ-Int4", "qwen2.5-72b"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "qwen2.5-0.5b"),
        ("Qwen/Qwen2.5-1.5B-Instruct-AWQ", "qwen2.5-1.5b"),
        ("Qwen/Qwen2.5-3B-Instruct", "qwen2.5-3b"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-7b"),
        ("Qwen/Qwen2.5-Coder-14B-Instruct-AWQ", "qwen2.5-14b"),
        ("Qwen/Qwen2.5-Coder-32B-Instruct-GPTQ-Int4", "qwen2.5-32b"),
        ("Qwen/Qwen2.5-VL-7B-Instruct-AWQ", "qwen2.5-vl-7b"),
        ("Qwen/QwQ-32B-AWQ", "qwq-32b"),
        ("Qwen/QwQ-32B-Preview", "qwen2.5-32b"),
        ("microsoft/Phi-4-reasoning-plus", "phi-4-reasoning"),
        ("microsoft/Phi-4-mini-instruct", "phi-4-mini"),
        ("RedHatAI/phi-4-FP8-dynamic", "phi-4"),
        ("google/gemma-2-2b-it", "gemma-2-2b"),
        ("RedHatAI/gemma-3-27b-it-FP8-dynamic", "gemma-3-27b"),
        ("ibm-granite/granite-3.1-2b-instruct", "granite-3.1-2b"),
        ("RedHatAI/granite-3.1-8b-instruct-quantized.w8a8", "granite-3.1-8b"),
        ("ibm-granite/granite-3.2-8b-instruct", "granite-3.1-8b"),
        ("ibm-granite/granite-3.3-2b-instruct", "granite-3.3-2b"),
        ("ibm-granite/granite-4.0-h-small", "granite-4.0-h-small"),
        ("Qwen/Qwen3.5-9B", "qwen3.5-9b"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b-2507"),
        ("Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-235b-a22b-2507"),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507-FP8", "qwen3-30b-a3b-2507"),
        ("Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b-2507"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"),
        ("zai-org/GLM-4.5-Air-FP8", "glm-4.5-air"),
    ],
)
def test_names_of_logs_are_matched(name: str, wanted: str) -> None:
    found = match_model(name, shelf())
    assert found is not None
    assert found.id == wanted


@pytest.mark.parametrize("name", MODELS)
def test_every_name_is_matched(name: str) -> None:
    for alias in (name, *MODELS[name].aliases):
        found = match_model(alias, shelf())
        assert found is not None
        assert found.id == name


# Of one shape, but released for another context.
CONTEXTS = {
    "llama-3-8b": ("llama-3.1-8b", 8_192), "llama-3-70b": ("llama-3.1-70b", 8_192),
    "phi-4-reasoning": ("phi-4", 32_768), "qwen3-4b-2507": ("qwen3-4b", 262_144),
    "qwen3-30b-a3b-2507": ("qwen3-30b-a3b", 262_144), "qwen3-coder-30b-a3b": ("qwen3-30b-a3b", 262_144),
    "qwen3-235b-a22b-2507": ("qwen3-235b-a22b", 262_144), "deepseek-r1-distill-qwen-7b": ("qwen2.5-7b", 131_072),
    "deepseek-r1-distill-qwen-32b": ("qwen2.5-32b", 131_072), "devstral-small-24b": ("mistral-small-24b-2501", 131_072),
    "qwq-32b": ("qwen2.5-32b", 131_072),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts_of_siblings(name: str) -> None:
    sibling, context = CONTEXTS[name]
    mine, other = MODELS[name], MODELS[sibling]
    assert mine.max_context_tokens == context != other.max_context_tokens
    assert (mine.hidden, mine.vocabulary, mine.tied) == (other.hidden, other.vocabulary, other.tied)
    assert mine.derived_parameters == other.derived_parameters
    assert kv_cache(mine, "bf16").rate == kv_cache(other, "bf16").rate


# Checkpoints of public runs, by name; all of them of what the vLLM profiles know.
PUBLIC = {
    "qwen3-8b": "fp8", "qwen3-14b": "fp8", "qwen3-32b": "fp8 int4", "phi-4": "fp8-dynamic",
    "gemma-3-27b": "fp8-dynamic",
    "glm-4.5-air": "fp8", "llama-3.1-70b": "fp8-dynamic w8a8 int4", "llama-3.1-8b": "fp8 fp8-dynamic w8a8 int4",
    "qwen2.5-72b": "int4", "qwen2.5-7b": "int4", "qwen2.5-14b": "fp8-dynamic w8a8 int4",
    "qwen2.5-32b": "fp8-dynamic w8a8 int4", "mistral-small-3.1-24b": "fp8-dynamic w8a8 int4",
    "mistral-small-24b-2501": "fp8-dynamic int4", "granite-3.1-8b": "fp8-dynamic w8a8",
    "granite-3.1-2b": "fp8-dynamic w8a8", "qwen3-235b-a22b-2507": "fp8", "qwen3-30b-a3b-2507": "fp8",
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_checkpoints_of_public_runs(name: str) -> None:
    have = {one.format for one in MODELS[name].checkpoints}
    assert set(PUBLIC[name].split()) <= have


def test_formats_of_checkpoints_have_rules() -> None:
    rules = {rule.format for engine in shelf().engines.engines.values() for rule in engine.weight_formats}
    assert {one.format for model in MODELS.values() for one in model.checkpoints} <= rules


@pytest.mark.parametrize(
    ("name", "weights", "gib"),
    [
        ("qwen3-235b-a22b-2507", "fp8", 220.18),
        ("qwen3-30b-a3b-2507", "fp8", 29.03),
        ("granite-4.0-h-small", "bf16", 59.99),
    ],
)
def test_gib_of_files_as_reported(name: str, weights: str, gib: float) -> None:
    # Scales in BF16 there, in fp32 here: 0.01 %.
    assert MODELS[name].file_bytes(weights) / GIB == pytest.approx(gib, rel=3e-4)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_shown(name: str) -> None:
    report = show_report(shelf(), name)
    assert report.blocks


@pytest.mark.parametrize("name", MODELS)
def test_formats_of_checkpoints_are_known(name: str) -> None:
    formats = [one.format for one in MODELS[name].checkpoints]
    assert len(set(formats)) == len(formats)
    for one in MODELS[name].checkpoints:
        assert {one.experts, one.linear, one.other} <= set(BYTES_PER_WEIGHT)
        assert {one.attention, one.draft} - {""} <= set(BYTES_PER_WEIGHT)


# KV cache: the model table of the KV facts, section 5, row by row. Bytes per token are exact; windows and states are
# printed in MB and hold to the last digit.

RATES: dict[str, tuple[int, dict[str, int]]] = {
    "glm-5": (100_152, {"fp8_ds_mla": 61_464, "fp8": 55_224}),
    "glm-5.1": (100_152, {"fp8_ds_mla": 61_464, "fp8": 55_224}),
    "glm-5.2": (92_628, {"fp8_ds_mla": 53_940, "fp8": 47_700}),
    "glm-5.3": (92_628, {"fp8_ds_mla": 53_940, "fp8": 47_700}),
    "glm-5.3-flash": (11_627, {"fp8": 5_995}),
    "glm-4.5": (376_832, {"fp8": 188_416}),
    "glm-4.6": (376_832, {"fp8": 188_416}),
    "glm-4.7": (376_832, {"fp8": 188_416}),
    "glm-4.5-air": (188_416, {"fp8": 94_208}),
    "glm-4.7-flash": (54_144, {"fp8": 27_072}),
    "deepseek-v3": (70_272, {"fp8": 35_136}),
    "deepseek-r1": (70_272, {"fp8": 35_136}),
    "deepseek-v3.1": (70_272, {"fp8": 35_136}),
    "deepseek-v3.2": (78_324, {"fp8_ds_mla": 48_068, "fp8": 43_188}),
    "deepseek-v4-flash": (6_229, {"fp8_ds_mla": 3_850}),
    "deepseek-v4-pro": (8_918, {"fp8_ds_mla": 5_511}),
    "kimi-k2": (70_272, {"fp8": 35_136}),
    "kimi-k2.5": (70_272, {"fp8": 35_136}),
    "kimi-k2-thinking": (70_272, {"fp8": 35_136}),
    "kimi-k3": (27_648, {"fp8": 13_824, "fp8_ds_mla": 15_744}),
    # The table's first figure is of the class; the second, of the released lists of layers, holds.
    "kimi-linear-48b-a3b": (8_064, {"fp8": 4_032}),
    "qwen3-0.6b": (114_688, {"fp8": 57_344}),
    "qwen3-8b": (147_456, {"fp8": 73_728}),
    "qwen3-32b": (262_144, {"fp8": 131_072}),
    "qwen3-30b-a3b": (98_304, {"fp8": 49_152}),
    "qwen3-235b-a22b": (192_512, {"fp8": 96_256}),
    "qwen3-coder-480b-a35b": (253_952, {"fp8": 126_976}),
    "qwen3-next-80b-a3b": (24_576, {"fp8": 12_288}),
    "qwen3.5-27b": (65_536, {"fp8": 32_768}),
    "qwen3.6-27b": (65_536, {"fp8": 32_768}),
    "qwen3.8-27b": (65_536, {"fp8": 32_768}),
    "qwen3.5-35b-a3b": (20_480, {"fp8": 10_240}),
    "qwen3.6-35b-a3b": (20_480, {"fp8": 10_240}),
    "qwen3.5-122b-a10b": (24_576, {"fp8": 12_288}),
    "qwen3.5-397b-a17b": (30_720, {"fp8": 15_360}),
    "llama-3.1-8b": (131_072, {"fp8": 65_536}),
    "llama-3.1-70b": (327_680, {"fp8": 163_840}),
    "llama-3.1-405b": (516_096, {"fp8": 258_048}),
    "llama-4-scout": (49_152, {"fp8": 24_576}),
    "llama-4-maverick": (49_152, {"fp8": 24_576}),
    "gpt-oss-20b": (24_576, {"fp8": 12_288}),
    "gpt-oss-120b": (36_864, {"fp8": 18_432}),
    "mistral-7b": (131_072, {"fp8": 65_536}),
    "mixtral-8x7b": (131_072, {"fp8": 65_536}),
    "mixtral-8x22b": (229_376, {"fp8": 114_688}),
    "ministral-3-8b": (139_264, {"fp8": 69_632}),
    "mistral-small-4-119b": (23_040, {"fp8": 11_520}),
    "mistral-medium-3.5-128b": (360_448, {"fp8": 180_224}),
    "minimax-m2": (253_952, {"fp8": 126_976}),
    "minimax-m2.5": (253_952, {"fp8": 126_976}),
    "minimax-m2.7": (253_952, {"fp8": 126_976}),
    "minimax-m3": (137_472, {"fp8": 76_032}),
    "gemma-3-27b": (81_920, {"fp8": 40_960}),
    "gemma-3-12b": (65_536, {"fp8": 32_768}),
    "gemma-3-4b": (20_480, {"fp8": 10_240}),
    "gemma-3-1b": (4_096, {"fp8": 2_048}),
    "gemma-4-31b": (81_920, {"fp8": 40_960}),
    "gemma-4-26b-a4b": (20_480, {"fp8": 10_240}),
    "phi-4": (204_800, {"fp8": 102_400}),
    "phi-3.5-moe": (131_072, {"fp8": 65_536}),
    "nemotron-3-nano": (6_144, {"fp8": 3_072}),
    "nemotron-3-super": (8_192, {"fp8": 4_096}),
    "nemotron-3-ultra": (12_288, {"fp8": 6_144}),
    "nemotron-h-56b": (40_960, {"fp8": 20_480}),
    "mimo-v2-flash": (23_040, {"fp8": 11_520}),
    "step-3.7-flash": (49_152, {"fp8": 24_576}),
    "hy3": (327_680, {"fp8": 163_840}),
    # Of those not in the table: K and V of each layer's KV heads.
    "llama-3-8b": (2 * 32 * 8 * 128 * 2, {"fp8": 65_536}),
    "qwen2.5-0.5b": (2 * 24 * 2 * 64 * 2, {"fp8": 6_144}),
    "qwen2.5-1.5b": (2 * 28 * 2 * 128 * 2, {"fp8": 14_336}),
    "qwen2.5-3b": (2 * 36 * 2 * 128 * 2, {"fp8": 18_432}),
    "qwen2.5-vl-7b": (2 * 28 * 4 * 128 * 2, {"fp8": 28_672}),
    "phi-4-mini": (2 * 32 * 8 * 128 * 2, {"fp8": 65_536}),
    "gemma-2-2b": (2 * 13 * 4 * 256 * 2, {"fp8": 26_624}),
    "granite-3.1-2b": (2 * 40 * 8 * 64 * 2, {"fp8": 40_960}),
    "granite-4.0-h-small": (2 * 4 * 8 * 128 * 2, {"fp8": 8_192}),
    "mistral-7b-v0.2": (2 * 32 * 8 * 128 * 2, {"fp8": 65_536}),
    "mistral-nemo-12b": (2 * 40 * 8 * 128 * 2, {"fp8": 81_920}),
    "mistral-small-24b-2501": (2 * 40 * 8 * 128 * 2, {"fp8": 81_920}),
    "qwen3.5-9b": (2 * 8 * 4 * 256 * 2, {"fp8": 16_384}),
}
# Windows and states in MB: as printed.
WINDOWS = {
    "llama-4-scout": "1208", "llama-4-maverick": "1208", "gpt-oss-20b": "3.1", "gpt-oss-120b": "4.7",
    "gemma-3-27b": "436", "gemma-3-12b": "336", "gemma-3-4b": "122", "gemma-3-1b": "11.5", "gemma-4-31b": "839",
    "gemma-4-26b-a4b": "210", "mimo-v2-flash": "25.6", "step-3.7-flash": "69.2",
    "gemma-2-2b": "218",  # 13 x 2 x 4 x 256 x 2 B x 4,096
}  # fmt: skip
STATES = {
    "glm-5.3-flash": "147.6", "kimi-k3": "449.4", "kimi-linear-48b-a3b": "43.4", "qwen3-next-80b-a3b": "39.5",
    "qwen3.5-27b": "153.9", "qwen3.6-27b": "153.9", "qwen3.8-27b": "153.9", "qwen3.5-35b-a3b": "64.4",
    "qwen3.6-35b-a3b": "64.4", "qwen3.5-122b-a10b": "153.6", "qwen3.5-397b-a17b": "192.1", "nemotron-3-nano": "49.1",
    "nemotron-3-super": "170", "nemotron-3-ultra": "408", "nemotron-h-56b": "913",
    "granite-4.0-h-small": "77.3",  # 36 x (128 x 64 x 128 + 3 x 8,448) x 2 B
    "qwen3.5-9b": "51.5",  # 24 x (32 x 128 x 128 x 4 B + 3 x 8,192 x 2 B)
}  # fmt: skip
LONG = 2**30


def within_last_digit(found: Fraction, printed: str) -> bool:
    digits = len(printed.partition(".")[2])
    return abs(found / 10**6 - Fraction(printed)) <= Fraction(1, 2 * 10**digits)


@pytest.mark.parametrize("name", RATES)
def test_bytes_per_token_as_published(name: str) -> None:
    rate, formats = RATES[name]
    model = model_of(name)
    found = {word: kv_cache(model, word).rate for word in ("bf16", *formats)}
    # Compressed caches share a row among tokens; the table rounds what one of them takes.
    assert {word: round(value) for word, value in found.items()} == {"bf16": rate, **formats}


@pytest.mark.parametrize("name", RATES)
def test_windows_and_states_as_published(name: str) -> None:
    cache = kv_cache(model_of(name), "bf16")
    windows = cache.constant_bytes(LONG) - cache.state_bytes
    if name.startswith("deepseek-v4"):
        # The table has 584 B a token for windows, and compressors only roughly.
        packed = kv_cache(model_of(name), "fp8_ds_mla")
        kept = [part.sequence_bytes(LONG) for part in packed.parts if part.name == "latent, window 128"]
        assert kept == [model_of(name).layers * 128 * 584]
        return
    assert within_last_digit(windows, WINDOWS[name]) if name in WINDOWS else not windows
    # The table's 153.6 MB is cut, not rounded.
    state = Fraction(15365, 100) * 10**6 if name == "qwen3.5-122b-a10b" else cache.state_bytes
    assert within_last_digit(state, STATES[name]) if name in STATES else not state
    assert abs(state - cache.state_bytes) < 10**4


def test_window_of_mistral_v01() -> None:
    cache = kv_cache(model_of("mistral-7b-v0.1"), "bf16")
    assert not cache.rate
    assert cache.constant_bytes(32_768) == 131_072 * 4096


# Parameters.

# Llama 2's files hold tables of inverse frequencies beside; the report on Gemma counts 128 more words.
EXACT = {
    "deepseek-v2-lite": 15_706_484_224, "qwen2.5-7b": 7_615_616_512, "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352, "qwq-32b": 32_763_876_352, "qwen2.5-72b": 72_706_203_648,
    "qwen1.5-moe-a2.7b": 14_315_784_192, "qwen3-0.6b": 596_049_920, "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360, "qwen3-14b": 14_768_307_200, "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624, "qwen3-235b-a22b": 235_093_634_560, "qwen3-coder-480b-a35b": 480_154_875_392,
    "gemma-2-9b": 9_241_705_984, "gemma-2-27b": 27_227_128_320, "gemma-3-1b": 999_885_952,
    "gemma-3-4b": 4_300_079_472, "gemma-3-12b": 12_187_325_040, "gemma-3-27b": 27_432_406_640,
    "gemma-7b": 7_751_248_896 + 786_825_216 - 128 * 3072, "granite-3.3-8b": 8_170_864_640, "phi-4": 14_659_507_200,
    "phi-3.5-mini": 3_821_079_552, "mistral-small-3.1-24b": 24_011_361_280, "mistral-7b": 7_248_023_552,
    "mistral-7b-v0.1": 7_241_732_096, "ministral-3-3b": 3_849_090_048, "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_620_634_112, "llama-2-7b": 6_738_417_664 - 2_048, "llama-2-13b": 13_015_866_880 - 2_560,
    "llama-3.1-8b": 8_030_261_248, "llama-3.1-70b": 70_553_706_496, "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400, "llama-3.2-3b": 3_212_749_824, "llama-4-scout": 108_641_793_536,
    "llama-4-maverick": 401_583_781_376, "kimi-vl-a3b": 16_407_656_048, "kimi-linear-48b-a3b": 49_122_681_728,
    "minimax-m2": 228_689_764_864, "smollm3-3b": 3_075_098_624, "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672, "llama-3-8b": 8_030_261_248, "llama-3-70b": 70_553_706_496,
    "qwen2.5-0.5b": 494_032_768, "qwen2.5-1.5b": 1_543_714_304, "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-vl-7b": 7_615_616_512 + 676_550_144, "mistral-7b-v0.2": 7_241_732_096,
}  # fmt: skip
# Of the files: with draft layers, and with embedding and head again where the draft layer's file repeats them.
FILES = {
    "qwen3-next-80b-a3b": 81_324_862_720, "qwen3.6-27b": 27_781_427_952, "qwen3.8-27b": 27_781_427_952,
    "qwen3.6-35b-a3b": 35_951_822_704, "glm-4.5": 358_337_791_296, "glm-4.5-air": 110_468_824_832,
    "glm-4.7-flash": 31_221_488_576, "glm-5.3": 753_329_940_480,
}  # fmt: skip
ROUND = {  # in billions, and how many of the last digit they may be off
    "deepseek-v4-flash": (284, 1), "deepseek-v4-pro": (1600, 30), "kimi-k3": (2800, 25),
    "minimax-m3": (427, 1), "qwen3.5-122b-a10b": (122, 1), "qwen3.5-397b-a17b": (397, 1), "qwen3.5-35b-a3b": (35, 1),
    "gemma-4-26b-a4b": (26, 1), "gemma-4-31b": (31, 1), "nemotron-3-nano": (31.6, 1), "nemotron-3-super": (120.7, 1),
    "nemotron-3-ultra": (550, 1), "nemotron-h-56b": (56.3, 1), "mimo-v2-flash": (309, 1),
    "step-3.5-flash": (196.8, 0.2), "step-3.7-flash": (198, 1.5), "hy3": (295, 1), "ling-1t": (1000, 1),
    "ernie-4.5-300b": (300, 1), "seed-oss-36b": (36.15, 0.01), "command-a": (111, 0.5),
    "mistral-large-2407": (123, 0.5), "mistral-medium-3.5-128b": (128, 0.5),
    "mistral-small-4-119b": (119, 0.5), "phi-3.5-moe": (42, 0.5),
    "exaone-4-32b": (32, 0.5), "olmo-3-32b": (32, 0.5), "ministral-3-8b": (8.918, 0.001),
    "phi-4-mini": (3.8, 0.05), "gemma-2-2b": (2.6, 0.05), "granite-3.1-2b": (2.5, 0.05), "granite-3.3-2b": (2.5, 0.05),
    "granite-4.0-h-small": (32, 0.5), "mistral-nemo-12b": (12.2, 0.1), "mistral-small-24b-2501": (23.6, 0.05),
    "devstral-small-24b": (23.6, 0.05), "qwen3.5-9b": (9, 0.5), "qwen3-coder-30b-a3b": (30.5, 0.05),
    "granite-3.1-8b": (8.17, 0.01), "devstral-2-123b": (125, 0.5), "devstral-small-2-24b": (24, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_parameters_are_exact(name: str) -> None:
    assert MODELS[name].derived_parameters == EXACT[name]


@pytest.mark.parametrize("name", FILES)
def test_parameters_of_files_are_exact(name: str) -> None:
    model = MODELS[name]
    drafts = model.draft_layers * sum(weights.count for weights in model.draft_weights)
    again = any(one.draft_vocabulary for one in model.checkpoints) * 2 * model.vocabulary * model.hidden
    assert model.derived_parameters + drafts + again == FILES[name]


@pytest.mark.parametrize("name", ROUND)
def test_parameters_are_near_the_round_figure(name: str) -> None:
    wanted, slack = ROUND[name]
    assert model_of(name).derived_parameters / 1e9 == pytest.approx(wanted, abs=slack)


def test_parameters_of_the_files_of_glm_5_3_flash() -> None:
    # 321 billion with a draft layer of 7.4 and the image encoder.
    model = MODELS["glm-5.3-flash"]
    draft = sum(weights.count for weights in model.draft_weights)
    assert draft / 1e9 == pytest.approx(7.4, abs=0.05)
    assert (model.derived_parameters + draft) / 1e9 == pytest.approx(321, abs=0.5)


@pytest.mark.parametrize("name", MODELS)
def test_count_of_the_file_follows_from_the_shape(name: str) -> None:
    model = MODELS[name]
    assert model.parameters in (None, model.derived_parameters)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.active_parameters])
def test_active_parameters_are_near_the_round_figure(name: str) -> None:
    # Published with or without embedding and encoder, and rounded, some to a billion.
    model = MODELS[name]
    embedding = 0 if model.tied else model.vocabulary * model.hidden
    beside = sum(extra.count for extra in model.extra)
    published = model.active_parameters or 0
    found = model.derived_active_parameters
    assert found * 0.9 - 0.5e9 <= published <= (found + embedding + beside) * 1.05 + 0.5e9


# Bytes of published files.

OFF = {
    # Which the derived bytes are allowed to miss by more than 0.2 %, with the reason.
    ("deepseek-v3.2", "fp8"): "0.3 %: one vocabulary matrix is copied with the draft layer, two are counted as none",
    ("gemma-4-31b", "bf16"): "0.35 %: the file holds one matrix for keys and values of layers over the whole context",
    ("glm-5.3-flash", "fp8"): "0.37 %: latent attention is in FP8, but cannot be told apart from the delta rule's BF16",
    ("qwen3.5-397b-a17b", "int4"): "0.48 %: GPTQ files hold an index of 4 B per input of each matrix",
}
PUBLISHED = [(model.id, one.format) for model in MODELS.values() for one in model.checkpoints if one.bytes]


@pytest.mark.parametrize(("name", "weights"), PUBLISHED, ids=["-".join(one) for one in PUBLISHED])
def test_bytes_of_files(name: str, weights: str) -> None:
    model = MODELS[name]
    total = model.checkpoint(weights).bytes
    assert total
    slack = 0.005 if (name, weights) in OFF else 0.002
    assert model.file_bytes(weights) == pytest.approx(total, rel=slack)


def test_exceptions_are_needed() -> None:
    for name, weights in OFF:
        total = MODELS[name].checkpoint(weights).bytes
        assert MODELS[name].file_bytes(weights) != pytest.approx(total, rel=0.002)


# Published bytes that a file here cannot repeat, since formats are told by kind of matrix only: how far off it is.
APART = {
    ("qwen3.8-27b", "nvfp4"): (23_417_339_744, 0.015),  # feed-forward of 8 layers and head in FP8
    ("mistral-medium-3.5-128b", "nvfp4"): (95_224_812_960, -0.025),  # feed-forward of 5 layers in FP8
}


@pytest.mark.parametrize(("name", "weights"), APART, ids=["-".join(one) for one in APART])
def test_bytes_of_mixed_files_are_as_far_off_as_said(name: str, weights: str) -> None:
    total, off = APART[name, weights]
    found = MODELS[name].file_bytes(weights) / total - 1
    assert 0 <= found / off <= 1


# Weights per GPU as an engine logs them: 39 public runs of vLLM 0.19.0.

RUNS = [row for row in read_rows(HERE / "vllm-0.19-h100.yaml") if "weights_gib" in row.seen]


@pytest.mark.parametrize("row", RUNS, ids=[row.id for row in RUNS])
def test_weights_as_logged(row: Row) -> None:
    engine = shelf().engines.engines["vllm-0.19"]
    found = Fraction(weights_per_gpu(model_of(row.model), row.weights, Layout.parse(row.layout), engine), GIB)
    logged = Fraction(str(row.seen["weights_gib"]))
    assert abs(found - logged) <= max(Fraction(15, 100), logged / 100), f"{float(found):.2f} GiB"


def test_all_runs_are_there() -> None:
    assert len(RUNS) >= 38


# Encoders.


@pytest.mark.parametrize(
    ("name", "tokens", "elements"),
    [
        ("gemma-3-4b", 256, 3 * 896 * 896),
        ("mistral-small-3.1-24b", 3025, 3 * 1540 * 1540),
        ("llama-4-scout", 17 * 144, 17 * 3 * 336 * 336),
        ("kimi-vl-a3b", 1024, 4096 * 3 * 14 * 14),
    ],
)
def test_largest_images(name: str, tokens: int, elements: int) -> None:
    model = MODELS[name]
    assert model.encoder
    assert (model.encoder_item_tokens, model.encoder_item_elements) == (tokens, elements)


def test_encoders_of_kimi() -> None:
    # MoonViT: 27 layers of 1,152, a table of 64 x 64 places, patches of 14 x 14, a projector of two matrices.
    width, inner, wide = 1152, 4304, 4 * 1152
    layer = width * 3 * width + 3 * width + width * width + width + 2 * width * inner + inner + width + 4 * width
    encoder = 64 * 64 * width + 3 * 14 * 14 * width + width + 27 * layer + 2 * width
    projector = 2 * width + wide * wide + wide + wide * 2048 + 2048
    assert [extra.count for extra in MODELS["kimi-vl-a3b"].extra] == [encoder + projector]


def test_encoder_of_llama_4() -> None:
    # 34 layers of 1,408 with biases, patches and places of 336 x 336, an adapter, a projector to the text's width.
    width, inner, out = 1408, 5632, 4096
    layer = 4 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    start = 3 * 14 * 14 * width + width + (24 * 24 + 1) * width + 4 * width
    adapter = inner * out + out * out
    for name in ("llama-4-scout", "llama-4-maverick"):
        assert [extra.count for extra in MODELS[name].extra] == [start + 34 * layer + adapter + out * 5120]
