"""Commands to look around: catalog, model, schema."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from planner.cli import importing, inside, linting, quoting
from planner.cli.options import CatalogDirs, Format, OutputFile, PriceFiles, load, write

Book = Annotated[str, typer.Option("--book", metavar="ID", help="Price book for the prices shown.")]
DEFAULT_BOOK = "us-2026-11"

catalog_app = typer.Typer(help="List and show parts with their prices and evidence.", no_args_is_help=True)
model_app = typer.Typer(help="List, show and import models.", no_args_is_help=True)


@catalog_app.command("list")
def catalog_list(
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help="gpu, chassis, cpu, dimm, system ...")] = None,
    sort: Annotated[
        str | None, typer.Option("--sort", metavar="COLUMN", help="Sort by a column, such as price-per-gb or power.")
    ] = None,
    descending: Annotated[bool, typer.Option("--descending", help="Sort from the largest down.")] = False,
    vendor: Annotated[str | None, typer.Option("--vendor", metavar="NAME", help="Only parts of this vendor.")] = None,
    min_memory: Annotated[
        str | None,
        typer.Option("--min-memory", metavar="SIZE", help="Only GPUs, DIMMs or drives as large, e.g. 80GiB."),
    ] = None,
    day: Annotated[
        str | None, typer.Option("--date", metavar="DAY", help="Show the age of prices on this day, or today, in days.")
    ] = None,
    book: Book = DEFAULT_BOOK,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """List the parts of the catalogue; of one kind with the columns that count for it."""
    from planner.views.catalog_list import Choice, list_report

    choice = Choice(vendor, min_memory, sort, descending, linting.read_day(day) if day else None)
    write(list_report(load(catalog, prices).catalog, kind, book, choice), form, output)


@catalog_app.command("compare")
def catalog_compare(
    parts: Annotated[list[str], typer.Argument(metavar="PART PART ...", help="Ids of parts of one kind.")],
    book: Book = DEFAULT_BOOK,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Show parts of one kind side by side, what differs marked, with evidence."""
    from planner.views.catalog_compare import compare_report

    write(compare_report(load(catalog, prices).catalog, parts, book), form, output)


@catalog_app.command("search")
def catalog_search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="Of an id, name, vendor, kind or part number.")],
    book: Book = DEFAULT_BOOK,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Find parts by what they are called: every word must stand somewhere in their names."""
    from planner.views.catalog_list import search_report

    write(search_report(load(catalog, prices).catalog, words, book), form, output)


@catalog_app.command("show")
def catalog_show(
    part: Annotated[str, typer.Argument(metavar="PART", help="Part id.")],
    book: Book = DEFAULT_BOOK,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Show one part: every value with its evidence, its price, and systems against their parts."""
    from planner.views.catalog import show_report

    write(show_report(load(catalog, prices).catalog, part, book), form, output)


@model_app.command("list")
def model_list(form: Format = None, output: OutputFile = None, catalog: CatalogDirs = None) -> None:
    """List the models with their KV bytes per token."""
    from planner.views.model import list_report

    write(list_report(load(catalog, None)), form, output)


@model_app.command("show")
def model_show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model id or alias.")],
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
) -> None:
    """Show one model: parameters, weight bytes, KV bytes per format and where each exists."""
    from planner.views.model import show_report

    write(show_report(load(catalog, None), model), form, output)


def schema(
    name: Annotated[str, typer.Argument(metavar="scenario|catalog|prices", help="Which files it describes.")],
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from planner.schema import schema_text

    sys.stdout.write(schema_text(name))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    importing.register(model_app)
    catalog_app.command("topology")(inside.catalog_topology)
    catalog_app.command("lint")(linting.catalog_lint)
    quoting.register(catalog_app)
    app.add_typer(catalog_app, name="catalog")
    app.add_typer(model_app, name="model")
    app.command("schema")(schema)
