"""Strict YAML: plain data with the place of every key and value.

PyYAML parses; the scalars are resolved here, because YAML 1.1 turns ``no`` into false, ``12:30``
into 750 and ``010`` into 8. Such texts are errors that say what to write instead, and so are
duplicate keys, merge keys and several documents in one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, Problem

Key = tuple[str | int, ...]

_MOST_DIGITS = 40
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9]+")
_TRAPS = (
    (re.compile(r"(?i)y|n|yes|no|on|off"), "write true or false, or put the text in quotes"),
    (re.compile(r"(?i)true|false"), "write true or false in small letters"),
    (re.compile(r"(?i)null"), "write null in small letters"),
    (re.compile(r"[-+]?[0-9]+(:[0-9]+)+"), "put a time or ratio in quotes"),
    (re.compile(r"[-+]?0[0-9_]+"), "a leading zero means octal in YAML 1.1; remove it or use quotes"),
    (re.compile(r"[-+]?0[xob][0-9a-fA-F_]+"), "write the number in decimal"),
    (re.compile(r"[-+]?[0-9._]+[eE][-+]?[0-9]+"), "write the number out, or use a unit such as '1 GB'"),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9_]+\.)"), "write digits on both sides of the point"),
    (re.compile(r"(?i)[-+]?\.(inf|nan)"), "infinite and undefined numbers are not accepted"),
)


class Mark(NamedTuple):
    """A place in a file, line and column counted from 1 (0 where a value is from no file)."""

    file: str
    line: int
    column: int


class _Unreadable:
    """Stands for a value that a problem has already been told about."""

    def __repr__(self) -> str:
        return "an unreadable value"


UNREADABLE = _Unreadable()


@dataclass
class Document:
    """What a file holds.

    Attributes
    ----------
    name : str
        The file as messages name it.
    data : object
        Dicts, lists, str, int, float, bool and None.
    marks : dict
        Path of keys to the place of the value.
    key_marks : dict
        Path of keys to the place of the key itself.
    problems : list of Problem
        What is wrong with single keys and values; the values are `UNREADABLE`. Whoever reads the
        document on tells these together with what else is wrong.
    """

    name: str
    data: Any
    marks: dict[Key, Mark] = field(default_factory=dict)
    key_marks: dict[Key, Mark] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def mark(self, path: Key, *, key: bool = False) -> Mark:
        """Return the place of `path`, or of its nearest enclosing value."""
        if key and path in self.key_marks:
            return self.key_marks[path]
        for length in range(len(path), -1, -1):
            if path[:length] in self.marks:
                return self.marks[path[:length]]
        return Mark(self.name, 1, 1)

    def problem(self, path: Key, message: str, hint: str = "", *, key: bool = False) -> Problem:
        """Return a problem at the place of `path`."""
        return Problem(*self.mark(path, key=key), message, hint)


def read_document(path: Path, name: str | None = None) -> Document:
    """Read the YAML file at `path`.

    Raises
    ------
    InputError
        If it cannot be read or is no YAML at all; lesser faults are in the document's problems.
    """
    shown = name or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as fault:
        hint = "save the file as UTF-8"
        raise InputError([Problem(shown, 1, 1, f"is not UTF-8 text ({fault.reason})", hint)]) from None
    except OSError as fault:
        raise InputError([Problem(shown, 0, 0, f"cannot be read: {fault.strerror}")]) from None
    return parse_document(text, shown)


def parse_document(text: str, name: str) -> Document:
    """Parse YAML `text`; `name` is how messages call it.

    Raises
    ------
    InputError
        If it is no YAML at all; lesser faults are in the document's problems.
    """
    import yaml

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as fault:
        raise InputError([_syntax_problem(fault, name)]) from None
    except yaml.YAMLError as fault:
        raise InputError([Problem(name, 1, 1, f"is not YAML: {fault}")]) from None
    if root is None:
        raise InputError([Problem(name, 1, 1, "the file is empty")])
    document = Document(name, None)
    document.data = _build(root, (), document, document.problems, frozenset())
    return document


def _syntax_problem(fault: Any, name: str) -> Problem:
    mark = fault.problem_mark or fault.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    words = f"{fault.problem} {fault.context}"
    # PyYAML's two parsers word this differently.
    tab = any(word in words for word in ("\\t", "tab character", "cannot start any token"))
    hint = "indent with spaces, not tabs" if tab else ""
    if "expected a single document" in str(fault.context or fault.problem):
        hint = "one file holds one document; remove the second '---'"
    return Problem(name, line, column, f"is not YAML: {fault.problem or fault.context}", hint)


def _mark(node: Any, document: Document) -> Mark:
    return Mark(document.name, node.start_mark.line + 1, node.start_mark.column + 1)


def _build(node: Any, path: Key, document: Document, problems: list[Problem], above: frozenset[int]) -> Any:
    document.marks[path] = _mark(node, document)
    if id(node) in above:
        problems.append(document.problem(path, "a value contains itself through an alias"))
        return UNREADABLE
    above = above | {id(node)}
    if node.id != "scalar" and node.tag not in _COLLECTIONS:
        problems.append(document.problem(path, f"the tag '{node.tag}' is not accepted", "write the value alone"))
        return UNREADABLE
    if node.id == "mapping":
        return dict(_items(node, path, document, problems, above))
    if node.id == "sequence":
        return [_build(item, (*path, i), document, problems, above) for i, item in enumerate(node.value)]
    return _scalar(node, path, document, problems)


def _items(
    node: Any, path: Key, document: Document, problems: list[Problem], above: frozenset[int]
) -> Iterator[tuple[str, Any]]:
    seen: dict[str, Mark] = {}
    for key_node, value_node in node.value:
        mark = _mark(key_node, document)
        key = key_node.value if key_node.id == "scalar" else None
        if not isinstance(key, str):
            problems.append(Problem(*mark, "a key must be plain text"))
        elif key == "<<" and not key_node.style:
            problems.append(Problem(*mark, "merge keys ('<<') are not accepted", "write the values out"))
        elif key in seen:
            first = f"it stands first in line {seen[key].line}; keep one of them"
            problems.append(Problem(*mark, f"the key '{key}' stands twice", first))
        else:
            seen[key] = mark
            document.key_marks[(*path, key)] = mark
            yield key, _build(value_node, (*path, key), document, problems, above)


def _scalar(node: Any, path: Key, document: Document, problems: list[Problem]) -> Any:
    text = node.value
    if node.tag.startswith("!") or _explicit(node):
        problems.append(document.problem(path, f"the tag '{node.tag}' is not accepted", "write the value alone"))
        return UNREADABLE
    if node.style:
        return text
    if text in ("", "null", "~"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return _integer(text, path, document, problems)
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    for trap, advice in _TRAPS:
        if trap.fullmatch(text):
            problems.append(document.problem(path, f"'{text}' is read differently by YAML versions", advice))
            return UNREADABLE
    return text


def _explicit(node: Any) -> bool:
    """Return whether a scalar carries a tag of its own: the resolver would have chosen another."""
    implied = _resolver().resolve(_scalar_node(), node.value, (not node.style, bool(node.style)))
    return bool(node.tag != implied)


@cache
def _resolver() -> Any:
    from yaml.resolver import Resolver

    return Resolver()


@cache
def _scalar_node() -> Any:
    import yaml

    return yaml.ScalarNode


def _integer(text: str, path: Key, document: Document, problems: list[Problem]) -> Any:
    digits = text.replace("_", "")
    if len(digits) > _MOST_DIGITS:
        problems.append(document.problem(path, f"a number of {len(digits)} digits is out of all proportion"))
        return UNREADABLE
    return int(digits)
