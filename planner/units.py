"""Quantities with units, to and from exact integers.

The first of the two borders: everything inside counts bytes, bytes per second, watts, tokens,
FLOP per second and cents as integers and shares as fractions. Decimal (GB) and binary (GiB)
prefixes are both legal and never confused; the ambiguous ``KB`` and ``K`` are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

_DECIMAL: dict[str, int] = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: dict[str, int] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_NUMBER = re.compile(r"^\s*(?P<number>[+-]?(?:\d[\d_]*)(?:\.\d+)?)\s*(?P<unit>.*?)\s*$")
_MONEY_SCALE = {"": 1, "k": 10**3, "M": 10**6, "bn": 10**9, "万": 10**4, "亿": 10**8}
_MONEY = re.compile(
    r"^\s*(?P<currency>[A-Z]{3})\s*(?P<number>-?\d[\d_]*(?:\.\d+)?)\s*(?P<scale>k|M|bn|万|亿)?"
    r"\s*(?:/\s*(?P<per>[A-Za-z/·\-]+))?\s*$"
)


class QuantityError(ValueError):
    """A text that is not a quantity of the expected dimension; its message says what is."""


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity: its name, its units and what one of the stored integers means.

    Attributes
    ----------
    name : str
        As shown in errors, e.g. ``bytes``.
    scale : mapping of str to int or Fraction
        Unit to how many base units it is.
    examples : tuple of str
        Shown in errors and in the JSON Schema.
    whole : bool
        Whether the value must come to a whole number of base units. Dimensions that are not
        counted in ones (bytes, FLOP/s) are rounded to the nearest instead.
    exact : bool
        Whether the value stays a fraction (shares and seconds).
    confusions : mapping of str to str
        Units that are refused, with what to write instead.
    """

    name: str
    scale: Mapping[str, int | Fraction]
    examples: tuple[str, ...]
    whole: bool = False
    exact: bool = False
    confusions: Mapping[str, str] = field(default_factory=dict)

    def parse(self, text: object) -> int | Fraction:
        """Return the quantity in base units.

        Raises
        ------
        QuantityError
            If `text` is no number with a unit of this dimension.
        """
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise QuantityError(f"expected {self.expected}, found {text!r}")
        match = _NUMBER.match(str(text))
        if match is None:
            raise QuantityError(f"expected {self.expected}, found '{text}'")
        unit = match["unit"]
        if unit not in self.scale:
            raise QuantityError(self._wrong_unit(str(text), match["number"], unit))
        value = Fraction(match["number"].replace("_", "")) * self.scale[unit]
        if value < 0:
            raise QuantityError(f"expected {self.expected}, found the negative '{text}'")
        if self.exact:
            return value
        if self.whole and value.denominator != 1:
            raise QuantityError(f"'{text}' is not a whole number of {self.name}")
        return round(value)

    @property
    def expected(self) -> str:
        """What a value of this dimension looks like, for messages."""
        return f"{self.name} with a unit, such as " + " or ".join(f"'{e}'" for e in self.examples)

    def _wrong_unit(self, text: str, number: str, unit: str) -> str:
        units = ", ".join(u for u in self.scale if u)
        if not unit:
            return f"'{text}' has no unit; expected {self.expected} (units: {units})"
        if unit in self.confusions:
            return f"'{text}': {self.confusions[unit].format(number=number)}"
        folded = {known.casefold(): known for known in self.scale if known}
        near = folded.get(unit.casefold())
        guess = f"; did you mean '{number} {near}'?" if near else f" (units: {units})"
        return f"'{text}' has the unit '{unit}'; expected {self.expected}{guess}"


def _prefixed(suffix: str, prefixes: Mapping[str, int]) -> dict[str, int | Fraction]:
    return {f"{prefix}{suffix}": scale for prefix, scale in prefixes.items()}


