"""Whether a quote adds up: pieces times price, lines to their sums, tax to what it is on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from planner.quotes.cells import CellProblem
from planner.quotes.lines import Line, Sum

_HALF_CENT = Decimal("0.005")


@dataclass(frozen=True)
class Checked:
    """A sum of the quote, and what its lines come to.

    Attributes
    ----------
    expected : Decimal or None
        None where a line under it has no amount.
    """

    total: Sum
    expected: Decimal | None
    of: str

    @property
    def right(self) -> bool | None:
        """Whether both agree; None where that cannot be said."""
        return None if self.expected is None else abs(self.expected - self.total.amount) <= _HALF_CENT


def shown(value: Decimal) -> str:
    """Return an amount for reading: at least two decimals, all that it has."""
    text = f"{value:,.2f}" if value == value.quantize(Decimal("0.01")) else f"{value.normalize():,f}"
    return text


def check_lines(lines: Sequence[Line]) -> list[CellProblem]:
    """Return the lines whose pieces times price are not their amount."""
    problems = []
    for line in lines:
        if line.qty is None or line.unit is None or not line.amount:
            continue
        made = line.qty * line.unit
        # A price shown to the cent may be half a cent off on each piece.
        if abs(made - line.amount) > _HALF_CENT * (line.qty + 1):
            message = f"{line.qty} x {shown(line.unit)} is {shown(made)}, the amount says {shown(line.amount)}"
            problems.append(line.problem(message, "ask the seller which holds, or go on with --accept-sums"))
    return problems


def check_sums(entries: Sequence[Line | Sum], rate: Decimal | None) -> tuple[list[Checked], list[CellProblem]]:
    """Return each sum with what the lines come to, and those that are wrong.

    A sum may be that of its section or of all lines so far, without or with the tax rows above it.
    """
    checked: list[Checked] = []
    for i, entry in enumerate(entries):
        if isinstance(entry, Sum):
            checked.append(_checked(entry, entries, i, rate))
    problems = []
    for one in checked:
        if one.right is False and one.expected is not None:
            gap = one.total.amount - one.expected
            message = (
                f"'{one.total.text[:40]}' says {shown(one.total.amount)}, {one.of} come to {shown(one.expected)}: "
                f"{shown(abs(gap))} {'more' if gap > 0 else 'less'}"
            )
            hint = "look for what is missing or counted twice, or go on with --accept-sums"
            problems.append(one.total.sheet.problem(one.total.row, one.total.column, message, hint))
    return checked, problems


def _checked(entry: Sum, entries: Sequence[Line | Sum], at: int, rate: Decimal | None) -> Checked:
    before = entries[:at]
    every = [one for one in before if isinstance(one, Line)]
    if entry.kind == "section":
        below = [one for one in entries[at + 1 :] if isinstance(one, Line) and one.section == entry.text]
        return _best(entry, "the lines below it", below)
    share = entry.rate or rate
    if entry.kind == "tax":
        if share is None:
            return Checked(entry, None, "the tax on the lines")
        return _best(entry, "the tax on the lines", every, [share, share / (1 + share)])
    begin = max((i + 1 for i, one in enumerate(before) if isinstance(one, Sum) and one.kind != "tax"), default=0)
    own = [one for one in before[begin:] if isinstance(one, Line)]
    section = [one for one in own if one.section == own[-1].section]
    taxes = sum((one.amount for one in before if isinstance(one, Sum) and one.kind == "tax"), Decimal(0))
    factors = [Decimal(1), *((1 + share, 1 / (1 + share)) if share else ())]
    tried = [_best(entry, "the lines above it", own, factors)] if own else []
    if section != own:
        tried.append(_best(entry, "the lines of its section", section, factors))
    tried.append(_best(entry, "all lines", every, factors, taxes))
    return next((one for one in tried if one.right), tried[0])


def _best(
    entry: Sum, of: str, lines: Sequence[Line], factors: Sequence[Decimal] = (Decimal(1),), more: Decimal = Decimal(0)
) -> Checked:
    """Return what lines come to; a sum may hold the tax that its lines do not, or the other way round.

    A line with a price and no pieces is an offer, which a sum does not count.
    """
    totals = [line.total for line in lines if line.priced]
    whole = sum((total for total in totals if total is not None), Decimal(0))
    slack = _HALF_CENT * (len(lines) + 1)
    for value in (*(whole * factor for factor in factors), whole + more):
        if abs(value - entry.amount) <= slack:
            return Checked(entry, entry.amount, of)
    return Checked(entry, None if None in totals else whole * factors[0], of)
