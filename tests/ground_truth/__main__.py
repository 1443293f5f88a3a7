"""``python -m tests.ground_truth [speed|worth] [FILE ...]``: public logs, speed, or load times against the model.

A FILE is YAML as beside the modules, or JSON lines as a collector writes them (see `raw`); of JSON
lines both kinds are shown.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.ground_truth.raw import read_raw
from tests.ground_truth.report import results, table
from tests.ground_truth.rows import Row, read_rows
from tests.ground_truth.speed.raw import read_raw_speed
from tests.ground_truth.speed.report import speed_table, speeds
from tests.ground_truth.speed.rows import Measured, read_measured
from tests.ground_truth.worth import worth_table


def main(paths: list[Path]) -> None:
    """Print the table, and of raw rows why any are left out."""
    rows = list(read_rows(*(path for path in paths if path.suffix != ".jsonl"))) if not _only_raw(paths) else []
    left: list[tuple[str, str]] = []
    for path in paths:
        for row in read_raw(path) if path.suffix == ".jsonl" else ():
            (rows if isinstance(row, Row) else left).append(row)  # type: ignore[arg-type]
    print(table(results(rows)))
    _tell(left)
    raw = [path for path in paths if path.suffix == ".jsonl"]
    if raw:
        print()
        speed(raw)


def speed(paths: list[Path]) -> None:
    """Print the table of measured speed, and of raw rows why any are left out."""
    rows = [] if _only_raw(paths) else list(read_measured(*(path for path in paths if path.suffix != ".jsonl")))
    left: list[tuple[str, str]] = []
    for path in paths:
        for row in read_raw_speed(path) if path.suffix == ".jsonl" else ():
            (rows if isinstance(row, Measured) else left).append(row)  # type: ignore[arg-type]
    print(speed_table(speeds(rows)))
    _tell(left)


def _tell(left: list[tuple[str, str]]) -> None:
    for name, why in left:
        print(f"left out {name}: {why}")


def _only_raw(paths: list[Path]) -> bool:
    return bool(paths) and all(path.suffix == ".jsonl" for path in paths)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words == ["worth"]:
        print(worth_table())
    elif words[:1] == ["speed"]:
        speed([Path(text) for text in words[1:]])
    else:
        main([Path(text) for text in words])
