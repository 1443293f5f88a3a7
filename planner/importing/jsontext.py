"""Strict JSON: plain data with the place of every key and value.

The standard reader takes duplicate keys, says nothing of places and may be brought down by depth
or by digits; this one tells all of that with line and column, as the reader of YAML does.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import Any

from planner.documents import UNREADABLE, Document, Key, Mark
from planner.errors import InputError, Problem

MOST_BYTES = 256 * 2**20
_MOST_DEPTH = 60
_MOST_DIGITS = 40
_SHOWN = 40
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[-+A-Za-z0-9_.]+")
_WORDS: dict[str, Any] = {
    "true": True, "false": False, "null": None,
    "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"),
}  # fmt: skip
_MARKS_OF_ORDER = {
    b"\xef\xbb\xbf": "begins with a byte order mark",
    b"\xff\xfe": "is UTF-16 text",
    b"\xfe\xff": "is UTF-16 text",
}


class _JsonError(Exception):
    """The text is no JSON from this place on."""

    def __init__(self, at: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


def read_json(path: Path, name: str = "") -> Document:
    """Read the JSON file at `path`; messages call it `name`.

    Raises
    ------
    InputError
        If it cannot be read or is no JSON; lesser faults are in the document's problems.
    """
    shown = name or str(path)
    try:
        if not path.is_file():
            found = "is no file" if path.exists() else "cannot be read: No such file or directory"
            raise InputError([Problem(shown, 0, 0, found)])
        if path.stat().st_size > MOST_BYTES:
            raise InputError([Problem(shown, 0, 0, f"is larger than {MOST_BYTES // 2**20} MiB, which no such file is")])
        data = path.read_bytes()
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise InputError([Problem(shown, 0, 0, f"cannot be read: {why}")]) from None
    return parse_json(_decoded(data, shown), shown)


def _decoded(data: bytes, shown: str) -> str:
    for mark, message in _MARKS_OF_ORDER.items():
        if data.startswith(mark):
            raise InputError([Problem(shown, 1, 1, message, "save the file as UTF-8 without a mark")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        before = data[: fault.start]
        line, column = before.count(b"\n") + 1, fault.start - before.rfind(b"\n")
        message = f"is not UTF-8 text ({fault.reason})"
        raise InputError([Problem(shown, line, column, message, "save the file as UTF-8")]) from None


def parse_json(text: str, name: str) -> Document:
    """Parse JSON `text`; `name` is how messages call it.

    Raises
    ------
    InputError
        If it is no JSON; lesser faults are in the document's problems.
    """
    reader = _Reader(text, name)
    try:
        reader.document.data, end = reader.value(reader.skip(0), (), 0)
        end = reader.skip(end)
        if end < len(text):
            raise _JsonError(end, f"found {reader.shown(end)} after the end of the value")
    except _JsonError as fault:
        raise InputError([Problem(*reader.place(fault.at), f"is not JSON: {fault.message}", fault.hint)]) from None
    return reader.document


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self.document = Document(name, None)

    def place(self, at: int) -> Mark:
        line = bisect_right(self.lines, at)
        return Mark(self.document.name, line, at - self.lines[line - 1] + 1)

    def skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def shown(self, at: int) -> str:
        if at >= len(self.text):
            return "the end of the file"
        word = _WORD.match(self.text, at)
        return repr(word.group()[:_SHOWN] if word else self.text[at])

    def problem(self, at: int, message: str, hint: str = "") -> None:
        self.document.problems.append(Problem(*self.place(at), message, hint))

    def value(self, at: int, path: Key, depth: int) -> tuple[Any, int]:
        """Return the value that begins `at`, and where it ends."""
        if depth > _MOST_DEPTH:
            raise _JsonError(at, f"nested deeper than {_MOST_DEPTH} levels")
        self.document.marks[path] = self.place(at)
        first = self.text[at : at + 1]
        if first == "{":
            return self._object(at, path, depth)
        if first == "[":
            return self._list(at, path, depth)
        if first == '"':
            return self._string(at)
        return self._plain(at)

    def _object(self, at: int, path: Key, depth: int) -> tuple[Any, int]:
        found: dict[str, Any] = {}
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise _JsonError(at, f"found {self.shown(at)} where a key in double quotes is meant")
            start = at
            key, at = self._string(at)
            at = self.skip(at)
            if self.text[at : at + 1] != ":":
                raise _JsonError(at, f"found {self.shown(at)} where ':' is meant")
            twice = key in found
            if twice:
                first = self.document.key_marks[(*path, key)]
                self.problem(start, f"the key '{key}' stands twice", f"it stands first in line {first.line}; keep one")
            # What stands under a second key of the name is read over, so that its faults are told as well.
            below = (*path, f"{key} ") if twice else (*path, key)
            self.document.key_marks.setdefault((*path, key), self.place(start))
            value, at = self.value(self.skip(at + 1), below, depth + 1)
            found.setdefault(key, value)
            at = self._next(at, "}")
        return found, at + 1

    def _list(self, at: int, path: Key, depth: int) -> tuple[Any, int]:
        found: list[Any] = []
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            value, at = self.value(at, (*path, len(found)), depth + 1)
            found.append(value)
            at = self._next(at, "]")
        return found, at + 1

    def _next(self, at: int, closing: str) -> int:
        at = self.skip(at)
        if self.text[at : at + 1] == ",":
            at = self.skip(at + 1)
            if self.text[at : at + 1] == closing:
                raise _JsonError(at, f"found {closing!r} after a comma", "remove the comma")
            return at
        if self.text[at : at + 1] != closing:
            raise _JsonError(at, f"found {self.shown(at)} where ',' or {closing!r} is meant")
        return at

    def _string(self, at: int) -> tuple[Any, int]:
        found = _STRING.match(self.text, at)
        if not found:
            raise _JsonError(at, "a text that does not end, or with a sign that JSON does not take")
        text = json.loads(found.group())
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            raise _JsonError(at, "half of a surrogate pair in a text")
        return text, found.end()

    def _plain(self, at: int) -> tuple[Any, int]:
        word = _WORD.match(self.text, at)
        if word and word.group() in _WORDS:
            return _WORDS[word.group()], word.end()
        number = _NUMBER.match(self.text, at)
        if not word or not number or number.end() != word.end():
            raise _JsonError(at, f"found {self.shown(at)} where a value is meant")
        if number.group(1) or number.group(2):
            return float(number.group()), number.end()
        digits = number.group().lstrip("-")
        if len(digits) > _MOST_DIGITS:
            self.problem(at, f"a number of {len(digits)} digits is out of all proportion")
            return UNREADABLE, number.end()
        return int(number.group()), number.end()
