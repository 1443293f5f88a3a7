"""What became of a quote: its terms, each line with what it was taken for, sums, remarks, and what is to settle."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from planner.quotes.importing import Imported
from planner.quotes.matching import Match
from planner.quotes.sums import Checked, shown
from planner.render.report import Report, Table, Text


def import_report(made: Imported, output: str = "") -> Report:
    """Return the report of ``planner catalog import``; `output` is where the book was written."""
    table = _lines(made)
    blocks: list[Text | Table] = [Text(_head(made), f"Quote {made.file}"), table]
    if made.sums:
        blocks.append(_sums(made.sums))
    unpriced = _unpriced(made)
    if unpriced:
        blocks.append(Text(unpriced, "Without a price of its own, not written"))
    if made.remarks:
        blocks.append(Text([f"- {text}" for text in made.remarks], "Remarks"))
    blocks.append(Text(_ending(made, output), "What follows"))
    return Report(import_data(made), blocks, table)


def _head(made: Imported) -> list[str]:
    terms, book = made.terms, made.book
    ends = terms.last_day(terms.issued)
    lines = [
        f"quote {terms.quote or 'without a number'}{f' of {terms.seller}' if terms.seller else ''}, "
        f"date {terms.issued or 'not stated'}, valid until {ends or 'not stated'}",
        *(
            f"{table.sheet.title}: headers in row {table.top}, "
            + ", ".join(f"{column.header.field} '{column.words}'" for column in table.columns)
            for table in made.tables
        ),
    ]
    if book is not None:
        over = "laid over the known book" if made.laid_over else "a book of its own"
        lines.append(f"price book {book.id} ({over}): {book.currency}, tax {book.tax}, {book.basis}")
    return lines


def _lines(made: Imported) -> Table:
    columns = ("cell", "text", "qty", "unit price", "amount", "part", "by", "price written")
    written = {id(line): one for one in made.priced for line in one.lines}
    rows = []
    for match in made.matches:
        line = match.line
        if not line.priced:
            continue
        price = written.get(id(line))
        unit = line.cases.get("typical") or line.unit
        rows.append((
            line.cell, line.text[:60], "-" if line.qty is None else line.qty,
            shown(unit) if unit else "-", shown(line.amount) if line.amount else "-",
            _part(match), match.how, shown(Decimal(price.cents["typical"]) / 100) if price else "-",
        ))  # fmt: skip
    return Table(columns, rows, "Lines", ("qty", "unit price", "amount", "price written"), _plain(made))


def _part(match: Match) -> str:
    if match.target is None:
        return "?"
    return match.target.part if match.target.pieces == 1 else f"{match.target.pieces} x {match.target.part}"


def _sums(sums: list[Checked]) -> Table:
    rows = [
        (
            one.total.sheet.problem(one.total.row, one.total.column, "").line,
            one.total.text[:50],
            shown(one.total.amount),
            "-" if one.expected is None else shown(one.expected),
            {True: "right", False: "WRONG", None: "not checked"}[one.right],
        )
        for one in sums
    ]
    return Table(("row", "sum", "says", "comes to", ""), rows, "Sums of the quote", ("row", "says", "comes to"))


def _unpriced(made: Imported) -> list[str]:
    left = [match for match in made.matches if not match.line.priced]
    if any(line.header.field == "typical" for table in made.tables for line in table.columns):
        return [f"{len(left)} rows of the template were not filled in"] if left else []
    return [f"- row {match.line.row}: {match.line.text[:90]}" for match in left]


def _ending(made: Imported, output: str) -> list[str]:
    if made.problems:
        return [f"{len(made.problems)} problem(s) keep it from being written."]
    book = made.book.id if made.book else "-"
    use = "" if made.laid_over else f" --set finance.prices={book}"
    name = output or "FILE.yaml"
    return [f"{len(made.priced)} price(s).", f"planner plan SCENARIO --prices {name}{use}"]


def _plain(made: Imported) -> list[dict[str, Any]]:
    written = {id(line): one for one in made.priced for line in one.lines}
    rows = []
    for match in made.matches:
        line, price = match.line, written.get(id(match.line))
        unit = line.cases.get("typical") or line.unit
        rows.append({
            "sheet": line.sheet.name or None, "cell": line.cell, "text": line.text, "section": line.section or None,
            "qty": line.qty, "unit_price": _number(unit), "amount": _number(line.amount),
            "currency": line.currency or None, "tax": line.tax or None,
            "part": match.target.part if match.target else None,
            "pieces": match.target.pieces if match.target else None, "matched_by": match.how if match.target else None,
            "candidates": ", ".join(match.candidates) or None,
            "price": price.cents["typical"] / 100 if price else None,
            "derived": price.derived or None if price else None,
        })  # fmt: skip
    return rows


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def import_data(made: Imported) -> dict[str, Any]:
    """Return what became of a quote as plain data."""
    terms, book = made.terms, made.book
    ends = terms.last_day(terms.issued)
    return {
        "file": made.file,
        "quote": terms.quote or None,
        "seller": terms.seller or None,
        "date": terms.issued.isoformat() if terms.issued else None,
        "valid_until": ends.isoformat() if ends else None,
        "book": {"id": book.id, "currency": book.currency, "tax": book.tax, "known": made.laid_over} if book else None,
        "lines": _plain(made),
        "sums": [
            {
                "row": one.total.row, "text": one.total.text, "says": _number(one.total.amount),
                "comes_to": _number(one.expected), "right": one.right,
            }
            for one in made.sums
        ],
        "prices": [{"part": one.part, **{k: v / 100 for k, v in one.cents.items()}} for one in made.priced],
        "remarks": list(made.remarks),
        "problems": [str(problem) for problem in made.problems],
    }  # fmt: skip
