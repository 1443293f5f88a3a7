"""Rows as a collector writes them down (JSON lines) to rows of ours: names looked up, nothing guessed.

A raw row has ``id, source, model, engine, engine_version, gpu, tp, pp, dp, ep, kv_dtype, weight_quant,
gpu_mem_util, max_model_len`` and ``observed`` figures. What cannot be told from it makes it unusable, with
the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from planner.models import Model
from planner.questions.identify import match_model, profile_of
from tests.ground_truth.predict import shelf
from tests.ground_truth.rows import Row

_FIRST_PROFILED = "2025-06"
_KINDS = {"vllm_kv": "vllm", "sglang_kv": "sglang"}
_GIB = ("available_kv_gib_per_gpu", "available_kv_gib", "kv_gb")
_TOKENS = ("gpu_kv_tokens", "kv_tokens", "kv_tokens_per_rank", "max_total_num_tokens", "gpu_kv_tokens_logged")


class UnusableError(Exception):
    """A row of which nothing can be checked; the text says why."""


def read_raw(path: Path) -> Iterator[Row | tuple[str, str]]:
    """Yield each row, or its id and why it is of no use."""
    for line in path.read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        if raw.get("kind") not in _KINDS:
            continue
        try:
            yield from_raw(raw)
        except UnusableError as fault:
            yield raw["id"], str(fault)


def from_raw(raw: Mapping[str, Any]) -> Row:
    """Return a row of ours.

    Raises
    ------
    UnusableError
        If model, weights or what was printed cannot be told.
    """
    seen = dict(_seen(raw["observed"]))
    if not ("tokens" in seen or "kv_gib" in seen or "k_gib" in seen):
        raise UnusableError("neither tokens nor GiB of a KV cache")
    name = str(raw.get("model") or "")
    model = match_model(re.sub(r"\s*\(.*\)", "", name), shelf()) if name else None
    if model is None:
        raise UnusableError(f"the catalogue has no model '{name}'")
    version = str(raw.get("engine_version") or "")
    if re.match(r"20\d\d-\d\d", version):
        if version < _FIRST_PROFILED:
            raise UnusableError(f"no profile is of a version of {version}")
        version = ""
    engine = profile_of(_KINDS[raw["kind"]], version or _era(raw, seen), shelf())
    if engine is None:
        raise UnusableError(f"no profile of {raw.get('engine')}")
    gpu = find_gpu(str(raw.get("gpu") or ""))
    weights, sure = _weights(raw, model)
    known = sure and bool(re.match(r"\d+\.\d+", version)) and "MTP" not in f"{raw.get('note')} {name}"
    return Row(
        id=raw["id"], source=raw["source"], model=model.id, engine=engine.id, layout=_layout(raw, model),
        weights=weights, kv=_kv(raw, model), gpu=gpu if known else "",
        version=version,
        utilisation=Fraction(str(raw["gpu_mem_util"])) if raw.get("gpu_mem_util") else None,
        max_model_len=raw.get("max_model_len"), batched_tokens=raw["observed"].get("max_num_batched_tokens"),
        max_sequences=raw["observed"].get("max_num_seqs"), seen=seen, note=raw.get("note", ""),
    )  # fmt: skip


def _seen(observed: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _GIB:
        if observed.get(key) is not None:
            yield "kv_gib", f"{observed[key]}"
            break
    for key in _TOKENS:
        if observed.get(key) is not None:
            yield "tokens", observed[key]
            break
    for key, ours in (("k_gb", "k_gib"), ("v_gb", "v_gib"), ("weights_gib_per_gpu", "weights_gib"),
                      ("num_gpu_blocks", "blocks"), ("max_concurrency_x", "concurrency")):  # fmt: skip
        if observed.get(key) is not None:
            yield ours, observed[key]


def _era(raw: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Return a version that prints as the row does: since 0.21 tokens are concurrency times longest context."""
    times, longest, tokens = seen.get("concurrency"), raw.get("max_model_len"), seen.get("tokens")
    if raw["kind"] != "vllm_kv" or not (times and longest and tokens):
        return "99"
    return "99" if abs(times * longest - tokens) <= longest * 0.006 else "0.19"


def find_gpu(name: str) -> str:
    """Return the catalogue's id of a GPU as logs and people name it; empty where there is none or several."""
    words = re.sub(r"[^a-z0-9]+", " ", name.lower())
    table = (
        ("h100", "h100-sxm"), ("h200", "h200-sxm"), ("b200", "b200"), ("b300", "b300"), ("a100", "a100-80"),
        ("mi300x", "mi300x"), ("mi355x", "mi355x"), ("l40s", "l40s"), ("rtx 5090", "rtx-5090"), ("gb10", "gb10"),
        ("thor", "jetson-thor"), ("rtx pro 6000", "rtx-pro-6000"),
    )  # fmt: skip
    found = [ours for theirs, ours in table if re.search(rf"\b{theirs}\b", words)]
    several = "+" in name or "limited" in words or "40" in words.split()
    return found[0] if len(found) == 1 and not several else ""


def _layout(raw: Mapping[str, Any], model: Model) -> str:
    tensor, stages, data = (raw.get(key) or 1 for key in ("tp", "pp", "dp"))
    experts = raw.get("ep") or 1
    if data > 1 and raw["kind"] == "sglang_kv" and tensor >= data:
        tensor //= data
        experts = tensor * data if model.feed_forward.experts else 1
    if data > 1 and experts == 1:
        data = 1  # replicas of their own
    words = (("dp", data), ("tp", tensor), ("pp", stages), ("ep", experts))
    return "-".join(f"{word}{n}" for word, n in words if n > 1) or "tp1"


def _weights(raw: Mapping[str, Any], model: Model) -> tuple[str, bool]:
    """Return the weight format, and whether the catalogue has the one that ran."""
    have = [checkpoint.format for checkpoint in model.checkpoints]
    text = f"{raw.get('weight_quant') or ''} {raw['model']}".lower()
    if raw.get("kv_dtype") == "fp32":
        return ("fp32", True) if "fp32" in have else (have[0], False)
    for word, formats in (
        ("nvfp4", ("nvfp4",)), ("mxfp4", ("mxfp4",)), ("w8a8", ("w8a8",)), ("fp8-dynamic", ("fp8-dynamic",)),
        ("fp8", ("fp8", "fp8-dynamic")), ("awq", ("int4",)), ("int4", ("int4",)), ("4bit", ("int4",)),
    ):  # fmt: skip
        if word in text:
            found = next((name for name in formats if name in have), "")
            return (found, True) if found else (have[0], False)
    if raw.get("weight_quant"):
        return have[0], False
    return ("bf16", True) if "bf16" in have else (have[0], len(have) == 1)


def _kv(raw: Mapping[str, Any], model: Model) -> str:
    word = str(raw.get("kv_dtype") or "auto").lower()
    formats = model.attention[0].formats()
    if "656" in word or "ds_mla" in word:
        return "fp8_ds_mla"
    for key, ours in (("nvfp4", "nvfp4"), ("fp8", "fp8"), ("fp32", "fp32")):
        if word.startswith(key) and ours in formats:
            return ours
    return "bf16"
