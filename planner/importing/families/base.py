"""What readers of configurations share: the source they read, sizes, heads, lists of layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from planner.importing.draft import Draft
from planner.importing.sheet import Derived, Sheet
from planner.registry import Registry


@dataclass(frozen=True)
class Source:
    """What a reader reads.

    Attributes
    ----------
    text : Sheet
        Keys of the language model.
    outer : Sheet or None
        Keys around them, where the language model is one part of several.
    model_type : str
        By which word the reader was found.
    """

    text: Sheet
    outer: Sheet | None
    model_type: str


Reader = Callable[[Source], Draft]
READERS: Registry[Reader] = Registry("model type")
"""Readers by ``model_type``."""


def reads(*model_types: str) -> Callable[[Reader], Reader]:
    """Return a decorator that registers a reader for `model_types`."""

    def add(read: Reader) -> Reader:
        for model_type in model_types:
            READERS.register(model_type)(read)
        return read

    return add


def start(source: Source, tied: bool | None = False, context_key: str = "max_position_embeddings") -> Draft:
    """Return a draft with the sizes that every model has; `tied` is what its class takes without the key."""
    sheet = source.text
    return Draft(
        hidden=sheet.count("hidden_size"),
        vocabulary=sheet.count("vocab_size"),
        max_context=sheet.count(context_key),
        tied=_tied(source, tied),
        positions=_positions(sheet, sheet.count(context_key)),
    )


def _positions(sheet: Sheet, longest: int) -> int:
    """Return the rows of the longest position table under linear scaling: the context times the factor; else 0.

    Where kinds of layers have tables of their own, only that of the kind that is scaled is so long.
    """
    factors: list[int | float] = []
    for key in ("rope_scaling", "rope_parameters"):
        given = sheet.data.get(key)
        places = [given, *given.values()] if isinstance(given, dict) else []
        for place in (place for place in places if isinstance(place, dict)):
            factor = place.get("factor")
            linear = "linear" in (place.get("rope_type"), place.get("type"))
            if linear and isinstance(factor, int | float) and not isinstance(factor, bool) and 1 < factor <= 2**16:
                factors.append(factor)
    if not factors:
        return 0
    most = max(factors)
    return Derived(int(longest * most), f"longest context times the factor of linear scaling ({most:g})")


def _tied(source: Source, default: bool | None) -> bool:
    key = "tie_word_embeddings"
    inner, outer = source.text, source.outer
    if outer is None:
        return inner.flag(key, default)
    if not outer.has(key):
        return inner.flag(key, default) if inner.has(key) else outer.flag(key, False if default is None else default)
    tied = outer.flag(key)
    if inner.has(key) and inner.flag(key) != tied:
        inner.problem(key, f"'{inner.word(key)}' and '{key}' around it disagree", "the two must be the same")
    return tied


MOST_LAYERS = 4096


def layers_of(sheet: Sheet) -> int:
    """Return the number of layers."""
    found = sheet.count("num_hidden_layers")
    if found > MOST_LAYERS:
        sheet.problem("num_hidden_layers", f"{found:,} layers are more than the {MOST_LAYERS:,} that are read")
        return 1
    return found


def head_dim(sheet: Sheet, hidden: int, heads: int, missing: int | None = None) -> int:
    """Return elements per head: the key's, else what the class takes, else hidden over heads."""
    ruled = missing is None
    if ruled and not sheet.has("head_dim") and hidden % heads and not sheet.failed:
        sheet.problem("num_attention_heads", f"{hidden} is no multiple of {heads} heads, and no 'head_dim' is given")
    by_rule = max(hidden // heads, 1)
    missing = by_rule if missing is None else missing
    return sheet.count("head_dim", missing, by_rule, rule=ruled or "head_dim" in sheet.data)


def kv_heads(sheet: Sheet, heads: int, missing: int | None = None, *, required: bool = False) -> int:
    """Return key/value heads: the key's, else what the class takes, which is all heads for null."""
    if required and missing is None:
        found = sheet.count("num_key_value_heads", None, heads, rule=True)
    else:
        ruled = missing is None or "num_key_value_heads" in sheet.data
        found = sheet.count("num_key_value_heads", heads if missing is None else missing, heads, rule=ruled)
    if heads % found and not sheet.failed:
        sheet.problem("num_key_value_heads", f"{heads} heads are no multiple of {found} key/value heads")
    return found


def rotary(sheet: Sheet, dim: int, default: float = 1.0) -> dict[str, int]:
    """Return the rotated elements of a head, where they are not all."""
    if sheet.data.get("rotary_dim") is not None:
        found = sheet.count("rotary_dim")
        return {"rotary": found} if found != dim else {}
    share = _share(sheet, default)
    return {"rotary": round(dim * share)} if share != 1 else {}


def _share(sheet: Sheet, default: float) -> float:
    nested = sheet.data.get("rope_parameters")
    places = (sheet.data, nested if isinstance(nested, dict) else {})
    if default != 1 and not any(place.get("partial_rotary_factor") for place in places):
        sheet.log.defaults.append(f"{sheet.word('partial_rotary_factor')} {default}")
    found = next((place["partial_rotary_factor"] for place in places if place.get("partial_rotary_factor")), default)
    key = "partial_rotary_factor"
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 1:
        sheet.problem(key if key in sheet.data else "rope_parameters", f"'{key}': expected a share above 0 up to 1")
        return 1.0
    return float(found)


def rename(sheet: Sheet, other: str, name: str) -> None:
    """Let `other` stand for `name`, as the class does."""
    if other in sheet.data and name not in sheet.data:
        sheet.data = {**sheet.data, name: sheet.data[other]}
        sheet.document.marks[(*sheet.path, name)] = sheet.document.mark((*sheet.path, other))
        sheet.skip(other)


def heads_group(family: str, layers: int, heads: int, kv: int, dim: int, **more: Any) -> dict[str, Any]:
    """Return a group of layers with K/V heads as a model's file writes it; false and None are left out."""
    value_dim = more.pop("value_dim", dim)
    group = {"family": family, "layers": layers, "heads": heads, "kv_heads": kv, "key_dim": dim, "value_dim": value_dim}
    return group | {key: value for key, value in more.items() if value is not None and value is not False}


def split_layers(sliding: Sequence[bool], window: int | None, group: dict[str, Any]) -> list[dict[str, Any]]:
    """Return `group` as layers with the whole context and, where any, layers with a window."""
    windowed = sum(sliding) if window else 0
    found = [group | {"layers": len(sliding) - windowed}] if windowed < len(sliding) else []
    if windowed and window:
        found.append(group | {"family": "sliding_window", "layers": windowed, "window": window})
    return found


FULL = "full_attention"
SLIDING = "sliding_attention"


def sliding_layers(sheet: Sheet, layers: int, default: Callable[[int], bool], rule: str) -> list[bool]:
    """Return per layer whether it has a window: from ``layer_types``, else as the class's `rule` says."""
    words = sheet.words("layer_types", (FULL, SLIDING), layers)
    if words is not None:
        return [word == SLIDING for word in words]
    if "layer_types" not in sheet.failed:
        sheet.log.defaults.append(f"{sheet.word('layer_types')} {rule}")
    return [default(i) for i in range(layers)]


def dense_first(sheet: Sheet, layers: int, missing: int | None = None) -> list[str]:
    """Return per layer ``dense`` or ``expert`` from ``first_k_dense_replace`` and ``mlp_layer_types``."""
    words = sheet.words("mlp_layer_types", ("dense", "sparse"), layers)
    if words is None:
        first = sheet.whole("first_k_dense_replace", missing)
        return ["dense" if i < first else "expert" for i in range(layers)]
    feeds = ["dense" if word == "dense" else "expert" for word in words]
    if sheet.has("first_k_dense_replace"):
        first = sheet.whole("first_k_dense_replace")
        if feeds != ["dense" if i < first else "expert" for i in range(layers)] and not sheet.failed:
            sheet.problem("mlp_layer_types", "'mlp_layer_types' and 'first_k_dense_replace' disagree")
    return feeds


def fill_feeds(draft: Draft, feeds: Sequence[str], dense_size: int, **experts: Any) -> None:
    """Write the feed-forward layers: how many are dense, how many have experts, and their sizes."""
    n_dense = sum(feed in ("dense", "both") for feed in feeds)
    n_experts = sum(feed in ("expert", "both") for feed in feeds)
    draft.feeds = feeds
    if n_dense:
        draft.feed_forward |= {"dense_layers": n_dense, "dense_size": dense_size}
    if n_experts:
        kept = {key: value for key, value in experts.items() if value is not None and value is not False}
        draft.feed_forward |= {"expert_layers": n_experts} | kept


def check_experts(sheet: Sheet, experts_key: str, active_key: str, experts: int, active: int) -> None:
    """Refuse more experts per token than there are."""
    if active > experts and not sheet.failed:
        sheet.problem(active_key, f"{active} experts per token of {experts} ('{experts_key}')")
