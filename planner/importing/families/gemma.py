"""Gemma of the second generation and later: windows in most layers, caches shared by some."""

from __future__ import annotations

from typing import Any

from planner.importing.draft import Draft, Names
from planner.importing.families.base import (
    Source,
    check_experts,
    fill_feeds,
    head_dim,
    heads_group,
    kv_heads,
    layers_of,
    reads,
    sliding_layers,
    split_layers,
    start,
)
from planner.importing.families.dense import Kin, read_dense_feed, read_heads
from planner.importing.sheet import Sheet


@reads("gemma2")
def read_gemma2(source: Source) -> Draft:
    """Read a Gemma 2: every other layer has a window, outputs are normalised as well."""
    return _gemma(source, Kin(head_dim=256, norms_per_block=2, tied=True), 2)


@reads("gemma3_text")
def read_gemma3(source: Source) -> Draft:
    """Read a Gemma 3: one layer in six sees the whole context, queries and keys are normalised.

    The published files are written as differences from their class, whose sizes are therefore
    taken where a key is missing.
    """
    sheet = source.text
    sheet.class_defaults = {
        "vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 131072,
    }  # fmt: skip
    every = sheet.count("sliding_window_pattern", 6) if not sheet.has("layer_types") else 6
    sheet.skip("sliding_window_pattern", "_sliding_window_pattern")
    return _gemma(source, Kin(head_dim=256, norms_per_block=2, tied=True, head_norms=True), every)


def _gemma(source: Source, kin: Kin, every: int) -> Draft:
    sheet = source.text
    draft = start(source, kin.tied)
    layers = layers_of(sheet)
    group = read_heads(source, kin, draft, layers)
    read_dense_feed(sheet, kin, draft, layers)
    sliding = sliding_layers(sheet, layers, lambda i: bool((i + 1) % every), f"every {every}th of full_attention")
    sheet.must("use_bidirectional_attention", False, "attention in both directions is no decoder's")
    window = sheet.count("sliding_window", 4096)
    sheet.must("sliding_window_size", int(window), "as 'sliding_window'")
    draft.attention = split_layers(sliding, window, group)
    return draft


def two_kinds(sheet: Sheet, draft: Draft, sliding: list[bool], shared: int) -> list[dict[str, Any]]:
    """Return Gemma 4's groups: global layers have heads of their own size; the last `shared` own no KV."""
    heads, dim, kv = sheet.count("num_attention_heads"), sheet.count("head_dim", 256), 0
    kv = sheet.count("num_key_value_heads")
    same = sheet.flag("attention_k_eq_v", False)
    given = sheet.optional("num_global_key_value_heads", None)
    common: dict[str, Any] = {"bias": sheet.flag("attention_bias", False), "head_norms": True}
    common["output_bias"] = common["bias"]
    window, owners = sheet.count("sliding_window", 512), len(sliding) - shared
    groups = []
    if not all(sliding):
        own = sum(not one for one in sliding[:owners])
        wide = heads_group("gqa", sliding.count(False), heads, given if given and same else kv,
                           sheet.count("global_head_dim", 512), **common)  # fmt: skip
        groups.append(wide | ({"stored_layers": own} if shared else {}))
        if same:
            sheet.log.notes.append(
                f"in {own} layers the file holds one matrix for keys and values; engines load it twice, as counted here"
            )
    if any(sliding):
        own = sum(sliding[:owners])
        near = heads_group("sliding_window", sum(sliding), heads, kv, dim, window=window, **common)
        groups.append(near | ({"stored_layers": own} if shared else {}))
    return groups


@reads("gemma4_text")
def read_gemma4(source: Source) -> Draft:
    """Read a Gemma 4: global heads of their own size, experts beside a dense feed-forward."""
    sheet = source.text
    draft = start(source, True)
    layers = layers_of(sheet)
    sliding = sliding_layers(sheet, layers, lambda i: bool((i + 1) % 6), "every 6th of full_attention")
    if sliding and sliding[-1]:
        sheet.log.notes.append("the last layer sees the whole context, whatever 'layer_types' says of it")
        sliding[-1] = False
    shared = _shared_layers(sheet, layers, 0)
    draft.attention = two_kinds(sheet, draft, sliding, shared)
    mixed = sheet.flag("enable_moe_block", False)
    size = sheet.count("intermediate_size")
    sheet.text("use_bidirectional_attention", ("vision", "none"), "none")
    sheet.skip("expert_intermediate_size")
    if mixed:
        _gemma4_experts(sheet, draft, layers, size)
    else:
        sheet.skip("num_experts", "top_k_experts", "moe_intermediate_size")
        fill_feeds(draft, ["dense"] * layers, size)
    if sheet.flag("use_double_wide_mlp", False):
        draft.add_extra("second halves of double-wide feed-forward", shared * 3 * draft.hidden * size)
    draft.norms_per_block = 2
    _per_layer_embeddings(sheet, draft, layers, sheet.whole("hidden_size_per_layer_input", 256))
    return draft


