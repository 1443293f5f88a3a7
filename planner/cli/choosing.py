"""Commands that lay several plans of one scenario side by side: pareto, alternatives."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.diagnosing import diagnosed
from planner.cli.options import (
    CatalogDirs,
    Format,
    OutputFile,
    PriceFiles,
    ScenarioName,
    Sets,
    Solver,
    TimeLimit,
    Variant,
    load,
    read_scenario,
    write,
)
from planner.errors import EXIT_UNPROVEN, UsageError

if TYPE_CHECKING:
    from planner.plan import Plan

Over = Annotated[str, typer.Option("--over", metavar="A,B", help="Two of capex, tco, nodes, power, e.g. capex,power.")]
Points = Annotated[int, typer.Option("--points", metavar="N", help="Most points of the front.")]
Within = Annotated[str, typer.Option("--within", metavar="SHARE", help="How much dearer a plan may be, e.g. 10%.")]


def pareto(
    scenario: ScenarioName,
    over: Over = "capex,power",
    points: Points = 100,
    sets: Sets = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
) -> None:
    """Find every plan that no other beats in both of two objectives."""
    from planner.questions.pareto import front, parse_pair
    from planner.views.choice import front_report

    pair = parse_pair(over)
    if points < 1:
        raise UsageError(f"--points {points}: expected at least 1")
    shelf = load(catalog, prices)
    asked = read_scenario(scenario, shelf, sets, variant)
    with diagnosed(asked, shelf, solver, time_limit, form, output):
        found = front(asked, shelf, pair, solver, _deadline(time_limit), points)
    write(front_report(found), form, output)
    if found.open_end.startswith("stopped"):
        _stop("the front was stopped before its end was proven")


def alternatives(
    scenario: ScenarioName,
    within: Within = "10%",
    sets: Sets = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
) -> None:
    """Find plans a little dearer than the best that are better at something else."""
    from planner.questions.alternatives import alternatives as ask
    from planner.questions.alternatives import parse_within
    from planner.views.choice import choice_report

    share = parse_within(within)
    shelf = load(catalog, prices)
    asked = read_scenario(scenario, shelf, sets, variant)
    with diagnosed(asked, shelf, solver, time_limit, form, output):
        found = ask(asked, shelf, share, solver, _deadline(time_limit))
    write(choice_report(found), form, output)
    plans: list[Plan | None] = [found.best, *(each.plan for each in found.others if not each.same)]
    if any(plan is None or plan.status != "optimal" for plan in plans):
        _stop("some plans were stopped before proof")


def _deadline(time_limit: float | None) -> float | None:
    return None if time_limit is None else time.monotonic() + time_limit


def _stop(words: str) -> None:
    print(f"planner: {words}", file=sys.stderr)
    raise typer.Exit(EXIT_UNPROVEN)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("pareto")(pareto)
    app.command("alternatives")(alternatives)
