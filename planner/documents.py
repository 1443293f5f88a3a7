"""Strict YAML: plain data with the place of every key and value.

PyYAML parses; what a text means is decided by `scalars`. Its traps are errors that say what to write
instead, and so are duplicate keys, merge keys and several documents in one file.
"""

from __future__ import annotations

from contextlib import closing
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from planner.errors import InputError, Problem
from planner.scalars import Trap, explicit, plain_value

Key = tuple[str | int, ...]

_MOST_LEVELS = 100
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "!")
_ONE_DOCUMENT = "one file holds one document; remove the second '---'"
_OPEN = object()
"""Stands for a value with an anchor that is not read to its end."""


class Mark(NamedTuple):
    """A place in a file, line and column counted from 1 (0 where a value is from no file)."""

    file: str
    line: int
    column: int


class _Unreadable:
    """Stands for a value that a problem has already been told about."""

    def __repr__(self) -> str:
        return "an unreadable value"

    def __deepcopy__(self, memo: object) -> _Unreadable:
        return self


UNREADABLE = _Unreadable()


class Document:
    """What a file holds.

    Places are found when they are first asked for, by parsing the text once more: a file without faults
    never pays for them.

    Parameters
    ----------
    name : str
        The file as messages name it.
    data : object
        Dicts, lists, str, int, float, bool and None.
    marks : dict, optional
        Path of keys to the place of the value.
    key_marks : dict, optional
        Path of keys to the place of the key itself.
    problems : list of Problem, optional
        What is wrong with single keys and values; the values are `UNREADABLE`. Whoever reads the
        document on tells these together with what else is wrong.
    text : str, optional
        The YAML that places are found in.
    """

    def __init__(
        self,
        name: str,
        data: Any,
        marks: dict[Key, Mark] | None = None,
        key_marks: dict[Key, Mark] | None = None,
        problems: list[Problem] | None = None,
        text: str | None = None,
    ) -> None:
        self.name = name
        self.data = data
        self.problems = [] if problems is None else problems
        self._marks = {} if marks is None else marks
        self._key_marks = {} if key_marks is None else key_marks
        self._text = text

    @property
    def marks(self) -> dict[Key, Mark]:
        """The places of values by path."""
        self._find_places()
        return self._marks

    @property
    def key_marks(self) -> dict[Key, Mark]:
        """The places of keys by path."""
        self._find_places()
        return self._key_marks

    def _find_places(self) -> None:
        text, self._text = self._text, None
        if text is not None:
            with closing(_loader(text)) as loader:
                _places(loader.get_single_node(), (), self, frozenset())

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
    return parse_document(read_text(path, name), name or str(path))


