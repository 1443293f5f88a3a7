"""The catalogue as one reads it: values with evidence, prices with their age, systems against parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from planner.errors import InputError, UsageError, nearest
from planner.evidence import Evidence, Source
from planner.fields import file_key
from planner.hardware import Catalog, Gpu, Part, System
from planner.prices import PriceBook
from planner.render.report import Report, Table, Text
from planner.units import format_bytes, format_gib, format_money, format_rate, format_watts


def list_report(catalog: Catalog, kind: str | None, book_name: str) -> Report:
    """Return the report of ``planner catalog list``.

    Raises
    ------
    UsageError
        If the kind is unknown.
    """
    book = catalog.book(book_name)
    if kind is not None and kind not in catalog.parts:
        raise UsageError(f"catalog list {kind}: unknown kind; {nearest(kind, catalog.parts)}")
    kinds = [kind] if kind else list(catalog.parts)
    if kind == "gpu":
        table = _gpu_table(catalog, book)
    else:
        parts = [part for name in kinds for part in catalog.parts[name].values()]
        rows = [(_kind(part), part.id, part.name, *_price_cells(book, part.id)) for part in parts]
        plain = [
            {"kind": _kind(part), "id": part.id, "name": part.name, **_price_data(book, part.id)} for part in parts
        ]
        columns = ("kind", "id", "name", f"price {book.currency}", "as of", "evidence")
        table = Table(columns, rows, f"Catalogue, prices of {book.id}", (columns[3],), plain)
    return Report(list(table.plain), [table], table)


def _kind(part: Part) -> str:
    return str(getattr(part, "kind", ""))


def _gpu_table(catalog: Catalog, book: PriceBook) -> Table:
    columns = (
        "id",
        "name",
        "arch",
        "memory",
        "bandwidth",
        "FP8 dense",
        "power",
        f"price {book.currency}",
        "per GiB",
        "as of",
        "evidence",
    )
    rows, plain = [], []
    for gpu in catalog.gpus().values():
        cents = book.cents(gpu.id)
        per_gib = format_money(cents * 2**30 // gpu.memory_bytes) if cents else "-"
        fp8 = f"{gpu.dense.fp8_flops / 1e12:,.0f} TF" if gpu.dense.fp8_flops else "-"
        price, as_of, evidence = _price_cells(book, gpu.id)
        rows.append((
            gpu.id, gpu.name, gpu.architecture, format_gib(gpu.memory_bytes),
            format_rate(gpu.memory_bandwidth_bytes_per_s), fp8, format_watts(gpu.power_w), price, per_gib,
            as_of, evidence,
        ))  # fmt: skip
        plain.append({
            "id": gpu.id, "name": gpu.name, "architecture": gpu.architecture, "memory_bytes": gpu.memory_bytes,
            "memory_bandwidth_bytes_per_s": gpu.memory_bandwidth_bytes_per_s, "bf16_flops": gpu.dense.bf16_flops,
            "fp8_flops": gpu.dense.fp8_flops, "power_w": gpu.power_w, **_price_data(book, gpu.id),
        })  # fmt: skip
    return Table(columns, rows, f"GPUs, memory as the driver shows it, prices of {book.id}", columns[3:9], plain)


def _price_cells(book: PriceBook, part: str) -> tuple[str, str, str]:
    price = book.find(part)
    if price is None:
        return "no price", "-", "-"
    return format_money(price.typical.cents), price.as_of, price.evidence.kind


def _price_data(book: PriceBook, part: str) -> dict[str, Any]:
    price = book.find(part)
    if price is None:
        return {"price": None}
    return {
        "price": price.typical.cents / 100, "price_low": price.low.cents / 100, "price_high": price.high.cents / 100,
        "currency": book.currency, "as_of": price.as_of, "basis": price.basis, "evidence": price.evidence.kind,
        "sources": list(price.sources), "reason": price.evidence.text or None,
    }  # fmt: skip


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
    values = list(_values(part))
    table = Table(
        ("value", "", "where it comes from"),
        [(k, _shown(k, v), str(e or "-")) for k, v, e in values],
        part.name,
    )
    blocks: list[Text | Table] = [table]
    if part.note:
        blocks.append(Text([part.note]))
    data: dict[str, Any] = {
        "id": part.id, "name": part.name, "kind": _kind(part),
        "values": {k: {"value": v, "evidence": str(e) if e else None} for k, v, e in values},
        "price": _price_data(book, part.id),
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


def _values(part: Any, above: str = "") -> Iterator[tuple[str, Any, Evidence | None]]:
    default = Evidence("sourced", part.source) if getattr(part, "source", ()) else None
    for field in fields(part):
        value = getattr(part, field.name)
        key = file_key(field.name)
        if field.name in ("id", "name", "note", "source", "evidence", "kind", "inside") or value is None:
            continue
        if field.name in ("regions", "export_barred") and not value:
            continue
        if hasattr(value, "__dataclass_fields__") and not hasattr(value, "cents"):
            for inner in fields(value):
                size = getattr(value, inner.name)
                path = f"{key}.{file_key(inner.name)}"
                if size is not None:
                    yield (
                        path if path in part.evidence else f"{key}.{inner.name}",
                        size,
                        part.evidence.get(path, default),
                    )
            continue
        yield (field.name, value, part.evidence.get(key, default))


def _shown(name: str, value: Any) -> str:
    if name.endswith("_bytes_per_s"):
        return format_rate(value)
    if name.endswith("memory_bytes") or name.endswith("dimm_bytes"):
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
