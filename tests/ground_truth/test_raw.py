"""Rows as a collector writes them: names, words and layouts, on invented rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ground_truth.predict import shelf
from tests.ground_truth.raw import UnusableError, find_gpu, from_raw, read_raw
from tests.ground_truth.report import results, summary, table
from tests.ground_truth.rows import Row


def row_of(**said: Any) -> Row:
    row = {
        "id": "X1", "kind": "vllm_kv", "source": "invented", "model": "Qwen/Qwen3-8B", "engine": "vllm",
        "engine_version": "0.19.0", "gpu": "H100 80GB", "tp": 1, "gpu_mem_util": 0.9, "max_model_len": 8192,
        "observed": {"available_kv_gib": "50.00", "gpu_kv_tokens": 364080},
    }  # fmt: skip
    return from_raw(row | said)


# GPUs.


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("H100", "h100-sxm"), ("NVIDIA H100 80GB HBM3", "h100-sxm"), ("8xH100", "h100-sxm"),
        ("8x H100-SXM5-80GB", "h100-sxm"), ("H100 x8", "h100-sxm"), ("4 × H100 80 GB", "h100-sxm"),
        ("H100x8", "h100-sxm"),
        ("H100 NVL", ""), ("H100 PCIe", ""), ("H100-94GB", ""), ("H100 96GB", ""), ("H100NVL", ""), ("GH200", ""),
        ("H200", "h200-sxm"), ("H200 141GB", "h200-sxm"), ("NVIDIA H200", "h200-sxm"), ("H200 NVL", "h200-nvl"),
        ("2x H200 NVL 141GB", "h200-nvl"), ("GB200", ""), ("B200", "b200"), ("B200 180GB", "b200"), ("GB300", ""),
        ("B300 288GB", "b300"), ("A100-SXM4-80GB", "a100-80"), ("A100 80GB PCIe", "a100-80"),
        ("2xA100-80GB", "a100-80"),
        ("A100-SXM4-40GB", ""), ("A100 40GB", ""), ("A100-40G", ""), ("A100", ""), ("A800 80GB", ""),
        ("H20 96GB", "h20-96"), ("H20-96G", "h20-96"), ("H20-141GB", "h20-141"), ("H20", ""),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"), ("4x RTX 4090 24GB", "rtx-4090"), ("RTX4090", "rtx-4090"),
        ("RTX 4090 48GB", ""), ("RTX 4090 Laptop", ""), ("RTX 4090 D", ""), ("2x RTX 3090", "rtx-3090"),
        ("RTX 5090", "rtx-5090"), ("RTX 5090 32GB", "rtx-5090"), ("RTX 5090 Laptop 24GB", ""),
        ("RTX PRO 6000 Blackwell 96GB", "rtx-pro-6000"), ("RTX 3090 + RTX 4090", ""), ("L40S", "l40s"), ("L40", "l40"),
        ("NVIDIA L40 48GB", "l40"), ("L20", "l20"), ("L4", "l4"), ("L4 24GB", "l4"), ("A40", ""), ("A10G", ""),
        ("MI300X", "mi300x"), ("8x MI300X 192GB", "mi300x"), ("MI325X", ""), ("MI355X", "mi355x"), ("GB10", "gb10"),
        ("NVIDIA DGX Spark (GB10)", "gb10"), ("Jetson AGX Thor 128GB", "jetson-thor"), ("H100 MIG 3g.40gb", ""),
        ("", ""), ("H200 (limited to 80GB)", ""),
    ],
)  # fmt: skip
def test_gpus_of_people(name: str, wanted: str) -> None:
    assert find_gpu(name) == wanted
    assert not wanted or wanted in shelf().catalog.gpus()


# KV formats.


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"model": "zai-org/GLM-5.2-FP8", "kv_dtype": "fp8", "gpu": "H200"}, "fp8_ds_mla"),
        ({"model": "deepseek-ai/DeepSeek-V3.2", "kv_dtype": "fp8_e4m3", "gpu": "8xH200"}, "fp8_ds_mla"),
        ({"model": "deepseek-ai/DeepSeek-V3.2", "kv_dtype": "fp8", "gpu": "GH200"}, "fp8_ds_mla"),
        ({"model": "zai-org/GLM-5.2", "kv_dtype": None, "gpu": "H200"}, "bf16"),
        ({"model": "zai-org/GLM-5.2", "kv_dtype": "auto (bf16)", "gpu": "H200"}, "bf16"),
        ({"model": "zai-org/GLM-5.2", "kv_dtype": "fp8, 656 B a row", "gpu": ""}, "fp8_ds_mla"),
        ({"model": "deepseek-ai/DeepSeek-V4-Flash", "kv_dtype": None, "gpu": "H200", "engine_version": "0.28.0"},
         "fp8_ds_mla"),
        ({"model": "deepseek-ai/DeepSeek-V4-Pro", "kv_dtype": "auto", "gpu": "B200", "engine_version": "0.28.0"},
         "fp8_ds_mla"),
        ({"model": "deepseek-ai/DeepSeek-V4-Flash", "kv_dtype": None, "gpu": "", "engine_version": "0.28.0"},
         "fp8_ds_mla"),
        ({"kv_dtype": "fp8"}, "fp8"), ({"kv_dtype": "fp8_e5m2", "gpu": ""}, "fp8"), ({"kv_dtype": None}, "bf16"),
        ({"kv_dtype": "bfloat16"}, "bf16"), ({"kv_dtype": "torch.float16"}, "bf16"), ({"kv_dtype": "fp16"}, "bf16"),
        ({"kv_dtype": "nvfp4", "gpu": "RTX PRO 6000", "engine_version": "0.28.0"}, "nvfp4"),
        ({"model": "deepseek-ai/DeepSeek-R1", "kv_dtype": "fp8", "gpu": "H200"}, "fp8"),
    ],
)  # fmt: skip
def test_kv_formats_by_the_rule_of_the_engine(said: dict[str, Any], wanted: str) -> None:
    assert row_of(**said).kv == wanted


def test_kv_formats_that_a_gpu_decides() -> None:
    said = {"kind": "sglang_kv", "engine": "sglang", "engine_version": "0.5.23", "model": "GLM-5.2", "kv_dtype": "fp8"}
    assert row_of(**said, gpu="H200").kv == "fp8_ds_mla"
    assert row_of(**said, gpu="B200").kv == "fp8"
    with pytest.raises(UnusableError, match="fp8 or fp8_ds_mla, by a GPU that is not said"):
        row_of(**said, gpu="eight cards")


def test_unknown_kv_formats_are_refused() -> None:
    with pytest.raises(UnusableError, match="KV format 'turbo3' is not known"):
        row_of(kv_dtype="turbo3")


# Weights.


@pytest.mark.parametrize(
    ("model", "word", "wanted"),
    [
        ("Qwen/Qwen3-8B", None, "bf16"), ("Qwen/Qwen3-8B", "bf16", "bf16"), ("Qwen/Qwen3-8B", "none", "bf16"),
        ("Qwen/Qwen3-8B", "auto", "bf16"), ("Qwen/Qwen3-8B", "float16", "bf16"), ("Qwen/Qwen3-8B", "FP16", "bf16"),
        ("Qwen/Qwen3-8B-FP8", None, "fp8"), ("Qwen/Qwen3-8B-FP8", "none", "fp8"), ("Qwen/Qwen3-8B", "fp8", "fp8"),
        ("Qwen/Qwen3-8B-AWQ", None, "int4"), ("Qwen/Qwen3-32B-AWQ", "awq_marlin", "int4"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "gptq", "int4"), ("Qwen/Qwen2.5-7B-Instruct", "w4a16", "int4"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "compressed-tensors", "int4"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", None, "w8a8"),
        ("RedHatAI/phi-4-FP8-dynamic", None, "fp8-dynamic"),
        ("RedHatAI/gemma-3-27b-it-FP8-dynamic", None, "fp8-dynamic"),
        ("zai-org/GLM-4.5-Air-FP8", "fp8", "fp8"), ("deepseek-ai/DeepSeek-R1-0528", None, "fp8"),
        ("deepseek-ai/DeepSeek-V3", None, "fp8"), ("deepseek-ai/DeepSeek-V3.1-Terminus", "auto", "fp8"),
        ("openai/gpt-oss-120b", None, "mxfp4"), ("openai/gpt-oss-20b", "none", "mxfp4"),
        ("moonshotai/Kimi-K2-Instruct", None, "fp8"), ("nvidia/DeepSeek-V3.1-NVFP4", None, "nvfp4"),
    ],
)  # fmt: skip
def test_weights_of_words_and_names(model: str, word: str | None, wanted: str) -> None:
    row = row_of(model=model, weight_quant=word)
    assert row.weights == wanted
    assert row.gpu == "h100-sxm", "the catalogue has the weights, so the memory is predicted"


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("deepseek-ai/DeepSeek-V3", "bf16"), ("Qwen/Qwen3-8B", "nvfp4"), ("Qwen/Qwen3-8B", "gguf q4_k_m"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "gptq"), ("Qwen/Qwen3-8B", "bitsandbytes"), ("Qwen/Qwen3-8B", "hqq"),
    ],
)  # fmt: skip
def test_weights_that_the_catalogue_lacks_are_not_predicted(model: str, word: str) -> None:
    assert not row_of(model=model, weight_quant=word).gpu


# Layouts, versions, options.


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"tp": 8}, "tp8"), ({"tp": 8, "ep": 1}, "tp8"), ({"tp": 8, "ep": True}, "tp8-ep8"),
        ({"tp": 8, "ep": "true"}, "tp8-ep8"), ({"tp": 8, "ep": False}, "tp8"), ({"tp": 8, "ep": 8}, "tp8-ep8"),
        ({"tp": 1, "dp": 8, "ep": True}, "dp8-ep8"), ({"tp": 2, "dp": 4, "ep": True}, "dp4-tp2-ep8"),
        ({"tp": 1, "dp": 8}, "tp1"), ({"tp": 4, "pp": 2}, "tp4-pp2"), ({"tp": None}, "tp1"),
        ({"kind": "sglang_kv", "tp": 8, "dp": 8}, "dp8-ep8"), ({"kind": "sglang_kv", "tp": 8, "ep": True}, "tp8-ep8"),
        ({"kind": "sglang_kv", "tp": 8, "dp": 4}, "dp4-tp2-ep8"),
        ({"model": "Qwen/Qwen3-8B", "tp": 8, "ep": True}, "tp8"),
    ],
)  # fmt: skip
def test_layouts(said: dict[str, Any], wanted: str) -> None:
    engine = {"engine_version": "0.5.23"} if said.get("kind") else {}
    row = row_of(**({"model": "deepseek-ai/DeepSeek-R1", "gpu": "H200"} | engine | said))
    assert row.layout == wanted


@pytest.mark.parametrize(
    ("version", "engine", "kept"),
    [
        ("0.19.0", "vllm-0.19", "0.19.0"), ("v0.19.0", "vllm-0.19", "0.19.0"),
        ("v0.28.1rc1.dev701", "vllm-0.28", "0.28.1rc1.dev701"),
        ("0.10.2", "vllm-0.19", "0.10.2"), ("2026-04", "vllm-0.19", ""),
    ],
)  # fmt: skip
def test_versions(version: str, engine: str, kept: str) -> None:
    seen = {"available_kv_gib": "50.00", "gpu_kv_tokens": 364080, "max_concurrency_x": 43.9}
    row = row_of(engine_version=version, observed=seen)
    assert (row.engine, row.version) == (engine, kept)
    assert bool(row.gpu) == bool(kept), "without a version the memory is not predicted"


def test_rows_of_no_use_say_why() -> None:
    with pytest.raises(UnusableError, match="no model 'acme/Nothing-7B'"):
        row_of(model="acme/Nothing-7B")
    with pytest.raises(UnusableError, match="neither tokens nor GiB"):
        row_of(observed={"weights_gib_per_gpu": 15.3})
    with pytest.raises(UnusableError, match="no profile is of a version of 2025-01"):
        row_of(engine_version="2025-01")


# Options that a source names but does not say.

DRAFTED = {
    "id": "X2", "model": "Qwen/Qwen3.8-27B", "engine_version": "0.24.0", "gpu": "RTX 5090", "tp": 2, "kv_dtype": "fp8",
    "max_model_len": 262144, "observed": {"gpu_kv_tokens": 270930, "max_concurrency_x": 1.03},
}  # fmt: skip


def test_options_of_drafts_are_not_said() -> None:
    plain = row_of(**DRAFTED)
    assert not plain.unsaid
    (wrong,) = results([plain])
    assert wrong.whole_blocks is False
    assert "NO BLOCKS" in table([wrong])
    for note in ("without MTP", "no draft model", "MTP off", "speculative decoding disabled", "raftered"):
        assert not row_of(**DRAFTED, note=note).unsaid
    for note in ("with MTP", "EAGLE3 drafts", "3 draft tokens", "num_speculative_tokens", "speculative decoding"):
        drafted = row_of(**DRAFTED, note=note)
        assert drafted.unsaid
        assert not drafted.gpu
    (found,) = results([drafted])
    assert "NO BLOCKS" not in table([found])
    assert "not said" in table([found])
    assert summary([found]) == ["not said: options of X2, such as draft tokens, which the source names"]


def test_a_row_that_fits_counts_although_it_drafts() -> None:
    (found,) = results([row_of(note="with MTP, which this model has not", engine_version="v0.19.0")])
    assert found.bytes is not None
    assert found.bytes.off == 0
    assert "exact" in table([found])


def test_rows_of_a_file(tmp_path: Path) -> None:
    one = {
        "id": "A", "kind": "vllm_kv", "source": "invented", "model": "mistralai/Mistral-Nemo-Instruct-2407",
        "engine_version": "v0.19.0", "gpu": "A100-SXM4-40GB", "tp": 1, "observed": {"gpu_kv_tokens": 16},
    }  # fmt: skip
    two = one | {"id": "B", "kind": "weights"}
    three = one | {"id": "C", "model": None}
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (one, two, three)), encoding="utf-8")
    found = list(read_raw(path))
    assert [row.id if isinstance(row, Row) else row for row in found] == ["A", ("C", "the catalogue has no model ''")]


# Names of models that public runs use.


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"), ("Qwen/QwQ-32B-AWQ", "qwq-32b"),
        ("RedHatAI/DeepSeek-R1-Distill-Llama-70B-quantized.w4a16", "llama-3.1-70b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"), ("Qwen/Qwen2.5-Coder-32B-Instruct-AWQ", "qwen2.5-32b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b-2507"), ("Qwen/Qwen2-7B-Instruct", "qwen2.5-7b"),
    ],
)  # fmt: skip
def test_models_of_rows(name: str, wanted: str) -> None:
    assert row_of(model=name).model == wanted
