"""From a document to a typed record: evidence taken apart, every error with its place.

A value may be written plainly, or with its evidence: ``{value: 700 W, source: dgx-guide}``,
``{value: 63 GB/s, derived: PCIe Gen5 x16}``, ``{value: 900 W, assumed: fans and boards, low:
600 W, high: 1500 W}``. Inside, a record holds plain values and one mapping of path to evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from planner.documents import UNREADABLE, Document, Key
from planner.errors import Problem, nearest
from planner.evidence import Evidence
from planner.fields import file_key

T = TypeVar("T")

_VALUE_KEYS = frozenset({"value", "source", "derived", "assumed", "low", "high", "note"})
_QUANTITY = re.compile(r"\d.* |Gen\d", re.DOTALL)
"""Text that is a number with a unit, or the width of a link."""
INTERNAL = ("evidence", "applied", "resolved", "inside", "label", "services", "throughput", "estimate")
"""Fields that the loader fills; they are no keys of a file."""


def split_evidence(document: Document, data: Any, at: Key = ()) -> tuple[Any, dict[str, Evidence], list[Problem]]:
    """Return `data` with plain values, the evidence by dotted path, and the problems found."""
    evidence: dict[str, Evidence] = {}
    problems: list[Problem] = []

    def walk(value: Any, path: Key) -> Any:
        if isinstance(value, list):
            return [walk(item, (*path, i)) for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if "value" not in value:
            return {key: walk(item, (*path, key)) for key, item in value.items()}
        found = _evidence(document, value, at + path, problems)
        if found:
            evidence[".".join(map(str, path))] = found
        return value["value"]

    return walk(data, ()), evidence, problems


def _evidence(document: Document, value: Mapping[str, Any], path: Key, problems: list[Problem]) -> Evidence | None:
    for key in value.keys() - _VALUE_KEYS:
        hint = nearest(key, _VALUE_KEYS)
        problems.append(document.problem((*path, key), f"unknown key '{key}' beside 'value'", hint, key=True))
    kinds = [kind for kind in ("assumed", "derived", "source") if value.get(kind)]
    if not kinds:
        message = "a value in this form needs 'source', 'derived' or 'assumed'"
        problems.append(document.problem(path, message, "write where the number comes from"))
        return None
    texts = {key: value.get(key) or "" for key in ("assumed", "derived", "low", "high", "note")}
    for key, text in texts.items():
        if isinstance(text, dict | list):
            problems.append(document.problem((*path, key), f"'{key}' must be plain text"))
            return None
    kind = "sourced" if kinds[0] == "source" else kinds[0]
    return Evidence(
        kind=kind,  # type: ignore[arg-type]
        sources=source_ids(value.get("source")),
        text=str(texts["assumed"] or texts["derived"]),
        low=str(texts["low"]),
        high=str(texts["high"]),
        note=str(texts["note"]),
    )


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


def read_record(document: Document, data: Any, record: type[T], at: Key = ()) -> tuple[T | None, list[Problem]]:
    """Read `data` (found at path `at` of the document) as a `record`.

    Returns
    -------
    record or None
        None if there were problems.
    list of Problem
        All of them, each with its place.
    """
    from pydantic import ValidationError

    plain, evidence, problems = split_evidence(document, data, at)
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
    names = {f.name for f in dataclass_fields(made)}  # type: ignore[arg-type]
    if "evidence" in names and evidence:
        made = replace(made, evidence=evidence)  # type: ignore[type-var]
    return made, []


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


def uncovered(data: Any, evidence: Mapping[str, Evidence], path: Key = ()) -> list[Key]:
    """Return the paths of numbers and quantities in plain `data` that have no evidence."""
    if isinstance(data, dict):
        return [p for k, v in data.items() for p in uncovered(v, evidence, (*path, k))]
    if isinstance(data, list):
        return [p for i, v in enumerate(data) for p in uncovered(v, evidence, (*path, i))]
    number = isinstance(data, int | float) and not isinstance(data, bool)
    number = number or (isinstance(data, str) and bool(_QUANTITY.match(data)) and path[-1] != "name")
    dotted = [".".join(map(str, path[:n])) for n in range(1, len(path) + 1)]
    return [path] if number and not any(d in evidence for d in dotted) else []