BYTES = Dimension(
    "bytes",
    _prefixed("B", _DECIMAL) | _prefixed("B", _BINARY),
    ("141 GiB", "7.68 TB"),
    confusions={
        "KB": "KB is ambiguous; write '{number} kB' (1,000 bytes) or '{number} KiB' (1,024 bytes)",
        "Kb": "write '{number} kB' or '{number} KiB'",
        "G": "write '{number} GB' (decimal) or '{number} GiB' (binary)",
        "T": "write '{number} TB' (decimal) or '{number} TiB' (binary)",
        "Gbit": "this is a size in bytes; divide the bits by 8",
    },
)
BYTES_PER_SECOND = Dimension(
    "bytes per second",
    _prefixed("B/s", _DECIMAL) | _prefixed("B/s", _BINARY) | {f"{p}bit/s": Fraction(s, 8) for p, s in _DECIMAL.items()},
    ("3.35 TB/s", "400 Gbit/s"),
    confusions={
        "Gbps": "write '{number} Gbit/s' (bits) or '{number} GB/s' (bytes)",
        "Gb/s": "write '{number} Gbit/s' (bits) or '{number} GB/s' (bytes)",
        "GBps": "write '{number} GB/s'",
    },
)
_K_TOKENS = "K is ambiguous; write '{number}Ki tokens' (x 1,024) or '{number}k tokens' (x 1,000)"
TOKENS = Dimension(
    "tokens",
    {"tokens": 1, "token": 1} | {f"{p} tokens": s for p, s in (_DECIMAL | _BINARY).items() if p},
    ("128Ki tokens", "500 tokens"),
    whole=True,
    confusions={"K tokens": _K_TOKENS, "K": _K_TOKENS, "k": _K_TOKENS, "Ki": _K_TOKENS},
)
TOKENS_PER_SECOND = Dimension(
    "tokens per second",
    {"tokens/s": 1, "token/s": 1, "k tokens/s": 1000},
    ("20 tokens/s",),
    whole=True,
)
WATTS = Dimension("watts", {"W": 1, "kW": 1000, "MW": 10**6}, ("700 W", "10.2 kW"), whole=True)
FLOP_PER_SECOND = Dimension(
    "FLOP per second",
    _prefixed("FLOP/s", {p: s for p, s in _DECIMAL.items() if p not in ("k", "")}),
    ("1979 TFLOP/s",),
    confusions={"TFLOPS": "write '{number} TFLOP/s'", "PFLOPS": "write '{number} PFLOP/s'"},
)
SECONDS = Dimension(
    "seconds",
    {
        "us": Fraction(1, 10**6),
        "ms": Fraction(1, 1000),
        "s": 1,
        "min": 60,
        "h": 3600,
        "d": 86400,
        "day": 86400,
        "days": 86400,
    },
    ("2 s", "15 min", "24 h"),
    exact=True,
    confusions={"m": "write '{number} min' or '{number} ms'"},
)
DAYS = Dimension("days", {"d": 1, "day": 1, "days": 1, "week": 7, "weeks": 7}, ("26 weeks", "45 days"), whole=True)
MONTHS = Dimension("months", {"month": 1, "months": 1, "year": 12, "years": 12}, ("3 years", "18 months"), whole=True)
SHARE = Dimension("a share", {"%": Fraction(1, 100)}, ("30 %",), exact=True)

_LINK = re.compile(r"^\s*Gen\s*(?P<generation>\d+)\s*x\s*(?P<lanes>-?\d+)\s*$")
_LANE_BYTES_PER_S = {3: 984_375_000, 4: 1_968_750_000, 5: 3_937_500_000, 6: 8_000_000_000}
"""One PCIe lane in one direction, raw after encoding."""


def parse_link(text: object) -> int:
    """Read ``Gen5 x16`` or a rate such as ``63 GB/s``: bytes per second in one direction.

    Raises
    ------
    QuantityError
        If it is neither, or a link that carries nothing.
    """
    match = _LINK.match(text) if isinstance(text, str) else None
    if match is None:
        if isinstance(text, str) and text.strip().casefold().startswith(("gen", "pcie", "x")):
            raise QuantityError(f"expected a link such as 'Gen5 x16' or '63 GB/s', found '{text}'")
        rate = int(BYTES_PER_SECOND.parse(text))
    elif int(match["generation"]) not in _LANE_BYTES_PER_S:
        known = ", ".join(f"Gen{number}" for number in _LANE_BYTES_PER_S)
        raise QuantityError(f"'{text}': unknown generation of PCIe (known: {known})")
    else:
        rate = int(match["lanes"]) * _LANE_BYTES_PER_S[int(match["generation"])]
    if rate <= 0:
        raise QuantityError(f"'{text}': a link has at least one lane and carries something")
    return rate


