"""Start-up logs of vLLM, SGLang and LMCache: every line that is read, and every wrapping it comes in."""

from __future__ import annotations

import gzip
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import planner.enginelogs
from planner.enginelogs import EngineLog, Seen, read_log, read_logs
from planner.enginelogs.base import SETTINGS
from planner.enginelogs.figures import GIB
from planner.enginelogs.pairs import pairs
from planner.enginelogs.ranks import rank_of
from planner.enginelogs.reader import MOST_OF_A_KIND, READERS
from planner.errors import InputError

LOGS = Path(__file__).parent / "logs"
SAMPLES = sorted(LOGS.glob("*.log"))


def sample(name: str) -> EngineLog:
    return read_log(LOGS / f"{name}.log")


def figures(log: EngineLog) -> dict[str, object]:
    """The last value of each figure."""
    return {seen.what: seen.value for seen in log.seen}


def only(text: str, what: str) -> Seen:
    found = read_log(text + "\n").all(what)
    assert len(found) == 1, found
    return found[0]


def gib(text: str) -> int:
    return round(Fraction(text) * GIB)


# ------------------------------------------------------------------------------------------ vLLM


def test_vllm_0_33_says_its_ranks_and_settings() -> None:
    log = sample("vllm-0.33-mla-tp2")
    assert (log.engine, log.version, log.starts, log.complete, log.faults) == ("vllm", "0.33.0", 1, True, ())
    memory = log.one("kv_memory_bytes")
    assert memory is not None
    assert (memory.value, memory.rank, memory.line) == (gib("25.9"), "Worker_TP1", 7)
    # "25.9 GiB" is 25.90: format_gib rounds to two decimals and drops the zero.
    assert (memory.low, memory.high) == (Fraction("25.895") * GIB, Fraction("25.905") * GIB)
    assert [seen.value for seen in log.all("kv_tokens")] == [515_584]
    assert figures(log)["max_concurrency"] == Fraction("2.54")
    settings = log.settings
    assert (settings.model, settings.tp, settings.pp, settings.dp, settings.dcp) == (
        *("example/latent-moe-fp8", 2, 1, 1),
        1,
    )
    assert (settings.kv_dtype, settings.quantization, settings.dtype) == ("fp8_ds_mla", "fp8", "torch.bfloat16")
    assert (settings.utilisation, settings.max_model_len, settings.max_num_seqs) == (Fraction("0.92"), 202_752, 64)
    assert settings.speculative.startswith("SpeculativeConfig(method='mtp'")
    assert any("kv_memory_bytes differs between ranks: 25.90 GiB (Worker_TP1)" in note for note in log.notes)


def test_vllm_0_33_says_where_the_rest_of_the_memory_went() -> None:
    found = figures(sample("vllm-0.33-mla-tp2"))
    assert found["total_gpu_memory_bytes"] == gib("140.4")
    assert found["free_at_start_bytes"] == gib("139.71")
    assert found["requested_bytes"] == gib("129.17")
    assert found["consumed_bytes"] == gib("97.87")
    assert found["peak_headroom_bytes"] == gib("4.69")
    assert (found["graph_pool_bytes"], found["graph_estimate_bytes"]) == (gib("0.61"), gib("0.67"))


def test_vllm_0_19_two_lines_and_the_profile() -> None:
    log = sample("vllm-0.19-dense")
    found = figures(log)
    assert (found["kv_tokens"], found["gpu_blocks"], found["max_concurrency"]) == (476_016, 29_751, Fraction("58.11"))
    assert (found["non_kv_bytes"], found["activation_bytes"]) == (gib("17.12"), gib("1.89"))
    assert (found["non_torch_bytes"], found["weights_bytes"]) == (gib("0.25"), gib("14.99"))
    assert log.notes == ()


def test_vllm_v0_blocks_and_profile() -> None:
    log = sample("vllm-0.6-v0")
    found = figures(log)
    assert (log.version, found["gpu_blocks"], found["cpu_blocks"]) == ("0.6.6", 3981, 1310)
    assert (found["total_gpu_memory_bytes"], found["requested_bytes"]) == (gib("23.55"), gib("21.19"))
    assert log.one("kv_memory_bytes").value == gib("12.44")  # type: ignore[union-attr]
    # Four decimals of what is called GB and is GiB.
    first = log.all("weights_bytes")[0]
    assert (first.low, first.high) == (Fraction("7.96915") * GIB, Fraction("7.96925") * GIB)
    assert log.by_rank("non_torch_bytes").keys() == {"VllmWorkerProcess 2607784", ""}
    assert (log.settings.block_size, log.settings.max_num_seqs, log.settings.utilisation) == (16, 256, Fraction("0.9"))


