"""Models: parameters by group, weight bytes against published totals, KV bytes per format."""

from __future__ import annotations

from typing import Any

from planner.kvcache import kv_cache
from planner.loading import Shelf
from planner.models import Model
from planner.render.report import Report, Table, Text
from planner.units import ceil, format_bytes


def list_report(shelf: Shelf) -> Report:
    """Return the report of ``planner model list``."""
    models = list({model.id: model for model in shelf.models.values()}.values())
    columns = (
        "id",
        "name",
        "family",
        "layers",
        "context",
        "parameters",
        "KV B/token BF16",
        "weights",
        "also called",
    )
    rows = [
        (m.id, m.name, m.family, m.layers, f"{m.max_context_tokens:,}", f"{m.derived_parameters / 1e9:,.1f}B",
         f"{kv_cache(m, 'bf16').bytes_per_token:,}", ", ".join(c.format for c in m.checkpoints), ", ".join(m.aliases))
        for m in models
    ]  # fmt: skip
    plain = [
        {"id": m.id, "name": m.name, "family": m.family, "layers": m.layers, "max_context_tokens": m.max_context_tokens,
         "parameters": m.derived_parameters, "kv_bytes_per_token_bf16": kv_cache(m, "bf16").bytes_per_token,
         "weights": [c.format for c in m.checkpoints], "aliases": list(m.aliases)}
        for m in models
    ]  # fmt: skip
    table = Table(columns, rows, "Models", columns[3:7], plain)
    return Report(plain, [table], table)


def show_report(shelf: Shelf, name: str) -> Report:
    """Return the report of ``planner model show``."""
    model = shelf.model(name)
    weights = Table(
        ("parameters", "count", "quantised as", "split over"),
        [(w.name, f"{w.count:,}", w.kind, w.split) for w in model.weights],
        f"{model.name}: {model.derived_parameters:,} parameters from its shape", ("count",),
    )  # fmt: skip
    kv, parts = _kv_table(model), _parts_table(model)
    checkpoints = _checkpoint_table(model)
    legal = _legal_table(shelf, model)
    published = model.parameters
    match = (
        "equal to the published count"
        if published == model.derived_parameters
        else f"published: {published:,}"
        if published
        else "no exact count is published"
    )
    text = Text([match, *([model.note] if model.note else []), "sources: " + ", ".join(model.source)])
    data: dict[str, Any] = {
        "id": model.id, "name": model.name, "aliases": list(model.aliases), "layers": model.layers,
        "hidden": model.hidden, "vocabulary": model.vocabulary, "max_context_tokens": model.max_context_tokens,
        "parameters_derived": model.derived_parameters, "parameters_published": published,
        "active_parameters_derived": model.derived_active_parameters, "draft_layers": model.draft_layers,
        "kv": list(kv.plain), "caches": list(parts.plain), "checkpoints": list(checkpoints.plain),
        "formats": list(legal.plain), "sources": list(model.source),
    }  # fmt: skip
    return Report(data, [weights, text, checkpoints, kv, parts, legal], kv)


def _kv_formats(model: Model) -> list[str]:
    common = set.intersection(*(set(group.formats()) for group in model.attention if group.formats()))
    return [name for name in model.attention[0].formats() if name in common]


def _kv_table(model: Model) -> Table:
    columns = ("KV format", "B/token", "with draft layer", "windows", "state", "how")
    rows, plain = [], []
    for name in _kv_formats(model):
        cache = kv_cache(model, name)
        draft = kv_cache(model, name, model.draft_layers).bytes_per_token if model.draft_layers else None
        state = ceil(cache.state_bytes)
        windows = ceil(cache.constant_bytes(model.max_context_tokens)) - state
        sizes = (format_bytes(windows) if windows else "0", format_bytes(state) if state else "0")
        rows.append(
            (name, f"{cache.bytes_per_token:,}", f"{draft:,}" if draft else "-", *sizes, cache.formula() or "-")
        )
        plain.append({
            "format": name, "bytes_per_token": cache.bytes_per_token, "with_draft": draft, "constant_bytes": windows,
            "state_bytes": state, "formula": cache.formula(),
        })  # fmt: skip
    return Table(
        columns, rows, "KV cache of a sequence, one copy: B/token x tokens + windows + state", columns[1:5], plain
    )


def _parts_table(model: Model) -> Table:
    """Return each cache of the model in its first format: what every figure above is made of."""
    rows, plain = [], []
    name = _kv_formats(model)[0]
    for part in kv_cache(model, name).parts:
        size = f"{float(part.row_bytes):g} B/token" if part.row_bytes else f"{int(part.state_bytes):,} B"
        kept = "for ever" if part.grows else "once" if part.state_bytes else f"the last {part.window_tokens:,} tokens"
        kept = f"the chunk of {part.window_tokens:,} tokens" if part.chunked else kept
        split = f"{part.heads} heads" if part.heads > 1 else "copied on every rank"
        rows.append((part.name, f"{part.layers}", size, kept, split, part.row_formula))
        plain.append({
            "part": part.name, "layers": part.layers, "row_bytes": float(part.row_bytes), "heads": part.heads,
            "state_bytes": int(part.state_bytes), "window_tokens": part.window_tokens, "formula": part.row_formula,
        })  # fmt: skip
    columns = ("cache", "layers", "per layer", "kept", "split over ranks", "formula")
    return Table(columns, rows, f"Caches, in {name}", columns[1:2], plain)


def _checkpoint_table(model: Model) -> Table:
    rows, plain = [], []
    for one in model.checkpoints:
        size = model.weight_bytes(one.format)
        whole = model.file_bytes(one.format)
        gap = "none" if one.bytes == whole else f"{(one.bytes - whole) / whole:+.3%}" if one.bytes else "-"
        rows.append((one.format, format_bytes(size), format_bytes(whole), f"{one.bytes:,}" if one.bytes else "-", gap))
        plain.append({"format": one.format, "bytes": size, "bytes_with_draft": whole, "published_bytes": one.bytes})
    columns = ("weights", "main model", "as published, derived", "published bytes", "difference")
    return Table(columns, rows, "Weights", columns[1:], plain)


def _legal_table(shelf: Shelf, model: Model) -> Table:
    rows, plain = [], []
    architectures = sorted({gpu.architecture for gpu in shelf.catalog.gpus().values()})
    for engine in shelf.engines.engines.values():
        for name in _kv_formats(model):
            legal = [a for a in architectures if not engine.kv_format_fault(name, model.family, a, model.attention)]
            plain.append({"engine": engine.id, "kv_format": name, "architectures": legal})
            if legal:
                rows.append((engine.id, name, ", ".join(legal)))
    return Table(("engine", "KV format", "exists on"), rows, "Where each KV format exists", (), plain)
