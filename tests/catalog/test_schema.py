"""The JSON Schemas accept what the loader accepts, and refuse what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner.documents import read_document
from planner.schema import schema_text

ROOT = Path(__file__).parents[2]
FILES = sorted(path for name in ("catalog", "scenarios") for path in (ROOT / name).rglob("*.yaml"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}


@cache
def schema(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(schema_text(name))
    return made


def of_type(value: Any, name: str) -> bool:
    if name == "number" or name == "integer":
        return isinstance(value, int | float if name == "number" else int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value: Any, rule: Any, root: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield what `value` breaks; the keywords that our schemas use, no others."""
    if "$ref" in rule:
        target = root
        for step in rule["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        yield from faults(value, target, root, path)
    for word in ("anyOf", "oneOf"):
        tried = [list(faults(value, one, root, path)) for one in rule.get(word, ())]
        if tried and all(tried):
            yield min(tried, key=len)[0]
    if "type" in rule:
        names = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        if not any(of_type(value, name) for name in names):
            yield f"{path}: {value!r} is no {' or '.join(names)}"
    if "const" in rule and value != rule["const"]:
        yield f"{path}: {value!r} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{path}: {value!r} is not in {rule['enum']}"
    if isinstance(value, str) and "pattern" in rule and not re.search(rule["pattern"], value):
        yield f"{path}: {value!r} does not match {rule['pattern']}"
    if isinstance(value, dict):
        yield from object_faults(value, rule, root, path)
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from faults(item, rule.get("items", {}), root, f"{path}[{i}]")


def object_faults(value: dict[str, Any], rule: Any, root: dict[str, Any], path: str) -> Iterator[str]:
    for key in rule.get("required", ()):
        if key not in value:
            yield f"{path}: lacks {key}"
    more = rule.get("additionalProperties", True)
    for key, inner in value.items():
        if key in rule.get("properties", {}):
            yield from faults(inner, rule["properties"][key], root, f"{path}.{key}")
        elif more is False:
            yield f"{path}: {key} is unknown"
        elif isinstance(more, dict):
            yield from faults(inner, more, root, f"{path}.{key}")


def kind_of(path: Path) -> str:
    if path.parent.name == "scenarios":
        return "scenario"
    return "prices" if path.parent.name == "prices" else "catalog"


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(ROOT).as_posix() for path in FILES])
def test_shipped_file_meets_its_schema(path: Path) -> None:
    kind = schema(kind_of(path))
    assert list(faults(read_document(path).data, kind, kind)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"bogus": 1},
        {"workload": {"usres": 3}},
        {"workload": {"users": "many"}},
        {"workload": {"duty": 0.1}},
        {"fleet": {"gpus": "h200-sxm"}},
        {"objective": "cheap"},
        {"evidence": {}},
        {"resolved": {}},
    ],
)
def test_scenario_that_the_loader_refuses(change: dict[str, Any]) -> None:
    kind = schema("scenario")
    assert list(faults({"kind": "scenario", "name": "x", "title": "X"}, kind, kind)) == []
    assert list(faults({"kind": "scenario", "name": "x", **change}, kind, kind)) != []


@pytest.mark.parametrize("name", ["scenario", "catalog", "prices"])
def test_no_internal_field_and_no_docstring_leaks(name: str) -> None:
    text = schema_text(name)
    assert "Attributes\\n---" not in text
    for word in ("evidence", "resolved", "applied", "inside"):
        assert f'"{word}": {{' not in text
