"""LMCache's lines: what one rank stored and fetched, how fast, and how the tiers are set.

The in-process engine prints bytes / 1024**3 as "gb" or "GB" with four decimals
(`v1/cache_engine.py`), also in its rates. The stand-alone server's sums (``L0<->L1 stats``) are in
decimal GB (`mp_observability/subscribers/logging/extra_stats.py`: ``/ 1e9``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from planner.enginelogs.base import EngineName, Seen
from planner.enginelogs.figures import Kind, count, decimal, decimal_size, exact_size, milliseconds, size, words
from planner.enginelogs.reader import READERS, Reader, Start
from planner.enginelogs.rules import PLAIN, Rule

_WAYS = (("Stored ", "store"), ("Retrieved ", "retrieve"))
_SIDES = (("store", "store"), ("retrieve", "retrieve"))


def _transfer(word: str, way: str) -> tuple[Rule, ...]:
    head = rf"(?P<{way}_tokens>{PLAIN}) out of (?:total )?{PLAIN} (?:required )?tokens"
    head += rf"(?: \(from {PLAIN} total tokens\))?\. "
    figures = rf"size: (?P<{way}_bytes>{PLAIN}) (?P<unit>gb|GB), cost (?P<{way}_s>{PLAIN}) ms, throughput: "
    return (
        Rule(word, head + figures + rf"(?P<{way}_bytes_per_s>{PLAIN}) GB/s"),
        Rule(word, rf"(?P<{way}_tokens>{PLAIN}) tokens in (?P<{way}_s>{PLAIN}) seconds", {f"{way}_s": decimal}),
    )


def _sums(side: str, way: str) -> Rule:
    return Rule(
        f" {side} ops=",
        rf"{PLAIN} tokens=(?P<{way}_tokens>{PLAIN}) size=(?P<{way}_bytes>[\d.]{{1,20}})GB avg_copy=",
        {f"{way}_bytes": decimal_size},
    )


def _averages() -> Rule:
    """Return the rule of one GPU's speeds since the start; those of the last interval are not read."""
    ways = (rf"{way} ops=\d+ tokens=\d+ size=[\d.]+GB avg_copy=(?:(?P<{way}_average_bytes_per_s>[\d.]{{1,20}})GB/s|n/a)"
            for way in ("store", "retrieve"))  # fmt: skip
    kinds = {f"{way}_average_bytes_per_s": decimal_size for way in ("store", "retrieve")}
    return Rule("L0<->L1 stats ", r"\[[\w:.-]{1,40}\] cumulative: " + r" \| ".join(ways), kinds)


_RULES = (
    _averages(),
    Rule("LMCache v", r"(?P<version>\d+\.\d[\w.+-]{0,40})(?![\w.+-])"),
    Rule("Initializing lmcache_vllm version ", r"(?P<version>\d[\w.]{0,40}), "),
    Rule("Starting LMCache HTTP server on", opens=True),
    Rule("LMCache Configuration: ", opens=True, settings=True),
    Rule("Creating LMCacheEngine with config: ", r"(?:LMCacheEngineConfig)?", opens=True, settings=True),
    *_transfer(*_WAYS[0]),
    *_transfer(*_WAYS[1]),
    *(_sums(*side) for side in _SIDES),
    Rule("GPU KV Cache Dimensions: ", r"(?P<dimensions>(?:\[\d{1,9}\]){0,4}\[\d{1,12}(?:, \d{1,12}){0,7}\])(?!\[)"),
    Rule("num_layer: ", rf"(?P<layers>{PLAIN}), chunk_size: (?P<chunk_tokens>{PLAIN}), "),
    Rule("num_kv_head (per gpu): ", rf"(?P<kv_heads_per_gpu>{PLAIN}), head_size: (?P<head_size>{PLAIN}), "),
    Rule("use mla: ", r"(?P<mla>True|False), "),
    Rule("num_draft_layers: ", r"(?P<draft_layers>\d{1,6})\b"),
    Rule("use mixed memory allocator, total size is ", r"(?P<l1_bytes>\d{1,18}) bytes"),
    Rule("use lazy memory allocator, init size is ", r"\d{1,18} bytes, final size is (?P<l1_bytes>\d{1,18}) bytes"),
)


@READERS.register("lmcache")
class LmcacheReader(Reader):
    """LMCache's lines, in a log of its own or between an engine's."""

    engine: ClassVar[EngineName] = "lmcache"
    rules = _RULES
    kinds: ClassVar[Mapping[str, Kind]] = {
        **{f"{way}_tokens": count for _, way in _WAYS},
        **{f"{way}_bytes": size for _, way in _WAYS},
        **{f"{way}_s": milliseconds for _, way in _WAYS},
        **{f"{way}_bytes_per_s": size for _, way in _WAYS},
        **dict.fromkeys(("layers", "chunk_tokens", "kv_heads_per_gpu", "head_size", "draft_layers", "l1_bytes"), count),
        **dict.fromkeys(("dimensions", "mla", "version"), words),
    }
    setting_names: ClassVar[Mapping[str, tuple[str, Kind]]] = {
        "chunk_size": ("chunk_tokens", count),
        "local_cpu": ("local_cpu", words),
        "max_local_cpu_size": ("local_cpu_bytes", exact_size),
        "max_local_disk_size": ("local_disk_bytes", exact_size),
        "save_decode_cache": ("save_decode_cache", words),
        "use_layerwise": ("use_layerwise", words),
        "save_unfull_chunk": ("save_unfull_chunk", words),
    }
    complete = frozenset({"store_tokens", "retrieve_tokens", "chunk_tokens", "l1_bytes"})

    def finish(self, found: list[Seen]) -> list[Seen]:
        """Add the bytes per token of a transfer."""
        figures = {seen.what: seen for seen in found}
        for _, way in _WAYS:
            sizes, tokens = figures.get(f"{way}_bytes"), figures.get(f"{way}_tokens")
            if sizes is not None and tokens is not None and tokens.value and sizes.value:
                found = [*found, _per_token(f"{way}_bytes_per_token", sizes, int(tokens.number))]
        return found

    def _renews(self, rule: Rule, key: tuple[str, str], current: Start) -> bool:
        """Return whether a line opens a start: the settings are said several times before any transfer."""
        moved = any(seen.what.startswith(("store_", "retrieve_")) for seen in current.seen)
        return moved and (key in current.opened or not current.opened)

    def notes(self, start: Start) -> Iterator[str]:
        """Yield whose bytes a transfer's are."""
        if any(seen.what.endswith("_bytes_per_token") for seen in start.seen):
            yield "bytes per token are of one rank: its share of the heads, or everything where latents are stored once"


def _per_token(what: str, sizes: Seen, tokens: int) -> Seen:
    value, low, high = (Fraction(number or 0) / tokens for number in (sizes.number, sizes.low, sizes.high))
    return replace(sizes, what=what, value=value, low=low, high=high)
