"""What commands hand to the output formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from planner.registry import Registry

Cell = str | int


@dataclass(frozen=True)
class Text:
    """Paragraphs under an optional heading."""

    lines: Sequence[str]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers are aligned to the right by every format.

    Attributes
    ----------
    right : tuple of str
        Columns that hold numbers.
    plain : sequence of mapping
        The same rows as plain values for machines; empty where the cells are plain already.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    right: Sequence[str] = ()
    plain: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Report:
    """A command's answer.

    Attributes
    ----------
    data : mapping
        Everything, for JSON.
    blocks : sequence of Text and Table
        For reading.
    main : Table or None
        The one table that CSV writes.
    """

    data: Mapping[str, Any] | Sequence[Any]
    blocks: Sequence[Text | Table] = field(default_factory=tuple)
    main: Table | None = None


class Output(Protocol):
    """One output format."""

    suffixes: tuple[str, ...]

    def render(self, report: Report) -> str:
        """Return the report as text that ends with a line feed."""
        ...


OUTPUTS: Registry[Output] = Registry("output format")
