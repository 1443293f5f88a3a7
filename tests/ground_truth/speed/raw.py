"""Throughput rows as a collector writes them down (JSON lines) to rows of ours: names looked up, nothing guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from planner.kvcache import kv_cache
from planner.layout import Layout, layout_fault
from planner.models import Model
from planner.questions.identify import match_model, profile_of
from tests.ground_truth.predict import shelf
from tests.ground_truth.raw import UnusableError, _kv, _weights, find_gpu
from tests.ground_truth.speed.rows import Measured

_DRAFTS = re.compile(r"(?<![a-z])(mtp|eagle\d?|nextn|speculati\w+|draft\w*)(?![a-z])")
_NONE = re.compile(r"\b(no|without)\s+(mtp|eagle|nextn|speculati\w+|drafts?)")
_TWINS = {"h20": "h20-141", "gb300": "gb300"}
"""Cards of which no size of memory need be said: both kinds of H20 are equally fast."""


def read_raw_speed(path: Path) -> Iterator[Measured | tuple[str, str]]:
    """Yield each throughput row of a file, or its id and why it is of no use."""
    for line in path.read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        if raw.get("kind") != "throughput":
            continue
        try:
            yield from_raw_speed(raw)
        except UnusableError as fault:
            yield raw["id"], str(fault)


def from_raw_speed(raw: Mapping[str, Any]) -> Measured:
    """Return a row of ours.

    Raises
    ------
    UnusableError
        If the model, the GPU, the requests or a speed cannot be told.
    """
    name, seen = str(raw.get("model") or ""), raw["observed"]
    model = match_model(re.sub(r"\s*\(.*\)", "", name), shelf()) if name else None
    if model is None:
        raise UnusableError(f"the catalogue has no model '{name}'")
    card = str(raw.get("gpu") or "")
    gpu = find_gpu(card) or _TWINS.get(card.strip().lower(), "")
    if not gpu:
        raise UnusableError(f"the catalogue has no GPU '{card}', or several")
    inferred: list[str] = []
    weights, sure = _weights(raw, model)
    if not sure:
        raise UnusableError(f"the catalogue has no such weights of {model.name}")
    layout, count = _layout_of(raw, model, gpu, inferred)
    given, answered, concurrency = _requests(seen)
    rates = dict(_seen(seen, count, given, answered))
    if not rates.keys() & {"output_tokens_per_s", "token_ms"}:
        raise UnusableError("neither tokens per second nor a time between tokens")
    engine = _engine(raw)
    kv = _kv(raw, model, shelf().engines.engines[engine], gpu)
    fault = layout_fault(Layout.parse(layout), model, shelf().engines.engines[engine], kv_cache(model, kv), _arch(gpu))
    if fault:
        raise UnusableError(fault)
    drafts, accepted = _speculation(raw, inferred)
    running = re.search(r"max-running (\d+)", str(raw.get("note")))
    return Measured(
        id=raw["id"], source=raw["source"], model=model.id, weights=weights, gpu=gpu, layout=layout, input=given,
        output=answered, concurrency=concurrency, seen=rates, engine=engine, kv=kv,
        running=int(running[1]) if running else seen.get("max_num_seqs"), drafts=drafts, accepted=accepted,
        inferred=tuple(inferred), note=raw.get("note") or "",
    )  # fmt: skip


def _arch(gpu: str) -> str:
    return shelf().catalog.gpus()[gpu].architecture


def _engine(raw: Mapping[str, Any]) -> str:
    named = str(raw.get("engine") or "")
    for word in ("vllm", "sglang"):
        version = str(raw.get("engine_version") or "")
        found = profile_of(word, version if re.match(r"\d+\.\d+", version) else "99", shelf())
        if word in named and found is not None:
            return found.id
    return "generic"


def _layout_of(raw: Mapping[str, Any], model: Model, gpu: str, inferred: list[str]) -> tuple[str, int]:
    """Return the replica's layout and its GPUs."""
    said = {key: int(raw[key]) for key in ("tp", "pp", "dp") if raw.get(key)}
    count = int(raw.get("gpu_count") or 0)
    context = int(raw["observed"].get("dcp") or 1)
    data, stages = said.get("dp", 1), said.get("pp", 1)
    if not count and "tp" not in said:
        raise UnusableError("neither GPUs nor a layout are said")
    tensor = said.get("tp", max(1, (count or 1) // data // stages))
    if "sglang" in str(raw.get("engine")) and data > 1 and tensor >= data and "tp" in said:
        tensor //= data
    if not said and count > 1:
        inferred.append("layout")
        # Tables of that engine name a strategy; those for many requests spread attention over groups.
        many = raw["observed"].get("strategy") in ("balanced", "high-throughput")
        if many and model.feed_forward.experts and _arch(gpu).startswith("sm"):
            data, tensor = count, 1
    if data > 1 and not model.feed_forward.experts:
        raise UnusableError("several replicas of a dense model share the load")
    # Nothing else than 1 says that experts are spread whole.
    spread = tensor * data if data > 1 or raw.get("ep") not in (None, False, 1, "1", "false") else 1
    spread = spread if model.feed_forward.experts else 1
    return Layout(tp=tensor, dp=data, pp=stages, ep=spread, dcp=context).name, count or tensor * data * stages


def _requests(seen: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return input, output and concurrency; the output as long as the totals say, where they do."""
    given, answered = seen.get("isl"), seen.get("osl") or seen.get("osl_p50")
    concurrency = seen.get("concurrency") or seen.get("peak_concurrency")
    if not (given and answered and concurrency):
        raise UnusableError("input, output or concurrency is not said")
    total, made = seen.get("total_tok_per_s"), seen.get("output_tok_per_s")
    if total and made and total > made:
        mean = given * made / (total - made)
        answered = answered if abs(mean / answered - 1) < 0.05 else round(mean)
    return int(given), max(1, int(answered)), int(concurrency)


def _seen(seen: Mapping[str, Any], count: int, given: int, answered: int) -> Iterator[tuple[str, float]]:
    share = answered / (given + answered)
    for key, factor in (
        ("output_tok_per_s", 1.0), ("output_tok_per_s_per_gpu", count),
        ("total_tok_per_s", share), ("total_tok_per_s_per_gpu", count * share),
    ):  # fmt: skip
        if seen.get(key):
            yield "output_tokens_per_s", seen[key] * factor
            break
    for ours, keys in (
        ("token_ms", ("tpot_ms", "tpot_ms_median", "tpot_p50_ms")), ("first_token_ms", ("ttft_ms", "ttft_p50_ms")),
    ):  # fmt: skip
        value = next((seen[key] for key in keys if seen.get(key)), None)
        if value:
            yield ours, value


def _speculation(raw: Mapping[str, Any], inferred: list[str]) -> tuple[int, Fraction]:
    """Return the drafted tokens and what a step yields; what is named but not counted is inferred to gain nothing."""
    seen, note = raw["observed"], str(raw.get("note") or "").lower()
    pinned = re.search(r"acceptance[^()]*\(([\d.]+)\)", note)
    accepted = seen.get("mtp_acceptance_length") or (pinned and pinned[1])
    named = re.search(r"(?:mtp|draft\w*) (\d+) tokens?", note)
    drafts = seen.get("mtp") or (int(named[1]) if named else 0)
    if accepted:
        return int(drafts or ceil(float(accepted)) - 1), Fraction(str(accepted))
    text = f"{note} {raw.get('model')} {raw.get('source')}".lower()
    if drafts or _DRAFTS.search(_NONE.sub("", text)):
        inferred.append("accepted")
    return 0, Fraction(1)
