"""Printed numbers to exact ones, with the interval that printing rounded away."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from planner.enginelogs.base import Figure

_NUMBER = re.compile(r"(?P<sign>[-+]?)(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.(?P<decimals>[0-9]+))?", re.ASCII)
_MOST_DIGITS = 24
_MOST_LETTERS = 200

# The engines divide by 1024**3 whatever they call it; see each engine's module for where they do.
GIB = 2**30
UNITS = {"GiB": GIB, "GB": GIB, "gb": GIB, "G": GIB, "bytes": 1, "": 1}

Kind = Callable[[str, str], Figure]


class UnreadableError(ValueError):
    """A text that stands where a number should and is none; its message says what it is."""


def _number(text: str) -> tuple[Fraction, int]:
    """Return a printed number and how many decimals it was printed with."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise UnreadableError(f"'{text[:40]}' is no number")
    whole, decimals = match["whole"].replace(",", ""), match["decimals"] or ""
    if len(whole) + len(decimals) > _MOST_DIGITS:
        raise UnreadableError(f"a number of {len(whole) + len(decimals)} digits is out of all proportion")
    if match["sign"] == "-" and (whole + decimals).strip("0"):
        raise UnreadableError(f"'{text}' is negative")
    return Fraction(f"{whole}.{decimals or 0}"), len(decimals)


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _around(value: Fraction, decimals: int, scale: Fraction) -> Figure:
    half = Fraction(1, 2 * 10**decimals)
    low, high = max(Fraction(0), value - half) * scale, (value + half) * scale
    return Figure(_plain(value * scale), _plain(low), _plain(high))


def count(text: str, unit: str = "") -> Figure:
    """Read a whole number, with or without thousands separators."""
    value, decimals = _number(text)
    if decimals:
        raise UnreadableError(f"'{text}' is no whole number")
    return Figure(int(value), int(value), int(value))


def exact(text: str, unit: str = "") -> Figure:
    """Read a number that is printed in full, such as a setting."""
    value = _plain(_number(text)[0])
    return Figure(value, value, value)


def decimal(text: str, unit: str = "") -> Figure:
    """Read a rounded number."""
    value, decimals = _number(text)
    return _around(value, decimals, Fraction(1))


def percent(text: str, unit: str = "") -> Figure:
    """Read a rounded percentage as a fraction."""
    value, decimals = _number(text)
    return _around(value, decimals, Fraction(1, 100))


def milliseconds(text: str, unit: str = "") -> Figure:
    """Read rounded milliseconds as seconds."""
    value, decimals = _number(text)
    return _around(value, decimals, Fraction(1, 1000))


def size(text: str, unit: str) -> Figure:
    """Read a rounded size in `unit` as bytes; one in bytes is exact."""
    value, decimals = _number(text)
    if unit == "bytes" and not decimals:
        return count(text)
    figure = _around(value, decimals, Fraction(UNITS[unit]))
    return figure._replace(value=round(Fraction(figure.value)))


def trimmed_size(text: str, unit: str) -> Figure:
    """Read a size that was rounded to two decimals and lost its last zeros, such as ``62.0 GiB``."""
    decimals = _number(text)[1]
    return size(f"{text}0", unit) if decimals == 1 else size(text, unit)


def exact_size(text: str, unit: str) -> Figure:
    """Read a size that is a setting: ``5.0 GB``, or just ``5.0``, is 5 GiB to the byte."""
    value = round(_number(text)[0] * UNITS[unit or "GiB"])
    return Figure(value, value, value)


def decimal_size(text: str, unit: str) -> Figure:
    """Read a rounded size in GB of 1000**3 bytes."""
    value, decimals = _number(text)
    return _around(value, decimals, Fraction(10**9))


def words(text: str, unit: str = "") -> Figure:
    """Read a text; a long one is cut."""
    return Figure(text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…")
