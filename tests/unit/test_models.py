"""Attention families, parameters, weights and KV bytes against published figures (kv-facts.md)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner.attention import FAMILIES, Attention
from planner.attention.chunked import Chunked
from planner.attention.compressed import Compressed
from planner.attention.dsa import Dsa
from planner.attention.gdn import Gdn
from planner.attention.gqa import Gqa
from planner.attention.indexed_gqa import IndexedGqa
from planner.attention.kda import Kda
from planner.attention.mamba2 import Mamba2
from planner.attention.mla import Mla
from planner.attention.sliding_window import SlidingWindow
from planner.errors import InputError
from planner.kvcache import KvCache, custom_cache, kv_cache, rank_share
from planner.models import Model
from tests.unit import tiny
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


# The same in BF16 with megabytes of windows and states per session: kv-facts.md, model table, and for models beyond it
# twice heads x elements x 2 B of the layers that see everything, from the official configurations.
MORE_RATES = {
    "command-a": (16 * 8 * 512, 805.3),
    "deepseek-r1-distill-qwen-32b": (64 * 8 * 512, 0),
    "deepseek-r1-distill-qwen-7b": (28 * 4 * 512, 0),
    "deepseek-v2-lite": (27 * 1152, 0),
    "deepseek-v4-flash": (6_229, 17.8),
    "deepseek-v4-pro": (8_918, 26.7),
    "devstral-2-123b": (88 * 8 * 512, 0),
    "devstral-small-2-24b": (40 * 8 * 512, 0),
    "devstral-small-24b": (40 * 8 * 512, 0),
    "ernie-4.5-300b": (54 * 8 * 512, 0),
    "exaone-4-32b": (16 * 8 * 512, 805.3),
    "gemma-2-27b": (23 * 16 * 512, 771.8),
    "gemma-2-2b": (13 * 4 * 1024, 218.1),
    "gemma-2-9b": (21 * 8 * 1024, 704.6),
    "gemma-3-12b": (65_536, 336),
    "gemma-3-1b": (4_096, 11.5),
    "gemma-3-27b": (81_920, 436),
    "gemma-3-4b": (20_480, 122),
    "gemma-4-26b-a4b": (20_480, 210),
    "gemma-4-31b": (81_920, 839),
    "gemma-7b": (28 * 16 * 1024, 0),
    "glm-4.5": (376_832, 0),
    "glm-4.5-air": (188_416, 0),
    "glm-4.7": (376_832, 0),
    "glm-4.7-flash": (54_144, 0),
    "glm-5.3-flash": (11_627, 147.6),
    "granite-3.1-2b": (40 * 8 * 256, 0),
    "granite-3.1-8b": (40 * 8 * 512, 0),
    "granite-3.3-2b": (40 * 8 * 256, 0),
    "granite-3.3-8b": (40 * 8 * 512, 0),
    "granite-4.0-h-small": (4 * 8 * 512, 77.3),
    "hy3": (327_680, 0),
    "kimi-dev-72b": (80 * 8 * 512, 0),
    "kimi-k2-thinking": (70_272, 0),
    "kimi-k3": (27_648, 449.4),
    "kimi-linear-48b-a3b": (8_064, 43.4),
    "kimi-vl-a3b": (27 * 1152, 0),
    "ling-1t": (80 * 8 * 512, 0),
    "llama-2-13b": (40 * 40 * 512, 0),
    "llama-2-70b": (80 * 8 * 512, 0),
    "llama-2-7b": (32 * 32 * 512, 0),
    "llama-3-70b": (80 * 8 * 512, 0),
    "llama-3-8b": (32 * 8 * 512, 0),
    "llama-3.2-1b": (16 * 8 * 256, 0),
    "llama-3.2-3b": (28 * 8 * 512, 0),
    "llama-4-maverick": (49_152, 1_208),
    "llama-4-scout": (49_152, 1_208),
    "mimo-v2-flash": (23_040, 25.6),
    "minimax-m3": (137_472, 0),
    "ministral-3-3b": (26 * 8 * 512, 0),
    "ministral-3-8b": (139_264, 0),
    "mistral-7b": (131_072, 0),
    "mistral-7b-v0.1": (0, 536.9),
    "mistral-7b-v0.2": (32 * 8 * 512, 0),
    "mistral-large-2407": (88 * 8 * 512, 0),
    "mistral-medium-3.5-128b": (360_448, 0),
    "mistral-nemo-12b": (40 * 8 * 512, 0),
    "mistral-small-24b-2501": (40 * 8 * 512, 0),
    "mistral-small-3.1-24b": (40 * 8 * 512, 0),
    "mistral-small-4-119b": (23_040, 0),
    "mixtral-8x22b": (229_376, 0),
    "nemotron-3-nano": (6_144, 49.1),
    "nemotron-3-super": (8_192, 170),
    "nemotron-3-ultra": (12_288, 408),
    "nemotron-h-56b": (40_960, 913),
    "olmo-3-32b": (16 * 8 * 512, 805.3),
    "phi-3.5-mini": (32 * 32 * 384, 0),
    "phi-3.5-moe": (131_072, 0),
    "phi-4": (204_800, 0),
    "phi-4-mini": (32 * 8 * 512, 0),
    "phi-4-reasoning": (40 * 10 * 512, 0),
    "qwen1.5-moe-a2.7b": (24 * 16 * 512, 0),
    "qwen2.5-0.5b": (24 * 2 * 256, 0),
    "qwen2.5-1.5b": (28 * 2 * 512, 0),
    "qwen2.5-14b": (48 * 8 * 512, 0),
    "qwen2.5-32b": (64 * 8 * 512, 0),
    "qwen2.5-3b": (36 * 2 * 512, 0),
    "qwen2.5-72b": (80 * 8 * 512, 0),
    "qwen2.5-7b": (28 * 4 * 512, 0),
    "qwen2.5-vl-7b": (28 * 4 * 512, 0),
    "qwen3-0.6b": (114_688, 0),
    "qwen3-1.7b": (28 * 8 * 512, 0),
    "qwen3-14b": (40 * 8 * 512, 0),
    "qwen3-235b-a22b-2507": (94 * 4 * 512, 0),
    "qwen3-30b-a3b-2507": (48 * 4 * 512, 0),
    "qwen3-4b": (36 * 8 * 512, 0),
    "qwen3-4b-2507": (36 * 8 * 512, 0),
    "qwen3-coder-30b-a3b": (48 * 4 * 512, 0),
    "qwen3-next-80b-a3b": (24_576, 39.5),
    "qwen3-vl-235b-a22b": (94 * 4 * 512, 0),
    "qwen3-vl-30b-a3b": (48 * 4 * 512, 0),
    "qwen3-vl-32b": (64 * 8 * 512, 0),
    "qwen3-vl-8b": (36 * 8 * 512, 0),
    "qwen3.5-122b-a10b": (24_576, 153.6),
    "qwen3.5-27b": (65_536, 153.9),
    "qwen3.5-35b-a3b": (20_480, 64.4),
    "qwen3.5-397b-a17b": (30_720, 192.1),
    "qwen3.5-9b": (8 * 4 * 1024, 51.5),
    "qwen3.6-27b": (65_536, 153.9),
    "qwen3.6-35b-a3b": (20_480, 64.4),
    "qwen3.8-27b": (65_536, 153.9),
    "qwq-32b": (64 * 8 * 512, 0),
    "seed-oss-36b": (64 * 8 * 512, 0),
    "smollm3-3b": (36 * 4 * 512, 0),
    "step-3.5-flash": (49_152, 69.2),
    "step-3.7-flash": (49_152, 69.2),
}


@pytest.mark.parametrize("model", MORE_RATES)
def test_rates_windows_and_states_as_published(model: str) -> None:
    rate, megabytes = MORE_RATES[model]
    cache = kv_cache(shelf().model(model), "bf16")
    assert cache.rate == rate
    assert float(cache.constant_bytes(131_072)) / 1e6 == pytest.approx(megabytes, abs=0.55 if megabytes > 100 else 0.05)


def test_every_model_has_a_published_rate() -> None:
    assert {model for model, _ in RATES} | set(MORE_RATES) == set(IDS)


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
    "chunked": [("bf16", 512), ("fp8", 256)],
    "indexed_gqa": [("bf16", 512), ("fp8", 256)],
    "compressed": [("bf16", 256), ("fp8", 128), ("fp8_ds_mla", 146)],  # a quarter of a row of 512
}
STATES = {"gdn": 1_097_728, "kda": 2_170_880, "mamba2": 2_134_016}
"""Bytes per layer and sequence: Qwen3-Next, Kimi-Linear, Nemotron-3-Nano."""
LATENT = {"layers": 1, "heads": 64, "rank": 512, "rope": 64, "nope": 192, "value_dim": 256, "query_rank": 2048}
HEADS = {"layers": 1, "heads": 8, "kv_heads": 1, "key_dim": 128, "value_dim": 128}
V4 = {"heads": 64, "dim": 512, "rope": 64, "query_rank": 1024, "output_rank": 1024, "output_groups": 8,
      "sparse_ratio": 4, "dense_ratio": 128, "window": 128, "indexer_heads": 64, "indexer_dim": 128,
      "topk": 512}  # fmt: skip
ONE_LAYER: dict[str, Attention] = {
    "dsa": Dsa(**LATENT, indexer_layers=1, indexer_heads=32, indexer_dim=128, topk=2048),
    "mla": Mla(**LATENT),
    "gqa": Gqa(**HEADS),
    "sliding_window": SlidingWindow(**HEADS, window=128),
    "chunked": Chunked(**HEADS, chunk=8192),
    "indexed_gqa": IndexedGqa(**HEADS, indexer_layers=1, indexer_heads=4, indexer_dim=128, selected=2048),
    "compressed": Compressed(**V4, layers=1, sparse_layers=1, dense_layers=0),
    "gdn": Gdn(layers=1, kernel=4, state_type="bf16", key_heads=16, value_heads=32, key_dim=128, value_dim=128),
    "kda": Kda(layers=1, kernel=4, state_type="fp32", heads=32, dim=128),
    "mamba2": Mamba2(layers=1, kernel=4, state_type="fp32", heads=64, dim=64, groups=8, state=128),
}


def test_every_family_has_a_published_row_or_state() -> None:
    assert set(ROWS) | set(STATES) == set(FAMILIES) == set(ONE_LAYER)


@pytest.mark.parametrize("family", ROWS)
def test_rows_of_each_family_as_published(family: str) -> None:
    group = ONE_LAYER[family]
    assert {name for name, _ in ROWS[family]} <= set(group.formats())
    for kv_format, size in ROWS[family]:
        assert group.cache_parts(kv_format)[0].row_bytes == size


@pytest.mark.parametrize("family", STATES)
def test_states_of_each_family_as_published(family: str) -> None:
    group = ONE_LAYER[family]
    assert (group.formats(), group.read_fraction_tokens(1000), group.rope_elements()) == ({}, {}, 0)
    for kv_format in ("bf16", "fp8"):
        (part,) = group.cache_parts(kv_format)
        assert (part.state_bytes, part.row_bytes, part.grows) == (STATES[family], 0, False)


def test_indexer_keys_are_132_bytes_beside_every_format() -> None:
    for kv_format in ONE_LAYER["dsa"].formats():
        assert ONE_LAYER["dsa"].cache_parts(kv_format)[1].row_bytes == 132


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_family_answers_every_question(family: str) -> None:
    group = ONE_LAYER[family]
    names = {part.name for part in group.cache_parts("bf16")}
    assert set(group.read_fraction_tokens(100_000)) <= names
    assert all(0 < tokens <= 100_000 for tokens in group.read_fraction_tokens(100_000).values())
    assert group.prefill_flops(1000) >= group.prefill_flops(100) > 0
    assert group.tensor_limit() > 0
    assert sum(weights.count for weights in group.weights(1024)) > 0


def test_attention_that_forgets_reads_less_not_stores_less() -> None:
    assert ONE_LAYER["dsa"].read_fraction_tokens(131_072) == {"latent": 2048, "indexer key": 131_072}
    assert ONE_LAYER["sliding_window"].read_fraction_tokens(131_072) == {"K and V, window 128": 128}
    assert ONE_LAYER["mla"].read_fraction_tokens(131_072) == {"latent": 131_072}
    assert ONE_LAYER["chunked"].read_fraction_tokens(131_072) == {"K and V, chunk 8192": 8192}
    assert ONE_LAYER["indexed_gqa"].read_fraction_tokens(131_072) == {"K and V": 2048, "indexer key": 131_072}
    assert ONE_LAYER["compressed"].read_fraction_tokens(131_072)["latent, 1 per 4"] == 2048


def test_attention_in_chunks_works_within_its_own() -> None:
    one = ONE_LAYER["gqa"].prefill_flops(1)
    assert [ONE_LAYER["chunked"].prefill_flops(p) for p in (8191, 8192, 8200)] == [8191 * one, 0, 8 * one]


def kv_of(*groups: Attention) -> KvCache:
    return kv_cache(tiny.model(attention=groups), "bf16")


def heads(layers: int, kv_heads: int, dim: int, value: int | None = None, **changes: int) -> dict[str, int]:
    return {"layers": layers, "heads": 64, "kv_heads": kv_heads, "key_dim": dim, "value_dim": value or dim} | changes


def gdn(layers: int, value_heads: int, state: str = "fp32") -> Gdn:
    return Gdn(
        layers=layers, kernel=4, state_type=state, key_heads=16, value_heads=value_heads, key_dim=128, value_dim=128
    )  # type: ignore[arg-type]


def kda(layers: int, n_heads: int) -> Kda:
    return Kda(layers=layers, kernel=4, state_type="fp32", heads=n_heads, dim=128)


def mamba(layers: int, n_heads: int, state: int = 128) -> Mamba2:
    return Mamba2(layers=layers, kernel=4, state_type="fp32", heads=n_heads, dim=64, groups=8, state=state)


def v4(layers: int, sparse: int, dense: int) -> Compressed:
    return Compressed(**V4, layers=layers, sparse_layers=sparse, dense_layers=dense)


def minimax_m3(key: int) -> IndexedGqa:
    return IndexedGqa(
        **heads(60, 4, 128), indexer_layers=57, indexer_heads=4, indexer_dim=128, indexer_key_bytes=Fraction(key),
        selected=2048,
    )  # fmt: skip


# kv-facts.md, model table: layers, bytes per token in BF16 and in FP8, megabytes of windows and states.
PUBLISHED = {
    "glm-5.3-flash": (
        (Dsa(layers=11, heads=64, rank=512, rope=0, nope=192, value_dim=256, query_rank=2048, indexer_layers=11,
             indexer_heads=32, indexer_dim=128, indexer_pool=4, topk=2048), kda(34, 64)), 11_627, 5_995, 147.6),
    "kimi-k3": ((Mla(**LATENT | {"layers": 24}), kda(69, 96)), 27_648, 13_824, 449.4),
    "kimi-linear": ((Mla(**LATENT | {"layers": 6}), kda(21, 32)), 6_912, 3_456, 45.6),
    "qwen3-next-80b": ((Gqa(**heads(12, 2, 256)), gdn(36, 32, "bf16")), 24_576, 12_288, 39.5),
    "qwen3.5-27b": ((Gqa(**heads(16, 4, 256)), gdn(48, 48)), 65_536, 32_768, 153.9),
    "qwen3.5-27b-bf16": ((Gqa(**heads(16, 4, 256)), gdn(48, 48, "bf16")), 65_536, 32_768, 78.4),
    "qwen3.5-35b": ((Gqa(**heads(10, 2, 256)), gdn(30, 32)), 20_480, 10_240, 64.4),
    "qwen3.5-122b": ((Gqa(**heads(12, 2, 256)), gdn(36, 64)), 24_576, 12_288, 153.6),
    "qwen3.5-397b": ((Gqa(**heads(15, 2, 256)), gdn(45, 64)), 30_720, 15_360, 192.1),
    "llama-4-scout": ((Gqa(**heads(12, 8, 128)), Chunked(**heads(36, 8, 128), chunk=8192)), 49_152, 24_576, 1208.0),
    "gemma-3-27b": (
        (Gqa(**heads(10, 16, 128)), SlidingWindow(**heads(52, 16, 128), window=1024)), 81_920, 40_960, 436.2),
    "gemma-4-31b": (
        (Gqa(**heads(10, 4, 512)), SlidingWindow(**heads(50, 16, 256), window=1024)), 81_920, 40_960, 838.9),
    "gemma-3n": (
        (Gqa(**heads(7, 2, 256, stored_layers=4)), SlidingWindow(**heads(28, 2, 256, stored_layers=16), window=512)),
        8_192, 4_096, 16.8),
    "mimo-v2-flash": (
        (Gqa(**heads(9, 4, 192, 128)), SlidingWindow(**heads(39, 8, 192, 128), window=128)), 23_040, 11_520, 25.6),
    "nemotron-3-nano": ((Gqa(**heads(6, 2, 128)), mamba(23, 64)), 6_144, 3_072, 49.1),
    "nemotron-3-super": ((Gqa(**heads(8, 2, 128)), mamba(40, 128)), 8_192, 4_096, 170.2),
    "nemotron-3-ultra": ((Gqa(**heads(12, 2, 128)), mamba(48, 256)), 12_288, 6_144, 408.0),
    "nemotron-h-56b": ((Gqa(**heads(10, 8, 128)), mamba(54, 256, 256)), 40_960, 20_480, 912.6),
    "minimax-m3": ((minimax_m3(2),), 137_472, 76_032, 0),
    "minimax-m3-fp8-keys": ((minimax_m3(1),), 130_176, 68_736, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_hybrids_as_published(name: str) -> None:
    groups, bf16, fp8, megabytes = PUBLISHED[name]
    model = tiny.model(attention=groups)
    wide, narrow = kv_cache(model, "bf16"), kv_cache(model, "fp8")
    assert (wide.bytes_per_token, narrow.bytes_per_token) == (bf16, fp8)
    assert float(wide.constant_bytes(131_072)) / 1e6 == pytest.approx(megabytes, abs=0.05)
    assert wide.session_bytes(131_072) == wide.rate * 131_072 + wide.constant_bytes(131_072)


@pytest.mark.parametrize(
    ("group", "bf16", "ds", "windows"),
    [(v4(43, 21, 20), 6_229, 3_850, 43 * 128 * 584), (v4(61, 30, 31), 8_918, 5_511, 61 * 128 * 584)],
    ids=["flash", "pro"],
)
def test_deepseek_v4_as_published(group: Compressed, bf16: int, ds: int, windows: int) -> None:
    model = tiny.model(attention=(group,))
    packed = kv_cache(model, "fp8_ds_mla")
    assert (int(kv_cache(model, "bf16").rate), int(packed.rate)) == (bf16, ds)
    held = {part.name: part.sequence_bytes(131_072) for part in packed.parts if not part.grows}
    assert held["latent, window 128"] == windows
    # Partial sums and weights in fp32: 8 tokens of two windows of 4, 128 tokens of one.
    assert held["compressor ring 8"] == group.sparse_layers * 8 * 512 * 16
    assert held["indexer ring 8"] == group.sparse_layers * 8 * 128 * 16
    assert held["compressor ring 128"] == group.dense_layers * 128 * 512 * 8


def test_states_do_not_grow_and_windows_fill() -> None:
    kv = kv_of(Gqa(**HEADS), SlidingWindow(**HEADS, window=128), ONE_LAYER["gdn"])
    assert kv.state_bytes == STATES["gdn"]
    assert [kv.constant_bytes(tokens) - kv.state_bytes for tokens in (0, 100, 128, 10**6)] == [
        0, 51_200, 65_536, 65_536
    ]  # fmt: skip
    assert kv.formula() == "1 x 512 (K and V)"


def test_positions_take_one_table_per_kind_of_rotation() -> None:
    full, windowed = Gqa(**HEADS), SlidingWindow(**HEADS, window=128)
    assert tiny.model(attention=(full, windowed)).rope_table_elements == 2**20 * 128
    local = SlidingWindow(**HEADS, window=128, rotary=64)
    assert tiny.model(attention=(full, local)).rope_table_elements == 2**20 * 192
    assert tiny.model(attention=(Gqa(**HEADS, rotary=0), ONE_LAYER["gdn"])).rope_table_elements == 0
    assert ONE_LAYER["mla"].rope_elements() == 64


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
    "gpt-oss-120b": 117e9, "glm-4.5": 358e9, "glm-4.7": 358e9, "glm-4.5-air": 106e9, "glm-4.7-flash": 30e9,
    "glm-5.3-flash": 320e9, "deepseek-v4-flash": 284e9, "deepseek-v4-pro": 1.6e12, "kimi-k3": 2.8e12,
    "kimi-k2-thinking": 1026e9, "qwen3-next-80b-a3b": 80e9, "qwen3.5-27b": 27e9, "qwen3.6-27b": 27e9,
    "qwen3.8-27b": 27e9, "qwen3.5-35b-a3b": 35e9, "qwen3.6-35b-a3b": 35e9, "qwen3.5-122b-a10b": 122e9,
    "qwen3.5-397b-a17b": 397e9, "llama-4-scout": 109e9, "ministral-3-8b": 8.9e9, "mistral-small-4-119b": 119e9,
    "mistral-medium-3.5-128b": 128e9, "minimax-m3": 427e9, "gemma-4-31b": 31e9, "gemma-4-26b-a4b": 26e9,
    "nemotron-3-super": 120e9, "nemotron-3-ultra": 550e9, "nemotron-h-56b": 56e9, "mimo-v2-flash": 309e9,
    "step-3.7-flash": 198e9, "hy3": 295e9, "command-a": 111e9, "devstral-2-123b": 123e9, "devstral-small-2-24b": 24e9,
    "ernie-4.5-300b": 300e9, "exaone-4-32b": 32e9, "granite-3.1-8b": 8.17e9, "kimi-dev-72b": 72.7e9, "ling-1t": 1e12,
    "mistral-large-2407": 123e9, "nemotron-3-nano": 31.6e9, "olmo-3-32b": 32e9, "phi-3.5-moe": 42e9,
    "qwen3-vl-235b-a22b": 235e9, "qwen3-vl-30b-a3b": 31e9, "qwen3-vl-32b": 33e9, "qwen3-vl-8b": 8.77e9,
    "seed-oss-36b": 36e9, "step-3.5-flash": 196.96e9, "granite-3.1-2b": 2.5e9, "granite-3.3-2b": 2.5e9,
    "granite-4.0-h-small": 32.2e9, "qwen3.5-9b": 9.41e9,
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
    named = {name for name in IDS if shelf().model(name).parameters is not None}
    assert set(PARAMETERS) | set(ROUND) | named == set(IDS)


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
    # As the index says, draft layer included; the routers' corrections are fp32.
    assert shelf().model("glm-5.2").weight_bytes("bf16", 1) == 1_506_659_919_872


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
