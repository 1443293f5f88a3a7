"""A sequence that is made when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

Item = TypeVar("Item", covariant=True)


class Lazy(Sequence[Item], Generic[Item]):
    """Items that cost time to make, made once."""

    def __init__(self, make: Callable[[], Sequence[Item]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        return tuple(self._make())

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        """Return one item, or some."""
        return self._items[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._items)
