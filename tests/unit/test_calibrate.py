"""Logs against the model: what they are of, what was predicted, what is written, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from planner.budget import Launch, known_budget, unused_runs
from planner.enginelogs import EngineLog, read_log
from planner.errors import InputError
from planner.layout import Layout
from planner.loading import load_shelf
from planner.questions.calibrate import Calibration, calibrate
from planner.questions.identify import Known, default_kv_format, identify, match_model, profile_of
from planner.views.calibrate import calibration_report, measured_text
from tests.unit.tiny import GIB, shelf

H100 = Known(gpu="h100-sxm")

# The figures of a public run of Llama-3.1-8B-Instruct with vLLM 0.19.0 on an H100 (ground truth V018).
LLAMA = """INFO 11-02 09:14:22 [core.py:140] Initializing a V1 LLM engine (v0.19.0) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, \
pipeline_parallel_size=1, data_parallel_size=1, quantization=None, kv_cache_dtype=auto
INFO 11-02 09:15:40 [gpu_model_runner.py:1] Model loading took 14.99 GiB memory and 11.302144 seconds
INFO 11-02 09:16:12 [gpu_worker.py:1] Available KV cache memory: 58.11 GiB
INFO 11-02 09:16:13 [kv_cache_utils.py:1] GPU KV cache size: 476,000 tokens
INFO 11-02 09:16:13 [kv_cache_utils.py:2] Maximum concurrency for 8,192 tokens per request: 58.11x
"""


def of(text: str, known: Known = H100) -> Calibration:
    log = read_log(text)
    run = identify(log, known, shelf())
    return calibrate(log, replace(run, launch=replace(run.launch, utilisation_fraction=Fraction(95, 100))), "mine")


def figures(found: Calibration) -> dict[str, tuple[int, bool]]:
    return {c.what: (int(c.predicted), c.within_print) for c in found.comparisons}


def test_public_run_is_met_figure_by_figure() -> None:
    found = of(LLAMA)
    seen = figures(found)
    assert seen["model loaded"][1] and seen["the same, from the memory seen"][0] == pytest.approx(476_000, abs=64)
    assert seen["KV memory"][0] == pytest.approx(58.11 * GIB, rel=0.001)
    assert seen["maximum concurrency, from the memory seen"][1]
    assert found.kv_gap_bytes is not None and abs(found.kv_gap_bytes) < 0.02 * GIB


def test_gap_is_the_sum_of_its_parts() -> None:
    found = of(LLAMA.replace("14.99 GiB", "19.99 GiB").replace("58.11 GiB", "53.00 GiB"))
    parts = sum(c.part_of_gap for c in found.comparisons)
    assert parts + found.unexplained_bytes == found.kv_gap_bytes
    assert next(c for c in found.comparisons if c.what == "model loaded").part_of_gap == pytest.approx(
        -5 * GIB, rel=0.01
    )
    text = "\n".join(str(block) for block in calibration_report(found).blocks)
    assert "less KV memory per GPU than predicted" in text and "-5.00 GiB model loaded" in text


def test_what_was_measured_serves_later_runs(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(measured_text(of(LLAMA)), encoding="utf-8")
    own = load_shelf((file,))
    row = next(row for row in own.engines.measured if row.id == "mine")
    model, gpu, engine = own.model("llama-3.1-8b"), own.catalog.gpus()["h100-sxm"], own.engines.engines["vllm-0.19"]
    launch = Launch(8192, Fraction(95, 100), kv_format="bf16")
    known = known_budget(model, gpu, engine, "bf16", "bf16", Layout(), launch, (row,))
    assert (known.evidence, known.kv_bytes) == ("measured", row.kv_memory_bytes)
    # Another KV format has the same budget; another engine is another run, and a reader is told.
    fp8 = replace(launch, kv_format="fp8")
    assert known_budget(model, gpu, engine, "bf16", "fp8", Layout(), fp8, (row,)).kv_bytes == row.kv_memory_bytes
    newer = own.engines.engines["vllm-0.33"]
    assert known_budget(model, gpu, newer, "bf16", "bf16", Layout(), launch, (row,)).evidence == "derived"
    assert list(unused_runs(model, gpu, newer, "bf16", Layout(), (row,))) == [
        "the run 'mine' is not used: it has engine vllm-0.19"
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tensor_parallel_size=1", "tensor_parallel_size=0", "says 0 for tensor parallelism"),
        ("tensor_parallel_size=1", "tensor_parallel_size=3", "cannot be split over 3 ranks"),
        ("tensor_parallel_size=1", "tensor_parallel_size=999999999999", "which is no layout"),
        ("kv_cache_dtype=auto", "kv_cache_dtype=odd", "KV format 'odd' is not known"),
        ("kv_cache_dtype=auto", "kv_cache_dtype=auto, gpu_memory_utilization=9.5", "memory share"),
        ("meta-llama/Llama-3.1-8B-Instruct", "somebody/unheard-of", "add --model"),
        ("(v0.19.0)", "", "add --engine"),
        ("quantization=None", "quantization=bitsandbytes", "add --weights"),
    ],
)
def test_runs_that_cannot_be_are_refused(old: str, new: str, words: str) -> None:
    try:
        found = of(LLAMA.replace(old, new))
    except InputError as fault:
        assert words in str(fault)
    else:
        # The reader of logs may drop what is no share at all; then nothing is predicted from it.
        assert "9.5" in new and found.run.launch.utilisation_fraction == Fraction(95, 100)


def test_everything_left_open_is_asked_for_at_once() -> None:
    with pytest.raises(InputError) as fault:
        identify(read_log(LLAMA.replace("meta-llama/Llama-3.1-8B-Instruct", "x/y")), Known(), shelf())
    assert "--model" in str(fault.value) and "--gpu" in str(fault.value)


def test_impossible_memory_is_not_written() -> None:
    found = of(LLAMA.replace("58.11 GiB", "5811 GiB"))
    assert found.measured is None and measured_text(found) == ""
    assert any("exceed" in note for note in found.notes)
    assert of(LLAMA.replace("58.11 GiB", "0.0 GiB").replace("58.11x", "0.00x")).measured is None


def test_impossible_memory_is_not_loaded(tmp_path: Path) -> None:
    text = measured_text(of(LLAMA))
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("kv_memory: ", "kv_memory: 9"), encoding="utf-8")
    with pytest.raises(InputError, match=r"exceed the 79\.65 GiB"):
        load_shelf((file,))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("RedHatAI/Qwen2.5-7B-Instruct-quantized.w8a8", "qwen2.5-7b"),
        ("/models/Qwen3-235B-A22B-FP8/", "qwen3-235b-a22b"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("nvidia/GLM-5.2-NVFP4", "glm-5.2"),
        ("somebody/Nothing-7B", None),
        ("", None),
    ],
)
def test_names_of_checkpoints_find_their_model(name: str, model: str | None) -> None:
    found = match_model(name, shelf())
    assert (found.id if found else None) == model


@pytest.mark.parametrize(
    ("version", "profile"),
    [
        ("0.19.0", "vllm-0.19"),
        ("0.23.1", "vllm-0.21"),
        ("0.28.1rc1.dev7", "vllm-0.28"),
        ("0.40", "vllm-0.33"),
        ("0.5", "vllm-0.19"),
    ],
)
def test_nearest_profile_not_above_a_version(version: str, profile: str) -> None:
    found = profile_of("vllm", version, shelf())
    assert found is not None and found.id == profile


@pytest.mark.parametrize(
    ("word", "model", "engine", "gpu", "kv"),
    [
        ("auto", "llama-3.1-8b", "vllm-0.33", "h100-sxm", "bf16"),
        ("fp8_e4m3", "llama-3.1-8b", "vllm-0.33", "h100-sxm", "fp8"),
        ("fp8", "glm-5.3", "vllm-0.33", "h200-sxm", "fp8_ds_mla"),
        ("fp8", "glm-5.3", "vllm-0.33", "b300", "fp8"),
        ("auto", "glm-5.3", "vllm-0.33", "b300", "fp8"),
        ("auto", "glm-5.3", "vllm-0.33", "h200-sxm", "bf16"),
        ("auto", "deepseek-v4-flash", "vllm-0.28", "h200-sxm", "fp8_ds_mla"),
        ("odd", "llama-3.1-8b", "vllm-0.33", "b200", ""),
    ],
)
def test_what_auto_and_fp8_mean(word: str, model: str, engine: str, gpu: str, kv: str) -> None:
    found = shelf()
    assert default_kv_format(word, found.model(model), found.engines.engines[engine], found.catalog.gpus()[gpu]) == kv


def sglang(quantization: str = "None", path: str = "Qwen/Qwen3-235B-A22B-FP8") -> EngineLog:
    return read_log(
        f"[2026-01-01 12:00:00] server_args=ServerArgs(model_path='{path}', tp_size=4, dp_size=1, "
        f"mem_fraction_static=0.93, quantization={quantization}, kv_cache_dtype='auto', context_length=40960)\n"
        "[2026-01-01 12:01:00 TP0] Load weight end. type=Qwen3MoeForCausalLM, dtype=torch.bfloat16, "
        "avail mem=20.00 GB, mem usage=56.65 GB.\n"
        "[2026-01-01 12:01:10 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 367404, "
        "K size: 8.23 GB, V size: 8.23 GB\n"
    )


def test_a_checkpoints_name_tells_its_weights_where_the_engine_says_none() -> None:
    run = identify(sglang(), Known(gpu="h100-sxm", engine="sglang-0.5.23"), shelf())
    assert (run.weights, run.layout.name, run.kv_format) == ("fp8", "tp4", "bf16")
    found = calibrate(sglang(), run, "s003")
    tokens = next(c for c in found.comparisons if c.what == "KV cache size as printed")
    assert abs(tokens.gap) < Fraction(1, 100)


def test_speculation_is_read_with_its_depth() -> None:
    text = LLAMA.replace("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3.6-27B").replace(
        "kv_cache_dtype=auto", "kv_cache_dtype=auto, speculative_config={'method': 'mtp', 'num_speculative_tokens': 3}"
    )
    launch = identify(read_log(text), H100, shelf()).launch
    assert (launch.draft_layers, launch.draft_tokens) == (1, 3)