def _gemma4_experts(sheet: Sheet, draft: Draft, layers: int, size: int) -> None:
    experts, active = sheet.count("num_experts"), sheet.count("top_k_experts")
    check_experts(sheet, "num_experts", "top_k_experts", experts, active)
    fill_feeds(draft, ["both"] * layers, size, experts=experts, active_experts=active,
               expert_size=sheet.count("moe_intermediate_size"))  # fmt: skip
    draft.names = Names(experts="experts")
    # Three more norms per layer, a scale per channel of the router and one per expert.
    draft.add_extra("norms and scales around experts", layers * (4 * draft.hidden + experts), "none")


def _shared_layers(sheet: Sheet, layers: int, missing: int) -> int:
    shared = sheet.whole("num_kv_shared_layers", missing)
    if shared >= layers and not sheet.failed:
        sheet.problem("num_kv_shared_layers", f"{shared} layers of {layers} cannot all share the cache of another")
        return 0
    return shared


def _per_layer_embeddings(sheet: Sheet, draft: Draft, layers: int, width: int) -> None:
    vocabulary = sheet.count("vocab_size_per_layer_input", 262144)
    if width:
        draft.add_extra("embeddings per layer", vocabulary * layers * width)
        projections = draft.hidden * layers * width + layers * 2 * draft.hidden * width
        draft.add_extra("projections of embeddings per layer", projections, "none")
        draft.add_extra("norms of embeddings per layer", width + layers * draft.hidden, "none")


@reads("gemma3n_text")
def read_gemma3n(source: Source) -> Draft:
    """Read a Gemma 3n: the last layers share caches, streams are mixed, each layer has embeddings."""
    sheet = source.text
    draft = start(source, True)
    layers = layers_of(sheet)
    shared = _shared_layers(sheet, layers, 15)
    sliding = sliding_layers(sheet, layers, lambda i: bool((i + 1) % 5), "every 5th of full_attention")
    heads, window = sheet.count("num_attention_heads"), sheet.count("sliding_window", 512)
    group = heads_group("gqa", layers, heads, kv_heads(sheet, heads, required=True),
                        head_dim(sheet, draft.hidden, heads, 256), head_norms=True)  # fmt: skip
    sheet.must("attention_bias", False, "biases are not known of this type")
    parts = split_layers(sliding, window, group)
    for part in parts:
        own = sum(one == (part["family"] == "sliding_window") for one in sliding[: layers - shared])
        part["stored_layers"] = own
    draft.attention = parts
    fill_feeds(draft, ["dense"] * layers, _one_size(sheet, layers))
    draft.norms_per_block = 2
    streams, rank = sheet.count("altup_num_inputs", 4), sheet.count("laurel_rank", 64)
    mixing = 3 * draft.hidden + streams**2 + streams**3 + draft.hidden * streams
    draft.add_extra("stream mixing per layer", layers * mixing, "none")
    draft.add_extra("low-rank side paths", layers * (2 * draft.hidden * rank), "none")
    draft.add_extra("stream projections", 2 * (streams - 1) * draft.hidden**2, "none")
    _per_layer_embeddings(sheet, draft, layers, sheet.count("hidden_size_per_layer_input", 256))
    return draft


def _one_size(sheet: Sheet, layers: int) -> int:
    value = sheet.raw("intermediate_size", None)
    if not isinstance(value, list):
        return sheet.count("intermediate_size")
    sizes = sheet.items("intermediate_size", layers)
    whole = [size for size in sizes or () if isinstance(size, int) and not isinstance(size, bool) and size > 0]
    if sizes is None or len(whole) != len(sizes) or len(set(whole)) != 1:
        sheet.problem(
            "intermediate_size", "feed-forward sizes that differ between layers cannot be written in a model's file"
        )
        return 1
    return whole[0]
