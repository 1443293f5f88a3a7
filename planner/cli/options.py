"""Options that commands share, and what they turn into."""

from __future__ import annotations

import contextlib
import math
import sys
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.errors import UsageError, nearest

if TYPE_CHECKING:
    from planner.loading import Shelf
    from planner.models import Model
    from planner.render import Report
    from planner.scenario import Scenario
    from planner.split_scenario import SplitScenario

ScenarioName = Annotated[str, typer.Argument(metavar="SCENARIO", help="A shipped name or a YAML file.")]
CatalogDirs = Annotated[
    list[Path] | None,
    typer.Option("--catalog", metavar="PATH", help="A catalogue folder or file over the shipped one; repeatable."),
]
PriceFiles = Annotated[
    list[Path] | None,
    typer.Option("--prices", metavar="FILE", help="A price book over the shipped ones; repeatable."),
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Override one setting; repeatable.")
]
PriceCase = Annotated[
    str | None, typer.Option("--price-case", metavar="CASE", help="low, typical or high: which of each price decides.")
]
Variant = Annotated[str | None, typer.Option("--variant", metavar="NAME", help="A variant of the scenario.")]
Format = Annotated[str | None, typer.Option("-f", "--format", metavar="FORMAT", help="table, json, csv or md.")]
OutputFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to a file; its suffix chooses the format."),
]
Solver = Annotated[
    str, typer.Option("--solver", metavar="NAME", help="highs, cbc, or one that PuLP finds: scip, gurobi.")
]


def _above_zero(value: float | None) -> float | None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise UsageError(f"--time-limit {value}: expected seconds above 0")
    return value


Prove = Annotated[
    bool, typer.Option("--prove", help="Prove the optimum in whole numbers as well (needs the extra 'prove').")
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", callback=_above_zero, help="Stop the solver after this long."),
]


def read_day(text: str | None, option: str) -> date | None:
    """Return the day that an option names, None where it was not given.

    Raises
    ------
    UsageError
        If it is no day.
    """
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise UsageError(f"{option} '{text}': expected a day such as 2026-12-01") from None


def today() -> date:
    """Return the day that the clock says; the only place that a bill's day comes from unless it is stated."""
    return date.today()


def with_case(sets: list[str] | None, case: str | None) -> list[str] | None:
    """Return the overrides with the price case, which is one more of them."""
    return sets if case is None else [*(sets or ()), f"finance.price_case={case}"]


def load(catalog: list[Path] | None, prices: list[Path] | None) -> Shelf:
    """Load the catalogue with the layers that the options name."""
    from planner.loading import load_shelf

    return load_shelf(catalog or (), prices or ())


def find_model(shelf: Shelf, name: str) -> Model:
    """Return a model of the catalogue, or that of a config.json if `name` is the path of one."""
    path = Path(name)
    if name not in shelf.models and (path.suffix == ".json" or path.is_file()):
        from planner.importing import import_config

        return import_config(path)
    return shelf.model(name)


def read_scenario(name: str, shelf: Shelf, sets: list[str] | None, variant: str | None) -> Scenario:
    """Load a scenario with overrides; its names are checked against the catalogue."""
    from planner.scenario import Override
    from planner.scenario_files import load_scenario

    overrides = [Override.parse(text) for text in sets or ()]
    return load_scenario(name, overrides, variant, shelf)


def read_any(name: str, shelf: Shelf, sets: list[str] | None, variant: str | None) -> Scenario | SplitScenario:
    """Load a scenario with sessions, or one that splits requests over rented instances."""
    from planner.scenario import Override
    from planner.scenario_files import load_any

    return load_any(name, [Override.parse(text) for text in sets or ()], variant, shelf)


def write(report: Report, form: str | None, output: Path | None) -> None:
    """Render the report and write it to stdout, or whole to a file.

    Raises
    ------
    UsageError
        If the format is unknown or the file cannot be written.
    """
    from planner.render import OUTPUTS

    if output is not None and (not output.name or output.is_dir()):
        raise UsageError(f"-o '{output if output.name else ''}': is no file name")
    if form is None:
        by_suffix = {suffix: name for name in OUTPUTS for suffix in OUTPUTS[name].suffixes}
        if output is not None and output.suffix.lower() not in by_suffix:
            known = ", ".join(sorted(by_suffix))
            raise UsageError(f"-o {output}: no format for this suffix (known: {known}); name one with -f")
        form = by_suffix[output.suffix.lower()] if output is not None else "table"
    if form not in OUTPUTS:
        raise UsageError(f"-f {form}: unknown format; {nearest(form, OUTPUTS)}")
    text = OUTPUTS[form].render(report)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_whole(output, text)
    print(f"wrote {output}", file=sys.stderr)


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file whole or not at all: to a temporary one beside it, then rename.

    A link is followed, so that it stays one; a device or a pipe is written to as it is.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    temporary = None
    content = text.encode("utf-8") if isinstance(text, str) else text
    try:
        target = path.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
        temporary = target.with_name(f".{target.name}.part")
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as fault:
        raise UsageError(f"-o {path}: cannot be written: {fault.strerror}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
