"""Models: parameters by group, weight bytes against published totals, KV bytes per format."""

from __future__ import annotations

from typing import Any

from planner.kvcache import kv_cache
from planner.loading import Shelf
from planner.models import Model
from planner.render.report import Report, Table, Text
from planner.units import format_bytes


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
    kv = _kv_table(model)
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
        "kv": list(kv.plain), "checkpoints": list(checkpoints.plain), "formats": list(legal.plain),
        "sources": list(model.source),
    }  # fmt: skip
    return Report(data, [weights, text, checkpoints, kv, legal], kv)


def _kv_formats(model: Model) -> list[str]:
    common = set.intersection(*(set(group.formats()) for group in model.attention))
    return [name for name in model.attention[0].formats() if name in common]


def _kv_table(model: Model) -> Table:
    rows, plain = [], []
    for name in _kv_formats(model):
        cache = kv_cache(model, name)
        draft = kv_cache(model, name, model.draft_layers).bytes_per_token if model.draft_layers else None
        constant = int(cache.constant_bytes(model.max_context_tokens))
        rows.append(
            (
                name,
                f"{cache.bytes_per_token:,}",
                f"{draft:,}" if draft else "-",
                format_bytes(constant) if constant else "0",
                cache.formula() or "window only",
            )
        )
        plain.append(
            {
                "format": name,
                "bytes_per_token": cache.bytes_per_token,
                "with_draft": draft,
                "constant_bytes": constant,
                "formula": cache.formula(),
            }
        )
    return Table(
        ("KV format", "B/token", "with draft layer", "constant", "how"),
        rows,
        "KV cache, one copy",
        ("B/token", "with draft layer", "constant"),
        plain,
    )


def _checkpoint_table(model: Model) -> Table:
    rows, plain = [], []
    for one in model.checkpoints:
        size = model.weight_bytes(one.format)
        whole = model.file_bytes(one.format)
        gap = f"{(one.bytes - whole) / whole:+.3%}" if one.bytes else "-"
        rows.append((one.format, format_bytes(size), format_bytes(whole), f"{one.bytes:,}" if one.bytes else "-", gap))
        plain.append({"format": one.format, "bytes": size, "bytes_with_draft": whole, "published_bytes": one.bytes})
    columns = ("weights", "main model", "as published, derived", "published bytes", "difference")
    return Table(columns, rows, "Weights", columns[1:], plain)


def _legal_table(shelf: Shelf, model: Model) -> Table:
    rows, plain = [], []
    architectures = sorted({gpu.architecture for gpu in shelf.catalog.gpus().values()})
    for engine in shelf.engines.engines.values():
        for name in _kv_formats(model):
            legal = [a for a in architectures if not engine.kv_format_fault(name, model.family, a)]
            rows.append((f"{engine.name} {engine.version}", name, ", ".join(legal) or "nowhere"))
            plain.append({"engine": engine.id, "kv_format": name, "architectures": legal})
    return Table(("engine", "KV format", "exists on"), rows, "Where each KV format exists", (), plain)
