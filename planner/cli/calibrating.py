"""The command that holds logs and speeds of your own against the model."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli import measuring
from planner.cli.measuring import Measuring
from planner.cli.options import CatalogDirs, Format, OutputFile, find_model, load, write, write_whole
from planner.errors import InputError, UsageError

if TYPE_CHECKING:
    from planner.loading import Shelf
    from planner.questions.identify import Known


Logs = Annotated[
    list[Path] | None, typer.Argument(metavar="LOG...", help="Start-up logs of vLLM or SGLang; LMCache's logs.")
]
As = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Write what was measured to NAME.yaml, for --catalog.")
]
ModelId = Annotated[str, typer.Option("--model", metavar="ID", help="Model id or alias, if the log does not say.")]
EngineId = Annotated[str, typer.Option("--engine", metavar="ID", help="Engine profile, if the log does not say.")]
GpuId = Annotated[str, typer.Option("--gpu", metavar="ID", help="GPU id, if the log does not say.")]
Weights = Annotated[str, typer.Option("--weights", metavar="FORMAT", help="Weight format.")]
Kv = Annotated[str, typer.Option("--kv", metavar="FORMAT", help="KV format.")]
LayoutName = Annotated[str, typer.Option("--layout", metavar="NAME", help="tp8, dp8-ep8, tp8-dcp8 ...")]


def calibrate(
    logs: Logs = None,
    name: As = None,
    model: ModelId = "",
    engine: EngineId = "",
    gpu: GpuId = "",
    weights: Weights = "",
    kv: Kv = "",
    layout: LayoutName = "",
    chassis: measuring.Chassis = "",
    cache: measuring.CacheId = "",
    drive: measuring.DriveId = "",
    drives: measuring.Drives = None,
    gpus: measuring.Gpus = None,
    metrics: measuring.Metrics = None,
    token_bytes: measuring.TokenBytes = "",
    host_link: measuring.HostLink = "",
    host_store: measuring.HostStore = "",
    drive_read: measuring.DriveRead = "",
    drive_write: measuring.DriveWrite = "",
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
) -> None:
    """Hold logs and speeds of your own against the model: where the gap in memory comes from, or how fast paths are.

    With --chassis and --cache it takes speeds: LMCache's logs, --metrics, or plain numbers.
    """
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UsageError(f"--as {name}: expected a name of letters, digits, '.', '_' and '-'")
    plain = {"host_link": host_link, "host_store": host_store, "drive_read": drive_read, "drive_write": drive_write}
    wanted = Measuring(chassis, cache, gpu, drive, drives, gpus, token_bytes, tuple(metrics or ()), plain)
    if not logs and not wanted.asked:
        raise UsageError(
            "calibrate: give a log, or --chassis and --cache with --metrics or a speed such as --host-link"
        )
    shelf = load(catalog, None)
    if wanted.asked:
        measuring.measure(logs or [], wanted, shelf, name, form, output)
        return
    from planner.questions.identify import Known

    if model:
        own = find_model(shelf, model)
        shelf, model = replace(shelf, models={**shelf.models, own.id: own}), own.id
    _compare(logs or [], Known(model, engine, gpu, weights, kv, layout), shelf, name, form, output)


def _compare(
    logs: list[Path], known: Known, shelf: Shelf, name: str | None, form: str | None, output: Path | None
) -> None:
    """Compare start-up logs with the model, figure by figure."""
    from planner.enginelogs import read_logs
    from planner.questions.calibrate import calibrate as compare
    from planner.questions.identify import identify
    from planner.views.calibrate import calibration_reports, measured_text

    found, faults = [], []
    for path in logs:
        try:
            for log in read_logs(path):
                found.append(compare(log, identify(log, known, shelf), name or "measured"))
        except InputError as fault:
            faults.append(str(fault))
    if faults:
        raise InputError("\n".join(faults))
    write(calibration_reports(found), form, output)
    if name is not None:
        texts = [text for text in map(measured_text, found) if text]
        if not texts:
            raise InputError(
                "no log holds both the memory of the weights and that of the KV cache: nothing to write; see notes"
            )
        if len(texts) > 1:
            raise UsageError("--as takes one run at a time: the logs hold several")
        write_whole(Path(f"{name}.yaml"), texts[0])
        print(f"wrote {name}.yaml", file=sys.stderr)


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("calibrate")(calibrate)
