"""Lists of parts: chosen, sorted, one line each; what a search finds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.errors import InputError, UsageError, nearest
from planner.hardware import Catalog, Part
from planner.prices import PriceBook
from planner.render.report import Report, Table, Text
from planner.units import BYTES, QuantityError, format_gib
from planner.views.columns import ANY, BY_KIND, Column, Row, find_column, price_columns, size_bytes


@dataclass(frozen=True)
class Choice:
    """Which parts are listed, and how.

    Attributes
    ----------
    vendor : str or None
        Only parts of this maker or seller.
    min_memory : str or None
        Only GPUs, modules and drives of at least this size, e.g. ``80 GiB``.
    sort : str or None
        Column to sort by; parts without a value come last. By id if not given.
    descending : bool
        Largest first.
    day : date or None
        Day to count the age of prices to; without it their dates alone are shown.
    """

    vendor: str | None = None
    min_memory: str | None = None
    sort: str | None = None
    descending: bool = False
    day: date | None = None


def list_report(catalog: Catalog, kind: str | None, book_name: str, choice: Choice | None = None) -> Report:
    """Return the report of ``planner catalog list``.

    Raises
    ------
    UsageError
        If the kind, the column, the vendor or the size is none.
    """
    book, choice = catalog.book(book_name), choice or Choice()
    if kind is not None and kind not in catalog.parts:
        raise UsageError(f"catalog list {kind}: unknown kind; {nearest(kind, catalog.parts)}")
    parts = [part for name in ([kind] if kind else catalog.parts) for part in catalog.parts[name].values()]
    rows = [Row(part, book.find(part.id), book, choice.day) for part in _chosen(parts, kind, choice)]
    columns = (*BY_KIND.get(kind or "", ANY), *price_columns(kind, book, choice.day))
    if choice.sort:
        rows = _sorted(rows, find_column(choice.sort, columns, book), choice.descending)
    title = (
        "GPUs, memory as the driver shows it" if kind == "gpu" else "Catalogue" if not kind else f"Catalogue, {kind}"
    )
    return _report(rows, columns, f"{title}, prices of {book.id}")


def _report(rows: Sequence[Row], columns: Sequence[Column], title: str) -> Report:
    cells = [[column.cell(row) for column in columns] for row in rows]
    right = [column.title for column in columns if column.right]
    plain = [_plain(row, columns) for row in rows]
    table = Table([column.title for column in columns], cells, title, right, plain)
    starred = any(cell.endswith(" *") for row in cells for cell in row)
    blocks: list[Text | Table] = [table, *([Text(["* assumed: catalog show ID says why"])] if starred else [])]
    return Report(plain, blocks, table)


def _plain(row: Row, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a row for machines: what is shown, and all that is known of the price."""
    data: dict[str, Any] = {"id": row.part.id, "name": row.part.name, "kind": getattr(row.part, "kind", "")}
    for column in columns:
        value = column.value(row)
        data[column.key] = list(value) if isinstance(value, tuple) else value
    return data | price_data(row.book, row.part.id)


def price_data(book: PriceBook, part: str) -> dict[str, Any]:
    """Return all that a book says of a part's price; every value is None where it says nothing."""
    price = book.find(part)
    if price is None:
        return dict.fromkeys(("price", "price_low", "price_high")) | {"currency": book.currency} | dict.fromkeys(
            ("as_of", "basis", "evidence", "sources", "reason")
        )  # fmt: skip
    return {
        "price": price.typical.cents / 100, "price_low": price.low.cents / 100, "price_high": price.high.cents / 100,
        "currency": book.currency, "as_of": price.as_of, "basis": price.basis, "evidence": price.evidence.kind,
        "sources": list(price.sources), "reason": price.evidence.text or None,
    }  # fmt: skip


