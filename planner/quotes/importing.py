"""A vendor's quote to a price book: read, find the table, match, check, and write; all problems told at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from pathlib import Path

from planner.documents import read_document
from planner.eligibility import last_day
from planner.errors import InputError, Problem, nearest
from planner.hardware import Catalog
from planner.prices import PriceBook
from planner.quotes.book import BookTerms, Priced, book_text, check_text, price_parts
from planner.quotes.cells import MOST_BYTES, CellProblem, Sheet, cell_name
from planner.quotes.delimited import read_text
from planner.quotes.lines import Basis, Line, Read, read_lines
from planner.quotes.matching import Match, Settled, Target, match_lines, match_problems, parse_target
from planner.quotes.numbers import Style
from planner.quotes.spreadsheet import read_workbook
from planner.quotes.statements import Terms, terms_of
from planner.quotes.sums import Checked, check_lines, check_sums, shown
from planner.quotes.table import Table, find_table, other_tables, parse_columns, price_columns

_FAR = 3
"""A price this many times above or below the book's own is worth a second look."""


@dataclass(frozen=True)
class Wishes:
    """What the buyer says beside the quote; empty and None where the quote is to say it.

    Attributes
    ----------
    book : str
        Id of the price book: a known one is laid over, a new one is the quote's own.
    tax : str
        Whether the quote's prices hold tax.
    maps, ignores, columns : tuple of str
        As written: ``TEXT=PART``, ``TEXT`` or a place, ``FIELD=LETTER``.
    table : int or None
        First row of the headers, where a sheet has several tables.
    accept_sums : bool
        Whether sums that are wrong are let pass; the book then says so.
    """

    book: str = ""
    region: str = ""
    currency: str = ""
    tax: str = ""
    rate: Decimal | None = None
    issued: date | None = None
    valid_until: date | None = None
    quote: str = ""
    seller: str = ""
    basis: str = "contract"
    sheets: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    map_file: Path | None = None
    ignores: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    table: int | None = None
    hidden: str = ""
    decimal: Style = ""
    encoding: str = ""
    accept_sums: bool = False


