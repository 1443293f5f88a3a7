"""What a configuration holds beyond what was read: nothing that may matter is passed over."""

from __future__ import annotations

from planner.errors import Problem, nearest
from planner.importing.harmless import HARMLESS
from planner.importing.sheet import Log, Sheet
from planner.importing.wishes import Wishes

NESTED = ("text_config", "llm_config", "language_config")
"""Keys under which a model with several parts keeps its language model."""


def unread(text: Sheet, top: Sheet, wishes: Wishes) -> None:
    """Refuse keys that nobody read and that are not known to be harmless."""
    for sheet in (text,) if text is top else (text, top):
        if sheet is not text:
            sheet.skip(*NESTED, "projector_hidden_size", "spatial_merge_size", "multimodal_projector_bias", "dtype",
                       "torch_dtype", "hidden_size", "vocab_size", "projector_bias", "vlm_model_type")  # fmt: skip
            _same_outside(sheet, text)
        unread_in(sheet, wishes)


def _same_outside(outer: Sheet, text: Sheet) -> None:
    """Refuse sizes that stand around the language model's as well, but differ."""
    for key in ("hidden_size", "vocab_size"):
        given = outer.data.get(key)
        if given is not None and given != text.data.get(key):
            outer.problem(key, f"'{key}' is {given!r} here and {text.data.get(key)!r} in the language model")


def unread_in(sheet: Sheet, wishes: Wishes) -> None:
    """Refuse such keys of one mapping."""
    for key in sheet.data:
        word = sheet.word(key)
        if key in sheet.known or key in HARMLESS or word in wishes.ignored or key in wishes.ignored:
            continue
        hint = nearest(key, sheet.known | HARMLESS)
        near = f"{hint} " if hint.startswith("did") else ""
        sheet.problem(key, f"unknown key '{word}': it may change the memory",
                      f"{near}--ignore {word} if it surely does not matter", at_key=True)  # fmt: skip


def wasted(text: Sheet, top: Sheet, wishes: Wishes, log: Log) -> None:
    """Refuse options that met nothing, or that would hide what matters."""
    sheets = (text, top)
    paths = {".".join(map(str, path)) for path in text.document.key_marks}
    for key in wishes.ignored:
        if key not in paths and not any(key in sheet.data for sheet in sheets):
            log.problems.append(Problem("--ignore", 0, 0, f"'{key}' is no key of the file", nearest(key, paths)))
        elif any(key in sheet.read and key in sheet.data for sheet in sheets):
            log.problems.append(Problem("--ignore", 0, 0, f"'{key}' decides on the memory and cannot be ignored"))
    for key in wishes.assumed.keys() - log.assumed.keys():
        if any(key in sheet.data for sheet in sheets):
            log.problems.append(Problem("--assume", 0, 0, f"'{key}' is given in the file already"))
        else:
            known = set().union(*(sheet.read for sheet in sheets))
            log.problems.append(Problem("--assume", 0, 0, f"'{key}' is asked for by nobody", nearest(key, known)))
