"""Output formats, one file each: a report of text and tables, or plain data."""

from __future__ import annotations

from planner.render import csv, json, markdown, text
from planner.render.report import OUTPUTS, Output, Report, Table, Text

__all__ = ["OUTPUTS", "Output", "Report", "Table", "Text", "csv", "json", "markdown", "text"]
