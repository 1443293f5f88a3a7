"""Plain text for a terminal: aligned columns, wide characters counted as two."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from planner.render.report import OUTPUTS, Report, Table, Text


def width(text: str) -> int:
    """Return how many columns `text` takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _pad(text: str, size: int, right: bool) -> str:
    space = " " * (size - width(text))
    return space + text if right else text + space


def _table(table: Table) -> list[str]:
    cells = [[str(cell) for cell in row] for row in table.rows]
    header = [str(column) for column in table.columns]
    sizes = [max(map(width, column)) for column in zip(header, *cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        padded = [
            _pad(cell, size, name in table.right) for cell, size, name in zip(row, sizes, table.columns, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return [line(header), "  ".join("-" * size for size in sizes), *map(line, cells)]


class _Text:
    suffixes: tuple[str, ...] = (".txt",)

    def render(self, report: Report) -> str:
        """Return all blocks."""
        lines: list[str] = []
        for block in report.blocks:
            if block.title:
                lines += [block.title, "=" * width(block.title)]
            lines += list(block.lines) if isinstance(block, Text) else _table(block)
            lines.append("")
        return "\n".join(lines).rstrip() + "\n"


OUTPUTS.register("table")(_Text())
