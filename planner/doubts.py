"""Which assumed constants of an engine's profile decide the whole sessions of a layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, get_type_hints

from planner.engines import Engine
from planner.fields import Parsed, file_key


@dataclass(frozen=True)
class Doubt:
    """A constant whose stated range changes the answer.

    Attributes
    ----------
    path : str
        In the engine's file.
    value, low, high : str
        As written there; `low` or `high` may be empty.
    why : str
        What the file says of it.
    sessions_low, sessions_high : int
        Whole sessions per pool at the ends of the range.
    """

    path: str
    value: str
    low: str
    high: str
    why: str
    sessions_low: int
    sessions_high: int

    def __str__(self) -> str:
        """Return e.g. ``runtime.graphs (5 per pool at 0.17 GiB, 4 at 1.85 GiB)``."""
        ends = ((self.low, self.sessions_low), (self.high, self.sessions_high))
        return f"{self.path} ({', '.join(f'{count} per pool at {end}' for end, count in ends if end)})"


def deciding(engine: Engine, sessions: int, sessions_with: Callable[[Engine], int]) -> Iterator[Doubt]:
    """Yield the constants of a profile that change whole sessions within their ranges, one at a time.

    Parameters
    ----------
    sessions : int
        Whole sessions per pool as the profile stands.
    sessions_with : callable
        The same with a profile of one constant changed.
    """
    for path, evidence in engine.evidence.items():
        if not path.startswith("runtime.") or not (evidence.low or evidence.high):
            continue
        low, high = (
            sessions_with(with_value(engine, path, end)) if end else sessions for end in (evidence.low, evidence.high)
        )
        if low != sessions or high != sessions:
            value = str(_value_at(engine, path))
            yield Doubt(path, value, evidence.low, evidence.high, evidence.text, low, high)


def with_value(record: Engine, path: str, text: str) -> Engine:
    """Return `record` with the value at a dotted path of its file replaced by what `text` says."""
    made: Engine = _with(record, path.split("."), text)
    return made


def _with(record: Any, path: list[str], text: str) -> Any:
    if isinstance(record, tuple):
        at = int(path[0])
        return (*record[:at], _with(record[at], path[1:], text), *record[at + 1 :])
    name = _field(record, path[0])
    if path[1:]:
        return replace(record, **{name: _with(getattr(record, name), path[1:], text)})
    return replace(record, **{name: _parse(type(record), name, text)})


def _field(record: Any, key: str) -> str:
    return next(f.name for f in fields(record) if file_key(f.name) == key)


def _parse(record: type, name: str, text: str) -> Any:
    hint = get_type_hints(record, include_extras=True)[name]
    parse = next(mark.parse for mark in hint.__metadata__ if isinstance(mark, Parsed))
    plain = text.replace(".", "", 1).isdigit()
    return parse((float(text) if "." in text else int(text)) if plain else text)


def _value_at(record: Any, path: str) -> Any:
    for key in path.split("."):
        record = record[int(key)] if isinstance(record, tuple) else getattr(record, _field(record, key))
    return record if not is_dataclass(record) else ""