def test_vllm_that_did_not_start_says_why() -> None:
    log = sample("vllm-hybrid-failed")
    found = figures(log)
    assert not log.complete
    assert "kv_tokens" not in found
    assert (found["kv_needed_bytes"], found["longest_context_tokens"]) == (gib("62.0"), 235_296)
    assert (found["block_size"], found["padding_layers"]) == (800, 3)
    assert (found["mamba_padding_fraction"], found["padding_waste_fraction"]) == (
        Fraction("0.0264"),
        Fraction("0.0625"),
    )
    assert log.faults[0].startswith("line 7: To serve at least one request")
    assert "no start in this log got as far as its KV cache" in log.notes


@pytest.mark.parametrize(
    ("line", "what", "value"),
    [
        ("Available KV cache memory: 35.42 GB", "kv_memory_bytes", gib("35.42")),
        ("INFO [kv_cache_utils.py:1] CPU KV cache size: 1,024 tokens", "kv_tokens", 1024),
        ("INFO [x] GPU + host KV cache size: 2,048 tokens, Maximum", "kv_tokens", 2048),
        ("# cuda blocks: 36184, # CPU blocks: 2340", "cpu_blocks", 2340),
        ("# GPU blocks: 1381", "gpu_blocks", 1381),
        ("Model loading took 12.66 GiB and 31.65 seconds", "weights_bytes", gib("12.66")),
        ("Loading model weights took 67.7229 GB", "weights_bytes", gib("67.7229")),
        ("Graph capturing finished in 20 secs, took 0.25 GiB", "graph_bytes", gib("0.25")),
        ("Auto-fit max_model_len: reduced from 262144 to 123904 to fit in", "max_model_len", 123_904),
        ("Chunked prefill is enabled with max_num_batched_tokens=8192.", "max_num_batched_tokens", 8192),
        ("Current kv cache memory in use is 59212694937 bytes.", "kv_memory_bytes", 59_212_694_937),
        ("Initial free memory 79.1 GiB, reserved 20.0 GiB memory for KV Cache as", "kv_memory_bytes", gib("20")),
        ("Overriding num_gpu_blocks=900 with num_gpu_blocks_override=512", "gpu_blocks", 512),
        (
            "Actual usage is 205.08 GiB for weight, 3.75 GiB for peak activation, 1.63 GiB for non-torch memory,",
            "non_torch_bytes",
            gib("1.63"),
        ),
        (
            "To serve at least one request with the model's max seq len (40960), 4.38 GiB KV cache is needed,",
            "kv_needed_bytes",
            gib("4.38"),
        ),
        ("Initializing an LLM engine with config: model='a/b', tensor_parallel_size=4", "tp", 4),
        (
            "Memory profiling results: total_gpu_memory=23.55GiB non_torch_memory=0.36GiB kv_cache_size=11.59GiB g",
            "kv_memory_bytes",
            gib("11.59"),
        ),
        ("non-default args: {'model': 'disk 12 GB'}", "model", "disk 12 GB"),
        ("non-default args: {'model': 'my GB', 'max_model_len': 'auto', 'tensor_parallel_size': -1}", "model", "my GB"),
    ],
)
def test_vllm_lines_of_other_versions(line: str, what: str, value: object) -> None:
    assert only(line, what).value == value


def test_exact_bytes_have_no_spread_and_integers_without_decimals_a_wide_one() -> None:
    assert only("Current kv cache memory in use is 59212694937 bytes.", "kv_memory_bytes").spread == 0
    assert only("Free memory on device (264/268 GiB) on startup.", "total_gpu_memory_bytes").spread == GIB


def test_vllm_free_memory_check_that_fails() -> None:
    log = read_log(
        "ValueError: Free memory on device cuda:0 (20.5/79.19 GiB) on startup is less than desired GPU memory "
        "utilization (0.9, 71.27 GiB). Decrease GPU memory utilization.\n"
    )
    found = figures(log)
    assert (found["free_at_start_bytes"], found["requested_bytes"]) == (gib("20.5"), gib("71.27"))
    assert found["utilisation"] == Fraction("0.9")
    assert log.faults


def test_a_hybrid_token_count_is_marked_as_no_capacity() -> None:
    text = (LOGS / "vllm-hybrid-failed.log").read_text().rsplit("(EngineCore", 1)[0]
    log = read_log(text + "GPU KV cache size: 457,880 tokens\n")
    assert any("no capacity in tokens" in note for note in log.notes)


