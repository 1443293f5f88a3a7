"""Documents laid over each other with the places of their values: mappings merge, lists replace, null removes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.documents import Document, Key
from planner.errors import InputError


def look(data: Any, keys: Key) -> Any:
    """Return the value at a path; None where there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def leaves(data: dict[str, Any], path: Key = ()) -> Iterator[Key]:
    """Yield the path of each value that is no mapping of settings."""
    for key, value in data.items():
        if isinstance(value, dict) and "value" not in value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def lay_over(target: Document, data: Any, at: Key, source: Document, to: Key) -> None:
    """Merge `data` (at path `at` of `source`) into `target` at path `to`, places included."""
    for key, value in data.items():
        path, where = (*to, key), (*at, key)
        target.key_marks[path] = source.mark(where, key=True)
        parent = parent_of(target.data, path)
        if value is None:
            parent.pop(key, None)
            target.marks[to] = source.mark(where, key=True)
        elif (
            isinstance(value, dict)
            and isinstance(parent.get(key), dict)
            and "value" not in value
            and "value" not in parent[key]
        ):
            lay_over(target, value, where, source, path)
        else:
            parent[key] = value
            move_marks(target, source, where, path)


def move_marks(target: Document, source: Document, at: Key, to: Key) -> None:
    """Take over the places of all at or below `at` of `source`, as those of `to`."""
    for marks, found in ((target.marks, source.marks), (target.key_marks, source.key_marks)):
        if target is not source:
            for path in [p for p in marks if p[: len(to)] == to]:
                del marks[path]
        for path, mark in list(found.items()):
            if path[: len(at)] == at:
                marks[to + path[len(at) :]] = mark


def parent_of(data: Any, path: Key) -> dict[str, Any]:
    """Return the mapping that holds the last key of a path; made where it is missing.

    Raises
    ------
    InputError
        If a value on the way holds no keys.
    """
    for step in path[:-1]:
        data = data.setdefault(step, {})
        if not isinstance(data, dict):
            raise InputError(f"'{'.'.join(map(str, path))}': '{step}' has no keys below it")
    assert isinstance(data, dict)
    return data
