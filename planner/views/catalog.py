"""The catalogue as one reads it: values with evidence, prices with their age, systems against parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from planner.errors import InputError, nearest
from planner.evidence import Evidence, Source
from planner.fields import file_key
from planner.hardware import Catalog, Gpu, Part, System
from planner.prices import PriceBook
from planner.render.report import Report, Table, Text
from planner.units import format_bytes, format_gib, format_money, format_rate, format_watts
from planner.views.catalog_list import price_data


def _kind(part: Part) -> str:
    return str(getattr(part, "kind", ""))


def show_report(catalog: Catalog, name: str, book_name: str) -> Report:
    """Return the report of ``planner catalog show``.

    Raises
    ------
    InputError
        If there is no such part.
    """
    part = catalog.find(name)
    source = catalog.sources.by_id.get(name)
    if part is None and source is not None:
        return _source_report(source)
    if part is None:
        every = [p for by_id in catalog.parts.values() for p in by_id]
        raise InputError(f"unknown part '{name}'; {nearest(name, every)}")
    book = catalog.book(book_name)
    found = list(values(part))
    table = Table(
        ("value", "", "where it comes from"),
        [(key, shown(name, value), str(why or "-")) for key, name, value, why in found],
        part.name,
    )
    blocks: list[Text | Table] = [table]
    if part.note:
        blocks.append(Text([part.note]))
    data: dict[str, Any] = {
        "id": part.id, "name": part.name, "kind": _kind(part),
        "values": {
            key if "." in key else name: {"value": value, "evidence": str(why) if why else None}
            for key, name, value, why in found
        },
        "price": price_data(book, part.id),
    }  # fmt: skip
    price = book.find(part.id)
    if price is not None:
        blocks.append(Text([
            f"{price.typical} ({price.low} to {price.high}), {price.basis}, {price.as_of}",
            str(price.evidence), *([price.note] if price.note else []),
        ], f"Price in {book.id}"))  # fmt: skip
    else:
        blocks.append(Text([f"no price in {book.id}: machines that need it are not offered"], "Price"))
    systems = list(_system_lines(catalog, part, book))
    if systems:
        blocks.append(Text([text for text, _ in systems], "Whole systems against their parts"))
        data["systems"] = [row for _, row in systems]
    return Report(data, blocks, table)


def _source_report(source: Source) -> Report:
    rows = [(key, getattr(source, key) or "-") for key in ("title", "where", "date", "grade")]
    table = Table(("source", source.id), rows, source.title)
    return Report({"id": source.id, **dict(rows)}, [table], table)


_APART = ("id", "name", "note", "source", "evidence", "kind", "inside")
_IF_ANY = ("part_numbers", "aliases", "regions", "export_barred")


def values(part: Any) -> Iterator[tuple[str, str, Any, Evidence | None]]:
    """Yield key, field, value and evidence of all that a part has."""
    default = Evidence("sourced", part.source) if getattr(part, "source", ()) else None
    for field in fields(part):
        value = getattr(part, field.name)
        key = file_key(field.name)
        if field.name in _APART or value is None or (field.name in _IF_ANY and not value):
            continue
        if hasattr(value, "__dataclass_fields__") and not hasattr(value, "cents"):
            for inner in fields(value):
                size = getattr(value, inner.name)
                path = f"{key}.{file_key(inner.name)}"
                if size is not None:
                    yield path, inner.name, size, part.evidence.get(path, default)
            continue
        yield key, field.name, value, part.evidence.get(key, default)


def shown(name: str, value: Any) -> str:
    """Return the value of a field with its unit, for reading."""
    if name.endswith("_bytes_per_s"):
        return format_rate(value)
    # Drives are sold by decimal bytes; memory is counted in binary ones.
    if name.endswith(("memory_bytes", "visible_bytes", "dimm_bytes")) or (
        name == "capacity_bytes" and value % 2**30 == 0
    ):
        return format_gib(value)
    if name.endswith("_bytes"):
        return format_bytes(value)
    if name.endswith("_w"):
        return format_watts(value)
    if isinstance(value, tuple):
        return ", ".join(str(getattr(item, "part", item)) for item in value)
    if isinstance(value, int) and value >= 10**11:
        return f"{value / 1e12:,g} TFLOP/s"
    return str(value)


def _system_lines(catalog: Catalog, part: Part, book: PriceBook) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each whole system with this part against the same machine from parts."""
    for system in catalog.systems().values():
        if part.id not in (system.id, system.chassis, system.gpu):
            continue
        price = book.find(system.id)
        if price is None:
            continue
        for chassis in catalog.chassis().values():
            wrong = chassis.whole_system or system.gpu not in chassis.gpu_models or book.find(chassis.id) is None
            if wrong or (not isinstance(part, System | Gpu) and part.id != chassis.id):
                continue
            total, missing = parts_cents(catalog, book, system, chassis.id)
            if missing:
                yield (
                    f"{system.name}: {chassis.id} from parts has no price for {', '.join(missing)}",
                    {"system": system.id, "missing": missing},
                )
                continue
            gap = _gap_words(total, price.low.cents, price.high.cents, book.currency)
            yield (
                f"{system.name} {price.typical} ({price.low} to {price.high}); the same in {chassis.id} from parts "
                f"{format_money(total, book.currency)}: {gap}",
                {
                    "system": system.id, "chassis": chassis.id, "parts_total": total / 100,
                    "low": price.low.cents / 100, "high": price.high.cents / 100,
                    "within": price.low.cents <= total <= price.high.cents,
                },
            )  # fmt: skip


def _gap_words(total: int, low: int, high: int, currency: str) -> str:
    if low <= total <= high:
        return "within the sourced range"
    if total < low:
        share = (low - total) / low
        return (
            f"{format_money(low - total, currency)} ({share:.0%}) below it; a whole system's price holds its maker's "
            "margin, integration, warranty and bundled support, and GPU prices are brokers' figures"
        )
    return f"{format_money(total - high, currency)} above it; buy the whole system"


def parts_cents(catalog: Catalog, book: PriceBook, system: System, chassis_id: str) -> tuple[int, list[str]]:
    """Return what a system's content costs from parts in another chassis, and parts without price."""
    chassis = catalog.chassis()[chassis_id]
    cpus = [cpu for cpu in catalog.cpus().values() if cpu.platform in chassis.cpu_platforms and book.find(cpu.id)]
    cpu = min(cpus, key=lambda c: (book.cents(c.id) or 0, c.id)).id if cpus else system.cpu
    rows = [
        (chassis.id, 1), (system.gpu, chassis.n_gpus), (cpu, chassis.n_cpus), (system.dimms.part, system.dimms.count),
        (system.boot.part, system.boot.count),
        *((inside.part, inside.count) for inside in (*system.drives, *system.nics)),
    ]  # fmt: skip
    missing = [part for part, _ in rows if book.find(part) is None]
    return sum(count * (book.cents(part) or 0) for part, count in rows), missing
