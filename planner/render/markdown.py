"""Markdown: headings, paragraphs and pipe tables."""

from __future__ import annotations

from planner.render.report import OUTPUTS, Report, Table, Text


def _escape(cell: object) -> str:
    return str(cell).replace("|", "\\|").replace("\n", " ")


def _table(table: Table) -> list[str]:
    marks = ["---:" if column in table.right else "---" for column in table.columns]
    lines = ["| " + " | ".join(map(_escape, table.columns)) + " |", "| " + " | ".join(marks) + " |"]
    return lines + ["| " + " | ".join(map(_escape, row)) + " |" for row in table.rows]


class _Markdown:
    suffixes: tuple[str, ...] = (".md",)

    def render(self, report: Report) -> str:
        """Return all blocks."""
        lines: list[str] = []
        for block in report.blocks:
            if block.title:
                lines += [f"## {block.title}", ""]
            if isinstance(block, Text):
                lines += ["\n\n".join(block.lines), ""]
            else:
                lines += [*_table(block), ""]
        return "\n".join(lines).rstrip() + "\n"


OUTPUTS.register("md")(_Markdown())
