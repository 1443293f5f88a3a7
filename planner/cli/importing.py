"""The command that makes a model's file from a Hugging Face configuration."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.options import write_whole
from planner.errors import UsageError

if TYPE_CHECKING:
    from planner.importing import Imported

Many = list[str] | None


def import_command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A Hugging Face config.json.")],
    ident: Annotated[str, typer.Option("--id", metavar="ID", help="Model id; from the file's place if left out.")] = "",
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the model is called.")] = "",
    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="FILE", help="model.safetensors.index.json, for the published bytes."),
    ] = None,
    weights: Annotated[
        Many, typer.Option("--weights-format", metavar="FORMAT", help="A further, assumed checkpoint; repeatable.")
    ] = None,
    assume: Annotated[
        Many, typer.Option("--assume", metavar="KEY=VALUE", help="The value of a missing key, as JSON; repeatable.")
    ] = None,
    ignore: Annotated[
        Many, typer.Option("--ignore", metavar="KEY", help="A key that surely does not matter; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the model's file there.")
    ] = None,
) -> None:
    """Make a model's file from a configuration: every key understood, or an error that names it."""
    from planner.importing import Wishes, import_model

    wishes = Wishes(
        id=ident, name=name, index=index, weights=tuple(weights or ()), ignored=tuple(ignore or ()),
        assumed=dict(_assumed(text) for text in assume or ()),
    )  # fmt: skip
    made = import_model(config, wishes)
    if output is not None and (not output.name or output.is_dir()):
        raise UsageError(f"-o '{output}': is no file name")
    if output is None:
        sys.stdout.write(made.text)
        sys.stdout.flush()
    else:
        write_whole(output, made.text)
    _tell(made, output)


def _assumed(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise UsageError(f"--assume '{text}': expected KEY=VALUE")
    try:
        return key.strip(), json.loads(value)
    except (ValueError, RecursionError):
        return key.strip(), value.strip()


def _tell(made: Imported, output: Path | None) -> None:
    from planner.importing.summary import summary

    for line in summary(made):
        print(line, file=sys.stderr)
    if output is not None:
        print(f"wrote {output}", file=sys.stderr)


def register(app: typer.Typer) -> None:
    """Add this command to the commands about models."""
    app.command("import")(import_command)
