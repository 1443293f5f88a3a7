"""CSV: the report's main table, one header line, plain values."""

from __future__ import annotations

import csv
import io

from planner.errors import UsageError
from planner.render.report import OUTPUTS, Report

_FORMULA_START = ("=", "+", "-", "@", "\t", "\r")


class _Csv:
    suffixes: tuple[str, ...] = (".csv",)

    def render(self, report: Report) -> str:
        """Return the main table."""
        table = report.main
        if table is None:
            raise UsageError("this command has no table to write as CSV; use -f json")
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if table.plain:
            columns = list(table.plain[0])
            rows = [[row.get(column) for column in columns] for row in table.plain]
        else:
            columns, rows = list(table.columns), [list(row) for row in table.rows]
        writer.writerow(columns)
        writer.writerows([[_safe(cell) for cell in row] for row in rows])
        return out.getvalue()


def _safe(cell: object) -> object:
    """Return text that a spreadsheet cannot take for a formula."""
    text = isinstance(cell, str) and cell.startswith(_FORMULA_START)
    return f"'{cell}" if text else cell


OUTPUTS.register("csv")(_Csv())