@dataclass(frozen=True, order=True)
class Money:
    """An amount of money in whole cents (hundredths of the currency's unit)."""

    currency: str
    cents: int

    @classmethod
    def parse(cls, text: object) -> Money:
        """Read ``USD 30k``, ``CNY 120万``, ``EUR 495859.52``.

        Raises
        ------
        QuantityError
            If the currency is missing or the amount is finer than a cent.
        """
        currency, cents, per = _parse_money(text, "'USD 30k' or 'CNY 1.2M'")
        if per:
            raise QuantityError(f"'{text}' is a rate; expected an amount such as 'USD 30k'")
        if cents.denominator != 1:
            raise QuantityError(f"'{text}' is finer than a hundredth of {currency}")
        return cls(currency, int(cents))

    def __str__(self) -> str:
        """Return e.g. ``USD 1,234.50``; whole amounts without decimals."""
        return format_money(self.cents, self.currency)


@dataclass(frozen=True)
class MoneyRate:
    """Money per something, e.g. per kWh: cents as an exact fraction."""

    currency: str
    cents: Fraction
    per: str

    def __str__(self) -> str:
        """Return e.g. ``USD 0.08/kWh``."""
        return f"{self.currency} {float(self.cents / 100):.10g}/{self.per}"


def parse_money_rate(text: object, per: str) -> MoneyRate:
    """Read ``USD 0.08/kWh`` where `per` is ``kWh``.

    Raises
    ------
    QuantityError
        If the text has no currency or another denominator.
    """
    example = f"'USD 0.08/{per}'"
    currency, cents, found = _parse_money(text, example)
    if found != per:
        raise QuantityError(f"expected money per {per}, such as {example}, found '{text}'")
    return MoneyRate(currency, cents, per)


def _parse_money(text: object, example: str) -> tuple[str, Fraction, str | None]:
    match = _MONEY.match(text) if isinstance(text, str) else None
    if match is None:
        without = "has no currency" if isinstance(text, int | float) else "is no amount"
        raise QuantityError(f"'{text}' {without}; expected money such as {example}")
    amount = Fraction(match["number"].replace("_", "")) * _MONEY_SCALE[match["scale"] or ""]
    return match["currency"], amount * 100, match["per"]


def format_money(cents: int, currency: str = "") -> str:
    """Return ``USD 1,234.50`` or ``USD 1,234``."""
    sign = "-" if cents < 0 else ""
    units, rest = divmod(abs(cents), 100)
    number = f"{units:,}.{rest:02d}" if rest else f"{units:,}"
    return f"{currency} {sign}{number}".strip()


def _format(value: int | Fraction, prefixes: dict[str, int], suffix: str) -> str:
    exact = Fraction(value)
    for prefix, scale in reversed(prefixes.items()):
        if abs(exact) >= scale:
            number = float(exact / scale)
            digits = 0 if number >= 1000 or number == int(number) else 2 if number < 100 else 1
            return f"{number:,.{digits}f} {prefix}{suffix}"
    return f"{float(value):,.6g} {suffix}"


def format_bytes(value: int | Fraction) -> str:
    """Return decimal bytes for reading, e.g. ``1,240.7 GB``."""
    small = {p: s for p, s in _DECIMAL.items() if p not in ("T", "P")}
    return _format(value, small if Fraction(value) < 10**13 else _DECIMAL, "B")


def format_gib(value: int | Fraction) -> str:
    """Return binary GiB for reading, e.g. ``140.40 GiB``."""
    return f"{float(Fraction(value) / 2**30):,.2f} GiB"


def format_rate(value: int | Fraction) -> str:
    """Return decimal bytes per second for reading, e.g. ``63 GB/s``."""
    return _format(value, _DECIMAL, "B/s")


def format_watts(value: int | Fraction) -> str:
    """Return e.g. ``10.2 kW``."""
    return f"{float(Fraction(value) / 1000):,.4g} kW" if Fraction(value) >= 1000 else f"{float(value):g} W"


def format_tokens(value: int) -> str:
    """Return e.g. ``131,072 tokens``."""
    return f"{value:,} tokens"


def format_share(value: Fraction) -> str:
    """Return e.g. ``30 %``."""
    return f"{float(value * 100):.4g} %"


def floor_share(whole: int, *shares: Fraction) -> int:
    """Return the product of a whole number and shares of it, rounded down; quicker than fractions are."""
    over, under = whole, 1
    for share in shares:
        over, under = over * share.numerator, under * share.denominator
    return over // under


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the quotient rounded up, in integers."""
    return -(-numerator // denominator)


def ceil(value: int | Fraction) -> int:
    """Round up exactly."""
    return math.ceil(value)
