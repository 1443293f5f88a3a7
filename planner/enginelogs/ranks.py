"""Which process said a line: the fronts that engines and log collectors put before it."""

from __future__ import annotations

import re

_FRONT = 400
PROCESS = re.compile(
    r"\((?P<name>[A-Za-z]\w{0,60}(?: (?:rank=\d{1,6}|[A-Z]{2,3}\d{1,4}))*) pid=(?P<pid>\d{1,10})[^)]{0,60}\)"
)
SERVICE = re.compile(r"([A-Za-z][\w.-]{0,60}) {1,20}\| ", re.ASCII)
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S{0,8}(?P<ranks>(?: [A-Z][A-Z_]{1,9}\d{1,5}){1,8})\]")


def rank_of(before: str) -> str:
    """Return the rank that the front of a line names, the innermost if several do."""
    for match in reversed(list(PROCESS.finditer(before[:_FRONT]))):
        name = match["name"]
        if any(sign.isdigit() for sign in name) and not name.startswith("APIServer"):
            return name
        if name.startswith(("VllmWorker", "RayWorker")):
            return f"{name} {match['pid']}"
    stamps = list(_STAMP.finditer(before[:_FRONT]))
    return stamps[-1]["ranks"].strip() if stamps else ""
