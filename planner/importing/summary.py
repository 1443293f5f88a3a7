"""What an import derived, in lines for whoever imports."""

from __future__ import annotations

from collections.abc import Iterator

from planner.importing.config import Imported
from planner.kvcache import kv_cache
from planner.models import Checkpoint, Model
from planner.units import format_bytes


def summary(made: Imported) -> Iterator[str]:
    """Yield lines on parameters, KV bytes per token, weight bytes, defaults and warnings."""
    model = made.model
    drafts = f", {model.draft_layers} draft layers beside" if model.draft_layers else ""
    yield f"{model.name}: {model.layers} layers of attention or state ({_families(model)}){drafts}"
    yield f"parameters: {model.derived_parameters:,} (active {model.derived_active_parameters:,})"
    for word in model.attention[0].formats():
        yield from _cache_line(model, word)
    for checkpoint in model.checkpoints:
        yield _checkpoint_line(model, checkpoint)
    for path, evidence in model.evidence.items():
        yield f"{path}: {evidence.text}"
    for warning in made.warnings:
        yield f"warning: {warning}"


def _families(model: Model) -> str:
    return ", ".join(f"{group.layers} {group.family}" for group in model.attention)


def _cache_line(model: Model, word: str) -> Iterator[str]:
    # A format that not every family knows is none of this model's.
    if any(group.formats() and word not in group.formats() for group in model.attention):
        return
    cache = kv_cache(model, word)
    constant = cache.constant_bytes(model.max_context_tokens)
    more = f", and {format_bytes(int(constant))} at full context that do not grow" if constant else ""
    yield f"KV {word}: {cache.bytes_per_token:,} B/token{more}"


def _checkpoint_line(model: Model, checkpoint: Checkpoint) -> str:
    derived = model.file_bytes(checkpoint.format)
    line = f"weights {checkpoint.format}: {derived:,} B derived ({format_bytes(derived)})"
    if checkpoint.bytes:
        gap = checkpoint.bytes - derived
        line += f"; the index says {checkpoint.bytes:,} B, {gap:+,} B ({gap / derived:+.3%})"
    return line
