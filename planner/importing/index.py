"""What an index of a checkpoint's files tells: their bytes, draft layers, a vocabulary that stands twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from planner.errors import InputError
from planner.importing.draft import Draft
from planner.importing.excluded import canonical
from planner.importing.jsontext import read_json
from planner.importing.sheet import Derived, Log, Sheet

_LAYER = re.compile(r"layers\.(\d+)\.")
_DRAFT = re.compile(r"mtp\.(?:layers\.)?(\d+)\.")
_BY_INDEX = "draft layers by the names in the index of the files"


@dataclass(frozen=True)
class Index:
    """An index of a checkpoint's files.

    Attributes
    ----------
    total : int
        Bytes of all tensors.
    names : tuple of str
        Of the tensors, without what stands before ``layers``.
    """

    total: int
    names: tuple[str, ...]

    def draft_layers(self, layers: int) -> set[int]:
        """Return the numbers of draft layers: those behind the `layers` of the model, or under ``mtp``."""
        behind = {int(found[1]) for name in self.names if (found := _LAYER.match(name))}
        named = {int(found[1]) for name in self.names if (found := _DRAFT.match(name))}
        return named or {number for number in behind if number >= layers}

    def repeats_vocabulary(self, layers: int) -> bool:
        """Return whether draft layers hold the embedding a second time."""
        beyond = tuple(f"layers.{number}." for number in self.draft_layers(layers) if number >= layers)
        return bool(beyond) and any(name.startswith(beyond) and "embed_tokens" in name for name in self.names)


def read_index(path: Path, log: Log) -> Index | None:
    """Return the index at `path`, None with problems."""
    try:
        document = read_json(path)
    except InputError as fault:
        log.problems.extend(fault.problems)
        return None
    log.problems.extend(document.problems)
    data = document.data if isinstance(document.data, dict) else {}
    metadata = Sheet(document, (), data, log).below("metadata")
    if metadata is None:
        log.problems.append(document.problem((), "expected the key 'metadata' with 'total_size'"))
        return None
    names = data.get("weight_map")
    found = tuple(canonical(name) for name in names) if isinstance(names, dict) else ()
    return Index(int(metadata.count("total_size")), found)


def settle_drafts(draft: Draft, index: Index | None, log: Log) -> None:
    """Take the number of draft layers from an index where no key tells it, and say what only an index tells."""
    if index is None or not index.names:
        if draft.drafts_untold:
            log.notes.append("no key names draft layers, and none are counted; the files may hold some, as an index "
                             "(--index) would tell")  # fmt: skip
            log.warnings.append("files of this type may hold draft layers that no key names, and none are counted: "
                                "give --index, or --assume num_nextn_predict_layers=N")  # fmt: skip
        elif draft.draft_layers:
            log.notes.append("whether the files of draft layers repeat embedding and head is told by an index only "
                             "(--index), and counted as if they did not")  # fmt: skip
        return
    found = len(index.draft_layers(len(draft.feeds)))
    if draft.drafts_untold:
        draft.draft_layers = Derived(found, _BY_INDEX) if found else 0
        log.notes.append(f"no key names draft layers; the index names {found}")
    elif bool(found) != bool(draft.draft_layers):
        message = f"the index names {found} draft layers, the configuration {draft.draft_layers}, as counted here"
        log.notes.append(message)
        log.warnings.append(message)
