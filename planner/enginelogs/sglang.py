"""SGLang's start-up lines, from 0.3 to 0.5.23.

Sizes are bytes / 1024**3 printed with two decimals and called "GB" (`mem_cache/memory_pool.py`:
``GB = 1024 * 1024 * 1024``). Token counts are of one rank of data-parallel attention.

A pool is the model's, the sliding window's (``swa_``) or the draft model's (``draft_``). Newer
versions label the window's; the draft's comes after the model's "Memory pool end".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from planner.enginelogs.base import EngineName, Seen
from planner.enginelogs.figures import Kind, count, decimal, exact, size, words
from planner.enginelogs.reader import READERS, Reader, Start
from planner.enginelogs.rules import PLAIN, Rule

_GB = r" (?P<unit>GB)\b"
_DTYPE = r"(?:dtype: (?P<kv_dtype>[\w.]{1,40}), )?"
_POOL = rf"(?: is)? allocated\. {_DTYPE}(?:#tokens: (?P<kv_tokens>{PLAIN}), )?"
_UNLABELLED = "(?<!Full )(?<!SWA )(?<! index )"
_HALVES = rf"K size: (?P<k_bytes>{PLAIN}) GB, V size: (?P<v_bytes>{PLAIN}){_GB}"
_ONE = rf"KV size: (?P<kv_memory_bytes>{PLAIN}){_GB}"
_MAMBA = ("conv_state", "ssm_state", "intermediate_ssm_state_cache", "intermediate_conv_window_cache")


def _labelled(prefix: str, pattern: str) -> str:
    return pattern.replace("(?P<k", f"(?P<{prefix}k").replace("(?P<v", f"(?P<{prefix}v")


_RULES = (
    Rule("server_args=ServerArgs", opens=True, settings=True),
    Rule("server_args=", r"(?=\{)", opens=True, settings=True),
    # Pools. "VA upper bound" lines are address space, not memory, and no rule reads them.
    *(Rule("KV Cache", _POOL + sizes, before=_UNLABELLED) for sizes in (_HALVES, _ONE)),
    *(
        Rule(f"{label} KV Cache", _labelled(prefix, _POOL + sizes))
        for label, prefix in (("Full", "full_"), ("SWA", "swa_"), (" index", "index_"))
        for sizes in (_HALVES, _ONE)
    ),
    Rule("Post-capture KV sizing: KV cache", _POOL + _ONE),
    Rule("Post-capture KV sizing: draft KV cache", _labelled("draft_", _POOL + _ONE)),
    Rule("Use sliding window memory pool", rf".{{0,20}}? full_layer_tokens=(?P<full_layer_tokens>{PLAIN}),"),
    Rule("Use sliding window memory pool", rf".{{0,60}}? swa_layer_tokens=(?P<swa_layer_tokens>{PLAIN})"),
    Rule("Mamba Cache is allocated. ", rf"max_mamba_cache_size: (?P<mamba_slots>{PLAIN}), "),
    *(
        Rule("Mamba Cache is allocated. ", rf".{{0,260}}?\b{name} size: (?P<{name}_bytes>{PLAIN}?) ?(?P<unit>GB)\b")
        for name in _MAMBA
    ),
    Rule("bytes_per_full_token=", rf"(?P<bytes_per_full_token>{PLAIN}), "),
    # What the pools were sized from.
    Rule(" available_bytes=", rf"(?P<kv_budget_bytes>{PLAIN}){_GB}"),
    Rule("Memory profiling: ", rf".{{0,160}}? rest_memory=(?P<kv_budget_bytes>{PLAIN}){_GB}"),
    # Memory.
    Rule("Load weight begin. ", rf"avail mem=(?P<free_before_weights_bytes>{PLAIN}){_GB}"),
    Rule("Load weight end. ", rf".{{0,500}}?avail mem=(?P<free_after_weights_bytes>{PLAIN}){_GB}"),
    Rule("Load weight end. ", rf".{{0,600}}?mem usage=(?P<weights_bytes>{PLAIN}){_GB}"),
    Rule("Memory pool end. ", rf"avail mem=(?P<free_after_pools_bytes>{PLAIN}){_GB}"),
    Rule(
        " end. ", rf"(?:bs=.{{0,600}}?)?(?:Time )?elapsed[:=].{{1,20}}? s[.,] mem usage=(?P<graph_bytes>{PLAIN}){_GB}"
    ),
    # What the scheduler says last.
    Rule("max_total_num_tokens=", rf"(?P<max_total_tokens>{PLAIN}), (?:chunked_prefill|max_prefill|max_running)_"),
    Rule(" chunked_prefill_size=", r"(?P<max_num_batched_tokens>\d{1,12}), (?:max_prefill_tokens|context_len)="),
    Rule(" max_running_requests=", r"(?P<max_num_seqs>\d{1,12}), context_len="),
    Rule(" context_len=", r"(?P<max_model_len>\d{1,12})(?=,|$)"),
    Rule(" available_gpu_mem=", rf"(?P<free_after_start_bytes>{PLAIN}){_GB}"),
    # Failures.
    Rule("Not enough memory. Please try to increase --mem-fraction-static", r".{0,120}", fault=True),
    Rule("Loaded weights leave no GPU memory for the KV cache", r".{0,300}", fault=True),
    Rule("torch.OutOfMemoryError: ", r".{0,200}", fault=True),
)
_PREFIXES = ("", "full_", "swa_", "index_", "draft_")
_SIZES = (
    *(f"{prefix}{name}" for prefix in _PREFIXES for name in ("k_bytes", "v_bytes", "kv_memory_bytes")),
    *("free_before_weights_bytes", "free_after_weights_bytes", "weights_bytes"),
    *(
        "free_after_pools_bytes",
        "kv_budget_bytes",
        "graph_bytes",
        "free_after_start_bytes",
        *(f"{name}_bytes" for name in _MAMBA),
    ),
)
_COUNTS = (
    *(*(f"{prefix}kv_tokens" for prefix in _PREFIXES), "full_layer_tokens", "swa_layer_tokens"),
    *("mamba_slots", "max_total_tokens", "max_num_batched_tokens", "max_num_seqs", "max_model_len"),
)
_POOL_FIGURES = ("kv_tokens", "kv_dtype", "k_bytes", "v_bytes", "kv_memory_bytes")


@READERS.register("sglang")
class SglangReader(Reader):
    """SGLang's own lines."""

    engine: ClassVar[EngineName] = "sglang"
    rules = _RULES
    kinds: ClassVar[Mapping[str, Kind]] = {
        **dict.fromkeys(_SIZES, size),
        **dict.fromkeys(_COUNTS, count),
        **{f"{prefix}kv_dtype": words for prefix in _PREFIXES},
        "bytes_per_full_token": decimal,
    }
    setting_names: ClassVar[Mapping[str, tuple[str, Kind]]] = {
        "model_path": ("model", words),
        "dtype": ("dtype", words),
        "kv_cache_dtype": ("kv_dtype", words),
        "quantization": ("quantization", words),
        "speculative_algorithm": ("speculative", words),
        "speculative_num_draft_tokens": ("speculative_draft_tokens", count),
        "enable_dp_attention": ("dp_attention", words),
        "tp_size": ("tp", count),
        "pp_size": ("pp", count),
        "dp_size": ("dp", count),
        "ep_size": ("ep", count),
        "dcp_size": ("dcp", count),
        "mem_fraction_static": ("utilisation", exact),
        "context_length": ("max_model_len", count),
        "max_running_requests": ("max_num_seqs", count),
        "page_size": ("block_size", count),
    }
    complete = frozenset({"kv_tokens", "max_total_tokens"})

    def __init__(self) -> None:
        super().__init__()
        self._pools_ended: set[str] = set()
        self._weights_ended: set[str] = set()
        self._windows: dict[str, list[int]] = {}

    def restart(self) -> None:
        """Forget which ranks have their pools."""
        self._pools_ended, self._weights_ended, self._windows = set(), set(), {}

    def finish(self, found: list[Seen]) -> list[Seen]:
        """Say which pool or which weights a line is about, and add K and V."""
        named = self._pool([replace(seen, what=_full(seen.what)) for seen in found])
        for seen in named:
            if seen.what == "free_after_pools_bytes":
                self._pools_ended.add(seen.rank)
            elif seen.what in ("full_layer_tokens", "swa_layer_tokens") and isinstance(seen.value, int):
                self._windows.setdefault(seen.rank, []).append(seen.value)
        return _with_sums([self._load(seen) for seen in named])

    def _load(self, seen: Seen) -> Seen:
        """Name the second weights of a rank the draft model's."""
        if seen.what not in ("weights_bytes", "free_before_weights_bytes", "free_after_weights_bytes"):
            return seen
        drafts = seen.rank in self._weights_ended
        if seen.what == "weights_bytes":
            self._weights_ended.add(seen.rank)
        return replace(seen, what=f"draft_{seen.what}") if drafts else seen

    def _pool(self, found: list[Seen]) -> list[Seen]:
        tokens = next((seen for seen in found if seen.what == "kv_tokens"), None)
        if tokens is None or tokens.text.startswith("Post-capture"):
            return found
        prefix = ""
        windows = self._windows.get(tokens.rank, [])
        if tokens.rank in self._pools_ended:
            prefix = "draft_"
        elif len(windows) > 1 and tokens.value == windows[-1] and "Full" not in tokens.text:
            prefix = "swa_"
            self._windows[tokens.rank] = []
        return [replace(seen, what=prefix + seen.what) if seen.what in _POOL_FIGURES else seen for seen in found]

    def notes(self, start: Start) -> Iterator[str]:
        """Yield what else lives on the GPU beside the tokens of the pool."""
        found = {seen.what for seen in start.seen}
        if "swa_kv_tokens" in found or "swa_layer_tokens" in found:
            yield "a model with sliding windows: two pools, kv_tokens is of the full-attention layers"
        if "ssm_state_bytes" in found:
            yield "a model with recurrent states: their pool (mamba_slots) stands beside kv_tokens"
        if "draft_kv_tokens" in found:
            yield "a draft model has a pool of its own (draft_kv_memory_bytes)"


def _full(what: str) -> str:
    return what.removeprefix("full_") if what.removeprefix("full_") in _POOL_FIGURES else what


def _with_sums(found: list[Seen]) -> list[Seen]:
    """Put the sum of K and V in their place."""
    halves = [seen for seen in found if seen.what.endswith(("k_bytes", "v_bytes"))]
    if len(halves) != 2:
        return found
    low, high = (sum(getattr(half, end) for half in halves) for end in ("low", "high"))
    what = halves[0].what.removesuffix("k_bytes") + "kv_memory_bytes"
    total = replace(halves[0], what=what, value=sum(half.number for half in halves), low=low, high=high)
    return [*found, total]
