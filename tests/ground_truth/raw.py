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

from planner.engines import Engine
from planner.hardware import Gpu
from planner.models import Model
from planner.questions.identify import default_kv_format, match_model, profile_of
from tests.ground_truth.predict import shelf
from tests.ground_truth.rows import Row

_FIRST_PROFILED = "2025-06"
_KINDS = {"vllm_kv": "vllm", "sglang_kv": "sglang"}
_GIB = ("available_kv_gib_per_gpu", "available_kv_gib", "kv_gb")
_TOKENS = ("gpu_kv_tokens", "kv_tokens", "kv_tokens_per_rank", "max_total_num_tokens", "gpu_kv_tokens_logged")
_DRAFT = r"(?:mtp|eagle\d?|nextn|speculati\w+|spec[- ]decod\w*|draft\w*|dflash|dspark)"
_DRAFTS = re.compile(rf"(?<![a-z]){_DRAFT}(?![a-z])")
_NO_DRAFTS = re.compile(rf"\b(?:no|without)\s+{_DRAFT}|(?<![a-z]){_DRAFT}\s+(?:\w+\s+)?(?:off|disabled)\b")


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
        If model, KV format or what was printed cannot be told.
    """
    seen = dict(_seen(raw["observed"]))
    if not ("tokens" in seen or "kv_gib" in seen or "k_gib" in seen):
        raise UnusableError("neither tokens nor GiB of a KV cache")
    name = str(raw.get("model") or "")
    model = match_model(re.sub(r"\s*\(.*\)", "", name), shelf()) if name else None
    if model is None:
        raise UnusableError(f"the catalogue has no model '{name}'")
    version = re.sub(r"^v(?=\d)", "", str(raw.get("engine_version") or "").strip())
    if re.match(r"20\d\d-\d\d", version):
        if version < _FIRST_PROFILED:
            raise UnusableError(f"no profile is of a version of {version}")
        version = ""
    engine = profile_of(_KINDS[raw["kind"]], version or _era(raw, seen), shelf())
    if engine is None:
        raise UnusableError(f"no profile of {raw.get('engine')}")
    gpu = find_gpu(str(raw.get("gpu") or ""))
    weights, sure = _weights(raw, model)
    unsaid = bool(_DRAFTS.search(_NO_DRAFTS.sub("", f"{raw.get('note')} {name}".lower())))
    known = sure and bool(re.match(r"\d+\.\d+", version)) and not unsaid
    return Row(
        id=raw["id"], source=raw["source"], model=model.id, engine=engine.id, layout=_layout(raw, model),
        weights=weights, kv=_kv(raw, model, engine, gpu), gpu=gpu if known else "",
        version=version,
        utilisation=Fraction(str(raw["gpu_mem_util"])) if raw.get("gpu_mem_util") else None,
        max_model_len=raw.get("max_model_len"), batched_tokens=raw["observed"].get("max_num_batched_tokens"),
        max_sequences=raw["observed"].get("max_num_seqs"), unsaid=unsaid, seen=seen, note=raw.get("note") or "",
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


# GPUs.

_GPUS = (  # a name, sizes that it is sold with (None: one must be said), words that make it another card, our id
    ("h100", (80,), ("nvl", "pcie"), "h100-sxm"), ("h200", (140, 141, 143), ("nvl",), "h200-sxm"),
    ("h200 nvl", (140, 141, 143), (), "h200-nvl"), ("h20", None, (), {96: "h20-96", 141: "h20-141"}),
    ("a100", None, (), {80: "a100-80"}), ("b200", (180, 183, 192), (), "b200"), ("b300", (270, 288), (), "b300"),
    ("mi300x", (192,), (), "mi300x"), ("mi355x", (288,), (), "mi355x"), ("l40s", (48,), (), "l40s"),
    ("l40", (48,), (), "l40"), ("l20", (48,), (), "l20"), ("l4", (24,), (), "l4"),
    ("rtx ?3090", (24,), (), "rtx-3090"), ("rtx ?4090", (24,), ("laptop", "d"), "rtx-4090"),
    ("rtx ?5090", (32,), ("laptop", "d"), "rtx-5090"), ("rtx ?pro ?6000", (96,), (), "rtx-pro-6000"),
    ("gb10|dgx spark", (128,), (), "gb10"), ("thor", (128,), (), "jetson-thor"),
)  # fmt: skip
_ARCHITECTURES = (
    ("h100|h200|h800|h20|gh200", "sm90"), ("b200|gb200", "sm100"), ("b300|gb300", "sm103"), ("a100|a800", "sm80"),
    ("rtx ?(50\\d0|pro ?\\d000)|gb10|dgx spark", "sm120"), ("l40s?|l20|l4|rtx ?40\\d0", "sm89"),
    ("mi300x|mi325x", "gfx942"), ("mi35\\dx", "gfx950"),
)  # fmt: skip


def find_gpu(name: str) -> str:
    """Return the catalogue's id of a GPU as logs and people name it; empty where there is none or several."""
    words = _words(name)
    if "+" in name or re.search(r"\b(limited|mig|vgpu)\b", words):
        return ""
    said = {int(n) for n in re.findall(r"\b(\d{2,3}) ?(?:gb|gib|g)?\b", words)}
    found = []
    for card, sizes, others, ours in _GPUS:
        hit = re.search(rf"\b({card})\b", words)
        if hit is None or set(others) & set(words.split()) or (card == "h200" and "nvl" in words):
            continue
        if isinstance(ours, dict):
            found += [ours[n] for n in said & set(ours)] if len(said) == 1 else [""]
        else:
            numbers = {int(n) for n in re.findall(r"\d+", hit[0])}
            found.append(ours if said - numbers <= set(sizes or ()) else "")
    return found[0] if len(found) == 1 else ""


