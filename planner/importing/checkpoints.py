"""From a configuration's quantisation, and an index, to the checkpoints of a model's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.errors import InputError, Problem, nearest
from planner.importing.draft import Draft
from planner.importing.formats import Formats, assumed_formats, merged, plain_formats
from planner.importing.index import Index
from planner.importing.jsontext import read_json
from planner.importing.quantization import read_quantization
from planner.importing.sheet import Log, Sheet
from planner.importing.wishes import Wishes
from planner.models import BYTES_PER_WEIGHT

_TYPES = {"bfloat16": "bf16", "float16": "bf16", "float32": "fp32"}
_SIBLING = "hf_quant_config.json"


def read_checkpoints(
    path: Path, text: Sheet, top: Sheet, draft: Draft, wishes: Wishes, index: Index | None
) -> list[dict[str, Any]]:
    """Return the checkpoints: the configuration's own, then those that were wished for."""
    base = _base(path, text, top)
    formats = _own(path, text, top, draft, wishes, base)
    own = _entry(formats, base)
    if index is not None:
        own |= {"draft_vocabulary": True} if index.repeats_vocabulary(len(draft.feeds)) else {}
        own["bytes"] = index.total
    found = [own]
    for word in wishes.weights:
        if word not in BYTES_PER_WEIGHT:
            message = f"unknown element format '{word}'"
            text.log.problems.append(Problem("--weights-format", 0, 0, message, nearest(word, BYTES_PER_WEIGHT)))
        elif all(word not in (one["format"], one["linear"]) for one in found):
            found.append(_entry(assumed_formats(word), "bf16"))
    return found


def _entry(formats: Formats, base: str) -> dict[str, Any]:
    kinds = formats.by_kind
    entry = {"format": formats.word, "experts": kinds["expert"], "linear": kinds["linear"]}
    entry |= {"attention": kinds["attention"]} if kinds["attention"] != kinds["linear"] else {}
    entry["other"] = base
    entry |= {"draft": formats.draft} if formats.draft else {}
    entry |= {"head": formats.head} if formats.head else {}
    notes = [f"{note[:1].upper()}{note[1:]}." for note in formats.notes]
    return entry | ({"note": " ".join(notes)} if notes else {})


def _base(path: Path, text: Sheet, top: Sheet) -> str:
    """Return the format of what is not quantised, from ``dtype`` or ``torch_dtype``."""
    found: dict[str, Sheet] = {}
    for sheet in (text, top):
        for key in ("dtype", "torch_dtype"):
            if sheet.has(key):
                value = sheet.text(key, tuple(_TYPES))
                found.setdefault(value, sheet)
    if not found and (_quantised(text, top) or _sibling(path).is_file()):
        note = "no dtype is told: what is not quantised is counted in 16 bits, as engines load it"
        text.log.notes.append(note)
        text.log.warnings.append(note)
        return "bf16"
    if not found:
        text.problem(None, "the key 'dtype' is missing: the bytes of weights are not told",
                     "add it, or give it with --assume dtype=bfloat16")  # fmt: skip
        return "bf16"
    if len(found) > 1:
        text.problem("dtype", f"'dtype' and 'torch_dtype' disagree: {', '.join(sorted(found))}")
    if "float16" in found:
        text.log.notes.append("the weights are float16, of as many bytes as BF16")
    return _TYPES[next(iter(found))]


def _method(sheet: Sheet) -> object:
    inner = sheet.data.get("quantization_config")
    return inner.get("quant_method") if isinstance(inner, dict) else None


def _quantised(text: Sheet, top: Sheet) -> bool:
    return any(bool(sheet.data.get("quantization_config")) for sheet in (text, top))


def _sibling(path: Path) -> Path:
    return path.with_name(path.name.removesuffix("config.json") + _SIBLING)


def _own(path: Path, text: Sheet, top: Sheet, draft: Draft, wishes: Wishes, base: str) -> Formats:
    """Return the formats of the configuration's own checkpoint, from it and from the file beside it."""
    readings: list[Formats] = []
    for sheet in (text,) if text is top else (text, top):
        inner = sheet.below("quantization_config")
        if inner is not None and inner.data:
            inner.assumed = wishes.assumed
            inner.skip(*wishes.ignored)
            readings.append(read_quantization(inner, draft, base))
    # FP8 checkpoints whose experts were quantised again tell the rest in the configuration alone.
    again = any(_method(sheet) == "fp8" for sheet in (text, top))
    beside = None if again else _beside(path, wishes, text.log)
    if beside is not None:
        readings.append(read_quantization(beside, draft, base))
    if len(readings) > 1 and not text.log.problems and not merged(readings[0], readings[-1]):
        text.log.problems.append(Problem(str(path), 0, 0, f"'quantization_config' and {_SIBLING} beside it disagree"))
    return readings[0] if readings else plain_formats(base)


def _beside(path: Path, wishes: Wishes, log: Log) -> Sheet | None:
    """Return the keys of ``hf_quant_config.json`` beside the configuration, if there is one."""
    other = _sibling(path)
    if not path.name.endswith("config.json") or not other.is_file():
        return None
    try:
        document = read_json(other)
    except InputError as fault:
        log.problems.extend(fault.problems)
        return None
    log.problems.extend(document.problems)
    data = document.data
    inner = data.get("quantization") if isinstance(data, dict) else None
    if not isinstance(inner, dict):
        log.problems.append(document.problem((), "expected the key 'quantization' with keys and values"))
        return None
    sheet = Sheet(document, ("quantization",), inner, log, wishes.assumed)
    sheet.skip(*wishes.ignored)
    return sheet
