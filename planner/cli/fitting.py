"""The command that asks whether a model fits, without prices."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import CatalogDirs, Format, OutputFile, find_model, load, write
from planner.errors import InputError, UsageError, nearest

if TYPE_CHECKING:
    from planner.engines import EngineShelf
    from planner.layout import Layout
    from planner.models import Model
    from planner.questions.fit import FitQuestion
    from planner.render import Report

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
Longest = Annotated[
    str | None, typer.Option("--max-model-len", metavar="TOKENS", help="What the engine is started for; as --context.")
]
Sequences = Annotated[
    int | None, typer.Option("--max-num-seqs", metavar="N", min=1, help="Largest batch; the engine's default.")
]
Batched = Annotated[
    int | None, typer.Option("--max-num-batched-tokens", metavar="N", min=1, help="Tokens of one step.")
]
Utilisation = Annotated[
    str | None,
    typer.Option("--utilisation", metavar="SHARE", help="Of visible memory, e.g. 95%; the engine's default."),
]
DraftTokens = Annotated[
    int | None, typer.Option("--draft-tokens", metavar="N", min=0, help="Proposed per step; as many as draft layers.")
]
Draft = Annotated[int, typer.Option("--draft-layers", metavar="N", min=0, help="Draft (MTP) layers kept loaded.")]


def fit(
    model: Annotated[str, typer.Option("--model", metavar="ID", help="Model id, alias, or a config.json.")],
    gpu: Annotated[str, typer.Option("--gpu", metavar="ID", help="GPU id.")],
    gpus: Annotated[int, typer.Option("--gpus", metavar="N", min=1, help="GPUs of a node.")] = 8,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", min=1, help="Nodes that a replica may span.")] = 1,
    weights: Annotated[
        str | None, typer.Option("--weights", metavar="FORMAT", help="Weight format; fp8, else the model's first.")
    ] = None,
    kv: Annotated[str, typer.Option("--kv", metavar="FORMAT", help="KV format.")] = "bf16",
    context: Context = "128Ki tokens",
    layout: LayoutName = None,
    engine: Annotated[str, typer.Option("--engine", metavar="ID", help="Serving engine.")] = "vllm-0.33",
    sessions: SessionCount = None,
    utilisation: Utilisation = None,
    max_model_len: Longest = None,
    max_num_seqs: Sequences = None,
    max_num_batched_tokens: Batched = None,
    draft_layers: Draft = 0,
    draft_tokens: DraftTokens = None,
    weights_gib: Gib = None,
    kv_gib: Gib = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
) -> None:
    """Say whether a model fits: budget of a GPU, KV pools, whole sessions, the way to the next."""
    from planner.budget import Launch
    from planner.kvcache import kv_cache
    from planner.layout import Layout
    from planner.questions.fit import FitQuestion

    shelf = load(catalog, None)
    if gpu not in shelf.catalog.gpus():
        raise InputError(f"--gpu {gpu}: unknown GPU; {nearest(gpu, shelf.catalog.gpus())}")
    if engine not in shelf.engines.engines:
        raise InputError(f"--engine {engine}: unknown engine; {nearest(engine, shelf.engines.engines)}")
    found = find_model(shelf, model)
    if draft_layers > found.draft_layers:
        raise InputError(f"--draft-layers {draft_layers}: {found.name} has {found.draft_layers}")
    tokens = _tokens(context, "--context")
    launch = Launch(
        max_model_tokens=_tokens(max_model_len, "--max-model-len") if max_model_len else tokens,
        utilisation_fraction=_share(utilisation), max_sequences=max_num_seqs,
        batched_tokens=max_num_batched_tokens, draft_layers=draft_layers,
        draft_tokens=draft_layers if draft_tokens is None else draft_tokens, kv_format=kv,
    )  # fmt: skip
    if launch.max_model_tokens > found.max_context_tokens:
        raise InputError(f"{launch.max_model_tokens:,} tokens: {found.name} takes {found.max_context_tokens:,} at most")
    if launch.max_model_tokens < tokens:
        raise UsageError(f"--max-model-len {max_model_len}: sessions of {tokens:,} tokens do not go into it")
    question = FitQuestion(
        model=found, engine=shelf.engines.engines[engine], weights=_weights(found, weights),
        kv=kv_cache(found, kv, draft_layers), gpu=shelf.catalog.gpus()[gpu], n_gpus=gpus, n_nodes=nodes,
        context_tokens=tokens, launch=launch,
        weights_bytes=_bytes(weights_gib, "--weights-gib"), kv_bytes=_bytes(kv_gib, "--kv-gib"),
    )  # fmt: skip
    chosen = Layout.parse(layout) if layout else None
    write(_answer(question, shelf.engines, chosen, sessions), form, output)


def _answer(question: FitQuestion, shelf: EngineShelf, layout: Layout | None, sessions: int | None) -> Report:
    from planner.budget import unused_runs
    from planner.questions.advice import advice
    from planner.questions.fit import doubts, fits
    from planner.views.fit import fit_report

    answers = list(fits(question, shelf, layout))
    in_doubt = list(doubts(question, shelf, answers[0])) if len(answers) == 1 else []
    stuck = all(answer.sessions == 0 for answer in answers)
    changes = list(advice(question, shelf, layout)) if stuck else []
    notes: list[str] = []
    if len(answers) == 1 and question.weights_bytes is None and question.kv_bytes is None:
        q = question
        notes += unused_runs(q.model, q.gpu, q.engine, q.weights, answers[0].layout, shelf.measured)
    return fit_report(question, answers, sessions, in_doubt, changes, notes)


def _weights(model: Model, weights: str | None) -> str:
    have = [checkpoint.format for checkpoint in model.checkpoints]
    if weights is None:
        return "fp8" if "fp8" in have else have[0]
    model.checkpoint(weights)
    return weights


def _tokens(text: str, name: str) -> int:
    from planner.units import TOKENS, QuantityError

    try:
        tokens = int(text) if text.isdecimal() and len(text) < 20 else int(TOKENS.parse(text))
    except QuantityError as fault:
        raise UsageError(f"{name} {fault}") from None
    if tokens < 1:
        raise UsageError(f"{name} {text}: a session needs at least one token")
    return tokens


def _share(text: str | None) -> Fraction | None:
    from planner.units import SHARE, QuantityError

    if text is None:
        return None
    try:
        plain = float(text) if text.replace(".", "", 1).isdecimal() and float(text) <= 1 else None
        share = Fraction(text) if plain is not None else Fraction(SHARE.parse(text))
    except (QuantityError, ValueError) as fault:
        raise UsageError(f"--utilisation {fault}") from None
    if not 0 < share <= 1:
        raise UsageError(f"--utilisation {text}: expected a share above 0 and up to 100 %")
    return share


def _bytes(gib: float | None, name: str) -> int | None:
    if gib is None:
        return None
    if not 0 <= gib < 2**20:
        raise UsageError(f"{name} {gib}: expected GiB of one GPU, from 0 on")
    return int(gib * 2**30)


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command("fit")(fit)
