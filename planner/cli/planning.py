"""Commands that solve: plan, bom, nodes, compare."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.diagnosing import diagnosed, diagnosis
from planner.cli.options import (
    CatalogDirs,
    Format,
    OutputFile,
    PriceCase,
    PriceFiles,
    Prove,
    ScenarioName,
    Sets,
    Solver,
    TimeLimit,
    Variant,
    load,
    read_any,
    read_day,
    read_scenario,
    today,
    with_case,
    write,
)
from planner.errors import EXIT_INTERRUPTED, EXIT_UNPROVEN, InfeasibleError, UsageError
from planner.interrupts import interrupted

if TYPE_CHECKING:
    from planner.loading import Shelf
    from planner.plan import Plan
    from planner.questions.sweep import Point
    from planner.scenario import Override, Scenario
    from planner.split.plan import SplitPlan

Over = Annotated[
    str | None,
    typer.Option("--over", metavar="SETTING=VALUES", help="a,b,c or from..to:step, e.g. workload.users=50..400:50."),
]
Final = Annotated[bool, typer.Option("--final", help="To be ordered from: every quote must hold on the day.")]
AllowExpired = Annotated[
    bool, typer.Option("--allow-expired", help="With --final: order on expired quotes; the bill lists them.")
]
BillDate = Annotated[
    str | None, typer.Option("--date", metavar="DAY", help="The day on which quotes must hold; today if left out.")
]
Variants = Annotated[str | None, typer.Option("--variants", metavar="A,B", help="Variants of the scenario to compare.")]


def plan(
    scenario: ScenarioName,
    sets: Sets = None,
    price_case: PriceCase = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
    prove: Prove = False,
) -> None:
    """Find the cheapest machines that hold the load, with the reasons."""
    from planner.planning import make_plan
    from planner.split.planning import make_split_plan
    from planner.split_scenario import SplitScenario
    from planner.views.plan import plan_report
    from planner.views.split import split_report

    shelf = load(catalog, prices)
    asked = read_any(scenario, shelf, with_case(sets, price_case), variant)
    if isinstance(asked, SplitScenario):
        if prove:
            raise UsageError(
                "--prove: traffic split over rented instances is proven in exact fractions already; leave it out"
            )
        split = make_split_plan(asked, shelf, solver, time_limit)
        write(split_report(split, scenario), form, output)
        _end(split)
        return
    with diagnosed(asked, shelf, solver, time_limit, form, output):
        found = make_plan(asked, shelf, solver, time_limit, exactly=prove)
    write(plan_report(found, scenario), form, output)
    _end(found)
    proof = str(found.provenance["proof"])
    if prove and not proof.startswith("exactly proven"):
        print(f"planner: not exactly proven: {proof}", file=sys.stderr)
        raise typer.Exit(EXIT_UNPROVEN)


def bom(
    scenario: ScenarioName,
    sets: Sets = None,
    price_case: PriceCase = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
    final: Final = False,
    allow_expired: AllowExpired = False,
    date: BillDate = None,
) -> None:
    """Write the plan's bill of materials, every price with its evidence and date."""
    from planner.planning import make_plan
    from planner.validity import issue
    from planner.views.bom import bom_report

    if allow_expired and not final:
        raise UsageError("--allow-expired goes with --final; without it an expired quote is only told")
    stated = read_day(date, "--date")
    shelf = load(catalog, prices)
    asked = read_scenario(scenario, shelf, with_case(sets, price_case), variant)
    with diagnosed(asked, shelf, solver, time_limit, form, output):
        found = make_plan(asked, shelf, solver, time_limit, compare=False)
    book = str(found.provenance["prices"]["book"])
    looked = issue(found.bill, stated or today(), final=final, allow_expired=allow_expired, book=book)
    if looked.expired and not final:
        print("planner: expired quotes: " + "; ".join(map(str, looked.expired)), file=sys.stderr)
    # A bill that is neither final nor of a stated day holds none: the same input is the same file.
    write(bom_report(found, looked if final or stated else None), form, output)
    _end(found)


def _row(scenario: Scenario, shelf: Shelf, solver: str, time_limit: float | None) -> Plan:
    """Return the plan of one row of a table; where there is none the error names the conflict."""
    from planner.planning import make_plan

    try:
        return make_plan(scenario, shelf, solver, time_limit, compare=False)
    except InfeasibleError as fault:
        from planner.views.infeasible import conflict_words

        told = diagnosis(scenario, shelf, solver, time_limit, fault, ways=False)
        raise InfeasibleError(f"{scenario.name}: {conflict_words(told)}") from None