def test_a_dump_of_the_configuration_at_a_crash_is_no_start() -> None:
    text = (LOGS / "vllm-0.19-dense.log").read_text()
    dump = "(EngineCore_DP0 pid=84) ERROR Dumping input data for V1 LLM engine (v0.19.0) with config: model='x', \n"
    assert read_log(text + dump).starts == 1


# ---------------------------------------------------------------------------------------- SGLang


def test_sglang_0_4() -> None:
    log = sample("sglang-0.4-gqa-tp2")
    assert log.engine == "sglang"
    pool = log.one("kv_memory_bytes")
    assert pool is not None
    assert pool.rank == "TP0"
    # Two roundings add up.
    assert (pool.low, pool.high) == (2 * Fraction("8.225") * GIB, 2 * Fraction("8.235") * GIB)
    found = figures(log)
    assert (found["kv_tokens"], found["max_total_tokens"], found["max_model_len"]) == (367_404, 367_404, 131_072)
    assert (found["weights_bytes"], found["graph_bytes"]) == (gib("27.34"), gib("1.93"))
    assert (log.settings.model, log.settings.tp, log.settings.utilisation) == ("example/gqa-27b", 2, Fraction("0.85"))


def test_sglang_tells_the_pools_of_windows_and_drafts_apart() -> None:
    log = sample("sglang-0.5-swa-draft-dp")
    assert [seen.value for seen in log.all("kv_tokens")] == [375_360, 375_296]
    assert log.one("kv_tokens").rank == "DP1 TP3 EP3"  # type: ignore[union-attr]
    found = figures(log)
    assert (found["swa_kv_tokens"], found["draft_kv_tokens"]) == (300_288, 375_360)
    assert (found["weights_bytes"], found["draft_weights_bytes"]) == (gib("80.31"), gib("2.10"))
    graphs = log.by_rank("graph_bytes")["DP0 TP0 EP0"]
    assert sum(seen.number for seen in graphs) == gib("0.80") + gib("0.13")
    assert (log.settings.dp, log.settings.ep, log.settings.dp_attention) == (2, 4, "True")
    assert (log.settings.tp, log.settings.kv_dtype) == (4, "torch.float8_e4m3fn")


def test_sglang_windows_without_labels() -> None:
    log = read_log(
        "[2026-01-31 13:50:39 TP2] Use sliding window memory pool. full_layer_tokens=375360, swa_layer_tokens=300288\n"
        "[2026-01-31 13:50:39 TP2] KV Cache is allocated. #tokens: 300288, K size: 8.38 GB, V size: 5.59 GB\n"
        "[2026-01-31 13:50:39 TP2] KV Cache is allocated. #tokens: 375360, K size: 2.01 GB, V size: 1.34 GB\n"
    )
    found = figures(log)
    assert (found["swa_kv_tokens"], found["kv_tokens"]) == (300_288, 375_360)
    assert found["swa_kv_memory_bytes"] == gib("8.38") + gib("5.59")


def test_sglang_recurrent_states() -> None:
    log = sample("sglang-0.5-mamba")
    found = figures(log)
    assert (found["mamba_slots"], found["conv_state_bytes"], found["ssm_state_bytes"]) == (
        117,
        gib("0.28"),
        gib("8.07"),
    )
    assert (found["intermediate_ssm_state_cache_bytes"], found["kv_memory_bytes"]) == (gib("1.5"), gib("9.21"))
    assert "max_num_batched_tokens" not in found
    assert log.notes[0].startswith("a model with recurrent states")


@pytest.mark.parametrize(
    ("line", "what", "value"),
    [
        ("Mamba Cache is allocated. conv_state size: 0.52GB, ssm_state size: 8.67GB ", "ssm_state_bytes", gib("8.67")),
        ("[2026-03-11 13:53:23 TP0] KV Cache is allocated. #tokens: 383872, KV size: 19.36 GB", "kv_tokens", 383_872),
        ("KV Cache is allocated. K size: 8.23 GB, V size: 8.23 GB.", "kv_memory_bytes", 2 * gib("8.23")),
        (
            "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 512, KV size: 1.25 GB, avail",
            "kv_memory_bytes",
            gib("1.25"),
        ),
        (
            "DSV4 memory calculation: bytes_per_full_token=15955.85, available",
            "bytes_per_full_token",
            Fraction("15955.85"),
        ),
        (
            "DSv4 memory calculation: bytes_per_full_token=1.5, available_bytes=45.78 GB, f",
            "kv_budget_bytes",
            gib("45.78"),
        ),
        ("Memory profiling: total_gpu_memory=93.58 GB, rest_memory=19.58 GB", "kv_budget_bytes", gib("19.58")),
        ("Load weight end. type=X, dtype=torch.bfloat16, avail mem=62.08 GB", "free_after_weights_bytes", gib("62.08")),
    ],
)
def test_sglang_lines_of_other_versions(line: str, what: str, value: object) -> None:
    assert only(line, what).value == value


