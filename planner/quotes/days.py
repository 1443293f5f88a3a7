"""Days and spans of time as quotes write them."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal

from planner.quotes.numbers import NumberError, wide
from planner.units import ceil_div

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MOST_TEXT = 200
_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九十")} | {"两": 2}
_YEAR_FIRST = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?(?:[ t].*)?")
_NAMED = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th)?[ .\-/]+)?([a-z]{3})[a-z]*\.?[ ,\-/.]*(?:(\d{1,2})(?:st|nd|rd|th)?,?[ ]+)?(\d{4})"
)
_TWO = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_SPAN = re.compile(
    r"(\d{1,3}|[一二两三四五六七八九十])\s*个?\s*[-–~to至到]*\s*(\d{1,3})?\s*个?\s*-?\s*"
    r"(business days?|working days?|工作日|calendar days?|自然日|days?|天|日|weeks?|wks?|周|星期"
    r"|months?|mos?|月|years?|yrs?|年)"
)


def parse_day(text: str) -> date:
    """Read ``2026-11-20``, ``2026年11月20日``, ``20 Nov 2026``, ``November 20, 2026``, ``11/20/2026``.

    Raises
    ------
    NumberError
        If it is no day, or one that can be read in two ways.
    """
    words = wide(text[:_MOST_TEXT]).casefold().rstrip(".。")
    try:
        if match := _YEAR_FIRST.fullmatch(words):
            return date(*map(int, match.groups()))
        match = _NAMED.fullmatch(words)
        if match and match[2] in _MONTHS and bool(match[1]) != bool(match[3]):
            return date(int(match[4]), _MONTHS.index(match[2]) + 1, int(match[1] or match[3]))
        if match := _TWO.fullmatch(words):
            first, second, year = map(int, match.groups())
            if first <= 12 and second <= 12 and first != second:
                raise NumberError(f"'{text}' may be day/month or month/day")
            return date(year, *((first, second) if first <= 12 else (second, first)))
    except NumberError:
        raise
    except ValueError:
        pass
    raise NumberError(f"'{text[:_MOST_TEXT]}' is no day such as 2026-11-20")


def iso_day(text: str) -> bool:
    """Return whether `text` is a day as files of ours write it."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").date().isoformat() == text
    except ValueError:
        return False


def _span(text: str) -> tuple[int, str] | None:
    match = _SPAN.search(wide(text[:_MOST_TEXT]).casefold())
    if match is None:
        return None
    last = match[2] or match[1]
    return _DIGITS[last] if last in _DIGITS else int(last), match[3]


def days_of(text: str) -> tuple[int, str] | None:
    """Return calendar days of ``8-10 weeks`` or ``30天`` (the late end), and the formula where one was needed.

    None where the text holds no span of time, such as ``in stock``.
    """
    found = _span(text)
    if found is None:
        return None
    number, unit = found
    if unit.startswith(("business", "working", "工作")):
        return ceil_div(number * 7, 5), f"{number} working days x 7 / 5"
    if unit.startswith(("week", "wk", "周", "星期")):
        return number * 7, ""
    if unit.startswith(("mo", "月")):
        return number * 31, f"{number} months x 31 days"
    if unit.startswith(("y", "年")):
        return number * 366, f"{number} years x 366 days"
    return number, ""


def months_of(text: str) -> int | None:
    """Return the months of ``3 years`` or ``36个月``; None where the text holds no whole number of them."""
    words = wide(text).casefold()
    if re.search(r"\d[.,]\d", words):
        return None
    found = _span(words)
    if found is None:
        return None
    number, unit = found
    if unit.startswith(("y", "年")):
        return number * 12
    return number if unit.startswith(("mo", "月")) else None


def percent_of(text: str) -> Decimal | None:
    """Return the share in ``VAT 13%`` as a decimal fraction; None where there is none or more than one."""
    found = set(re.findall(r"(\d{1,2}(?:\.\d{1,3})?)\s*%", wide(text)))
    return Decimal(found.pop()) / 100 if len(found) == 1 else None
