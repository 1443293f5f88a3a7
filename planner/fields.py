"""Types for the fields of what is read from files.

A field's annotation says what its text in a file must look like (``Bytes`` reads ``141 GiB``)
and what it is inside (an ``int`` of bytes). One class is thus both the domain object and the
schema of its file. The key in a file is the field's name without prefix ``n_`` and without the
suffix that carries the unit: ``memory_bytes`` is written ``memory: 141 GiB``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform

from planner import units
from planner.units import Dimension, Money, MoneyRate, QuantityError

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

_SUFFIX = re.compile(
    r"(?<!_per)_(bytes_per_s|tokens_per_s|bytes|tokens|flops|cents|fraction|rate|days|months|pieces|w|s)$"
)
T = TypeVar("T")


def file_key(name: str) -> str:
    """Return how the field `name` is written in files."""
    return _SUFFIX.sub("", name.removeprefix("n_"))


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
def record(cls: type[T]) -> type[T]:
    """Make a frozen dataclass that can also be read from a file, unknown keys refused.

    Records are compared by identity: each is loaded once, and hashing one must cost nothing.
    """
    made = dataclass(frozen=True, kw_only=True, eq=False)(cls)
    made.__pydantic_config__ = {"extra": "forbid", "alias_generator": file_key}  # type: ignore[attr-defined]
    return made


def contents(record: Any, but: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Return the values of a record's fields, but for some, as what can be compared and hashed.

    Two records with equal contents are equal in all that can be asked of them, though not the same.
    """
    return tuple(_plain(getattr(record, field.name)) for field in fields(record) if field.name not in but)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return contents(value)
    if isinstance(value, Mapping):
        return tuple((key, _plain(each)) for key, each in value.items())
    return tuple(map(_plain, value)) if isinstance(value, (tuple, list)) else value


@dataclass(frozen=True)
class Parsed:
    """Marks a field whose text is read by a function of ours.

    Attributes
    ----------
    parse : callable
        Text to value; raises `QuantityError`.
    schema : dict
        The JSON Schema of the text.
    """

    parse: Callable[[object], Any]
    schema: dict[str, Any]

    def __hash__(self) -> int:
        """Hash by identity of the function: schemas are dicts."""
        return hash(self.parse)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Let pydantic call our function."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.parse)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Describe the text, not the value."""
        return dict(self.schema)


def _quantity(dimension: Dimension) -> Parsed:
    schema = {"type": "string", "examples": list(dimension.examples), "title": dimension.name}
    return Parsed(dimension.parse, schema)


def _whole(least: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise QuantityError(f"expected a whole number of at least {least}, found {value!r}")
        return value

    return parse


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise QuantityError(f"expected a plain number of at least 0, found {value!r}")
    return Fraction(str(value))


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise QuantityError(f"expected text, found {value!r}")
    return value.strip()


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise QuantityError(f"expected true or false, found {value!r}")
    return value


def _day(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}(-\d{2}(-\d{2})?)?", value):
        raise QuantityError(f"expected a date such as '2026-08-22' or '2026-08', found {value!r}")
    try:
        date.fromisoformat((value + "-01-01")[:10])
    except ValueError:
        raise QuantityError(f"'{value}' is no day of the calendar") from None
    return value


_RANGE = re.compile(r"^(?P<stem>.*?)(?P<first>\d+)\.\.(?P<last>\d+)$")
_NAMES_SCHEMA = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}],
    "examples": ["cpu0", "sw0..3", ["sw0..2", "sw4"]],
}


def _names(value: object) -> tuple[str, ...]:
    """Read one name or a list of them; ``sw0..3`` stands for four."""
    words = value if isinstance(value, list) else [value]
    names = [word.strip() for word in words if isinstance(word, str) and word.strip()]
    if not names or len(names) < len(words):
        raise QuantityError(f"expected names such as 'cpu0', 'sw0..3' or a list of them, found {value!r}")
    return tuple(name for word in names for name in _range(word))


def _range(word: str) -> Iterator[str]:
    match = _RANGE.match(word)
    if match is None:
        yield word
        return
    first, last = int(match["first"]), int(match["last"])
    if not first < last <= first + 255:
        raise QuantityError(f"'{word}': expected a range that rises, such as 'sw0..3'")
    yield from (f"{match['stem']}{number}" for number in range(first, last + 1))


def _rate(per: str) -> Parsed:
    return Parsed(
        lambda text: units.parse_money_rate(text, per),
        {"type": "string", "examples": [f"USD 0.08/{per}"]},
    )


Bytes = Annotated[int, _quantity(units.BYTES)]
BytesPerSecond = Annotated[int, _quantity(units.BYTES_PER_SECOND)]
Tokens = Annotated[int, _quantity(units.TOKENS)]
TokensPerSecond = Annotated[int, _quantity(units.TOKENS_PER_SECOND)]
Watts = Annotated[int, _quantity(units.WATTS)]
Flops = Annotated[int, _quantity(units.FLOP_PER_SECOND)]
Seconds = Annotated[Fraction, _quantity(units.SECONDS)]
Days = Annotated[int, _quantity(units.DAYS)]
Months = Annotated[int, _quantity(units.MONTHS)]
Share = Annotated[Fraction, _quantity(units.SHARE)]
LinkRate = Annotated[int, Parsed(units.parse_link, {"type": "string", "examples": ["Gen5 x16", "63 GB/s"]})]
Names = Annotated[tuple[str, ...], Parsed(_names, _NAMES_SCHEMA)]
Amount = Annotated[Money, Parsed(Money.parse, {"type": "string", "examples": ["USD 30k"]})]
PerHour = Annotated[MoneyRate, _rate("h")]
PerKwh = Annotated[MoneyRate, _rate("kWh")]
PerKwMonth = Annotated[MoneyRate, _rate("kW/month")]
PerRuMonth = Annotated[MoneyRate, _rate("RU/month")]
Count = Annotated[int, Parsed(_whole(1), {"type": "integer", "minimum": 1})]
Whole = Annotated[int, Parsed(_whole(0), {"type": "integer", "minimum": 0})]
Number = Annotated[Fraction, Parsed(_number, {"type": "number", "minimum": 0})]
Text = Annotated[str, Parsed(_text, {"type": "string", "minLength": 1})]
Flag = Annotated[bool, Parsed(_flag, {"type": "boolean"})]
Day = Annotated[str, Parsed(_day, {"type": "string", "pattern": r"^\d{4}(-\d{2}(-\d{2})?)?$"})]
