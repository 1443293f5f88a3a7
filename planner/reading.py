"""From a document to a typed record: evidence taken apart, every error with its place.

A value may be written plainly, or with its evidence: ``{value: 700 W, source: dgx-guide}``,
``{value: 63 GB/s, derived: PCIe Gen5 x16}``, ``{value: 900 W, assumed: fans and boards, low:
600 W, high: 1500 W}``. Inside, a record holds plain values and one mapping of path to evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, lru_cache
from typing import Any, TypeVar, get_args, get_type_hints

from planner.documents import UNREADABLE, Document, Key
from planner.errors import Problem, nearest
from planner.evidence import Evidence, Kind
from planner.fields import file_key

T = TypeVar("T")

_VALUE_KEYS = frozenset({"value", "source", "derived", "assumed", "low", "high", "note"})
_QUANTITY = re.compile(r"\d.* |Gen\d", re.DOTALL)
"""Text that is a number with a unit, or the width of a link."""
INTERNAL = ("evidence", "applied", "resolved", "inside", "label", "services", "throughput", "estimate")
"""Fields that the loader fills; they are no keys of a file."""


@dataclass
class Apart:
    """What a document holds, evidence taken apart.

    Attributes
    ----------
    plain : object
        Keys and plain values.
    evidence : dict
        Dotted path to where a value comes from.
    bare : list of tuple
        Paths of numbers and quantities that say nothing about it.
    problems : list of Problem
    """

    plain: Any = None
    evidence: dict[str, Evidence] = field(default_factory=dict)
    bare: list[Key] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def take_apart(document: Document, data: Any, at: Key = ()) -> Apart:
    """Return `data` (found at path `at` of the document) with its evidence apart, in one walk over it."""
    apart = Apart()
    evidence, bare = apart.evidence, apart.bare

    def walk(value: Any, path: Key) -> Any:
        if isinstance(value, str):
            if _QUANTITY.match(value) and path[-1:] != ("name",):
                bare.append(path)
            return value
        if isinstance(value, dict):
            if "value" not in value:
                return {key: walk(item, (*path, key)) for key, item in value.items()}
            found = _evidence(document, value, at + path, apart.problems)
            if found:
                evidence[".".join(map(str, path))] = found
            return value["value"]
        if isinstance(value, list):
            return [walk(item, (*path, i)) for i, item in enumerate(value)]
        if isinstance(value, int | float) and not isinstance(value, bool):
            bare.append(path)
        return value

    apart.plain = walk(data, ())
    return apart


def _evidence(document: Document, value: Mapping[str, Any], path: Key, problems: list[Problem]) -> Evidence | None:
    for key in value.keys() - _VALUE_KEYS:
        hint = nearest(key, _VALUE_KEYS)
        problems.append(document.problem((*path, key), f"unknown key '{key}' beside 'value'", hint, key=True))
    get = value.get
    assumed, derived, source = get("assumed"), get("derived"), get("source")
    if not (assumed or derived or source):
        message = "a value in this form needs 'source', 'derived' or 'assumed'"
        problems.append(document.problem(path, message, "write where the number comes from"))
        return None
    low, high, note = get("low"), get("high"), get("note")
    texts = {"assumed": assumed, "derived": derived, "low": low, "high": high, "note": note}
    for key, text in texts.items():
        if isinstance(text, dict | list):
            problems.append(document.problem((*path, key), f"'{key}' must be plain text"))
            return None
    kind: Kind = "assumed" if assumed else "derived" if derived else "sourced"
    text = str(assumed or derived or "")
    return same_evidence(kind, source_ids(source), text, str(low or ""), str(high or ""), str(note or ""))


same_evidence = lru_cache(maxsize=1 << 14)(Evidence)
"""Evidence made once: many values come from one document."""


def source_ids(value: object) -> tuple[str, ...]:
    """Return the source ids written as one text or as a list."""
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    return (str(value),) if value else ()


@cache
def adapter(record: Any) -> Any:
    """Return pydantic's reader of a record, made once."""
    from pydantic import TypeAdapter

    return TypeAdapter(record)


