"""What whoever imports a configuration adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Wishes:
    """What whoever imports adds to the file.

    Attributes
    ----------
    id, name : str
        Of the model; from the folder's or file's name if empty.
    index : Path or None
        The checkpoint's ``model.safetensors.index.json``.
    weights : sequence of str
        Formats of further checkpoints, assumed.
    assumed : mapping of str to object
        Values for missing keys.
    ignored : sequence of str
        Keys that surely do not matter.
    """

    id: str = ""
    name: str = ""
    index: Path | None = None
    weights: Sequence[str] = ()
    assumed: Mapping[str, Any] = field(default_factory=dict)
    ignored: Sequence[str] = ()
