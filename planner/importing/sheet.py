"""One mapping of a configuration, read key by key: nothing is guessed, nothing overlooked.

Whoever reads a key has it noted as known; what nobody read and no list knows to be harmless is an
error in the end. A missing key is an error unless its reader states what the configuration class
itself would take, and then the value carries that word along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.documents import UNREADABLE, Document, Key
from planner.errors import Problem, nearest

CLASS_DEFAULT = "default of the configuration class (transformers 5.24.0)"
BY_ITS_RULE = "by the rule of the configuration class (transformers 5.24.0)"
MOST = 2**40
"""No size of a model comes near; what is above is a slip."""

_ABSENT = object()


class Derived(int):
    """A number that stands in no file, with the reason for it."""

    why: str

    def __new__(cls, value: int, why: str) -> Derived:
        """Make the number `value` with its reason."""
        made = super().__new__(cls, value)
        made.why = why
        return made


@dataclass
class Log:
    """What all sheets of an import have to tell in the end.

    Attributes
    ----------
    problems : list of Problem
        What is wrong.
    defaults : list of str
        Keys that were taken from a configuration class, with their values.
    notes : list of str
        What a reader of the model's file should know.
    warnings : list of str
        What whoever imports should be told at once.
    assumed : dict of str to object
        The user's values that were made use of.
    """

    problems: list[Problem] = field(default_factory=list)
    defaults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    assumed: dict[str, Any] = field(default_factory=dict)


@dataclass
class Sheet:
    """One mapping of a configuration.

    Attributes
    ----------
    document : Document
        The file it is from.
    path : tuple
        Where in it.
    data : mapping
        Its keys.
    log : Log
        Where problems and defaults go.
    assumed : mapping of str to object
        Values for missing keys, given by the user.
    class_defaults : mapping of str to int
        What the configuration class takes for sizes that its published files leave out.
    known : set of str
        Keys that were read, or are known not to matter.
    read : set of str
        Keys that were read, whose values matter.
    """

    document: Document
    path: Key
    data: Mapping[str, Any]
    log: Log
    assumed: Mapping[str, Any] = field(default_factory=dict)
    class_defaults: Mapping[str, int] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def problem(self, key: str | None, message: str, hint: str = "", *, at_key: bool = False) -> None:
        """Note a problem at `key`, or with the whole sheet; the import will fail."""
        path = self.path if key is None else (*self.path, key)
        self.log.problems.append(self.document.problem(path, message, hint, key=at_key))
        if key is not None:
            self.failed.add(key)

    def has(self, key: str) -> bool:
        """Return whether `key` is given with a value, and note it as known."""
        return self.raw(key, None) is not None

    def raw(self, key: str, missing: Any = _ABSENT) -> Any:
        """Return the value of `key` as it stands, `missing` if it is not there."""
        self.known.add(key)
        self.read.add(key)
        if key in self.data:
            return self.data[key]
        if key in self.assumed:
            self.log.assumed[key] = self.assumed[key]
            return self.assumed[key]
        return missing

    def skip(self, *keys: str) -> None:
        """Note keys that do not matter in this family."""
        self.known.update(keys)

    def word(self, key: str) -> str:
        """Return how messages name `key`."""
        return ".".join(map(str, (*self.path, key)))

    def count(self, key: str, missing: int | None = None, null: int | None = None, *, rule: bool = False,
              least: int = 1) -> int:  # fmt: skip
        """Return a whole number of at least `least`.

        Parameters
        ----------
        key : str
            Its key.
        missing, null : int or None
            What the configuration class takes where the key is not there, or is null; an error if
            left out.
        rule : bool
            Whether the class computes that from other keys.
        least : int
            The least that makes sense.
        """
        value = self.raw(key)
        if value is _ABSENT or value is None:
            missing = self.class_defaults.get(key) if missing is None else missing
            other = missing if value is _ABSENT else null
            return (
                self._default(key, other, rule and key not in self.class_defaults)
                if other is not None
                else self._lacking(key, value, least)
            )
        return self._whole(key, value, least)

    def whole(self, key: str, missing: int | None = None, null: int | None = None) -> int:
        """Return a whole number of at least 0; see `count`."""
        return self.count(key, missing, null, least=0)

    def optional(self, key: str, missing: Any = _ABSENT, *, hint: str = "") -> int | None:
        """Return a whole number of at least 1, or None for null; `missing`, or an error, if the key is not there."""
        value = self.raw(key)
        if value is None:
            return None
        if value is not _ABSENT:
            return self._whole(key, value, 1)
        if missing is _ABSENT:
            return self._lacking(key, value, 1, "a whole number of at least 1, or null" if hint else "", hint)
        if isinstance(missing, int):
            return self._default(key, missing, rule=False)
        self.log.defaults.append(f"{self.word(key)} none")
        return None

    def flag(self, key: str, missing: bool | None = None) -> bool:
        """Return true or false; `missing` is what the class takes without the key."""
        value = self.raw(key)
        if value is _ABSENT or value is None:
            if missing is None:
                self._lacking(key, value, 0, "true or false")
                return False
            self.log.defaults.append(f"{self.word(key)} {str(missing).lower()}")
            return missing
        if not isinstance(value, bool):
            self._odd(key, value, "true or false")
            return False
        return value

    def text(self, key: str, known: Sequence[str], missing: str | None = None) -> str:
        """Return one of the `known` words; `missing` is what the class takes without the key."""
        value = self.raw(key)
        if value is _ABSENT or value is None:
            if missing is None:
                self._lacking(key, value, 0, " or ".join(known))
            else:
                self.log.defaults.append(f"{self.word(key)} {missing}")
            return missing or known[0]
        if not isinstance(value, str) or value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            self._odd(key, value, " or ".join(f"'{word}'" for word in known), hint)
            return known[0]
        return value

    def words(self, key: str, known: Sequence[str], length: int) -> list[str] | None:
        """Return a list of `length` of the `known` words, None where the key is missing or null."""
        values = self.items(key, length)
        if values is None:
            return None
        for i, value in enumerate(values):
            if not isinstance(value, str) or value not in known:
                shown = value if isinstance(value, str) else ""
                message = f"'{self.word(key)}': found {_shown(value)}, expected {' or '.join(known)}"
                self.log.problems.append(self.document.problem((*self.path, key, i), message, nearest(shown, known)))
                self.failed.add(key)
        return None if key in self.failed else values

    def bits(self, key: str, length: int) -> list[bool] | None:
        """Return a list of `length` zeros and ones as bools, None where the key is missing or null."""
        values = self.items(key, length)
        if values is None:
            return None
        if any(isinstance(value, bool) or value not in (0, 1) or not isinstance(value, int) for value in values):
            self._odd(key, values, f"a list of {length} zeros and ones")
            return None
        return [bool(value) for value in values]

    def items(self, key: str, length: int | None = None) -> list[Any] | None:
        """Return a list, of `length` if that is given, None where the key is missing or null."""
        value = self.raw(key)
        if value is _ABSENT or value is None:
            return None
        if not isinstance(value, list):
            self._odd(key, value, "a list")
            return None
        if length is not None and len(value) != length:
            if not self.failed & {"num_hidden_layers"}:
                self.problem(key, f"'{self.word(key)}' has {len(value)} items, the model has {length} layers",
                             "one of the two is wrong; mend the file")  # fmt: skip
            self.failed.add(key)
            return None
        return value

    def below(self, key: str) -> Sheet | None:
        """Return the mapping under `key` as a sheet of its own, None where it is missing or null."""
        value = self.raw(key)
        if value is _ABSENT or value is None:
            return None
        if not isinstance(value, dict):
            self._odd(key, value, "keys and values")
            return None
        return Sheet(self.document, (*self.path, key), value, self.log)

    def must(self, key: str, value: Any, meaning: str) -> None:
        """Refuse any other `value` of `key` than this one, of which the rest takes its meaning."""
        found = self.raw(key, value)
        if found is None or found is UNREADABLE:
            return
        if type(found) is not type(value) or found != value:
            self._odd(key, found, f"{_shown(value)}: {meaning}")

    def _default(self, key: str, value: int, rule: bool) -> Derived:
        self.log.defaults.append(f"{self.word(key)} {value}")
        return Derived(value, BY_ITS_RULE if rule else CLASS_DEFAULT)

    def _lacking(self, key: str, value: Any, least: int, expected: str = "", hint: str = "") -> int:
        found = "is null" if value is None else "is missing"
        expected = expected or f"a whole number of at least {least}"
        self.problem(key if value is None else None, f"the key '{self.word(key)}' {found}; expected {expected}",
                     hint or f"add it, or give it with --assume {key}=...")  # fmt: skip
        self.failed.add(key)
        return max(least, 1)

    def _whole(self, key: str, value: Any, least: int) -> int:
        if value is UNREADABLE:
            self.failed.add(key)
        elif isinstance(value, bool) or not isinstance(value, int) or value < least:
            self._odd(key, value, f"a whole number of at least {least}")
        elif value > MOST:
            self._odd(key, value, f"a whole number of at most {MOST:,}")
        else:
            return Derived(value, f"--assume {key}") if key not in self.data else value
        return max(least, 1)

    def _odd(self, key: str, value: Any, expected: str, hint: str = "") -> None:
        if value is not UNREADABLE:
            self.problem(key, f"'{self.word(key)}': found {_shown(value)}, expected {expected}", hint)
        self.failed.add(key)


def _shown(value: Any) -> str:
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
