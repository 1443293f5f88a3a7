"""The command that shows and draws the inside of a machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from planner.cli.options import CatalogDirs, OutputFile, load, write, write_whole

Form = Annotated[
    str | None,
    typer.Option("-f", "--format", metavar="FORMAT", help="table, json, csv, md (with a drawing) or svg."),
]


def catalog_topology(
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="A chassis, a system or a topology.")],
    movement: Annotated[
        str | None, typer.Option("--movement", metavar="NAME", help="dram-gpus, drives-dram, both, nics-dram ...")
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="ID", help="Its GPU; else the first it takes.")] = None,
    cpu: Annotated[str | None, typer.Option("--cpu", metavar="ID", help="Its processors; else the first.")] = None,
    dimms: Annotated[int | None, typer.Option("--dimms", metavar="N", min=1, help="DIMMs; else all slots.")] = None,
    drive: Annotated[str | None, typer.Option("--drive", metavar="ID", help="Its data drive.")] = None,
    drives: Annotated[int | None, typer.Option("--drives", metavar="N", min=0, help="Drives; else all bays.")] = None,
    nic: Annotated[str | None, typer.Option("--nic", metavar="ID", help="Its network card.")] = None,
    nics: Annotated[int | None, typer.Option("--nics", metavar="N", min=0, help="Cards; else all slots.")] = None,
    form: Form = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
) -> None:  # fmt: skip
    """Show what each movement inside a machine reaches and what limits it; draw it to .svg or .md."""
    from planner.views.topology import Choice, look, named_movement, topology_report, topology_scene

    choice = Choice(gpu, cpu, dimms, drive, drives, nic, nics)
    one = named_movement(movement)
    looked = look(load(catalog, None).catalog, machine, choice)
    suffix = output.suffix.lower() if output is not None else ""
    if form is None and suffix in (".svg", ".md"):
        form = suffix[1:]
    if form not in ("svg", "md"):
        write(topology_report(looked, one), form, output)
        return
    from planner.drawing import mermaid, svg
    from planner.render import OUTPUTS

    drawn = topology_scene(looked, one)
    text = svg(drawn)
    if form == "md":
        captions = "\n".join(f"- {line}" for line in drawn.captions)
        drawing = f"## {drawn.title}\n\n```mermaid\n{mermaid(drawn)}```\n\n{captions}\n"
        text = f"{OUTPUTS['md'].render(topology_report(looked, one))}\n{drawing}"
    if output is None:
        sys.stdout.write(text)
        return
    write_whole(output, text)
    print(f"wrote {output}", file=sys.stderr)
