"""From a Hugging Face ``config.json`` to a model's record: all of it understood, or nothing written.

The record is made by writing the model's file and reading that, so that what is returned and what
is written cannot differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.documents import Document, parse_document
from planner.errors import InputError, Problem, nearest
from planner.fields import file_key
from planner.importing.checkpoints import read_checkpoints
from planner.importing.draft import Draft
from planner.importing.encoders import ENCODERS
from planner.importing.families import READERS, Source
from planner.importing.index import read_index, settle_drafts
from planner.importing.jsontext import read_json
from planner.importing.leftovers import NESTED, unread, unread_in, wasted
from planner.importing.sheet import Derived, Log, Sheet
from planner.importing.wishes import Wishes
from planner.importing.writing import file_text
from planner.models import Model
from planner.reading import read_record

_PARTS = ("vision_config", "audio_config")
_WRAPPERS: Mapping[str, str | None] = {
    # Type of the whole to the type of its language model where that says none itself.
    "qwen3_vl": "qwen3_vl_text", "qwen3_vl_moe": "qwen3_vl_moe_text", "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text", "gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text",
    "llama4": "llama4_text", "mistral3": "mistral", "llava": None, "kimi_k25": "deepseek_v3", "kimi_vl": "deepseek_v3",
    "kimi_k3": "kimi_linear", "minimax_m3_vl": "minimax_m3", "step3p7": "step3p5", "glm5_next": "glm5_next_text",
    "ministral3": "ministral3",
}  # fmt: skip
_REFUSED = {
    "nemotron-nas": "its feed-forward sizes differ from layer to layer, which a model's file cannot say",
    "bert": "it is no decoder",
    "t5": "it is no decoder alone",
    "mamba": "it has states only, which no family here describes",
    "chatglm": "its configuration class is not part of transformers",
    "baichuan": "its configuration class is not part of transformers",
}
_ARCHITECTURE = re.compile(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel)$")


@dataclass(frozen=True)
class Imported:
    """What an import made.

    Attributes
    ----------
    model : Model
        The record.
    text : str
        The model's file.
    warnings : tuple of str
        What should be told at once.
    """

    model: Model
    text: str
    warnings: tuple[str, ...]


def import_config(path: Path) -> Model:
    """Return the model that the ``config.json`` at `path` describes.

    Raises
    ------
    InputError
        With every problem; nothing is guessed.
    """
    return import_model(path).model


def import_model(path: Path, wishes: Wishes | None = None) -> Imported:
    """Return the model that the ``config.json`` at `path` describes, and its file.

    Raises
    ------
    InputError
        With every problem; nothing is guessed.
    """
    wishes = wishes or Wishes()
    document = read_json(path)
    log = Log(list(document.problems))
    try:
        data = _read(document, path, wishes, log)
    except _StopError:
        raise InputError(log.problems) from None
    if log.problems:
        raise InputError(log.problems)
    text = file_text(data)
    model = _record(text, path)
    return Imported(model, text, tuple(log.warnings))


class _StopError(Exception):
    """So much is wrong that reading on would tell nothing more."""


def _read(document: Document, path: Path, wishes: Wishes, log: Log) -> dict[str, Any]:
    top = _top(document, wishes, log)
    nested = next((key for key in NESTED if isinstance(document.data.get(key), dict)), None)
    text = top.below(nested) if nested else top
    assert text is not None
    text.assumed = wishes.assumed
    outer = top if nested else None
    kind = _model_type(text, outer, log)
    draft = READERS[kind](Source(text, outer, kind))
    _check_decoder(text, top)
    _encoder(top, draft, wishes, kind)
    index = read_index(wishes.index, log) if wishes.index else None
    settle_drafts(draft, index, log)
    checkpoints = read_checkpoints(path, text, top, draft, wishes, index)
    unread(text, top, wishes)
    wasted(text, top, wishes, log)
    name, ident = _names(path, wishes)
    return _file_data(draft, checkpoints, ident, name, path, log)


def _top(document: Document, wishes: Wishes, log: Log) -> Sheet:
    if not isinstance(document.data, dict):
        log.problems.append(document.problem((), "expected keys and values: a configuration begins with '{'"))
        raise _StopError
    return Sheet(document, (), document.data, log, wishes.assumed)


def _model_type(text: Sheet, outer: Sheet | None, log: Log) -> str:
    """Return the type of the language model, or stop: without a reader nothing else can be told."""
    whole = (outer or text).raw("model_type", None)
    own = text.raw("model_type", None)
    known = sorted({*READERS, *_WRAPPERS})
    for sheet, value in ((outer or text, whole), (text, own)):
        if value is not None and not isinstance(value, str):
            sheet.problem("model_type", f"'{sheet.word('model_type')}': found {value!r}, expected text")
            raise _StopError
    if outer is not None and whole not in _WRAPPERS:
        _stop(outer, whole, sorted(_WRAPPERS))
    kind = own or (_WRAPPERS.get(whole or "") if outer is not None else None)
    if kind is not None and outer is not None and kind == whole and kind in _WRAPPERS:
        kind = _WRAPPERS[kind]
    if kind not in READERS:
        _stop(text, kind, known)
    assert kind is not None
    return kind


def _stop(sheet: Sheet, value: str | None, known: Sequence[str]) -> None:
    if value is None:
        sheet.problem(None, "the key 'model_type' is missing", f"add it; known: {', '.join(known)}")
    elif value in _REFUSED:
        sheet.problem("model_type", f"the model type '{value}' cannot be imported: {_REFUSED[value]}",
                      "write the model's file by hand")  # fmt: skip
    else:
        near = nearest(value, known)
        hint = near if near.startswith("did") else f"known: {', '.join(known)}"
        sheet.problem("model_type", f"the model type '{value}' is not known", hint)
    raise _StopError


def _check_decoder(text: Sheet, top: Sheet) -> None:
    for key in ("is_encoder_decoder", "add_cross_attention"):
        text.must(key, False, "a decoder alone")
    for sheet in (text,) if text is top else (text, top):
        for name in sheet.items("architectures") or ():
            if not isinstance(name, str) or not _ARCHITECTURE.search(name):
                sheet.problem("architectures", f"'{name}' writes no text: its size is not that of its model type")


def _encoder(top: Sheet, draft: Draft, wishes: Wishes, kind: str) -> None:
    """Write the parameters of encoders and the largest image, or say that they are not counted."""
    whole = str(top.data.get("model_type"))
    parts = [part for part in _PARTS if top.has(part)]
    if not parts and (whole == kind or whole not in _WRAPPERS or top.data.get("language_model_only") is True):
        return
    draft.encoder = True
    counted = ENCODERS.get(whole) if parts == ["vision_config"] else None
    given = wishes.assumed.get("encoder_parameters")
    if given is not None:
        top.log.assumed["encoder_parameters"] = given
        if isinstance(given, bool) or not isinstance(given, int) or not 0 < given < 2**40:
            top.log.problems.append(Problem("--assume", 0, 0, f"encoder_parameters={given}: expected a whole number"))
            return
        draft.add_extra("encoder", given)
    elif counted:
        sheet = top.below("vision_config")
        if sheet is not None:
            draft.add_extra("image encoder", max(counted.count(sheet, top, draft.hidden), 1))
            draft.encoder_item = counted.item(sheet, top) if counted.item else None
            sheet.skip(*counted.harmless.split(), "dtype", "torch_dtype", "architectures",
                       "is_encoder_decoder")  # fmt: skip
            unread_in(sheet, wishes)
    else:
        message = "the encoder's parameters are not known and not counted: weights are too small by them"
        top.log.notes.append(message)
        top.log.warnings.append(f"{message}; give them with --assume encoder_parameters=N")


def _names(path: Path, wishes: Wishes) -> tuple[str, str]:
    stem = path.stem.removesuffix("config").rstrip("_-.") or path.resolve().parent.name
    name = wishes.name or stem.rsplit("--", 1)[-1] or "imported model"
    ident = wishes.id or re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "imported-model"
    return name, ident


def _file_data(draft: Draft, checkpoints: list[dict[str, Any]], ident: str, name: str, path: Path, log: Log
               ) -> dict[str, Any]:  # fmt: skip
    data: dict[str, Any] = {
        "kind": "model", "id": ident, "name": name,
        "max_context": _with_reason(f"{int(draft.max_context)} tokens", draft.max_context),
        "hidden": draft.hidden, "vocabulary": draft.vocabulary,
    }  # fmt: skip
    data |= {"tied": True} if draft.tied else {}
    if draft.positions:
        data["positions"] = _with_reason(f"{int(draft.positions)} tokens", draft.positions)
    data |= {"attention": draft.attention, "feed_forward": draft.feed_forward}
    data |= {"draft_layers": draft.draft_layers} if draft.draft_layers else {}
    data |= {"norms_per_block": draft.norms_per_block} if draft.norms_per_block != 1 else {}
    data |= {"extra": draft.extra} if draft.extra else {}
    data |= {"encoder": True} if draft.encoder else {}
    if draft.encoder_item:
        for field, value in zip(("encoder_item_tokens", "encoder_item_elements"), draft.encoder_item, strict=True):
            data[file_key(field)] = value
    note = [f"Imported from {path.name}: the shape and formats follow from it, parameters are derived."]
    if log.defaults:
        note.append(
            "Not in it and taken as its class defines (transformers 5.24.0): "
            + ", ".join(dict.fromkeys(log.defaults))
            + "."
        )
    if log.assumed:
        note.append("Given with --assume: " + ", ".join(map(_given, log.assumed.items())) + ".")
    note += [f"{text[:1].upper()}{text[1:]}." for text in dict.fromkeys(log.notes)]
    return data | {"checkpoints": checkpoints, "note": " ".join(note)}


def _given(assumed: tuple[str, Any]) -> str:
    key, value = assumed
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def _with_reason(text: str, of: int) -> str | dict[str, str]:
    """Return `text`, with the reason that the number `of` it was made from carries along."""
    if not isinstance(of, Derived):
        return text
    return {"value": text, "assumed" if of.why.startswith("--assume") else "derived": of.why}


def _record(text: str, path: Path) -> Model:
    document = parse_document(text, f"{path} (imported)")
    model, problems = read_record(document, document.data, Model)
    if model is None or problems or document.problems:
        raise InputError([*document.problems, *problems] or "an import that cannot be read")
    return model
