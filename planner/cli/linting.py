"""catalog lint: what a careful reader would object to in the catalogue."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from planner.cli.options import CatalogDirs, Format, OutputFile, PriceFiles, write
from planner.errors import EXIT_INPUT, InputError, UsageError, nearest

Day = Annotated[
    str | None,
    typer.Option("--date", metavar="DAY", help="Count ages to this day, e.g. 2026-12-01; today if not given."),
]
Level = Annotated[
    str, typer.Option("--level", metavar="SEVERITY", help="List findings from this on: error, warning or note.")
]


def catalog_lint(
    day: Day = None,
    level: Level = "warning",
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Check the catalogue for implausible values, weak sources, stale prices and parts nobody can use."""
    from planner.lint import SEVERITIES, Stock, findings
    from planner.lint.shares import gpu_share, shares
    from planner.loading import load_entries
    from planner.views.lint import lint_report, load_findings

    if level not in SEVERITIES:
        raise UsageError(f"--level {level}: unknown severity; {nearest(level, SEVERITIES)}")
    when = read_day(day or "today")
    try:
        stock = Stock(load_entries(catalog or (), prices or ()), when)
    except InputError as fault:
        # What cannot be loaded cannot be looked at: this is all there is to tell, in the form that was asked for.
        write(lint_report(load_findings(fault.problems), "error", when, (), None), form, output)
        raise typer.Exit(EXIT_INPUT) from None
    found = findings(stock)
    write(lint_report(found, level, when, shares(stock), gpu_share(stock)), form, output)
    if any(one.severity == "error" for one in found):
        raise typer.Exit(EXIT_INPUT)


def read_day(text: str) -> date:
    """Return the day that ``--date`` means: a date, or ``today``.

    Raises
    ------
    UsageError
        If it is none.
    """
    if text == "today":
        return date.today()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--date {text}: expected a day such as 2026-12-01, or today") from None
