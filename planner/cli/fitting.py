"""The command that asks whether a model fits, without prices."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.options import CatalogDirs, Format, OutputFile, load, write
from planner.errors import InputError, UsageError, nearest

Context = Annotated[
    str, typer.Option("--context", metavar="TOKENS", help="Per session, e.g. 131072 or '128Ki tokens'.")
]
LayoutName = Annotated[
    str | None, typer.Option("--layout", metavar="NAME", help="tp8, dp8-ep8, tp8-dcp8, tp8-pp2 ...; all if left out.")
]
SessionCount = Annotated[
    int | None, typer.Option("--sessions", metavar="N", min=1, help="Also say how many nodes hold N at once.")
]
Gib = Annotated[float | None, typer.Option(metavar="GIB", help="Measured per GPU, instead of the estimate.")]


def fit(
    model: Annotated[str, typer.Option("--model", metavar="ID", help="Model id or alias.")],
    gpu: Annotated[str, typer.Option("--gpu", metavar="ID", help="GPU id.")],
    gpus: Annotated[int, typer.Option("--gpus", metavar="N", min=1, help="GPUs of a node.")] = 8,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", min=1, help="Nodes that a replica may span.")] = 1,
    weights: Annotated[str, typer.Option("--weights", metavar="FORMAT", help="Weight format.")] = "fp8",
    kv: Annotated[str, typer.Option("--kv", metavar="FORMAT", help="KV format.")] = "bf16",
    context: Context = "128Ki tokens",
    layout: LayoutName = None,
    engine: Annotated[str, typer.Option("--engine", metavar="ID", help="Serving engine.")] = "vllm-0.33",
    sessions: SessionCount = None,
    weights_gib: Gib = None,
    kv_gib: Gib = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
) -> None:
    """Say whether a model fits: budget of a GPU, KV pools, whole sessions, the way to the next."""
    from planner.kvcache import kv_cache
    from planner.layout import Layout
    from planner.questions.fit import FitQuestion, fits
    from planner.views.fit import fit_report

    shelf = load(catalog, None)
    if gpu not in shelf.catalog.gpus():
        raise InputError(f"--gpu {gpu}: unknown GPU; {nearest(gpu, shelf.catalog.gpus())}")
    if engine not in shelf.engines.engines:
        raise InputError(f"--engine {engine}: unknown engine; {nearest(engine, shelf.engines.engines)}")
    found = shelf.model(model)
    found.checkpoint(weights)
    question = FitQuestion(
        model=found, engine=shelf.engines.engines[engine], weights=weights, kv=kv_cache(found, kv),
        gpu=shelf.catalog.gpus()[gpu], n_gpus=gpus, n_nodes=nodes, context_tokens=_tokens(context),
        weights_bytes=_bytes(weights_gib, "--weights-gib"), kv_bytes=_bytes(kv_gib, "--kv-gib"),
    )  # fmt: skip
    chosen = Layout.parse(layout) if layout else None
    write(fit_report(question, list(fits(question, shelf.engines, chosen)), sessions), form, output)


def _tokens(text: str) -> int:
    from planner.units import TOKENS, QuantityError

    try:
        tokens = int(text) if text.isdecimal() and len(text) < 20 else int(TOKENS.parse(text))
    except QuantityError as fault:
        raise UsageError(f"--context {fault}") from None
    if tokens < 1:
        raise UsageError(f"--context {text}: a session needs at least one token")
    return tokens


def _bytes(gib: float | None, name: str) -> int | None:
    if gib is None:
        return None
    if not 0 <= gib < 2**20:
        raise UsageError(f"{name} {gib}: expected GiB of one GPU, from 0 on")
    return int(gib * 2**30)


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("fit")(fit)
