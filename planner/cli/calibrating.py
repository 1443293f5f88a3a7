"""The command that holds a start-up log against the model."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import CatalogDirs, Format, OutputFile, find_model, load, write, write_whole
from planner.errors import InputError, UsageError


def calibrate(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Start-up logs of vLLM, SGLang or LMCache.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Write what was measured to NAME.yaml, for --catalog.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", metavar="ID", help="Model id or alias, if the log does not say.")
    ] = "",
    engine: Annotated[
        str, typer.Option("--engine", metavar="ID", help="Engine profile, if the log does not say.")
    ] = "",
    gpu: Annotated[str, typer.Option("--gpu", metavar="ID", help="GPU id, if the log does not say.")] = "",
    weights: Annotated[str, typer.Option("--weights", metavar="FORMAT", help="Weight format.")] = "",
    kv: Annotated[str, typer.Option("--kv", metavar="FORMAT", help="KV format.")] = "",
    layout: Annotated[str, typer.Option("--layout", metavar="NAME", help="tp8, dp8-ep8, tp8-dcp8 ...")] = "",
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
) -> None:
    """Say what our model predicts of a start-up log, what was seen, and where the gap comes from."""
    from planner.enginelogs import read_logs
    from planner.questions.calibrate import calibrate as compare
    from planner.questions.identify import Known, identify
    from planner.views.calibrate import calibration_reports, measured_text

    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UsageError(f"--as {name}: expected a name of letters, digits, '.', '_' and '-'")
    shelf = load(catalog, None)
    if model:
        own = find_model(shelf, model)
        shelf, model = replace(shelf, models={**shelf.models, own.id: own}), own.id
    known = Known(model, engine, gpu, weights, kv, layout)
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
