"""What one GPU holds of a model's weights: split, copied, padded, and what loading adds.

weights per GPU = split / ranks + copied + vocabulary ends + absorbed projections + position tables.
The parts are named, so that a report can say where the gigabytes are.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from planner.attention import Weights
from planner.engines import Engine
from planner.layout import Layout
from planner.models import Checkpoint, Model
from planner.units import ceil, ceil_div


@cache
def weight_parts(
    model: Model, weight_format: str, layout: Layout, engine: Engine, draft_layers: int = 0
) -> tuple[tuple[str, Fraction], ...]:
    """Return the weight bytes of the fullest GPU by what becomes of them.

    A pipeline stage holds its share of the layers, the first also the embedding, the last the
    output head; experts are padded to what the engine's kernels ask for.
    """
    checkpoint = model.checkpoint(weight_format)
    stage = Fraction(ceil_div(model.layers, layout.pp), model.layers)
    total: dict[str, Fraction] = {}
    ends = {"first": Fraction(0), "last": Fraction(0)}
    for weights in model.weights:
        size = weights.count * checkpoint.element_bytes(weights.kind)
        if weights.split in ends:
            ends[weights.split] += size / layout.tp
            continue
        size *= stage * share_of(weights, layout) * padding(model, checkpoint, weights, layout, engine)
        _add(total, _fate(weights, layout), size)
    for weights in model.draft_weights if draft_layers else ():
        size = draft_layers * weights.count * checkpoint.draft_element_bytes(weights.kind)
        _add(total, "draft layers", size * share_of(weights, layout))
    both = ends["first"] + ends["last"]
    _add(total, "embedding and output head", both if layout.pp == 1 else max(ends.values()))
    for name, size in _added_on_load(model, layout, engine):
        _add(total, name, stage * size if name != "position tables" else size)
    return tuple((name, size) for name, size in total.items() if size)


def _add(total: dict[str, Fraction], name: str, size: Fraction) -> None:
    total[name] = total.get(name, Fraction(0)) + size


def _fate(weights: Weights, layout: Layout) -> str:
    if weights.split == "expert":
        return "experts"
    if share_of(weights, layout) == 1 and layout.gpus > layout.pp:
        return "copied on every rank"
    copied = weights.pieces is not None and weights.pieces < layout.tp
    return "K and V projections, copied beyond their heads" if copied else "attention and the rest"


def _added_on_load(model: Model, layout: Layout, engine: Engine) -> Iterator[tuple[str, Fraction]]:
    absorbed = 2 * sum(group.copied_weights() for group in model.attention)
    yield "absorbed projections in BF16", Fraction(absorbed, layout.tp)
    yield "position tables", Fraction(model.rope_table_elements * engine.runtime.position_bytes)


def share_of(weights: Weights, layout: Layout) -> Fraction:
    """Return which share of a group of parameters one rank of a stage holds."""
    if weights.split == "none" or (weights.split == "shared" and layout.ep > 1 and layout.dp > 1):
        return Fraction(1)
    if weights.split == "expert":
        return Fraction(1, layout.ep if layout.ep > 1 else layout.tp * layout.pcp)
    if weights.pieces is None:
        return Fraction(1, layout.tp)
    return Fraction(ceil_div(weights.pieces, layout.tp), weights.pieces)


def padding(model: Model, checkpoint: Checkpoint, weights: Weights, layout: Layout, engine: Engine) -> Fraction:
    """Return how much larger than in the file a group of parameters lies in memory; 1 for all but experts.

    Kernels pad experts to sizes that suit them, and some keep the file's scales beside their own.
    """
    rule = engine.weight_rule(checkpoint.experts)
    if weights.kind != "expert" or rule is None:
        return Fraction(1)
    ff = model.feed_forward
    hidden = ff.expert_hidden or model.hidden
    inner = Fraction(ff.expert_size, 1 if layout.ep > 1 else layout.tp * layout.pcp)
    wide = Fraction(ceil_div(hidden, rule.hidden_multiple) * rule.hidden_multiple, hidden)
    wide *= ceil_div(ceil(inner), rule.inner_multiple) * rule.inner_multiple / inner
    return wide * (rule.loaded / checkpoint.element_bytes("expert") if rule.loaded else 1)


def weights_per_gpu(model: Model, weight_format: str, layout: Layout, engine: Engine, draft_layers: int = 0) -> int:
    """Return all weight bytes of the fullest GPU, rounded up."""
    parts = weight_parts(model, weight_format, layout, engine, draft_layers)
    return ceil(sum((size for _, size in parts), Fraction(0)))
