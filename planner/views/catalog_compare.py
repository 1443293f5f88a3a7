"""Parts of one kind side by side: what differs is marked, and each value says what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from planner.errors import InputError, UsageError, nearest
from planner.evidence import Evidence
from planner.hardware import Catalog, Part
from planner.render.report import Report, Table, Text
from planner.units import format_money
from planner.views.catalog import shown, values
from planner.views.columns import SIZED, Row

_LETTERS = {"sourced": "S", "derived": "D", "assumed": "A"}
_LEGEND = "S sourced, D derived, A assumed; catalog show ID has the sources and reasons"
Cell = tuple[Any, str, Evidence | None]
"""Plain value, text, evidence."""


def compare_report(catalog: Catalog, names: Sequence[str], book_name: str) -> Report:
    """Return the report of ``planner catalog compare``.

    Raises
    ------
    InputError
        If a part is unknown.
    UsageError
        If there are fewer than two, one comes twice, or they are of several kinds.
    """
    parts = _parts(catalog, names)
    book = catalog.book(book_name)
    cells = [_cells(Row(part, book.find(part.id), book, None)) for part in parts]
    keys = list(dict.fromkeys(key for one in cells for key in one))
    rows, plain = [], []
    for key in keys:
        line: list[Cell] = [one.get(key, (None, "-", None)) for one in cells]
        differs = len({str(value) for value, _, _ in line}) > 1
        rows.append([key, "*" if differs else "", *(_text(cell) for cell in line)])
        plain.append({"value": key, "differs": differs, **{
            part.id: cell[1] for part, cell in zip(parts, line, strict=True)
        }})  # fmt: skip
    columns = ("value", "differs", *(part.id for part in parts))
    table = Table(columns, rows, f"Side by side, prices of {book.id}", plain=plain)
    data = {
        "kind": getattr(parts[0], "kind", ""), "book": book.id, "currency": book.currency,
        "parts": [
            {"id": part.id, "name": part.name, "values": _data(one)} for part, one in zip(parts, cells, strict=True)
        ],
        "differs": [row["value"] for row in plain if row["differs"]],
    }  # fmt: skip
    return Report(data, [table, Text([_LEGEND])], table)


def _parts(catalog: Catalog, names: Sequence[str]) -> list[Part]:
    if len(set(names)) < len(names) or len(names) < 2:
        raise UsageError("catalog compare: give two different parts, or more")
    every = [name for by_id in catalog.parts.values() for name in by_id]
    lost = [name for name in names if catalog.find(name) is None]
    if lost:
        raise InputError("\n".join(f"unknown part '{name}'; {nearest(name, every)}" for name in lost))
    parts = [part for name in names if (part := catalog.find(name)) is not None]
    kinds = {part.id: str(getattr(part, "kind", "")) for part in parts}
    if len(set(kinds.values())) > 1:
        said = ", ".join(f"'{name}' is a {kind}" for name, kind in kinds.items())
        raise UsageError(f"catalog compare: parts of one kind can be compared; {said}")
    return parts


def _cells(row: Row) -> dict[str, Cell]:
    found: dict[str, Cell] = {"name": (row.part.name, row.part.name, None)}
    for key, name, value, evidence in values(row.part):
        found[key] = (value, shown(name, value), evidence)
    price = row.price
    if price is None:
        found["price"] = (None, "no price", None)
        return found
    why = price.evidence
    for case in ("low", "typical", "high"):
        cents = getattr(price, case).cents
        found[f"price {case}"] = (cents / 100, format_money(cents, row.book.currency), why)
    for column in SIZED.get(str(getattr(row.part, "kind", "")), ()):
        found[f"price {column.title}"] = (column.value(row), column.cell(row), why)
    found["price as of"] = (price.as_of, price.as_of, None)
    found["price basis"] = (price.basis, price.basis, None)
    return found


def _text(cell: Cell) -> str:
    evidence = cell[2]
    return f"{cell[1]} {_LETTERS[evidence.kind]}" if evidence is not None else cell[1]


def _data(cells: dict[str, Cell]) -> dict[str, Any]:
    return {
        key: {"value": _plain(value), "shown": text, "evidence": str(why) if why else None}
        for key, (value, text, why) in cells.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return float(value)
    return value if isinstance(value, str | int | float | None) else str(value)
