"""The half of ``calibrate`` that takes speeds: options, reading, and the file it writes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.errors import InputError, Problem, nearest

if TYPE_CHECKING:
    from planner.loading import Shelf
    from planner.questions.efficiency import Bench, Speed

_DRIVES = ("drive_read", "drive_write")
_SPEED = "Speed that you measured, of all {} of a node together, such as '{}'."
Metrics = Annotated[
    list[Path] | None,
    typer.Option("--metrics", metavar="FILE", help="Metrics of LMCache or vLLM in Prometheus' text form; repeatable."),
]
Chassis = Annotated[str, typer.Option("--chassis", metavar="ID", help="Chassis that speeds were measured in.")]
CacheId = Annotated[str, typer.Option("--cache", metavar="ID", help="Profile whose efficiencies are measured.")]
DriveId = Annotated[str, typer.Option("--drive", metavar="ID", help="Data drive that speeds were measured of.")]
Drives = Annotated[int | None, typer.Option("--drives", metavar="N", help="Data drives of a node.")]
Gpus = Annotated[
    int | None, typer.Option("--gpus", metavar="N", help="GPUs that moved at once; as many as a log names, or all.")
]
TokenBytes = Annotated[
    str, typer.Option("--bytes-per-token", metavar="SIZE", help="Where a source counts tokens: bytes of one.")
]
HostLink = Annotated[str, typer.Option("--host-link", metavar="RATE", help=_SPEED.format("GPUs", "38GB/s"))]
HostStore = Annotated[str, typer.Option("--host-store", metavar="RATE", help="The same, from GPUs to memory.")]
DriveRead = Annotated[str, typer.Option("--drive-read", metavar="RATE", help=_SPEED.format("drives", "11GB/s"))]
DriveWrite = Annotated[str, typer.Option("--drive-write", metavar="RATE", help="The same, writing.")]


@dataclass(frozen=True)
class Measuring:
    """What the options say of a measurement of speeds; texts as they were written."""

    chassis: str = ""
    cache: str = ""
    gpu: str = ""
    drive: str = ""
    drives: int | None = None
    gpus: int | None = None
    token_bytes: str = ""
    metrics: tuple[Path, ...] = ()
    plain: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> bool:
        """Whether any option is about speeds; ``--gpu`` alone is not."""
        texts = (self.chassis, self.cache, self.drive, self.token_bytes, *self.plain.values())
        return any(texts) or bool(self.metrics) or (self.drives, self.gpus) != (None, None)


def measure(
    logs: list[Path], wanted: Measuring, shelf: Shelf, name: str | None, form: str | None, output: Path | None
) -> None:
    """Show measured speeds as shares of their paths, and write them as a layer of the catalogue.

    Raises
    ------
    InputError
        With everything that is wrong with options and files.
    """
    from datetime import date

    from planner.cli.options import write, write_whole
    from planner.questions.efficiency import path_shares
    from planner.views.efficiency import efficiency_report, efficiency_text

    problems: list[Problem] = []
    speeds = list(_speeds(logs, wanted, problems))
    if not wanted.drive and not any(wanted.plain.get(path) for path in _DRIVES):
        left = [speed for speed in speeds if speed.path in _DRIVES]
        if left and len(left) < len(speeds):
            speeds = [speed for speed in speeds if speed not in left]
            print(f"{left[0].where}: drives are left out; --drive and --drives add them", file=sys.stderr)
    bench = _bench(wanted, shelf, speeds, problems)
    if not speeds and not problems:
        hint = "LMCache prints 'Retrieved … size: …, cost …'; tokens without bytes need --bytes-per-token"
        problems.append(Problem("", 0, 0, "no speed was found in logs, metrics and options", hint))
    if problems or bench is None:
        raise InputError(problems)
    found = path_shares(speeds, bench)
    write(efficiency_report(found, bench), form, output)
    if name is not None:
        write_whole(Path(f"{name}.yaml"), efficiency_text(found, bench, name, date.today()))
        print(f"wrote {name}.yaml", file=sys.stderr)


def _speeds(logs: list[Path], wanted: Measuring, problems: list[Problem]) -> Iterator[Speed]:
    from planner.enginelogs import read_logs
    from planner.enginelogs.prometheus import read_metrics
    from planner.questions.efficiency import METRICS, speeds_of_log, speeds_of_metrics

    token_bytes = _token_bytes(wanted.token_bytes, problems)
    for path in logs:
        try:
            for log in read_logs(path):
                yield from speeds_of_log(log, token_bytes)
        except InputError as fault:
            problems.extend(fault.problems)
    for path in wanted.metrics:
        try:
            yield from speeds_of_metrics(read_metrics(path, METRICS), str(path), token_bytes)
        except InputError as fault:
            problems.extend(fault.problems)
    yield from _plain_speeds(wanted.plain, problems)


def _plain_speeds(plain: Mapping[str, str], problems: list[Problem]) -> Iterator[Speed]:
    from planner.questions.efficiency import OPTIONS, Speed
    from planner.units import BYTES_PER_SECOND, QuantityError

    for path, option in OPTIONS.items():
        if text := plain.get(path, ""):
            try:
                yield Speed(path, Fraction(BYTES_PER_SECOND.parse(text)), option)
            except QuantityError as fault:
                problems.append(Problem(option, 0, 0, str(fault)))


def _token_bytes(text: str, problems: list[Problem]) -> int | None:
    from planner.units import BYTES, QuantityError

    if not text:
        return None
    try:
        found = int(BYTES.parse(text))
    except QuantityError as fault:
        problems.append(Problem("--bytes-per-token", 0, 0, str(fault)))
        return None
    if not found:
        problems.append(Problem("--bytes-per-token", 0, 0, f"'{text}': a token has at least one byte"))
    return found or None


def _bench(wanted: Measuring, shelf: Shelf, speeds: list[Speed], problems: list[Problem]) -> Bench | None:
    from planner.questions.efficiency import Bench

    parts = shelf.catalog.parts
    drives = {key: drive for key, drive in shelf.catalog.drives().items() if drive.role == "data"}
    needs = {path[:5] for path in (speed.path for speed in speeds)} | {
        path[:5] for path, text in wanted.plain.items() if text
    }
    known: dict[str, tuple[str, Mapping[str, Any], str]] = {
        "--chassis": (wanted.chassis, parts["chassis"], "what carries it"),
        "--cache": (wanted.cache, shelf.engines.caches, "whose efficiency it is"),
    }
    if "host_" in needs or wanted.gpu:
        known["--gpu"] = (wanted.gpu, parts["gpu"], "what the links reach")
    if "drive" in needs or wanted.drive:
        known["--drive"] = (wanted.drive, drives, "what was read or written")
        if wanted.drives is None:
            problems.append(Problem("--drives", 0, 0, "is missing: how many data drives the node has"))
    found = {option: _named(option, *values, problems) for option, values in known.items()}
    if problems:
        return None
    return Bench(
        found["--chassis"], found["--cache"], found.get("--gpu"), found.get("--drive"), wanted.drives or 0, wanted.gpus
    )


def _named(option: str, name: str, known: Mapping[str, Any], why: str, problems: list[Problem]) -> Any:
    if name in known:
        return known[name]
    if name:
        problems.append(Problem(option, 0, 0, f"unknown '{name}'", nearest(name, known)))
    else:
        problems.append(Problem(option, 0, 0, f"is missing: it says {why}", f"one of {', '.join(sorted(known))}"))
    return None
