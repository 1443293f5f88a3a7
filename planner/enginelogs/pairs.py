"""The settings that engines print: ``Args(a=1, b='x')``, ``{'a': 1}``, ``a=1, b='x'``."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPEN, _CLOSE = "([{", ")]}"
_SIGN = re.compile(r"[\\'\"(\[{)\]},=:]")
_KEY = re.compile(r"\s*['\"]?([A-Za-z_][A-Za-z0-9_]*)['\"]?\s*", re.ASCII)


def pairs(text: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    """Yield the key and the value of each pair of the outermost level, strings without quotes.

    Parameters
    ----------
    text : str
        From the first key or the opening bracket on.
    whole : bool
        Whether the text is all there: the last value of a text that was cut is left out.
    """
    base = 1 if text[:1] in _OPEN and text else 0
    depth, start, split, quote, skip = 0, base, -1, "", -1
    for match in _SIGN.finditer(text):
        sign, at = match[0], match.start()
        if at == skip:
            continue
        if sign == "\\":
            skip = at + 1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in _OPEN:
            depth += 1
        elif depth == base and (sign == "," or sign in _CLOSE):
            yield from _pair(text, start, split, at)
            start, split = at + 1, -1
        elif depth == base and split < 0 and sign in "=:":
            split = at
        if sign in _CLOSE and not quote and at != skip:
            depth -= 1
            if depth < base:
                return
    if whole and not quote and not depth:
        yield from _pair(text, start, split, len(text))


def _pair(text: str, start: int, split: int, end: int) -> Iterator[tuple[str, str]]:
    key = _KEY.fullmatch(text, start, split) if split >= 0 else None
    value = text[split + 1 : end].strip()
    if key is None or not value:
        return
    if len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]:
        value = value[1:-1]
    yield key[1], value