def _words(name: str) -> str:
    """Return a name's words, without how many GPUs there are."""
    words = re.sub(r"[^a-z0-9]+", " ", name.lower().replace("×", "x")).strip()
    words = re.sub(r"^\d+ ?x ?(?=[a-z])|\b ?x ?\d{1,2}$", "", words)
    words = re.sub(r"\b([a-z]+\d+[a-z]*)x\d{1,2}\b", r"\1", words)
    return re.sub(r"\b([ah]\d{2,3}|b\d{3})(sxm\d?|nvl|pcie)\b", r"\1 \2", words)


# Layout and formats.


def _layout(raw: Mapping[str, Any], model: Model) -> str:
    tensor, stages, data = (int(raw.get(key) or 1) for key in ("tp", "pp", "dp"))
    said = raw.get("ep")
    spread = said is True or str(said).lower() == "true"
    experts = 1 if spread or isinstance(said, bool) or not str(said or "").isdigit() else int(str(said))
    if data > 1 and raw["kind"] == "sglang_kv" and tensor >= data:
        tensor //= data
        spread = True
    if spread:
        experts = tensor * data
    if not model.feed_forward.experts:
        experts = 1
    if data > 1 and experts == 1:
        data = 1  # replicas of their own
    words = (("dp", data), ("tp", tensor), ("pp", stages), ("ep", experts))
    return "-".join(f"{word}{n}" for word, n in words if n > 1) or "tp1"


_UNSAID = ("", "none", "auto", "null", "default", "unknown", "unquantized", "unquantised")
_PLAIN = ("bf16", "bfloat16", "fp16", "float16", "half", "16bit", "16-bit")
_QUANTISED = (
    ("nvfp4|modelopt-fp4", ("nvfp4",)), ("mxfp4", ("mxfp4",)), ("mxfp8", ("mxfp8",)),
    ("fp8-dynamic", ("fp8-dynamic", "fp8")), ("w8a8-fp8|fp8-w8a8|fp8", ("fp8", "fp8-dynamic")),
    ("w8a8", ("w8a8",)), ("int8|8-?bit|q8-\\w+", ()), ("w4a16|awq|gptq|int4|4-?bit|autoround", ("int4",)),
    ("gguf|q\\d-\\w+|bnb|bitsandbytes", ()),
)  # fmt: skip
"""What words say of weights, the more telling first; empty where no checkpoint here is of that kind."""


def _weights(raw: Mapping[str, Any], model: Model) -> tuple[str, bool]:
    """Return the weight format, and whether the catalogue has the one that ran."""
    have = [checkpoint.format for checkpoint in model.checkpoints]
    if raw.get("kv_dtype") == "fp32":
        return ("fp32", True) if "fp32" in have else (have[0], False)
    said = re.sub(r"[^a-z0-9]+", "-", str(raw.get("weight_quant") or "").lower()).strip("-")
    if said in _PLAIN:
        return ("bf16", True) if "bf16" in have else (have[0], False)
    name = re.sub(r"[^a-z0-9]+", "-", str(raw["model"]).lower())
    text = name if said in _UNSAID else f"{said}-{name}"
    for words, formats in _QUANTISED:
        if re.search(rf"(^|-)({words})(-|$)", text):
            found = next((one for one in formats if one in have), "")
            return (found, True) if found else (have[0], False)
    if said not in _UNSAID:
        return have[0], False
    # Nothing is said: the files as they were published.
    return ("bf16", True) if "bf16" in have else (have[0], True)


def _kv(raw: Mapping[str, Any], model: Model, engine: Engine, gpu: str) -> str:
    """Return the KV format, by the rule that start-up logs are read with."""
    text = str(raw.get("kv_dtype") or "auto").strip().lower()
    formats = model.attention[0].formats()
    if ("656" in text or "ds_mla" in text) and "fp8_ds_mla" in formats:
        return "fp8_ds_mla"
    word = (re.findall(r"[a-z0-9_.]+", text) or ["auto"])[0]
    word = "auto" if word in ("unknown", "default", "model", "null", "n") else word
    cards = list(_cards(str(raw.get("gpu") or ""), gpu))
    found = {(default_kv_format(word, model, engine, card), card.architecture) for card in cards}
    legal = {name for name, where in found if name and not engine.kv_format_fault(name, model.family, where)}
    names = sorted(legal or {name for name, _ in found if name})
    if not names:
        raise UnusableError(f"KV format '{text}' is not known")
    if len(names) > 1:
        raise UnusableError(f"KV format '{text}' is {' or '.join(names)}, by a GPU that is not said")
    return names[0]


def _cards(name: str, gpu: str) -> Iterator[Gpu]:
    """Yield the GPU; where it is not known one of each architecture that it may have."""
    gpus = shelf().catalog.gpus()
    if gpu:
        yield gpus[gpu]
        return
    words = _words(name)
    told = {architecture for key, architecture in _ARCHITECTURES if re.search(rf"\b({key})\b", words)}
    by_architecture = {card.architecture: card for card in gpus.values()}
    for architecture, card in by_architecture.items():
        if not told or architecture in told:
            yield card