def test_sglang_address_space_is_no_memory() -> None:
    with pytest.raises(InputError, match="no start-up line"):
        read_log("KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 9999, K size: 80.00 GB, V size: 80.00 GB\n")


def test_sglang_failures() -> None:
    log = read_log("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n")
    assert log.faults == ("line 1: Not enough memory. Please try to increase --mem-fraction-static.",)


# --------------------------------------------------------------------------------------- LMCache


def test_lmcache_inside_a_vllm_log() -> None:
    engine, cache = read_logs(LOGS / "lmcache-in-vllm.log")
    assert (engine.engine, cache.engine, cache.starts) == ("vllm", "lmcache", 1)
    assert "the log also holds lines of lmcache" in engine.notes
    best = cache.narrowest("store_bytes_per_token")
    assert best is not None
    assert (best.line, best.value) == (8, 114_688)
    assert (best.low, best.high) == (Fraction("2.18745") * GIB / 20_480, Fraction("2.18755") * GIB / 20_480)
    found = figures(cache)
    assert (found["chunk_tokens"], found["local_cpu_bytes"], found["local_disk_bytes"]) == (256, 200 * GIB, 0)
    assert (found["layers"], found["kv_heads_per_gpu"], found["mla"]) == (93, 2, "False")
    assert found["dimensions"] == "[158][4372, 64, 132]"
    assert (found["retrieve_tokens"], found["retrieve_s"]) == (8192, Fraction("0.07012"))
    assert found["retrieve_bytes_per_s"] == gib("12.4786")


def test_lmcache_sizes_without_a_unit_are_gib() -> None:
    log = read_log("LMCache INFO: Creating LMCacheEngine with config: {'chunk_size': 128, 'max_local_cpu_size': 5.0}\n")
    assert figures(log) == {"chunk_tokens": 128, "local_cpu_bytes": 5 * GIB}


def test_lmcache_server_prints_decimal_sums() -> None:
    found = figures(sample("lmcache-server"))
    assert found["l1_bytes"] == 500 * GIB
    assert (found["store_bytes"], found["store_bytes_per_token"]) == (61_460_000_000, 61_460)
    assert figures(read_log("Stored 2048 tokens in 0.848 seconds\n"))["store_s"] == Fraction("0.848")


def test_long_lmcache_logs_are_cut_and_say_so() -> None:
    line = "LMCache INFO: Stored 256 out of total 256 tokens. size: 0.0273 gb, cost 1.9 ms, throughput: 14.0 GB/s;\n"
    log = read_log(line * (MOST_OF_A_KIND + 5))
    assert len(log.all("store_tokens")) == MOST_OF_A_KIND
    assert any("were read" in note for note in log.notes)


# ------------------------------------------------------------------------------- files and lines


def same(log: EngineLog) -> list[tuple[str, object, str]]:
    return [(seen.what, seen.value, seen.rank) for seen in log.seen]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_wrappings_change_nothing(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    lines = text.splitlines()
    first, *_ = read_logs(path)
    wrapped = {
        "docker": "".join(json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "t"}) + "\n" for line in lines),
        "cri": "".join(f"2026-01-01T00:00:00.123456789Z stderr F {line}\n" for line in lines),
        "journal": "".join(f"Jan 01 00:00:00 rack7-node3 serve[77]: {line}\n" for line in lines),
        "journal json": "".join(json.dumps({"MESSAGE": line, "_PID": "7"}) + "\n" for line in lines),
        "cloud": "".join(json.dumps({"jsonPayload": {"message": line}}) + "\n" for line in lines),
        "compose": "".join(f"serve-1  | {line}\n" for line in lines),
        "colours": "".join(f"\x1b[1;36m{line[:4]}\x1b[0;0m{line[4:]}\x1b[0m\n" for line in lines),
        "crlf": text.replace("\n", "\r\n"),
        "progress": "".join(f"Loading: 1%\rLoading: 99%\r{line}\n" for line in lines),
    }
    for how, whole in wrapped.items():
        assert same(read_logs(whole)[0]) == same(first), how
    for how, blob in {
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "utf-16": text.encode("utf-16"),
        "utf-16 without a mark": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
        "gzip": gzip.compress(text.encode()),
        "two gzips": gzip.compress(text[:300].encode()) + gzip.compress(text[300:].encode()),
        "rotated": b"\x00" * 9000 + text.encode(),
        "garbage": b"\xff\xfe\x00"[1:] + b"\x80\x81\n" + text.encode(),
    }.items():
        file = tmp_path / "a.log"
        file.write_bytes(blob)
        assert same(read_logs(file)[0]) == same(first), how


