"""Where a number comes from.

Every value of the catalogue is *sourced* (a document says it), *derived* (a stated formula over
sourced values) or *assumed* (our own judgement, with its reason and, where known, its range).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["sourced", "derived", "assumed"]


@dataclass(frozen=True)
class Source:
    """A document that values are taken from.

    Attributes
    ----------
    id : str
        How the catalogue names it.
    title : str
        What it is.
    where : str
        Address or reference; may be empty where only the title is known.
    date : str
        When it was published or read; may be empty.
    grade : str
        A vendor document, telemetry or live shop; B dated reseller or secondary text that names
        its primary; C blog or undated; D contradictory, kept as a warning.
    """

    id: str
    title: str
    where: str = ""
    date: str = ""
    grade: Literal["A", "B", "C", "D"] = "C"


@dataclass(frozen=True)
class Evidence:
    """Why one value is what it is.

    Attributes
    ----------
    kind : {'sourced', 'derived', 'assumed'}
        See the module's text.
    sources : tuple of str
        Ids of the documents; empty unless sourced or derived from them.
    text : str
        The formula of a derived value or the reason of an assumed one.
    low, high : str
        Range of an assumed value as written; empty where not given.
    note : str
        Anything a reader should know.
    """

    kind: Kind
    sources: tuple[str, ...] = ()
    text: str = ""
    low: str = ""
    high: str = ""
    note: str = ""

    def __str__(self) -> str:
        """Return one line for reading."""
        named = ", ".join(self.sources)
        why = f"{self.kind}: {self.text or named}"
        if self.text and named:
            why += f" ({named})"
        if self.low or self.high:
            why += f" [{self.low or '?'} to {self.high or '?'}]"
        return why


@dataclass(frozen=True)
class SourceList:
    """All sources that the loaded catalogue names, by id."""

    by_id: Mapping[str, Source] = field(default_factory=dict)

    def grade(self, evidence: Evidence) -> str:
        """Return the best grade among the sources of `evidence`, ``-`` where there are none."""
        grades = [self.by_id[name].grade for name in evidence.sources if name in self.by_id]
        return min(grades) if grades and evidence.kind == "sourced" else "-"
