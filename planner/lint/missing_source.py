"""Numbers that say nothing about where they come from.

Loading refuses them in parts, engines and profiles; here are the entries that it lets pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, rule

_KINDS = ("cluster",)
_OF_THEIR_OWN = ("lines",)
"""Lists whose items carry evidence in keys of their own."""


@rule
class MissingSource:
    """A number without source, formula or reason."""

    name = "missing-source"
    severity: Severity = "error"
    words = "a number of the cluster rules without source, derived or assumed"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at the cluster rules and their lines."""
        hint = "write {value: ..., source: ...}, or 'assumed: why' instead of 'source'"
        for entry in stock.entries(*_KINDS):
            for path in stock.apart(entry).bare:
                if path[0] not in _OF_THEIR_OWN:
                    yield Flaw(entry, path, f"'{'.'.join(map(str, path))}' has no source", hint)
            for i, line in enumerate(entry.record.lines):
                if not (line.sources or line.assumed):
                    message = f"the line '{line.id}' has no evidence"
                    yield Flaw(entry, ("lines", i), message, "add 'sources: [...]' or 'assumed: why'")