def read_record(
    document: Document, data: Any, record: type[T], at: Key = (), *, covered: bool = False
) -> tuple[T | None, list[Problem]]:
    """Read `data` (found at path `at` of the document) as a `record`.

    Parameters
    ----------
    covered : bool
        Whether every number must have evidence.

    Returns
    -------
    record or None
        None if there were problems, other than that evidence is missing.
    list of Problem
        All of them, each with its place.
    """
    from pydantic import ValidationError

    apart = take_apart(document, data, at)
    plain, problems = apart.plain, apart.problems
    if isinstance(plain, dict):
        problems += _internal_keys(document, plain, at)
        plain = _spread(plain)
    try:
        made: T = adapter(record).validate_python(plain)  # type: ignore[arg-type]
    except ValidationError as fault:
        found = fault.errors(include_url=False, include_context=True)
        # What could not be read at all has been told already, with its own advice.
        told = [error for error in found if error["input"] is not UNREADABLE]
        return None, problems + [_problem(document, error, record, at) for error in told]
    if problems:
        return None, problems
    if apart.evidence and "evidence" in made.__dataclass_fields__:  # type: ignore[attr-defined]
        # Nobody else has seen the record yet; to make another would run all its fields once more.
        object.__setattr__(made, "evidence", apart.evidence)
    if covered and not source_ids(apart.plain.get("source")):
        return made, [_bare(document, at, path) for path in apart.bare]
    return made, []


def _bare(document: Document, at: Key, path: Key) -> Problem:
    hint = "write {value: ..., source: ...}, or 'assumed: why' instead of 'source'"
    return document.problem((*at, *path), f"'{'.'.join(map(str, path))}' has no source", hint)


def _internal_keys(document: Document, plain: Mapping[str, Any], at: Key) -> list[Problem]:
    return [document.problem((*at, key), f"unknown key '{key}'", key=True) for key in INTERNAL if key in plain]


def _spread(plain: dict[str, Any]) -> dict[str, Any]:
    # One source may be written as plain text where a list is meant.
    return {k: [v] if k in ("source", "sources") and isinstance(v, str) else
            [_spread(i) if isinstance(i, dict) else i for i in v] if isinstance(v, list) else
            _spread(v) if isinstance(v, dict) else v
            for k, v in plain.items()}  # fmt: skip


def _problem(document: Document, error: Mapping[str, Any], record: type, at: Key) -> Problem:
    path = at + _document_path(document, error["loc"], at)
    kind, name = error["type"], str(error["loc"][-1]) if error["loc"] else ""
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        known = _known_keys(record, error["loc"][:-1])
        return document.problem(path, f"unknown key '{name}'", nearest(name, known), key=True)
    if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return document.problem(path[:-1], f"the key '{name}' is missing", f"add '{name}: ...' here")
    shown = f"'{name}': " if isinstance(error["loc"][-1:], tuple) and name else ""
    if kind == "value_error":
        return document.problem(path, f"{shown}{error['ctx']['error']}")
    if kind == "literal_error":
        words = [str(w) for w in _literal_words(error)]
        found = error["input"]
        return document.problem(
            path, f"{shown}found {found!r}, expected {' or '.join(words)}", nearest(str(found), words)
        )
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return document.problem(path, f"{shown}{error['msg'].replace('Input tag', 'the family')}")
    if kind in ("dataclass_type", "dict_type", "mapping_type", "model_type"):
        return document.problem(path, f"{shown}expected keys and values, found {error['input']!r}")
    if kind in ("tuple_type", "list_type"):
        return document.problem(
            path, f"{shown}expected a list, found {error['input']!r}", "write '- item' lines or [a, b]"
        )
    return document.problem(path, f"{shown}{error['msg']}, found {error['input']!r}")


def _literal_words(error: Mapping[str, Any]) -> list[str]:
    return [word.strip("'") for word in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]


def _document_path(document: Document, loc: tuple[Any, ...], at: Key) -> Key:
    # pydantic puts the tag of a chosen union member into the path; the document has no such key.
    path: Key = ()
    for i, step in enumerate(loc):
        last = i == len(loc) - 1
        if last or (*at, *path, step) in document.marks or isinstance(step, int):
            path = (*path, step)
    return path


def _known_keys(record: type, loc: Iterable[Any]) -> list[str]:
    current: Any = record
    for step in loc:
        if isinstance(step, int):
            continue
        current = field_type(current, step) or current
    if not is_dataclass(current):
        return []
    return [file_key(f.name) for f in dataclass_fields(current) if f.name not in INTERNAL]


@cache
def _hints(record: type) -> dict[str, Any]:
    return {file_key(name): hint for name, hint in get_type_hints(record).items()}


def field_type(record: Any, key: str) -> Any:
    """Return the record class that the field written `key` holds, None if it holds none."""
    from planner.attention import FAMILIES

    if key in FAMILIES:
        return FAMILIES[key]
    if not is_dataclass(record) or not isinstance(record, type):
        return None
    pending = [_hints(record).get(key)]
    while pending:
        hint = pending.pop()
        if is_dataclass(hint):
            return hint
        pending.extend(get_args(hint))
    return None
