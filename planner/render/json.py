"""JSON: all data, numbers as numbers, keys in a fixed order."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from planner.render.report import OUTPUTS, Report


def plain(value: Any) -> Any:
    """Return what JSON has no word for as a number or text."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return str(value)


class _Json:
    suffixes: tuple[str, ...] = (".json",)

    def render(self, report: Report) -> str:
        """Return the report's data."""
        return json.dumps(report.data, indent=2, ensure_ascii=False, default=plain) + "\n"


OUTPUTS.register("json")(_Json())