def _end(*plans: Plan | SplitPlan) -> None:
    """Leave with the exit code of plans that were stopped before proof."""
    unproven = [plan for plan in plans if plan.status != "optimal"]
    if unproven:
        widest = max(plan.gap for plan in unproven)
        print(f"planner: {len(unproven)} plan(s) stopped before proof, gap up to {widest:.2%}", file=sys.stderr)
        raise typer.Exit(EXIT_UNPROVEN)
    if interrupted():
        print("planner: interrupted; what stands beside is left out", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED)


def _end_table(points: list[Point]) -> None:
    """Leave with the same code where any row of a table is unproven."""
    _end(*(point.plan for point in points if point.plan))
    if any(point.unproven for point in points):
        print("planner: some rows were stopped before any plan was found", file=sys.stderr)
        raise typer.Exit(EXIT_UNPROVEN)


def nodes(
    scenario: ScenarioName,
    over: Over = None,
    sets: Sets = None,
    price_case: PriceCase = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
) -> None:
    """Answer "how many nodes?" for a scenario, or as a table over one setting."""
    from planner.planning import make_plan
    from planner.views.sweep import nodes_report, sweep_report

    sets, shelf = with_case(sets, price_case), load(catalog, prices)
    found = read_scenario(scenario, shelf, sets, variant)
    if over is not None:
        planner = _planner(scenario, sets, variant, catalog, prices, solver, time_limit)
        path, points = _sweep(over, planner)
        write(sweep_report(found.title, path, points), form, output)
        _end_table(points)
        return
    with diagnosed(found, shelf, solver, time_limit, form, output):
        cheapest = make_plan(found, shelf, solver, time_limit, compare=False)
    fewest = make_plan(replace(found, objective="nodes"), shelf, solver, time_limit, compare=False)
    write(nodes_report(cheapest, fewest), form, output)
    _end(cheapest, fewest)


def compare(
    scenario: ScenarioName,
    over: Over = None,
    variants: Variants = None,
    sets: Sets = None,
    price_case: PriceCase = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
    solver: Solver = "highs",
    time_limit: TimeLimit = None,
) -> None:
    """Put variants side by side and say why cost does not scale with bytes."""
    from planner.views.sweep import compare_report

    if (over is None) == (variants is None):
        raise UsageError("compare needs either --over SETTING=A,B or --variants A,B")
    sets, shelf = with_case(sets, price_case), load(catalog, prices)
    title = read_scenario(scenario, shelf, sets, variant).title
    if over is not None:
        planner = _planner(scenario, sets, variant, catalog, prices, solver, time_limit)
        path, points = _sweep(over, planner)
    else:
        path, points = "variant", _variants(scenario, variants or "", sets, catalog, prices, solver, time_limit)
    write(compare_report(title, path, points), form, output)
    _end_table(points)


def _planner(
    scenario: str, sets: Sets, variant: Variant, catalog: CatalogDirs, prices: PriceFiles, solver: str,
    time_limit: float | None,
) -> Callable[[Override], Plan]:  # fmt: skip
    shelf = load(catalog, prices)

    def with_override(override: Override) -> Plan:
        more = [*(sets or []), f"{override.path}={override.text}"]
        one = read_scenario(scenario, shelf, more, variant)
        return _row(one, shelf, solver, time_limit)

    return with_override


def _sweep(over: str, planner: Callable[[Override], Plan]) -> tuple[str, list[Point]]:
    from planner.questions.sweep import parse_over, sweep
    from planner.setting_paths import full_path

    path, values = parse_over(over)
    full_path(path)
    return path, sweep(path, values, planner)


def _variants(
    scenario: str, names: str, sets: Sets, catalog: CatalogDirs, prices: PriceFiles, solver: str,
    time_limit: float | None,
) -> list[Point]:  # fmt: skip
    from planner.questions.sweep import ask, split_words

    shelf = load(catalog, prices)
    points: list[Point] = []
    for name in ("(as written)", *split_words(names, "--variants")):
        one = read_scenario(scenario, shelf, sets, None if name.startswith("(") else name)
        points.append(ask(name, partial(_row, one, shelf, solver, time_limit)))
    return points


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("plan")(plan)
    app.command("bom")(bom)
    app.command("nodes")(nodes)
    app.command("compare")(compare)
