"""Kinds by name: a class says its kind once, everything else finds it there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from planner.errors import InputError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """A mapping of kind to class or object that refuses duplicates and knows near misses.

    Parameters
    ----------
    what : str
        What is registered, for messages, e.g. ``attention family``.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._known: dict[str, T] = {}

    def register(self, kind: str) -> Callable[[T], T]:
        """Return a decorator that registers its argument as `kind`."""

        def add(item: T) -> T:
            if kind in self._known:
                raise ValueError(f"{self.what} '{kind}' is registered twice")
            self._known[kind] = item
            return item

        return add

    def __getitem__(self, kind: str) -> T:
        """Return what is registered as `kind`.

        Raises
        ------
        InputError
            If nothing is; the message names the nearest kind.
        """
        if kind not in self._known:
            raise InputError(f"unknown {self.what} '{kind}'; {nearest(kind, self._known)}")
        return self._known[kind]

    def __contains__(self, kind: object) -> bool:
        """Return whether `kind` is registered."""
        return kind in self._known

    def __iter__(self) -> Iterator[str]:
        """Iterate over the kinds in the order of registration."""
        return iter(self._known)

    def values(self) -> tuple[T, ...]:
        """Return what is registered, in the order of registration."""
        return tuple(self._known.values())
