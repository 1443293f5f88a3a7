"""Numbers as quotes write them: exact decimals, or a word on why a text cannot be one.

A comma or a point before exactly three digits may part thousands or decimals. Which it does follows from the other
numbers of the file, or is asked; it is never guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Style = Literal["point", "comma", "mixed", ""]
"""Which sign parts decimals; empty where nothing says so."""

CODES = frozenset([
    "USD", "EUR", "GBP", "CNY", "HKD", "JPY", "SGD", "AUD", "CAD", "CHF", "TWD", "KRW", "INR", "AED", "SAR", "SEK",
    "NOK", "DKK", "PLN", "CZK", "ILS", "BRL", "MXN", "NZD", "THB", "MYR",
])  # fmt: skip
POINT_CURRENCIES = CODES & {
    "USD", "GBP", "CNY", "HKD", "JPY", "SGD", "AUD", "TWD", "KRW", "AED", "ILS", "NZD", "THB", "MYR",
}  # fmt: skip
"""Currencies of places that write 1,234.50."""
_NAMES = {
    "us$": "USD", "hk$": "HKD", "s$": "SGD", "a$": "AUD", "nt$": "TWD", "€": "EUR", "£": "GBP", "rmb": "CNY",
    "人民币": "CNY", "元": "CNY", "圆": "CNY", "美元": "USD", "欧元": "EUR", "港币": "HKD", "港元": "HKD",
    "日元": "JPY", "euro": "EUR", "euros": "EUR", "dollars": "", "$": "", "¥": "", "整": "",
} | {code.lower(): code for code in CODES}  # fmt: skip
_SCALES = {"万": 4, "亿": 8, "千": 3, "k": 3}
_NAME = re.compile("|".join(re.escape(name) for name in sorted(_NAMES, key=len, reverse=True)))
_PER = re.compile(r"\s*(/|\bper\b|\beach\b|\bea\b)\s*[^\d]*$")
_SPACED = re.compile(r"(\d{1,3}(?:[ '’]\d{3})+)(?:[.,](\d+))?")
_POINT = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")
_COMMA = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_ONE = re.compile(r"(\d+)([.,])(\d+)")
_MOST_DIGITS = 18
_MOST_TEXT = 80


class NumberError(ValueError):
    """A text that is no number; its message says why."""


@dataclass(frozen=True)
class Amount:
    """A number with what stood beside it.

    Attributes
    ----------
    value : Decimal
        Exact, in what the text itself counts: 12.5万 is 125,000.
    currency : str
        Code; empty where the text names none. ``$`` and ``¥`` alone name none: they are signs of several.
    scaled : bool
        Whether the text says what it counts (元, 万), whatever its column does.
    """

    value: Decimal
    currency: str = ""
    scaled: bool = False


def wide(text: str) -> str:
    """Return `text` with full-width signs as the usual ones and one kind of space."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip()


def parse_amount(text: str, style: Style = "") -> Amount:
    """Read ``￥1,234.50``, ``12.5万``, ``1 234,50 €``, ``(1,000.00)``.

    Raises
    ------
    NumberError
        If it is no number, or one that can be read in two ways.
    """
    if len(text) > _MOST_TEXT:
        raise NumberError(f"'{text[:40]}...' is no number")
    rest, negative = wide(text).casefold(), False
    if rest.startswith("(") and rest.endswith(")"):
        rest, negative = rest[1:-1], True
    rest = _PER.sub("", rest) if re.search(r"\d", _PER.sub("", rest)) else rest
    found = [_NAMES[name] for name in _NAME.findall(rest)]
    currencies = {code for code in found if code}
    scaled = "元" in rest
    rest = _NAME.sub(" ", rest).strip()
    if rest[:1] in ("-", "+", "−"):
        negative, rest = negative or rest[0] != "+", rest[1:].strip()
    power = 0
    if rest[-1:] in _SCALES:
        power, rest, scaled = _SCALES[rest[-1]], rest[:-1].strip(), True
    if len(currencies) > 1:
        raise NumberError(f"'{text}' names {' and '.join(sorted(currencies))}")
    value = _core(rest, style, text).scaleb(power)
    return Amount(-value if negative else value, "".join(currencies), scaled)


def _core(digits: str, style: Style, text: str) -> Decimal:
    if sum(char.isdigit() for char in digits) > _MOST_DIGITS:
        raise NumberError(f"'{text[:40]}' is out of all proportion")
    if not digits.isascii():
        raise NumberError(f"'{text}' is no number")
    if re.fullmatch(r"\d+", digits):
        return Decimal(digits)
    spaced = _SPACED.fullmatch(digits)
    if spaced:
        return Decimal(re.sub(r"\D", "", spaced[1]) + (f".{spaced[2]}" if spaced[2] else ""))
    if _POINT.fullmatch(digits):
        return Decimal(digits.replace(",", ""))
    if _COMMA.fullmatch(digits):
        return Decimal(digits.replace(".", "").replace(",", "."))
    one = _ONE.fullmatch(digits)
    if one is None:
        raise NumberError(f"'{text}' is no number")
    whole, sign, rest = one.groups()
    if not _either(whole, rest):
        return Decimal(f"{whole}.{rest}")
    if style not in ("point", "comma"):
        raise NumberError(f"'{text}' may be {whole}{rest} or {whole}.{rest}: nothing says what the '{sign}' parts")
    return Decimal(f"{whole}.{rest}") if (sign == ".") == (style == "point") else Decimal(whole + rest)


def _either(whole: str, rest: str) -> bool:
    """Return whether one sign between these digits may part thousands as well as decimals."""
    return len(rest) == 3 and len(whole) <= 3 and not whole.startswith("0")


def decimal_style(texts: Iterable[str]) -> Style:
    """Return which sign parts decimals in `texts`, from those that can be read in one way only."""
    found: set[Style] = set()
    for text in texts:
        if len(text) > _MOST_TEXT:
            continue
        digits = _NAME.sub(" ", wide(text).casefold()).strip(" ()+-−万亿千k")
        one = _ONE.fullmatch(digits)
        if _POINT.fullmatch(digits) or (one and one[2] == "." and not _either(one[1], one[3])):
            found.add("point")
        elif _COMMA.fullmatch(digits) or (one and one[2] == "," and not _either(one[1], one[3])):
            found.add("comma")
    return "mixed" if len(found) > 1 else next(iter(found), "")


def parse_quantity(text: str) -> int:
    """Read ``8``, ``8台``, ``1,024 pcs``, ``8.00``.

    Raises
    ------
    NumberError
        If it is no whole number.
    """
    short = wide(text[:_MOST_TEXT]).casefold()
    match = re.fullmatch(r"[x×*]?\s*(\d{1,3}(?:,\d{3})+|\d+)(?:\.0+)?\s*([^\d\s.,][^\d]{0,11})?", short)
    if match is None or len(match[1]) > 9:
        raise NumberError(f"'{text[:_MOST_TEXT]}' is no whole number of pieces")
    return int(match[1].replace(",", ""))
