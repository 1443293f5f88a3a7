"""vLLM's start-up lines, from 0.4 to 0.33.

Sizes are bytes / 1024**3 rounded to two decimals (`format_gib`, which drops last zeros: ``62.0 GiB``),
also where old versions print "GB" (`worker/model_runner.py`: ``/ float(2**30)``, four decimals).

``GPU KV cache size: N tokens`` is, since 0.9 or so, ``int(max_concurrency * max_model_len)`` of one
data-parallel engine: for a model with one kind of layers that is the pool, for a hybrid it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from planner.enginelogs.base import EngineName
from planner.enginelogs.figures import Kind, count, decimal, exact, percent, trimmed_size, words
from planner.enginelogs.reader import READERS, Reader, Start
from planner.enginelogs.rules import NUMBER, PLAIN, SIZE_UNIT, Rule

_VERSION = r"(?: \(v(?P<version>[\w.+-]{1,60})\))?"
_PADDED = ("block_size", "mamba_padding_fraction", "padding_layers")


def _size(what: str) -> str:
    return rf"(?P<{what}>{NUMBER}){SIZE_UNIT}"


_RULES = (
    # What opens a start, in the order of a start.
    Rule("LLM API server version ", r"(?P<version>\d[\w.+-]{0,60})(?![\w.+-])", opens=True),
    Rule("non-default args: ", opens=True, settings=True),
    Rule("args: Namespace", settings=True),
    Rule("Initializing a", rf"n? (?:V\d )?LLM engine{_VERSION} with config: ", opens=True, settings=True),
    # Memory.
    Rule("Available KV cache memory: ", _size("kv_memory_bytes")),
    Rule("Initial free memory ", rf"(?P<free_at_start_bytes>{NUMBER}){SIZE_UNIT}, reserved "),
    Rule(", reserved ", _size("kv_memory_bytes") + " memory for KV Cache"),
    Rule("Model loading took ", _size("weights_bytes")),
    Rule("Loading model weights took ", _size("weights_bytes")),
    Rule("total_gpu_memory (", _size("total_gpu_memory_bytes")),
    Rule("x gpu_memory_utilization (", rf"(?P<utilisation>{PLAIN})\)"),
    Rule("x gpu_memory_utilization (", rf"[\d.]{{1,20}}\) = {_size('requested_bytes')}"),
    Rule("Memory profiling results: total_gpu_memory=", _size("total_gpu_memory_bytes")),
    Rule(" non_torch_memory=", _size("non_torch_bytes")),
    Rule(" kv_cache_size=", _size("kv_memory_bytes")),
    Rule("model weights take ", _size("weights_bytes")),
    Rule("non_torch_memory takes ", _size("non_torch_bytes")),
    Rule("PyTorch activation peak memory takes ", _size("activation_bytes")),
    Rule("the rest of the memory reserved for KV Cache is ", _size("kv_memory_bytes")),
    Rule("Total non KV cache memory: ", _size("non_kv_bytes")),
    Rule("torch peak memory increase: ", _size("activation_bytes")),
    Rule("non-torch forward increase memory: ", _size("non_torch_bytes")),
    Rule("total consumed (from mem_get_info): ", _size("consumed_bytes")),
    Rule("; weights memory: ", _size("weights_bytes")),
    Rule(
        "Free memory on device ", rf"(?:\w{{1,12}}:\d{{1,4}} )?\((?P<free_at_start_bytes>{PLAIN})/{PLAIN}{SIZE_UNIT}\)"
    ),
    Rule("Free memory on device ", rf"(?:\w{{1,12}}:\d{{1,4}} )?\({PLAIN}/{_size('total_gpu_memory_bytes')}\)"),
    Rule("GPU memory utilization", rf"(?: is)? \((?P<utilisation>{PLAIN}), ", {"utilisation": exact}),
    Rule("GPU memory utilization", rf"(?: is)? \({PLAIN}, {_size('requested_bytes')}\)"),
    Rule("Actual usage is ", _size("weights_bytes") + " for weight,"),
    Rule("Actual usage is ", _size("consumed_bytes") + " for consumed memory"),
    Rule(" GiB for weight, ", _size("activation_bytes") + " for peak activation"),
    # It holds the estimate for the graphs as well.
    Rule("(weights + non-torch), ", _size("peak_headroom_bytes") + " for peak activation"),
    Rule(" GiB for peak activation, ", rf"(?:and )?{_size('non_torch_bytes')} for non-torch"),
    Rule("Current kv cache memory in use is ", rf"(?P<kv_memory_bytes>{PLAIN}) (?P<unit>GiB|bytes)\b"),
    Rule("CUDA graph pool memory: ", _size("graph_pool_bytes") + r" \(actual\)"),
    Rule(" GiB (actual), ", _size("graph_estimate_bytes") + r" \(estimated\)"),
    Rule("Graph capturing finished in ", rf"{PLAIN} secs?, took {_size('graph_bytes')}"),
    # Tokens and blocks.
    Rule(" KV cache size: ", rf"(?P<kv_tokens>{NUMBER}) tokens"),
    Rule("Maximum concurrency for ", rf"(?P<max_model_len>{NUMBER}) tokens per request: "),
    Rule(" tokens per request: ", r"(?P<max_concurrency>[-+\w.,]{1,40}?)x(?![\w.])"),
    Rule("# GPU blocks: ", rf"(?P<gpu_blocks>{PLAIN})(?:, # CPU blocks: (?P<cpu_blocks>{PLAIN}))?"),
    Rule("# cuda blocks: ", rf"(?P<gpu_blocks>{PLAIN})(?:, # CPU blocks: (?P<cpu_blocks>{PLAIN}))?"),
    Rule("num_gpu_blocks is: ", rf"(?P<gpu_blocks>{PLAIN})"),
    Rule("Overriding num_gpu_blocks=", rf"{PLAIN} with num_gpu_blocks_override=(?P<gpu_blocks>{PLAIN})"),
    Rule("Setting attention block size to ", rf"(?P<block_size>{NUMBER}) tokens"),
    Rule("Padding mamba page size by ", rf"(?P<mamba_padding_fraction>{PLAIN})%"),
    Rule(
        "Add ", rf"(?P<padding_layers>{PLAIN}) padding layers, may waste at most (?P<padding_waste_fraction>{PLAIN})%"
    ),
    Rule("Auto-fit max_model_len: reduced from ", rf"{PLAIN} to (?P<max_model_len>{PLAIN}) to fit"),
    Rule("Auto-fit max_model_len: full model context length ", rf"(?P<max_model_len>{PLAIN}) fits"),
    Rule("Chunked prefill is enabled with max_num_batched_tokens=", r"(?P<max_num_batched_tokens>\d{1,12})\b"),
    # Failures.
    Rule("No available memory for the cache blocks", fault=True),
    Rule("To serve at least one request with the model", r".{0,420}", fault=True),
    Rule("max seq len (", rf"(?P<max_model_len>{PLAIN})\),? \(?{_size('kv_needed_bytes')} KV cache is needed"),
    Rule("larger than the available KV cache memory (", _size("kv_memory_bytes")),
    Rule("estimated maximum model length is ", rf"(?P<longest_context_tokens>{PLAIN})\.(?:\s|$)"),
    Rule("Cannot auto-fit max_model_len", r".{0,200}", fault=True),
    Rule("Free memory on device ", r".{0,120}? on startup is less than .{0,200}", fault=True),
    Rule("is larger than the maximum number of tokens that can be stored in KV cache (", rf"{PLAIN}\)", fault=True),
    Rule("torch.OutOfMemoryError: ", r".{0,200}", fault=True),
)
_SIZES = (
    *("kv_memory_bytes", "free_at_start_bytes", "weights_bytes", "total_gpu_memory_bytes", "requested_bytes"),
    *("non_torch_bytes", "activation_bytes", "non_kv_bytes", "consumed_bytes", "graph_bytes"),
    *("graph_pool_bytes", "graph_estimate_bytes", "peak_headroom_bytes", "kv_needed_bytes"),
)
_COUNTS = (
    *("kv_tokens", "max_model_len", "gpu_blocks", "cpu_blocks", "block_size", "padding_layers"),
    *("max_num_batched_tokens", "longest_context_tokens"),
)


@READERS.register("vllm")
class VllmReader(Reader):
    """vLLM's own lines; what LMCache says in between is read by its reader."""

    engine: ClassVar[EngineName] = "vllm"
    rules = _RULES
    kinds: ClassVar[Mapping[str, Kind]] = {
        **dict.fromkeys(_SIZES, trimmed_size),
        **dict.fromkeys(_COUNTS, count),
        "max_concurrency": decimal,
        "utilisation": decimal,
        "mamba_padding_fraction": percent,
        "padding_waste_fraction": percent,
        "version": words,
    }
    setting_names: ClassVar[Mapping[str, tuple[str, Kind]]] = {
        "model": ("model", words),
        "model_tag": ("model", words),
        "dtype": ("dtype", words),
        "kv_cache_dtype": ("kv_dtype", words),
        "quantization": ("quantization", words),
        "speculative_config": ("speculative", words),
        "tensor_parallel_size": ("tp", count),
        "pipeline_parallel_size": ("pp", count),
        "data_parallel_size": ("dp", count),
        "decode_context_parallel_size": ("dcp", count),
        "enable_expert_parallel": ("expert_parallel", words),
        "gpu_memory_utilization": ("utilisation", exact),
        "max_model_len": ("max_model_len", count),
        "max_seq_len": ("max_model_len", count),
        "max_num_seqs": ("max_num_seqs", count),
        "max_num_batched_tokens": ("max_num_batched_tokens", count),
        "block_size": ("block_size", count),
        "num_gpu_blocks_override": ("gpu_blocks_override", count),
    }
    complete = frozenset({"kv_tokens", "gpu_blocks"})

    def notes(self, start: Start) -> Iterator[str]:
        """Yield why a hybrid's token count is no capacity, and that blocks were set by hand."""
        found = {seen.what for seen in start.seen}
        padded = {seen.what for seen in start.seen if seen.what in _PADDED and "=" not in seen.text}
        if padded and "kv_tokens" in found:
            yield (
                "a model with several kinds of layers: kv_tokens is int(max_concurrency x max_model_len), "
                "changes with max_model_len and is no capacity in tokens"
            )
        if "gpu_blocks_override" in found or any("override" in seen.text for seen in start.seen):
            yield "num_gpu_blocks_override was set: the pool is not what the memory allows"
