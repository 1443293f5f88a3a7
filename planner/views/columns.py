"""What is worth knowing of each kind of part in one line: its columns, and how each is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from planner.errors import UsageError, nearest
from planner.hardware import Dimm, Drive, Gpu, Part
from planner.prices import Price, PriceBook
from planner.units import format_bytes, format_gib, format_money, format_rate, format_watts

_GIB, _TB = 2**30, 10**12
Show = Callable[[Any], str]


@dataclass(frozen=True)
class Row:
    """A part with its price; the price is None where the book has none."""

    part: Part
    price: Price | None
    book: PriceBook
    day: date | None


@dataclass(frozen=True)
class Column:
    """One value of a part.

    Attributes
    ----------
    key : str
        In JSON and CSV; with ``-`` for ``_`` and without its unit what ``--sort`` takes.
    title : str
        Above the column.
    value : callable
        Row to plain value; None where there is none.
    show : callable
        Plain value to text.
    path : str
        Of the value's evidence; empty where it has none of its own.
    right : bool
        Whether it is a number.
    """

    key: str
    title: str
    value: Callable[[Row], Any]
    show: Show = str
    path: str = ""
    right: bool = False

    @property
    def word(self) -> str:
        """What ``--sort`` calls it."""
        return self.title.casefold().replace(" ", "-").replace("/", "-per-")

    def cell(self, row: Row) -> str:
        """Return the text of a row: ``-`` where there is no value, ``*`` behind what is assumed."""
        value = self.value(row)
        if value is None:
            return "no price" if self.key == "price" else "-"
        evidence = row.part.evidence.get(self.path)
        return self.show(value) + (" *" if evidence is not None and evidence.kind == "assumed" else "")


def size_bytes(part: Part) -> int | None:
    """Return the memory of a GPU or the capacity of a module or drive; None of other parts."""
    if isinstance(part, Gpu):
        return part.memory_bytes
    return part.capacity_bytes if isinstance(part, Dimm | Drive) else None


def price_per(row: Row, amount: int | None, unit: int) -> float | None:
    """Return the typical price in the book's currency for each `unit` of `amount`; None without a price."""
    if row.price is None or not amount:
        return None
    return float(round(Fraction(row.price.typical.cents * unit, amount * 100), 2))


def _money(value: float) -> str:
    return format_money(round(value * 100))


def _list(value: tuple[str, ...]) -> str:
    return ", ".join(value)


def _tflops(value: int) -> str:
    return f"{value / 1e12:,.0f} TF"


def _field(key: str, title: str, show: Show = str, path: str = "", right: bool = True, name: str = "") -> Column:
    return Column(key, title, lambda row: getattr(row.part, name or key, None), show, path, right)


def _text(key: str, title: str = "") -> Column:
    return _field(key, title or key.replace("_", " "), right=False)


def _flops(key: str) -> Column:
    name = f"{key}_flops"
    value: Callable[[Row], Any] = lambda row: getattr(row.part.dense, name)  # type: ignore[attr-defined] # noqa: E731
    return Column(name, f"{key.upper()} dense", value, _tflops, f"dense.{key}", True)


def _dwpd(row: Row) -> float | None:
    return float(row.part.dwpd) if isinstance(row.part, Drive) else None


def _per_gib(row: Row) -> float | None:
    return price_per(row, size_bytes(row.part), _GIB)


def _per_tb(row: Row) -> float | None:
    return price_per(row, size_bytes(row.part), _TB)


def _per_bandwidth(row: Row) -> float | None:
    return price_per(row, getattr(row.part, "memory_bandwidth_bytes_per_s", None), _TB)


def _age(row: Row) -> int | None:
    if row.price is None or row.day is None:
        return None
    # Where only a month or a year is known, the price may be as old as its first day.
    return (row.day - date.fromisoformat((row.price.as_of + "-01-01")[:10])).days


