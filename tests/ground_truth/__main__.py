"""``python -m tests.ground_truth [FILE ...]``: every public log against the model.

A FILE is YAML as beside this module, or JSON lines as a collector writes them (see `raw`).
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.ground_truth.raw import read_raw
from tests.ground_truth.report import results, table
from tests.ground_truth.rows import Row, read_rows


def main(paths: list[Path]) -> None:
    """Print the table, and of raw rows why any are left out."""
    rows = list(read_rows(*(path for path in paths if path.suffix != ".jsonl"))) if not _only_raw(paths) else []
    left: list[tuple[str, str]] = []
    for path in paths:
        for row in read_raw(path) if path.suffix == ".jsonl" else ():
            (rows if isinstance(row, Row) else left).append(row)  # type: ignore[arg-type]
    print(table(results(rows)))
    for name, why in left:
        print(f"left out {name}: {why}")


def _only_raw(paths: list[Path]) -> bool:
    return bool(paths) and all(path.suffix == ".jsonl" for path in paths)


if __name__ == "__main__":
    main([Path(text) for text in sys.argv[1:]])
