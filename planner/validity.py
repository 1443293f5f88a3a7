"""Which quotes behind a bill of materials are past their last day, on a day that the caller names.

No clock is read here, and a plan knows no day: the same files give the same plan. The day enters with the
question whether a bill may be ordered from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from planner.bill import CostLine
from planner.eligibility import last_day
from planner.errors import InputError, Problem


@dataclass(frozen=True)
class ExpiredQuote:
    """A price that a bill counts on and that its seller no longer owes.

    Attributes
    ----------
    part : str
        Part id.
    quote, seller : str
        As the price book has them; empty where it has none.
    valid_until : str
        As written there; the last day on which it held.
    """

    part: str
    quote: str
    seller: str
    valid_until: str

    def __str__(self) -> str:
        """Return one line for reading."""
        named = f"quote {self.quote}" if self.quote else "a quote without a number"
        return f"{self.part}: {named}{f' of {self.seller}' if self.seller else ''}, valid until {self.valid_until}"


@dataclass(frozen=True)
class Issue:
    """On which day a bill of materials was looked at, and whether it may be ordered from.

    Attributes
    ----------
    day : date
        On which its quotes must hold.
    final : bool
        Whether it is to be ordered from.
    expired : tuple of ExpiredQuote
        What does not hold on that day; of a final bill, what was allowed all the same.
    """

    day: date
    final: bool
    expired: tuple[ExpiredQuote, ...]


def expired_quotes(lines: Iterable[CostLine], day: date) -> tuple[ExpiredQuote, ...]:
    """Return the prices of `lines` whose last day is before `day`, each part once."""
    prices = {line.price.part: line.price for line in lines if line.price is not None}
    return tuple(
        ExpiredQuote(price.part, price.quote or "", price.seller or "", price.valid_until)
        for price in prices.values()
        if price.valid_until and last_day(price.valid_until) < day
    )


def issue(lines: Iterable[CostLine], day: date, *, final: bool, allow_expired: bool, book: str) -> Issue:
    """Return what is to be said about the quotes behind a bill on `day`.

    Raises
    ------
    InputError
        Where the bill is to be final and quotes have expired that were not allowed; names each.
    """
    expired = expired_quotes(lines, day)
    if final and expired and not allow_expired:
        hint = "lay a new quote over it with --prices, or order on the old one all the same: --allow-expired"
        place = f"price book {book}"
        raise InputError(Problem(place, 0, 0, f"{one}; this bill is of {day.isoformat()}", hint) for one in expired)
    return Issue(day, final, expired)
