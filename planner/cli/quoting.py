"""Commands for quotes: import one into a price book, export a template to fill in."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import CatalogDirs, Format, PriceFiles, load, read_day, write, write_whole
from planner.errors import InputError, UsageError, nearest

if TYPE_CHECKING:
    from planner.quotes.importing import Imported, Wishes
    from planner.quotes.numbers import Style

Many = list[str] | None
_BASES = ("contract", "street", "list", "indicative")
_HIDDEN = ("take", "skip")
_DECIMALS = ("point", "comma")


QuoteFile = Annotated[Path, typer.Argument(metavar="FILE", help="A quote: .xlsx or .csv.")]
Book = Annotated[
    str, typer.Option("--book", metavar="ID", help="Price book: a known one is laid over, a new one is its own.")
]
BookFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the price book there, as YAML.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what matched what, and write nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
Maps = Annotated[
    Many, typer.Option("--map", metavar="TEXT=PART", help="What a text means; 'TEXT=8 x PART' for kits; repeatable.")
]
MapFile = Annotated[Path | None, typer.Option("--map-file", metavar="FILE", help="YAML with the keys map and ignore.")]
Ignores = Annotated[
    Many, typer.Option("--ignore", metavar="TEXT", help="Leave rows out, by text or place (12, B12); repeatable.")
]
Sheets = Annotated[Many, typer.Option("--sheet", metavar="NAME", help="Sheet that counts; repeatable.")]
Columns = Annotated[Many, typer.Option("--column", metavar="FIELD=LETTER", help="What a column holds; repeatable.")]
HeadRow = Annotated[
    int | None, typer.Option("--table", metavar="ROW", help="First row of the headers, of several tables.")
]
Currency = Annotated[str, typer.Option("--currency", metavar="CODE", help="Of the quote, such as USD.")]
Tax = Annotated[str, typer.Option("--tax", metavar="BASIS", help="excluded, included, 'included 13%' or a rate alone.")]
Issued = Annotated[str | None, typer.Option("--date", metavar="DAY", help="Date of the quote.")]
LastDay = Annotated[str | None, typer.Option("--valid-until", metavar="DAY", help="Its last day.")]
Number = Annotated[str, typer.Option("--quote", metavar="NUMBER", help="Number of the quote.")]
Seller = Annotated[str, typer.Option("--seller", metavar="NAME", help="Who sells.")]
Region = Annotated[str, typer.Option("--region", metavar="CODE", help="Of a new price book, such as CN.")]
Basis = Annotated[str, typer.Option("--basis", metavar="KIND", help="contract, street, list or indicative.")]
Hidden = Annotated[str, typer.Option("--hidden", metavar="take|skip", help="What becomes of hidden rows with prices.")]
Decimals = Annotated[
    str, typer.Option("--decimal", metavar="point|comma", help="What parts decimals where a number does not say.")
]
Encoding = Annotated[str, typer.Option("--encoding", metavar="NAME", help="Of a text file.")]
AcceptSums = Annotated[bool, typer.Option("--accept-sums", help="Go on where sums are wrong; the book says so.")]
Template = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Template: .xlsx or .csv.")]
Kinds = Annotated[Many, typer.Argument(metavar="[KIND]...", help="gpu, dimm, drive ...; all if left out.")]
Current = Annotated[str, typer.Option("--book", metavar="ID", help="Price book of the current prices.")]


def import_command(
    file: QuoteFile,
    book: Book = "",
    output: BookFile = None,
    dry_run: DryRun = False,
    force: Force = False,
    maps: Maps = None,
    map_file: MapFile = None,
    ignore: Ignores = None,
    sheet: Sheets = None,
    column: Columns = None,
    table: HeadRow = None,
    currency: Currency = "",
    tax: Tax = "",
    date: Issued = None,
    valid_until: LastDay = None,
    quote: Number = "",
    seller: Seller = "",
    region: Region = "",
    basis: Basis = "contract",
    hidden: Hidden = "",
    decimal: Decimals = "",
    encoding: Encoding = "",
    accept_sums: AcceptSums = False,
    form: Format = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Make a price book of a vendor's quote: every price matched, or an error that names its cell."""
    from planner.quotes.importing import Wishes, import_quote

    basis_words, rate = _tax(tax)
    wishes = Wishes(
        book=book, region=region, currency=currency.strip().upper(), tax=basis_words, rate=rate,
        issued=read_day(date, "--date"), valid_until=read_day(valid_until, "--valid-until"), quote=quote, seller=seller,
        basis=_word(basis, _BASES, "--basis"), sheets=tuple(sheet or ()), maps=tuple(maps or ()), map_file=map_file,
        ignores=tuple(ignore or ()), columns=tuple(column or ()), table=table,
        hidden=_word(hidden, _HIDDEN, "--hidden"), decimal=_style(decimal), encoding=encoding, accept_sums=accept_sums,
    )  # fmt: skip
    if output is not None and not dry_run:
        _check_output(output, (".yaml", ".yml"), force)
    made = import_quote(file, load(catalog, prices).catalog, wishes)
    if dry_run:
        _tell(made, form, wishes)
    elif made.problems:
        raise InputError(made.problems)
    elif output is None:
        sys.stdout.write(made.text)
    else:
        write_whole(output, made.text)
        _report(made, form, str(output))