@dataclass
class Imported:
    """What became of a quote.

    Attributes
    ----------
    text : str
        The price book; empty where problems keep it from being written.
    laid_over : bool
        Whether the book's id is one that is known.
    sums : list of Checked
        The quote's own sums against its lines.
    """

    file: str
    tables: list[Table] = field(default_factory=list)
    terms: Terms = field(default_factory=Terms)
    book: BookTerms | None = None
    laid_over: bool = False
    matches: list[Match] = field(default_factory=list)
    sums: list[Checked] = field(default_factory=list)
    priced: list[Priced] = field(default_factory=list)
    problems: list[CellProblem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    text: str = ""

    def problem(self, message: str, hint: str = "") -> None:
        """Add a problem of the whole file."""
        self.problems.append(CellProblem(self.file, 0, 0, message, hint))


def import_quote(path: Path, catalog: Catalog, wishes: Wishes) -> Imported:
    """Return what a quote says of the parts of a catalogue, with every problem; nothing is written.

    Raises
    ------
    InputError
        If the file cannot be read at all, or what was settled names what there is not.
    """
    made = Imported(path.name)
    settled = _settled(catalog, wishes)
    named, faults = parse_columns(wishes.columns)
    if faults:
        raise InputError(Problem("", 0, 0, fault) for fault in faults)
    sheets = read_sheets(path, wishes.encoding)
    made.remarks += [sheet.note for sheet in sheets if sheet.note]
    made.tables = _tables(sheets, wishes, named, made)
    shown_sheets = [s for s in sheets if not s.hidden or s.name in wishes.sheets]
    terms, problems = terms_of(shown_sheets, made.tables)
    made.terms = _stated(terms, wishes)
    made.problems += [one for one in problems if not _is_said(one, wishes)]
    if not made.tables:
        return made
    target = catalog.books.get(wishes.book)
    reads = [_read(table, made, wishes, settled, target) for table in made.tables]
    lines = [line for read in reads for line in read.lines]
    made.matches = match_lines(lines, catalog, settled)
    made.problems += match_problems(made.matches)
    _check_basis(lines, made)
    _check_totals(reads, made, wishes)
    if settled.left_out:
        made.remarks.append(f"rows left out as asked: {', '.join(settled.left_out)}")
    for text in settled.unused():
        made.problem(
            f"'{text}' was settled, and no row says so", "copy the text of a cell, or a place such as 12 or B12"
        )
    if not any(line.priced for line in lines) and not made.problems:
        made.problem("no line has a price")
    _write(made, wishes, target)
    _compare(made, target)
    return made


def read_sheets(path: Path, encoding: str = "") -> list[Sheet]:
    """Return the sheets of a file by its suffix.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix not in (".xlsx", ".csv", ".tsv", ".txt"):
        hint = "save it as .xlsx or .csv"
        raise InputError([CellProblem(path.name, 0, 0, f"'{suffix}' files are not read", hint)])
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as fault:
        raise InputError([CellProblem(str(path), 0, 0, f"cannot be read: {fault.strerror}")]) from None
    if len(content) > MOST_BYTES:
        raise InputError([CellProblem(path.name, 0, 0, f"is larger than {MOST_BYTES // 2**20} MiB: no quote is")])
    if suffix == ".xlsx":
        return read_workbook(content, path.name)
    return [read_text(content, path.name, encoding)]


def _settled(catalog: Catalog, wishes: Wishes) -> Settled:
    maps: dict[str, Target] = {}
    ignores: list[str] = []
    problems: list[Problem] = []
    if wishes.map_file is not None:
        _read_map_file(wishes.map_file, catalog, maps, ignores, problems)
    strict = set(wishes.ignores)
    for text in wishes.maps:
        words, sign, part = text.rpartition("=")
        try:
            if not sign or not words.strip():
                raise InputError("expected TEXT=PART")
            maps[words.strip()] = parse_target(part, catalog)
            strict.add(words.strip())
        except InputError as fault:
            problems.append(Problem("", 0, 0, f"--map '{text}': {fault}"))
    if problems:
        raise InputError(problems)
    return Settled(maps, (*ignores, *wishes.ignores), frozenset(strict))


def _read_map_file(
    path: Path, catalog: Catalog, maps: dict[str, Target], ignores: list[str], problems: list[Problem]
) -> None:
    document = read_document(path, path.name)
    problems += document.problems
    data = document.data if isinstance(document.data, dict) else {}
    if not isinstance(document.data, dict):
        problems.append(document.problem((), "expected the keys 'map' and 'ignore'"))
    for key in data.keys() - {"map", "ignore"}:
        problems.append(document.problem((key,), f"unknown key '{key}'", nearest(key, ("map", "ignore")), key=True))
    wanted, left = data.get("map") or {}, data.get("ignore") or []
    if not isinstance(wanted, dict):
        problems.append(document.problem(("map",), "expected texts with their parts", 'write "TEXT": part-id'))
        wanted = {}
    if not isinstance(left, list):
        problems.append(document.problem(("ignore",), "expected a list of texts", "write '- TEXT' lines"))
        left = []
    for text, part in wanted.items():
        try:
            maps[text] = parse_target(str(part), catalog)
        except InputError as fault:
            problems.append(document.problem(("map", text), str(fault)))
    ignores += map(str, left)


def _tables(sheets: Sequence[Sheet], wishes: Wishes, columns: dict[str, int], made: Imported) -> list[Table]:
    known, names = {sheet.name: sheet for sheet in sheets}, wishes.sheets
    for name in names:
        if name not in known:
            made.problem(f"there is no sheet '{name}'", nearest(name, known))
    found = [(sheet, table) for sheet in sheets if (table := find_table(sheet, columns, wishes.table))]
    chosen = [(sheet, table) for sheet, table in found if (sheet.name in names if names else not sheet.hidden)]
    left = [sheet.name for sheet, _ in found if sheet.hidden and sheet.name not in names]
    made.remarks += [f"the hidden sheet '{name}' has prices and was not read" for name in left]
    if not chosen and not made.problems:
        hint = "name the columns: --column description=B --column unit_price=F, or the sheet with --sheet"
        made.problem("no row of headers with a name and a price was found", hint)
    if len(chosen) > 1 and not names:
        listed = ", ".join(f"'{sheet.name}'" for sheet, _ in chosen)
        made.problem(f"several sheets have prices: {listed}", "say which count with --sheet, repeated for several")
        return []
    for _, table in chosen:
        for row in other_tables(table):
            message = "another table begins here"
            hint = f"say which counts: --table {row} or --table {table.top}"
            made.problems += [table.sheet.problem(row, 0, message, hint)] if wishes.table is None else []
        made.remarks += [f"{table.sheet.title}: the header in {words} is not known" for words in table.unknown]
    return [table for _, table in chosen]


def _stated(terms: Terms, wishes: Wishes) -> Terms:
    """Return the terms of the quote, those over them that the buyer states."""
    return replace(
        terms,
        currency=wishes.currency or terms.currency,
        tax=wishes.tax or terms.tax,
        rate=wishes.rate if wishes.rate is not None else terms.rate,
        issued=wishes.issued or terms.issued,
        valid_until=wishes.valid_until or terms.valid_until,
        quote=wishes.quote or terms.quote,
        seller=wishes.seller or terms.seller,
    )


def _is_said(problem: CellProblem, wishes: Wishes) -> bool:
    """Return whether the buyer states what a contradiction is about."""
    said = {"--quote": wishes.quote, "--date": wishes.issued, "--valid-until": wishes.valid_until,
            "--currency": wishes.currency, "--tax": wishes.tax, "--seller": wishes.seller}  # fmt: skip
    return any(value and problem.hint.endswith(f" {option}") for option, value in said.items())


def _read(table: Table, made: Imported, wishes: Wishes, settled: Settled, target: PriceBook | None) -> Read:
    columns, problems = price_columns(table, target.tax if target else wishes.tax)
    made.problems += problems
    for column in columns:
        if wishes.tax and column.header.tax and column.header.tax != wishes.tax and column.header.field == "unit_price":
            message = f"'{column.words[:40]}' says tax is {column.header.tax}, --tax says {wishes.tax}"
            made.problems.append(table.sheet.problem(table.top, column.number, message, "leave --tax out"))
        if column.number in table.sheet.hidden_columns:
            made.remarks.append(
                f"column {cell_name(1, column.number)[:-1]} '{column.words[:40]}' is hidden, and was read"
            )
    if any(column.header.field == "list_price" for column in columns):
        made.remarks.append(f"{table.sheet.title}: only list prices; say so in the book with --basis list")
    terms = made.terms
    basis = Basis(
        terms.currency, terms.power or 0, terms.tax, terms.rate, wishes.decimal, wishes.hidden,
        wishes.table is not None, settled.ignored,
    )  # fmt: skip
    read = read_lines(table, columns, basis)
    made.problems += read.problems
    made.remarks += read.remarks
    return read


def _check_basis(lines: Sequence[Line], made: Imported) -> None:
    """Tell a currency and a tax basis that nothing states; neither is ever taken for granted."""
    priced = [line for line in lines if line.priced]
    without = next((line for line in priced if not line.currency), None)
    if without is not None:
        hint = "say it with --currency, such as USD; '$' and '¥' are signs of several"
        made.problems.append(without.problem("nothing states the currency", hint))
    without = next((line for line in priced if not line.tax), None)
    if without is not None:
        hint = "say it with --tax excluded, --tax included or --tax 'included 13%'"
        made.problems.append(without.problem("nothing states whether prices hold tax", hint))


def _check_totals(reads: Sequence[Read], made: Imported, wishes: Wishes) -> None:
    problems: list[CellProblem] = []
    for read in reads:
        problems += check_lines(read.lines)
        rates = {line.rate for line in read.lines if line.rate}
        checked, faults = check_sums(read.entries, rates.pop() if len(rates) == 1 else None)
        made.sums += checked
        problems += faults
    if wishes.accept_sums:
        made.remarks += [f"accepted: {str(problem).splitlines()[0]}" for problem in problems]
    else:
        made.problems += problems
    made.remarks += [
        f"row {one.total.row}, '{one.total.text[:40]}', was not checked: an amount under it, or the rate, is missing"
        for one in made.sums
        if one.right is None
    ]


def _write(made: Imported, wishes: Wishes, target: PriceBook | None) -> None:
    """Price the matched lines and make the book's text, if nothing is left to be settled."""
    currencies = {match.line.currency for match in made.matches if match.line.priced} - {""}
    taxes = {match.line.tax for match in made.matches if match.line.priced} - {""}
    terms = made.terms
    if target is None and len(currencies) > 1:
        made.problem(f"prices in {' and '.join(sorted(currencies))}: a book has one currency", "--ignore the others")
    if target is None and len(taxes) > 1:
        made.problem("prices with and without tax: a book has one basis", "say which columns count with --column")
    if terms.issued is None:
        made.problem("nothing states the date of the quote", "say it with --date, such as 2026-12-01")
    if not wishes.book:
        made.problem(
            "no price book is named", "lay it over one of the scenario with --book us-2026-11, or name a new one"
        )
    if target is None and wishes.book and not wishes.region:
        made.problem(f"'{wishes.book}' is a new price book", "say its region with --region, such as US or CN")
    if target is not None and wishes.region and wishes.region != target.region:
        made.problem(f"'{target.id}' is of {target.region}, not {wishes.region}", "leave --region out")
    last = terms.last_day(terms.issued)
    if last and terms.issued and last < terms.issued:
        made.problem(f"the quote ends on {last}, before its own date {terms.issued}", "state --date or --valid-until")
    if not currencies or not taxes:
        return
    made.laid_over = target is not None
    made.book = BookTerms(
        id=wishes.book or "-", name=target.name if target else f"Quote {terms.quote or made.file}",
        region=target.region if target else wishes.region or "-",
        currency=target.currency if target else sorted(currencies)[0], tax=target.tax if target else sorted(taxes)[0],
        tax_name=target.tax_name if target else "增值税" if wishes.region == "CN" else "tax", basis=wishes.basis,
        file=made.file, sheets=tuple(table.sheet.name for table in made.tables), issued=terms.issued or date.min,
        as_of=_newest(target, terms.issued), last_day=last, quote=terms.quote, seller=terms.seller,
        lead_time=terms.lead_time, warranty=terms.warranty,
        notes=tuple(text for text in made.remarks if text.startswith("accepted:")),
    )  # fmt: skip
    prices = price_parts(made.matches, made.book)
    made.priced = prices.priced
    made.problems += prices.problems
    if not made.problems and made.priced:
        made.text = book_text(made.priced, made.book)
        check_text(made.text, made.priced, made.book.currency)


def _newest(target: PriceBook | None, issued: date | None) -> str:
    """Return the date of the book: laying an older quote over one does not make the rest of it older."""
    day = (issued or date.min).isoformat()
    return target.as_of if target is not None and issued and last_day(target.as_of) > issued else day


def _compare(made: Imported, target: PriceBook | None) -> None:
    """Point at prices far from the book's own: a unit or a kit that was misread looks like that."""
    for one in made.priced:
        known = target.cents(one.part) if target else None
        cents = one.cents["typical"]
        if known and not known <= cents * _FAR <= known * _FAR * _FAR:
            made.remarks.append(
                f"{one.part} at {shown(Decimal(cents) / 100)} in {one.lines[0].cell}: "
                f"the book has {shown(Decimal(known) / 100)}; look at its unit, and at what one piece holds"
            )