def test_long_lines_that_the_container_runtime_cut_are_joined() -> None:
    long = (
        "INFO: Initializing a V1 LLM engine (v0.33.0) with config: model='m', x='"
        + "y" * 20_000
        + "', tensor_parallel_size=16"
    )
    pieces = [long[:16_384], long[16_384:] + "\n"]
    docker = "".join(json.dumps({"log": piece, "stream": "stderr"}) + "\n" for piece in pieces)
    assert read_log(docker).settings.tp == 16
    cri = "".join(
        f"2026-01-01T00:00:00.1+01:00 stdout {tag} {piece.strip()}\n" for tag, piece in zip("PF", pieces, strict=True)
    )
    assert read_log(cri).settings.tp == 16


def test_json_logs_of_the_engine_itself_name_the_process() -> None:
    record = {"levelname": "INFO", "processName": "Worker_TP3", "message": "Available KV cache memory: 8.11 GiB"}
    assert only(json.dumps(record), "kv_memory_bytes").rank == "Worker_TP3"


@pytest.mark.parametrize(
    ("front", "rank"),
    [
        ("(EngineCore_DP1 pid=7) INFO ", "EngineCore_DP1"),
        ("(EngineCore pid=7) INFO ", ""),
        ("(APIServer_1 pid=7) INFO ", ""),
        ("(EngineCore_DP0 pid=7) (RayWorkerWrapper pid=99, ip=10.0.0.4) INFO", "RayWorkerWrapper 99"),
        ("(Worker_DP1_TP3_EP11 pid=1) ", "Worker_DP1_TP3_EP11"),
        ("(VllmWorker rank=3 pid=521) INFO", "VllmWorker rank=3"),
        ("[2026-01-01 12:00:00 DP1 TP3] ", "DP1 TP3"),
        ("[2026-01-01 12:00:00.123 TP0] ", "TP0"),
        ("[2026-01-01 12:00:00] ", ""),
        ("", ""),
    ],
)
def test_ranks(front: str, rank: str) -> None:
    assert rank_of(front) == rank


def test_the_last_complete_start_counts() -> None:
    text = (LOGS / "vllm-0.19-dense.log").read_text()
    later = text.replace("476,016", "470,000").replace(
        "vLLM API server version 0.19.0", "vLLM API server version 0.19.1"
    )
    failed = (LOGS / "vllm-hybrid-failed.log").read_text()
    log = read_log(text + later + failed)
    assert (log.starts, log.complete, figures(log)["kv_tokens"]) == (3, True, 470_000)
    assert log.notes[0] == "3 starts in this log; the figures are of the one from line 11"
    assert log.notes[1].startswith("the start from line 21 did not get as far as its KV cache: line 27: To serve")


def test_data_parallel_engines_are_one_start() -> None:
    text = (LOGS / "vllm-0.19-dense.log").read_text().splitlines(keepends=True)
    engines = [line for line in text if line.startswith("(EngineCore")]
    both = [*text[:2], *engines, *(line.replace("_DP0", "_DP1").replace("476,016", "475,008") for line in engines)]
    log = read_log("".join(both))
    assert log.starts == 1
    assert log.one("kv_tokens").value == 475_008  # type: ignore[union-attr]
    assert any(note.startswith("kv_tokens differs between ranks: 475008 (EngineCore_DP1)") for note in log.notes)


def test_lines_of_several_starts_without_their_openings_are_noted() -> None:
    log = read_log("GPU KV cache size: 1,000 tokens\nGPU KV cache size: 2,000 tokens\n")
    assert log.notes == ("kv_tokens is said differently (1000, 2000): lines of several starts?",)


