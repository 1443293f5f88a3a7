"""Whole systems whose contents nobody read: their price is known, what it buys is a guess."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, rule


@rule
class AssumedContents:
    """A whole system with assumed contents."""

    name = "assumed-contents"
    severity: Severity = "note"
    words = "a whole system of whose contents the numbers of parts are assumed"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each whole system."""
        for entry in stock.entries("system"):
            evidence = stock.apart(entry).evidence
            guessed = sorted(path.split(".")[0] for path, why in evidence.items() if why.kind == "assumed")
            if guessed:
                names = ", ".join(dict.fromkeys(guessed))
                yield Flaw(entry, ("id",), f"'{entry.record.id}': {names} assumed, not read")