def _tell(made: Imported, form: str | None, wishes: Wishes) -> None:
    """Print the report of a dry run; it ends as the import itself would, but needs no book."""
    from planner.views.quote import import_report

    if not wishes.book:
        made.problems = [one for one in made.problems if one.message != "no price book is named"]
    write(import_report(made), form, None)
    if made.problems:
        raise InputError(made.problems)


def _report(made: Imported, form: str | None, output: str) -> None:
    from planner.render import OUTPUTS
    from planner.views.quote import import_report

    name = form or "table"
    if name not in OUTPUTS:
        raise UsageError(f"-f {name}: unknown format; {nearest(name, OUTPUTS)}")
    print(OUTPUTS[name].render(import_report(made, output)), end="", file=sys.stderr)
    print(f"wrote {output}", file=sys.stderr)


def _tax(text: str) -> tuple[str, Decimal | None]:
    from planner.quotes.days import percent_of

    words = text.split()
    basis = next((word for word in ("included", "excluded") if word in words), "")
    rate = percent_of(text)
    rest = [word for word in words if word != basis and "%" not in word]
    if text and ((not basis and rate is None) or rest or ("%" in text and rate is None)):
        raise UsageError(f"--tax '{text}': expected excluded, included, 'included 13%' or a rate such as 13%")
    return basis, rate


def _word(text: str, known: tuple[str, ...], option: str) -> str:
    if text and text not in known:
        raise UsageError(f"{option} {text}: {nearest(text, known)}")
    return text


def _style(text: str) -> Style:
    return "point" if _word(text, _DECIMALS, "--decimal") == "point" else "comma" if text else ""


def _check_output(path: Path, suffixes: tuple[str, ...], force: bool) -> None:
    if not path.name or path.is_dir() or path.suffix.lower() not in suffixes:
        raise UsageError(f"-o '{path}': expected a file that ends in {' or '.join(suffixes)}")
    if path.exists() and not force:
        raise UsageError(f"-o {path}: exists; replace it with --force")


def export_command(
    output: Template,
    kinds: Kinds = None,
    book: Current = "us-2026-11",
    force: Force = False,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Write a template of the parts with empty price columns, for `catalog import` to read back."""
    from planner.quotes.template import template_csv, template_rows, template_xlsx

    _check_output(output, (".xlsx", ".csv"), force)
    shelf = load(catalog, prices)
    rows = template_rows(shelf.catalog, shelf.catalog.book(book), kinds or ())
    write_whole(output, template_xlsx(rows) if output.suffix.lower() == ".xlsx" else template_csv(rows))
    print(f"wrote {output}", file=sys.stderr)


def register(app: typer.Typer) -> None:
    """Add these commands to those about the catalogue."""
    app.command("import")(import_command)
    app.command("export")(export_command)
