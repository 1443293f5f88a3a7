"""The exceptions a caller may see, and the exit code each one ends a command with.

::

    PlannerError                  1  a fault of ours
    ├── UsageError                2  the command's words are off
    ├── InputError                3  a file or a value in it is wrong (holds every problem found)
    ├── InfeasibleError           4  the rules leave no plan
    ├── PriceMissingError         5  a part that is needed has no price
    └── UnprovenError             6  the solver was stopped before it could prove anything
        └── InterruptedPlanError  130  by Ctrl-C
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

EXIT_OK = 0
EXIT_BUG = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_INFEASIBLE = 4
EXIT_PRICE_MISSING = 5
EXIT_UNPROVEN = 6
EXIT_DIFFERENCE = 10
EXIT_INTERRUPTED = 130


class PlannerError(Exception):
    """Base of all errors of this package; by itself it means a fault of ours."""

    exit_code = EXIT_BUG


class UsageError(PlannerError):
    """The command was called with words that do not fit together."""

    exit_code = EXIT_USAGE


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong with an input, said so that a stranger can mend it.

    Attributes
    ----------
    file : str
        Where it stands; ``--set`` and other sources that are no files are named as such.
    line, column : int
        Counted from 1; 0 where the place is not known.
    message : str
        What was found and what was expected.
    hint : str
        What to do, or the nearest right word; may be empty.
    """

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Return ``file:line:column: message``, the hint on a line of its own."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}" + (f"\n    {self.hint}" if self.hint else "")


class InputError(PlannerError):
    """One or more inputs are wrong; all problems that were found are told at once."""

    exit_code = EXIT_INPUT

    def __init__(self, problems: Iterable[Problem] | str) -> None:
        if isinstance(problems, str):
            problems = [Problem("", 0, 0, problems)]
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem).removeprefix(": ") for problem in self.problems))


class InfeasibleError(PlannerError):
    """No plan meets all rules; the message names the rules and by how much they fall short."""

    exit_code = EXIT_INFEASIBLE


class PriceMissingError(PlannerError):
    """Parts that a plan cannot do without have no price in the book in use."""

    exit_code = EXIT_PRICE_MISSING


class UnprovenError(PlannerError):
    """The solver ran out of time before it held any plan."""

    exit_code = EXIT_UNPROVEN


class InterruptedPlanError(UnprovenError):
    """Ctrl-C was pressed before there was any plan."""

    exit_code = EXIT_INTERRUPTED


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the known words nearest to `word`, else the known words.

    Words that begin with what was written come before words that merely look alike.
    """
    words = sorted(set(known))
    folded = {candidate.casefold(): candidate for candidate in words}
    begun = [folded[name] for name in folded if len(word) > 1 and name.startswith(word.casefold())]
    close = begun[:3] or [folded[name] for name in difflib.get_close_matches(word.casefold(), folded, n=1)]
    if close:
        return "did you mean " + " or ".join(f"'{name}'" for name in close) + "?"
    shown = ", ".join(words[:12]) + (f" and {len(words) - 12} more" if len(words) > 12 else "")
    return f"known: {shown}" if words else "none are known"
