"""Which matrices a list of modules means: names, wildcards, regular expressions, in every spelling.

Checkpoints name the same matrix ``model.layers.0…``, ``model.language_model.layers.0…``,
``language_model.model.layers.0…`` or ``backbone.layers.0…``; lists may name a part of the model
above it. What a list names and nothing knows is an error, unless it is plainly small or beside
the layers.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

PREFIXES = ("model.language_model.", "language_model.model.", "language_model.", "backbone.", "model.", "")
_LAYER = re.compile(r"layers\.(\d+)(?:\.|$)")
_NUMBER = re.compile(r"layers\.(\d+)")
_SMALL = re.compile(
    r"norm|embed|lm_head|^head$|visual|vision|projector|patch_merge|router|(^|\.)gate$|gate\.|shared_expert_gate|"
    r"e_score|correction_bias|conv1d|bias$|mtp|eh_proj|audio|image|\.scale$|A_log|dt_bias|indexers?_?\.?proj|weights_proj|"
    r"in_proj_[ab]$|in_proj_ba$|(^|\.)indexer|sinks|\.D$|multi_modal|aligner|shared_head"
)
MOST_SIGNS = 400
"""No module's name is longer; a longer pattern may be one that never ends to match."""


def canonical(name: str) -> str:
    """Return a module's name without what stands before ``layers``."""
    for prefix in PREFIXES[:-1]:
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


@cache
def _spellings(name: str) -> tuple[str, ...]:
    return tuple(prefix + name for prefix in PREFIXES)


class PatternError(ValueError):
    """A regular expression that is none."""


@dataclass
class Modules:
    """A list of modules.

    Attributes
    ----------
    patterns : tuple of str
        As written.
    loose : bool
        Whether a bare word matches as a part of a name, as lists of Hugging Face's own methods do.
    """

    patterns: tuple[str, ...]
    loose: bool = False
    names: set[str] = field(default_factory=set)
    wild: dict[int | None, list[tuple[str, re.Pattern[str]]]] = field(default_factory=dict)
    expressions: list[tuple[str, re.Pattern[str]]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, patterns: Iterable[str], *, loose: bool = False) -> Modules:
        """Return the list of `patterns`, made ready for matching.

        Raises
        ------
        PatternError
            If one is too long, or no regular expression where it says it is one.
        """
        made = cls(tuple(patterns), loose)
        for pattern in made.patterns:
            if len(pattern) > MOST_SIGNS:
                raise PatternError(f"a name of {len(pattern)} signs")
            made._add(pattern)
        return made

    def _add(self, pattern: str) -> None:
        if pattern.startswith("re:"):
            self.expressions.append((pattern, _expression(pattern[3:])))
            return
        name = canonical(pattern)
        if "*" not in name and "?" not in name and not (self.loose and not name.startswith("layers.")):
            self.names.add(name)
            return
        body = fnmatch.translate(name).removesuffix("\\Z").removesuffix("\\z")
        start = r"(?:.*\.)?" if self.loose and not name.startswith("layers.") else ""
        found = _LAYER.match(name)
        bucket = int(found.group(1)) if found else None
        self.wild.setdefault(bucket, []).append((pattern, re.compile(rf"{start}{body}(?:\..*)?\Z", re.DOTALL)))

    def match(self, name: str, layer: int) -> bool:
        """Return whether the list means the matrix `name` (without prefix) of `layer`."""
        self.seen.add(name)
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            parent = ".".join(parts[:length])
            if parent in self.names:
                self.used.add(parent)
                return True
        for pattern, wild in (*self.wild.get(layer, ()), *self.wild.get(None, ())):
            if wild.match(name):
                self.used.add(pattern)
                return True
        for pattern, expression in self.expressions:
            if any(expression.match(spelling) for spelling in _spellings(name)):
                self.used.add(pattern)
                return True
        return False

    def unknown(self, layers: int) -> list[str]:
        """Return the patterns that met no matrix and are not plainly small or beside the `layers`."""
        found = []
        for pattern in self.patterns:
            name = canonical(pattern)
            number = _NUMBER.match(name)
            beyond = number is not None and int(number.group(1)) >= layers
            if not (pattern in self.used or name in self.used or beyond or _SMALL.search(name) or self._meets(pattern)):
                found.append(pattern)
        return found

    def _meets(self, pattern: str) -> bool:
        """Return whether `pattern` alone means any matrix that was asked about; another may have come first."""
        alone = Modules.of([pattern], loose=self.loose)
        return any(alone.match(name, _layer_of(name)) for name in self.seen)

    def names_expert(self) -> bool:
        """Whether any pattern tells experts apart by number."""
        return any(re.search(r"experts\.\d", pattern) for pattern in self.patterns)

    def draft(self, layers: int) -> bool:
        """Whether the list means the whole of the draft layers, which are named after the last or ``mtp``."""
        whole = {f"layers.{layers}", f"layers.{layers}*", f"layers.{layers}.*"}
        return any(
            re.fullmatch(r"mtp(\.layers\.0)?(\.?\*)?", canonical(p)) or canonical(p) in whole for p in self.patterns
        )


def _layer_of(name: str) -> int:
    found = _NUMBER.match(name)
    return int(found.group(1)) if found else -1


def _expression(text: str) -> re.Pattern[str]:
    # Nested repetition could take forever on a hostile file.
    if re.search(r"[*+}]\)?[*+{]|\([^()]*[*+][^()]*\)[*+{]", text):
        raise PatternError(f"'{text}' repeats what repeats")
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as fault:
        raise PatternError(f"'{text}' is no regular expression: {fault}") from None
