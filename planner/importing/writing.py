"""A model's file as text: as the catalogue's own, evidence beside what stands in no configuration."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from planner.importing.sheet import Derived

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/()-]*")
_TRAPS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"])
WIDTH = 100


def file_text(data: Mapping[str, Any]) -> str:
    """Return `data` as YAML that reads back as it is."""
    lines = ["# yaml-language-server: $schema=../schema/catalog.json"]
    for key, value in data.items():
        if key == "note":
            lines += _note(value, "")
        else:
            lines += _entry(key, value, "")
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any, indent: str) -> list[str]:
    if isinstance(value, Mapping) and "value" in value:
        reasons = ", ".join(f"{kind}: {json.dumps(text)}" for kind, text in value.items() if kind != "value")
        return [f"{indent}{key}: {{value: {_scalar(value['value'])}, {reasons}}}"]
    if isinstance(value, Mapping) and value:
        return [f"{indent}{key}:", *(line for k, v in value.items() for line in _entry(k, v, indent + "  "))]
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        lines = [f"{indent}{key}:"]
        for item in value:
            inner = [line for k, v in item.items() for line in _inner(k, v, indent + "    ")]
            lines += [f"{indent}  - {inner[0].strip()}", *inner[1:]]
        return lines
    return [f"{indent}{key}: {_scalar(value)}"]


def _inner(key: str, value: Any, indent: str) -> list[str]:
    return _note(value, indent) if key == "note" else _entry(key, value, indent)


def _note(text: str, indent: str) -> list[str]:
    # A word that is wider than the line stays whole, so that folding gives the text back.
    text = " ".join(text.split())
    wrapped = textwrap.wrap(text, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return [f"{indent}note: >-", *(f"{indent}  {line}" for line in wrapped)] if wrapped else []


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Derived):
        kind = "assumed" if value.why.startswith("--assume") else "derived"
        return f"{{value: {int(value)}, {kind}: {json.dumps(value.why)}}}"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Mapping | list):
        return "{}" if isinstance(value, Mapping) else "[" + ", ".join(_scalar(item) for item in value) + "]"
    text = str(value)
    plain = _PLAIN.fullmatch(text) and text.lower() not in _TRAPS and not text.endswith(" ")
    return text if plain or re.fullmatch(r"[0-9]+ tokens", text) else json.dumps(text, ensure_ascii=False)