ID, NAME, VENDOR, KIND = _text("id"), _text("name"), _text("vendor"), _text("kind")
POWER = _field("power_w", "power", format_watts, "power")
PER_GIB = Column("price_per_gib", "per GiB", _per_gib, _money, right=True)
PER_TB = Column("price_per_tb", "per TB", _per_tb, _money, right=True)
PER_BANDWIDTH = Column("price_per_tb_per_s", "per TB/s", _per_bandwidth, _money, right=True)
BY_KIND: dict[str, tuple[Column, ...]] = {
    "gpu": (
        ID, VENDOR, _text("architecture", "arch"), _field("memory_bytes", "memory", format_gib, "memory"),
        _field("memory_bandwidth_bytes_per_s", "bandwidth", format_rate, "memory_bandwidth"),
        _flops("bf16"), _flops("fp8"), POWER,
    ),
    "cpu": (
        ID, VENDOR, _text("platform"), _field("memory_channels", "channels", path="memory_channels"),
        _field("speed_1dpc", "MT/s 1DPC", path="speed_1dpc"), _field("speed_2dpc", "MT/s 2DPC", path="speed_2dpc"),
        POWER,
    ),
    "dimm": (
        ID, _field("capacity_bytes", "capacity", format_gib, "capacity"), _field("speed", "MT/s", path="speed"), POWER,
    ),
    "drive": (
        ID, VENDOR, _text("role"), _field("form_factors", "fits", _list, right=False),
        _field("capacity_bytes", "capacity", format_bytes, "capacity"),
        _field("read_bytes_per_s", "read", format_rate, "read"),
        _field("write_bytes_per_s", "write", format_rate, "write"),
        Column("dwpd", "DWPD", _dwpd, lambda value: f"{value:g}", "dwpd", True),
        POWER,
    ),
    "nic": (
        ID, VENDOR, _field("ports", "ports", path="ports"),
        _field("port_bytes_per_s", "port", format_rate, "port"), POWER,
    ),
    "switch": (
        ID, VENDOR, _field("ports", "ports", path="ports"),
        _field("usable_ports", "for servers", path="usable_ports"),
        _field("port_bytes_per_s", "port", format_rate, "port"),
        _field("rack_units", "RU", path="rack_units"), POWER,
    ),
    "item": (ID, NAME, _text("category"), POWER),
    "chassis": (
        ID, VENDOR, _field("rack_units", "RU", path="rack_units"), _field("n_gpus", "GPUs", path="gpus"),
        _text("gpu_form_factor", "sockets"), _field("gpu_models", "takes", _list, right=False),
        _field("dimm_slots", "DIMMs", path="dimm_slots"), _field("drive_bays", "bays", path="drive_bays"),
        _field("nic_slots", "NIC slots", path="nic_slots"),
        _field("power_limit_w", "supplies", format_watts, "psu"), _text("cooling"),
    ),
    "system": (ID, NAME, VENDOR, _text("chassis"), _text("gpu"), _text("cpu")),
}  # fmt: skip
ANY: tuple[Column, ...] = (KIND, ID, NAME)
SIZED = {"gpu": (PER_GIB, PER_BANDWIDTH), "dimm": (PER_GIB,), "drive": (PER_TB,)}


def price_columns(kind: str | None, book: PriceBook, day: date | None) -> tuple[Column, ...]:
    """Return the columns of the price: typical, by size, its date or age, its evidence."""
    typical = Column("price", f"price {book.currency}", lambda row: _typical(row.price), _money, right=True)
    as_of = Column("as_of", "as of", lambda row: row.price.as_of if row.price else None)
    age = Column("age_days", "age", _age, lambda days: f"{days} d", right=True)
    evidence = Column("evidence", "evidence", lambda row: row.price.evidence.kind if row.price else None)
    return (typical, *SIZED.get(kind or "", ()), as_of, *((age,) if day else ()), evidence)


def _typical(price: Price | None) -> float | None:
    return price.typical.cents / 100 if price else None


ALIASES = {"price-per-gb": "per-gib", "price-per-gib": "per-gib", "price-per-tb": "per-tb"}
ALIASES |= {"price-per-bandwidth": "per-tb-per-s", "price-per-tb-per-s": "per-tb-per-s", "bf16": "bf16-dense"}
ALIASES |= {"fp8": "fp8-dense", "capacity": "capacity", "date": "as-of"}


def find_column(word: str, columns: tuple[Column, ...], book: PriceBook) -> Column:
    """Return the column that ``--sort`` means.

    Raises
    ------
    UsageError
        If there is none; names the nearest.
    """
    known = {column.word.removesuffix(f"-{book.currency.casefold()}"): column for column in columns}
    found = word.casefold().replace("_", "-")
    # Drives are priced by the terabyte: by which of the two units makes no difference to the order.
    by_size = next((name for name in ("per-gib", "per-tb") if name in known), found)
    found = by_size if found in ("price-per-gb", "price-per-gib", "price-per-tb") else ALIASES.get(found, found)
    if found not in known:
        raise UsageError(f"--sort {word}: no such column; {nearest(word, [*known, *ALIASES])}")
    return known[found]