def read_text(path: Path, name: str | None = None) -> str:
    """Return the text of the file at `path`.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    shown = name or str(path)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as fault:
        hint = "save the file as UTF-8"
        raise InputError([Problem(shown, 1, 1, f"is not UTF-8 text ({fault.reason})", hint)]) from None
    except OSError as fault:
        raise InputError([Problem(shown, 0, 0, f"cannot be read: {fault.strerror}")]) from None


def parse_document(text: str, name: str) -> Document:
    """Parse YAML `text`; `name` is how messages call it.

    Raises
    ------
    InputError
        If it is no YAML at all; lesser faults are in the document's problems.
    """
    import yaml

    try:
        document = Document(name, None, text=text)
        if "&" in text:
            # Where there are anchors the parser's own nodes find what is wrong with them.
            document._find_places()
        with closing(_loader(text)) as loader:
            document.data = _Builder(loader, document, anchors="&" in text).build()
    except yaml.MarkedYAMLError as fault:
        raise InputError([_syntax_problem(fault, name)]) from None
    except yaml.YAMLError as fault:
        raise InputError([Problem(name, 1, 1, f"is not YAML: {fault}")]) from None
    return document


def _syntax_problem(fault: Any, name: str) -> Problem:
    mark = fault.problem_mark or fault.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    words = f"{fault.problem} {fault.context}"
    # PyYAML's two parsers word this differently.
    tab = any(word in words for word in ("\\t", "tab character", "cannot start any token"))
    hint = "indent with spaces, not tabs" if tab else ""
    if "expected a single document" in str(fault.context):
        hint = _ONE_DOCUMENT
    return Problem(name, line, column, f"is not YAML: {fault.problem or fault.context}", hint)


@cache
def _loader_class() -> Any:
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    # Only places are read from nodes: finding out what type a text is meant to be would take longer than they do.
    return type("Loader", (base,), {"resolve": lambda self, kind, value, implicit: ""})


def _loader(text: str) -> Any:
    loader = _loader_class()(text)
    loader.close = loader.dispose
    return loader


def _places(node: Any, path: Key, document: Document, above: frozenset[int]) -> None:
    """Note the places of a node and of all below it."""
    name, marks = document.name, document.marks
    marks[path] = Mark(name, node.start_mark.line + 1, node.start_mark.column + 1)
    if node.id == "scalar" or id(node) in above or len(path) > _MOST_LEVELS:
        return
    above = above | {id(node)}
    if node.id == "sequence":
        for i, item in enumerate(node.value):
            _places(item, (*path, i), document, above)
        return
    for key, value in node.value:
        inner = (*path, key.value)
        if key.id == "scalar" and inner not in document.key_marks:
            document.key_marks[inner] = Mark(name, key.start_mark.line + 1, key.start_mark.column + 1)
            _places(value, inner, document, above)


class _Builder:
    """Data from the events of a parser: no nodes are made, which would cost more than all the rest.

    Parameters
    ----------
    loader : yaml loader
        Where events come from.
    document : Document
        What it is all for; problems go there.
    anchors : bool
        Whether the text may hold any.
    """

    def __init__(self, loader: Any, document: Document, *, anchors: bool) -> None:
        from yaml import events

        self.loader = loader
        self.kinds = events
        self.document = document
        self.anchors: dict[str, Any] | None = {} if anchors else None
        self.places: dict[str, Any] = {}

    def build(self) -> Any:
        """Return the data of the one document that there must be.

        Raises
        ------
        InputError
            If there is none, or more than one.
        """
        get, end = self.loader.get_event, self.kinds.StreamEndEvent
        get()
        if isinstance(get(), end):
            raise InputError([Problem(self.document.name, 1, 1, "the file is empty")])
        data = self.value(get(), ())
        get()
        after = get()
        if not isinstance(after, end):
            raise InputError([self.problem(after, "is not YAML: but found another document", _ONE_DOCUMENT)])
        return data

    def problem(self, event: Any, message: str, hint: str = "") -> Problem:
        """Return a problem at the place of an event."""
        mark = event.start_mark
        return Problem(self.document.name, mark.line + 1, mark.column + 1, message, hint)

    def tell(self, event: Any, message: str, hint: str = "") -> Any:
        """Add a problem; return what stands for the value."""
        self.document.problems.append(self.problem(event, message, hint))
        return UNREADABLE

    def value(self, event: Any, path: Key) -> Any:
        """Return the value that begins with an event."""
        kind = event.__class__
        if kind is self.kinds.ScalarEvent:
            value = self.scalar(event)
            return value if self.anchors is None else self.anchored(event, value)
        if kind is self.kinds.AliasEvent:
            return self.alias(event)
        if event.tag is not None and event.tag not in _COLLECTIONS:
            self.skip(event)
            return self.tell(event, f"the tag '{event.tag}' is not accepted", "write the value alone")
        if len(path) == _MOST_LEVELS:
            self.skip(event)
            return self.tell(event, f"lies more than {_MOST_LEVELS} levels deep")
        fill = self.mapping if kind is self.kinds.MappingStartEvent else self.sequence
        if self.anchors is None or event.anchor is None:
            return fill(path)
        self.anchored(event, _OPEN)
        made = self.anchors[event.anchor] = fill(path)
        return made

    def sequence(self, path: Key) -> list[Any]:
        """Read the values of a list that has begun."""
        get, value, end = self.loader.get_event, self.value, self.kinds.SequenceEndEvent
        made: list[Any] = []
        while (event := get()).__class__ is not end:
            made.append(value(event, (*path, len(made))))
        return made

    def mapping(self, path: Key) -> dict[str, Any]:
        """Read the keys and values of a mapping that has begun."""
        get, scalar, simple = self.loader.get_event, self.scalar, self.anchors is None
        end, text = self.kinds.MappingEndEvent, self.kinds.ScalarEvent
        made: dict[str, Any] = {}
        while (event := get()).__class__ is not end:
            key: Any = event.value if event.__class__ is text else None
            if (key is None or key in made or key == "<<") and not self.accepts(event, key, made, path):
                self.skip(get())
                continue
            value = get()
            # Most values are scalars: no call to find that out.
            made[key] = scalar(value) if simple and value.__class__ is text else self.value(value, (*path, key))
        return made

    def accepts(self, event: Any, key: Any, made: dict[str, Any], path: Key) -> bool:
        """Return whether a key can be taken; tell why it cannot."""
        if key is None:
            self.skip(event)
            self.tell(event, "a key must be plain text")
        elif key in made:
            line = self.document.mark((*path, key), key=True).line
            self.tell(event, f"the key '{key}' stands twice", f"it stands first in line {line}; keep one of them")
        elif not event.style:
            self.tell(event, "merge keys ('<<') are not accepted", "write the values out")
        else:
            return True
        return False

    def skip(self, event: Any) -> None:
        """Pass over the rest of the value that begins with an event."""
        depth = 0
        while True:
            kind = event.__class__.__name__
            if kind == "AliasEvent":
                self.known_anchors(event)
            depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
            if depth == 0:
                return
            event = self.loader.get_event()

    def scalar(self, event: Any) -> Any:
        """Return what a scalar means; a problem is told."""
        if event.tag is not None and explicit(event):
            return self.tell(event, f"the tag '{event.tag}' is not accepted", "write the value alone")
        if event.style:
            return event.value
        value = plain_value(event.value)
        return self.tell(event, value.message, value.hint) if value.__class__ is Trap else value

    def anchored(self, event: Any, value: Any) -> Any:
        """Keep a value for aliases, where its event carries an anchor."""
        if event.anchor is not None and self.anchors is not None:
            self.anchors[event.anchor] = value
            self.places[event.anchor] = event
        return value

    def alias(self, event: Any) -> Any:
        """Return a copy of what an alias stands for."""
        anchors = self.known_anchors(event)
        if event.anchor not in anchors:
            return self.tell(event, f"the alias '{event.anchor}' stands for what is not accepted")
        if anchors[event.anchor] is _OPEN:
            return self.tell(self.places[event.anchor], "a value contains itself through an alias")
        return deepcopy(anchors[event.anchor])

    def known_anchors(self, event: Any) -> dict[str, Any]:
        """Return the values with anchors; a text without any has no use for an alias."""
        if self.anchors is None:
            raise InputError([self.problem(event, f"is not YAML: found undefined alias '{event.anchor}'")])
        return self.anchors
