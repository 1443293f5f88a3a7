"""How long a large catalogue takes to load and validate, against PyYAML that merely parses the same files.

    python -m tests.benchmarks.catalogue [--parts 5000] [--seed 0] [--runs 5] [--profile] [--keep FOLDER]

The catalogue is drawn from the shapes of the shipped parts, with evidence beside each value and a price for each
part; the shipped files are read with it, by both. Seconds are of the processor, the least of some runs that take
turns, so that other work on the machine counts for little. The yardsticks are ``yaml.load`` with ``CSafeLoader``
(the loader in use here, by libyaml) and, with ``--pure``, with ``SafeLoader`` in Python.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

from planner.datafiles import data_folder
from planner.loading import PART_KINDS, load_shelf
from planner.reading import same_evidence
from planner.scalars import plain_value

PER_FILE = 100
SHARES = {"drive": 30, "nic": 14, "cpu": 12, "item": 12, "gpu": 10, "chassis": 8, "dimm": 6, "switch": 5, "system": 3}
"""Percent of the parts that are of each kind."""
# Real files repeat what they say; aliases would let both sides off.
DUMPER = type("Dumper", (yaml.CSafeDumper,), {"ignore_aliases": lambda self, data: True})
DRAWN = {"power", "memory_bandwidth", "read", "write", "port", "host_link"}
"""Values that are drawn; the others keep what makes machines fit together."""


def write_catalogue(folder: Path, parts: int, seed: int) -> None:
    """Write a layer of so many parts, and a price book with a price for each; the same for the same seed."""
    rng = Random(seed)
    made = list(draw_parts(parts, rng))
    for start in range(0, len(made), PER_FILE):
        _write(folder / f"parts-{start // PER_FILE:03d}.yaml", {"parts": made[start : start + PER_FILE]})
    book = {
        "kind": "prices", "id": "drawn", "name": "Drawn", "region": "US", "currency": "USD", "as_of": "2026-11-30",
        "tax": "excluded", "prices": [_price(rng, part["id"]) for part in made],
    }  # fmt: skip
    _write(folder / "prices.yaml", book)


def draw_parts(count: int, rng: Random) -> Iterator[dict[str, Any]]:
    """Yield so many parts like shipped ones, ids and many values drawn."""
    shipped = _shipped()
    for kind, percent in SHARES.items():
        share = count - sum(count * p // 100 for k, p in SHARES.items() if k != kind) if kind == "drive" else 0
        for i in range(share or count * percent // 100):
            like = rng.choice(shipped[kind])
            drawn = {key: _drawn(rng, value) if key in DRAWN else value for key, value in like.items()}
            yield drawn | {"id": f"{like['id']}-{i:05d}", "name": f"{like['name']} version {i}"}


def _shipped() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in PART_KINDS}
    for file in sorted(data_folder("catalog").rglob("*.yaml")):
        data = _plain(file)
        for part in data.get("parts", [data]):
            if part.get("kind") in found:
                found[part["kind"]].append(part)
    return found


def _drawn(rng: Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drawn(rng, inner) if key == "value" else inner for key, inner in value.items()}
    match = re.fullmatch(r"(\d+)(?:\.\d+)? (.*)", str(value))
    if match is None or match[1] == "0":
        return value
    return f"{match[1]}.{rng.randrange(1, 1000):03d} {match[2]}" if match[2] != "W" else f"{rng.randrange(5, 25)} W"


def _price(rng: Random, part: str) -> dict[str, Any]:
    typical = rng.randrange(100, 90_000)
    amounts = {"low": typical * 4 // 5, "typical": typical, "high": typical * 6 // 5}
    words = {case: f"USD {amount}" for case, amount in amounts.items()}
    day = f"2026-{rng.randrange(1, 12):02d}-{rng.randrange(1, 29):02d}"
    return {"part": part, **words, "as_of": day, "basis": "street", "sources": ["hz-0822"]}


def _write(path: Path, data: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(data, file, DUMPER, default_flow_style=None, sort_keys=False, allow_unicode=True, width=110)


def _plain(file: Path, loader: Any = yaml.CSafeLoader) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), loader)


def parse_all(folder: Path, loader: Any) -> None:
    """Parse what `load_shelf` reads, and do nothing else."""
    for root in (data_folder("catalog"), folder):
        for file in sorted(root.rglob("*.yaml")):
            _plain(file, loader)


def least_seconds(runs: int, calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least seconds of the processor that each call took; they take turns."""
    least: dict[str, float] = {}
    for _ in range(runs):
        for name, call in calls.items():
            # As in a process of its own: nothing is known from the run before.
            plain_value.cache_clear()
            same_evidence.cache_clear()
            gc.collect()
            began = time.process_time()
            call()
            took = time.process_time() - began
            least[name] = min(took, least.get(name, took))
    return least


def measure(folder: Path, runs: int, pure: bool = False) -> dict[str, float]:
    """Return the seconds of loading and of each yardstick, after one run that loads the modules."""
    load_shelf([folder])
    calls: dict[str, Callable[[], object]] = {
        "load_shelf": lambda: load_shelf([folder]),
        "CSafeLoader": lambda: parse_all(folder, yaml.CSafeLoader),
    }
    if pure:
        calls["SafeLoader"] = lambda: parse_all(folder, yaml.SafeLoader)
    return least_seconds(runs, calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pure", action="store_true", help="also against PyYAML's loader in Python")
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_catalogue(folder, words.parts, words.seed)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{words.parts} parts with prices, {size / 1e6:.1f} MB, {len(list(folder.iterdir()))} files")
        if words.profile:
            load_shelf([folder])
            profile = cProfile.Profile()
            profile.runcall(load_shelf, [folder])
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
            return
        took = measure(folder, words.runs, words.pure)
    for loader, seconds in took.items():
        ratio = "" if loader == "load_shelf" else f", {took['load_shelf'] / seconds:.2f} x this to load and validate"
        print(f"{loader:<12} {seconds:6.2f} s{ratio}")


if __name__ == "__main__":
    main()
