"""The command that says why: explain."""

from __future__ import annotations

import sys
from typing import Annotated

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
from planner.errors import EXIT_UNPROVEN

Letter = Annotated[str | None, typer.Option("--build", metavar="LETTER", help="One build of the plan: A, B, ...")]
Row = Annotated[str | None, typer.Option("--row", metavar="KIND", help="One row, e.g. host_link.")]


def explain(
    scenario: ScenarioName,
    build: Letter = None,
    row: Row = None,
    sets: Sets = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
) -> None:
    """Show each row's numbers for the builds of the plan: needs, path, efficiency, reach, what is left."""
    from planner.interrupts import session
    from planner.planning import solve_scenario
    from planner.questions.explain import explain as ask
    from planner.verify import verify
    from planner.views.explain import explain_report

    shelf = load(catalog, prices)
    asked = read_scenario(scenario, shelf, sets, variant)
    with diagnosed(asked, shelf, solver, time_limit, form, output), session():
        solved = solve_scenario(asked, shelf, solver, time_limit)
        verify(solved.problem, solved.outcome.counts)
    write(explain_report(asked.title, ask(solved, build, row)), form, output)
    if solved.outcome.status != "optimal":
        print("planner: the plan was stopped before proof", file=sys.stderr)
        raise typer.Exit(EXIT_UNPROVEN)


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("explain")(explain)
