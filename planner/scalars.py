"""What a YAML text without quotes means: numbers, true, false, nothing, else text; or why it is refused.

YAML 1.1 turns ``no`` into false, ``12:30`` into 750 and ``010`` into 8. Such texts are errors that say what to write
instead.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

_MOST_DIGITS = 40
_LONGEST_WORD = len("false")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9]+")
TRAPS = (
    (re.compile(r"(?i)y|n|yes|no|on|off"), "write true or false, or put the text in quotes"),
    (re.compile(r"(?i)true|false"), "write true or false in small letters"),
    (re.compile(r"(?i)null"), "write null in small letters"),
    (re.compile(r"[-+]?[0-9]+(:[0-9]+)+"), "put a time or ratio in quotes"),
    (re.compile(r"[-+]?0[0-9_]+"), "a leading zero means octal in YAML 1.1; remove it or use quotes"),
    (re.compile(r"[-+]?0[xob][0-9a-fA-F_]+"), "write the number in decimal"),
    (re.compile(r"[-+]?[0-9._]+[eE][-+]?[0-9]+"), "write the number out, or use a unit such as '1 GB'"),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9_]+\.)"), "write digits on both sides of the point"),
    (re.compile(r"(?i)[-+]?\.(inf|nan)"), "infinite and undefined numbers are not accepted"),
)


class Trap(NamedTuple):
    """A text that is refused, and why."""

    message: str
    hint: str = ""


@lru_cache(maxsize=1 << 16)
def plain_value(text: str) -> Any:
    """Return what a text without quotes means, a `Trap` where it is refused."""
    # All that is not text is without spaces, and short or begins like a number.
    if " " in text or (len(text) > _LONGEST_WORD and text[0] not in "+-.0123456789"):
        return text
    if text in ("", "null", "~"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    for trap, advice in TRAPS:
        if trap.fullmatch(text):
            return Trap(f"'{text}' is read differently by YAML versions", advice)
    return text


def explicit(event: Any) -> bool:
    """Return whether a scalar carries a tag of its own: the resolver would have chosen another."""
    resolver, kind, quoted = _resolver(), _scalar_node(), bool(event.style)
    tag = resolver.resolve(kind, event.value, event.implicit) if event.tag == "!" else event.tag
    implied = resolver.resolve(kind, event.value, (not quoted, quoted))
    return bool(tag.startswith("!") or tag != implied)


@cache
def _resolver() -> Any:
    from yaml.resolver import Resolver

    return Resolver()


@cache
def _scalar_node() -> Any:
    import yaml

    return yaml.ScalarNode


def _integer(text: str) -> Any:
    digits = text.replace("_", "")
    if len(digits) > _MOST_DIGITS:
        return Trap(f"a number of {len(digits)} digits is out of all proportion")
    return int(digits)