def test_services_that_were_logged_into_one_file_are_noted() -> None:
    log = read_log("chat-1  | GPU KV cache size: 1,000 tokens\ncode-1  | GPU KV cache size: 2,000 tokens\n")
    assert log.notes[0] == "lines of several services stand between each other (chat-1, code-1): part them"


@pytest.mark.parametrize(
    "text",
    [
        "GPU KV cache size: 150",
        "GPU KV cache size: 1,505,552 tok",
        "# GPU blocks: 13",
        "num_gpu_blocks is: 29",
        "Available KV cache memory: 25.9",
        "Available KV cache memory: 25.94 Gi",
        "Maximum concurrency for 8,192 tokens per request: 58.1",
        "max_total_num_tokens=1505",
        "Stored 2048 out of total 2048 tokens. size: 0.2188 gb, cost 14.7",
        "Stored 2048 tokens in 0.8",
    ],
)
def test_a_number_that_was_cut_at_the_end_is_not_taken(text: str) -> None:
    try:
        log = read_log(text)
    except InputError:
        return
    assert [seen.what for seen in log.seen] in ([], ["max_model_len"])


@pytest.mark.parametrize("number", ["nan", "inf", "-1.20", "1,2,3", "1.2.3", "9" * 39, "x"])
def test_what_is_no_number_is_told_and_not_taken(number: str) -> None:
    log = read_log(f"Available KV cache memory: {number} GiB\n")
    assert log.seen == ()
    assert log.faults[0].startswith("line 1: kv_memory_bytes cannot be read: ")


@pytest.mark.parametrize("text", ["", "\n \n", "hello\n", "\x00\x01\x02", "KV cache tokens 123456\n"])
def test_an_unknown_log_says_what_was_looked_for(text: str) -> None:
    with pytest.raises(InputError) as told:
        read_log(text, "serve.log")
    assert str(told.value).startswith("serve.log: ")
    for engine in ("vLLM", "SGLang", "LMCache"):
        assert engine in str(told.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.log", Path("a\x00b")):
        with pytest.raises(InputError, match="cannot be read"):
            read_log(path)


def test_a_torn_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = (LOGS / "vllm-0.19-dense.log").read_text()
    whole = gzip.compress(text.encode())
    (tmp_path / "a.log.gz").write_bytes(whole[: len(whole) * 4 // 5])
    assert set(same(read_log(tmp_path / "a.log.gz"))) <= set(same(read_log(text)))


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    text = "x" * 3_000_000 + "\nGPU KV cache size: 1,000 tokens\n"
    assert only(text, "kv_tokens").line == 2


# -------------------------------------------------------------------------------------- the rules


def test_every_figure_of_a_rule_can_be_read() -> None:
    for reader in READERS.values():
        for rule in reader.rules:
            for what in rule.expression.groupindex:
                assert what == "unit" or what in rule.kinds or what in reader.kinds, what


def test_every_figure_is_listed() -> None:
    listed = set(re.findall(r"[a-z][a-z0-9_]*", planner.enginelogs.__doc__ or ""))
    for reader in READERS.values():
        named = {*reader.kinds, *(what for what, _ in reader.setting_names.values())} - SETTINGS - {"version"}
        for what in named:
            plain = re.sub(r"^(full_|swa_|index_|draft_|store_|retrieve_)(?!layer)", "", what)
            assert {what, plain} & listed or plain == "kv_dtype", what


def test_every_engine_can_be_complete_and_tells_a_setting() -> None:
    for reader in READERS.values():
        named = {what for what, _ in reader.setting_names.values()}
        assert named & SETTINGS or reader.engine == "lmcache"
        assert reader.complete & set(reader.kinds)


@pytest.mark.parametrize(
    ("text", "whole", "found"),
    [
        (
            "(a=1, b='x, y', c=F(d=2, e=3), f=<E.X: 3>)",
            False,
            {"a": "1", "b": "x, y", "c": "F(d=2, e=3)", "f": "<E.X: 3>"},
        ),
        ("{'a': 1, 'b': {'a': 2}, \"c\": 'it\\'s'} tail", False, {"a": "1", "b": "{'a': 2}", "c": "it\\'s"}),
        ("a=1, b=22", True, {"a": "1", "b": "22"}),
        ("a=1, b=22", False, {"a": "1"}),
        ("(a=1, b=22", True, {"a": "1"}),
        ("a=1, b='torn", True, {"a": "1"}),
        ("", True, {}),
        (")", True, {}),
    ],
)
def test_pairs(text: str, whole: bool, found: dict[str, str]) -> None:
    assert dict(pairs(text, whole=whole)) == found
