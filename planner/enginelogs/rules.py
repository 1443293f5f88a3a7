"""How one kind of log line is told and read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planner.enginelogs.figures import Kind

_MOST_TRIES = 4

# A number in running text, and one that ends before a comma. The strict reading comes after: what
# stands where a number should and is none is told, not passed over.
NUMBER = r"[-+\w.,]{1,40}"
PLAIN = r"[-+\w.]{1,40}"
SIZE_UNIT = r" ?(?P<unit>GiB|GB|gb)\b"


@dataclass(frozen=True)
class Rule:
    """How to read one kind of line.

    Attributes
    ----------
    marker : str
        What the line must hold; `pattern` is matched from where it starts.
    pattern : str
        The group names are the figures' names; a group ``unit`` is the unit of the sizes.
    kinds : mapping of str to callable
        How to read a figure where it differs from the engine's way.
    opens : bool
        Whether the line opens a start.
    fault : bool
        Whether the line tells of a failure.
    settings : bool
        Whether settings as pairs of key and value follow the match.
    before : str
        Lookbehinds: what may not stand before the marker.
    """

    marker: str
    pattern: str = ""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    opens: bool = False
    fault: bool = False
    settings: bool = False
    before: str = ""

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.before + re.escape(self.marker) + self.pattern, re.ASCII)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the first match in `text`, if any; it gives up after a few places."""
        at = text.find(self.marker)
        for _ in range(_MOST_TRIES):
            if at < 0:
                break
            if found := self.expression.match(text, at):
                return found
            at = text.find(self.marker, at + 1)
        return None