def _chosen(parts: Iterable[Part], kind: str | None, choice: Choice) -> list[Part]:
    found = list(parts)
    if choice.vendor is not None:
        vendors = {folded(getattr(part, "vendor", "")) for part in found} - {""}
        if folded(choice.vendor) not in vendors:
            names = {getattr(part, "vendor", "") for part in found} - {""}
            raise UsageError(
                f"--vendor {choice.vendor}: none of these parts is theirs; {nearest(choice.vendor, names)}"
            )
        found = [part for part in found if folded(getattr(part, "vendor", "")) == folded(choice.vendor)]
    if choice.min_memory is not None:
        found = _large(found, kind, choice.min_memory)
    return found


def _large(parts: Sequence[Part], kind: str | None, text: str) -> list[Part]:
    try:
        least = BYTES.parse(unicodedata.normalize("NFKC", text))
    except QuantityError as fault:
        raise UsageError(f"--min-memory {text}: {fault}") from None
    sizes = {part.id: size_bytes(part) for part in parts}
    if parts and all(size is None for size in sizes.values()):
        raise UsageError(f"--min-memory: a {kind} has no memory; list gpu, dimm or drive with it")
    found = [part for part in parts if (sizes[part.id] or 0) >= least]
    if parts and not found:
        most = max(size or 0 for size in sizes.values())
        raise UsageError(f"--min-memory {text}: none is as large; the largest has {format_gib(most)}")
    return found


def _sorted(rows: list[Row], column: Column, descending: bool) -> list[Row]:
    known = [row for row in rows if column.value(row) is not None]
    unknown = [row for row in rows if column.value(row) is None]
    return sorted(known, key=lambda row: (column.value(row), row.part.id), reverse=descending) + unknown


def folded(text: str) -> str:
    """Return text for comparing: full-width as half-width, without case, runs of spaces as one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def search_report(catalog: Catalog, words: Sequence[str], book_name: str) -> Report:
    """Return the report of ``planner catalog search``: parts in which every word stands, ids first.

    Raises
    ------
    InputError
        If nothing is found; names the nearest words.
    """
    book = catalog.book(book_name)
    wanted = folded(" ".join(words)).split()
    if not wanted:
        raise UsageError("catalog search: give a word to look for")
    texts = {part.id: (part, _texts(catalog, part)) for by_id in catalog.parts.values() for part in by_id.values()}
    found = [(part, fields) for part, fields in texts.values() if all(_stands(word, fields) for word in wanted)]
    if not found:
        known = {word for _, fields in texts.values() for text in fields for word in (text, *text.split())}
        lost = [word for word in wanted if not any(_stands(word, fields) for _, fields in texts.values())]
        hints = "; ".join(f"'{word}': {nearest(word, known)}" for word in lost) or "each word is known, not together"
        raise InputError(f"nothing is called '{' '.join(words)}'; {hints}")
    ordered = sorted(found, key=lambda one: (_rank(wanted, one[1]), one[0].id))
    rows = [Row(part, book.find(part.id), book, None) for part, _ in ordered]
    return _report(rows, (*ANY, *price_columns(None, book, None)), f"Found, prices of {book.id}")


def _texts(catalog: Catalog, part: Part) -> list[str]:
    """Return what a part is called: id, name, then vendor, kind and numbers of maker and sellers."""
    others = [getattr(part, key, "") for key in ("vendor", "kind", "platform", "architecture", "category")]
    numbers = [*getattr(part, "part_numbers", ()), *getattr(part, "aliases", ())]
    for book in catalog.books.values():
        numbers += getattr(book.find(part.id), "part_numbers", ())
    return [folded(text) for text in (part.id, part.name, *others, *numbers) if text]


def _stands(word: str, fields: Sequence[str]) -> bool:
    # "H200SXM" and "h200-sxm" are the same to who types them.
    bare = _bare(word)
    return any(word in text or (bool(bare) and bare in _bare(text)) for text in fields)


def _bare(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _rank(wanted: Sequence[str], fields: Sequence[str]) -> int:
    """Return how near a part is: its id, the beginning of it, within it, its name, the rest."""
    whole, own, name = _bare("".join(wanted)), _bare(fields[0]), _bare(fields[1])
    for rank, near in enumerate((whole == own, own.startswith(whole), whole in own, whole in name)):
        if near:
            return rank
    return 4
