"""Decoders that mix layers with a window and layers with the whole context: gpt-oss, MiMo-V2, Step."""

from __future__ import annotations

from typing import Any

from planner.importing.draft import Draft, Names
from planner.importing.families.base import (
    SLIDING,
    Source,
    check_experts,
    dense_first,
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
from planner.importing.families.experts import SHARED_MANY, routed
from planner.importing.sheet import Sheet


@reads("gpt_oss")
def read_gpt_oss(source: Source) -> Draft:
    """Read a gpt-oss: every other layer has a window, heads have sinks, everything has biases."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    heads = sheet.count("num_attention_heads")
    bias = sheet.flag("attention_bias", True)
    group = heads_group("gqa", layers, heads, kv_heads(sheet, heads, required=True),
                        head_dim(sheet, draft.hidden, heads, 64), bias=bias, output_bias=bias, sinks=True)  # fmt: skip
    sliding = sliding_layers(sheet, layers, lambda i: not i % 2, "every 2nd of full_attention")
    draft.attention = split_layers(sliding, sheet.count("sliding_window", 128), group)
    experts, active = sheet.count("num_local_experts"), sheet.count("num_experts_per_tok", 4)
    sheet.must("experts_per_token", int(active), "as 'num_experts_per_tok'")
    check_experts(sheet, "num_local_experts", "num_experts_per_tok", experts, active)
    fill_feeds(draft, ["expert"] * layers, 0, experts=experts, active_experts=active,
               expert_size=sheet.count("intermediate_size"), expert_bias=True)  # fmt: skip
    draft.names = Names(expert_matrices=("gate_up_proj", "down_proj"))
    return draft


@reads("mimo_v2_flash")
def read_mimo_v2(source: Source) -> Draft:
    """Read a MiMo-V2: layers with a window have key/value heads of their own number and size."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    bits = sheet.bits("hybrid_layer_pattern", layers)
    if bits is None and "hybrid_layer_pattern" not in sheet.failed:
        bits = sliding_layers(sheet, layers, lambda i: i != 0 and bool((i + 1) % 6), "every 6th of full_attention")
    window = sheet.count("sliding_window")
    for key in ("sliding_window_size", "attention_chunk_size"):
        sheet.must(key, int(window), "as 'sliding_window'")
    bias = sheet.flag("attention_bias", False)
    near, far = (_mimo_heads(sheet, swa, bias) for swa in ("swa_", ""))
    n_near = sum(bits or ())
    draft.attention = [far | {"layers": layers - n_near}] if n_near < layers else []
    if n_near:
        draft.attention.append(near | {"family": "sliding_window", "layers": n_near, "window": window})
    feeds = _bit_feeds(sheet, layers)
    routed(source, draft, feeds, "n_routed_experts", "n_shared_experts")
    draft.draft_layers = sheet.whole("num_nextn_predict_layers", 0)
    return draft


def _mimo_heads(sheet: Sheet, prefix: str, bias: bool) -> dict[str, Any]:
    near = bool(prefix)
    kind = "add_swa_attention_sink_bias" if near else "add_full_attention_sink_bias"
    heads = sheet.count(f"{prefix}num_attention_heads")
    kv = sheet.count(f"{prefix}num_key_value_heads")
    return heads_group("gqa", 1, heads, kv, sheet.count(f"{prefix}head_dim"),
                       value_dim=sheet.count(f"{prefix}v_head_dim"), bias=bias,
                       sinks=sheet.flag(kind, near))  # fmt: skip


def _bit_feeds(sheet: Sheet, layers: int) -> list[str]:
    bits = sheet.bits("moe_layer_freq", layers)
    if bits is None and "moe_layer_freq" not in sheet.failed:
        sheet.problem(None, "the key 'moe_layer_freq' is missing; expected a list of zeros and ones", "add it")
    return ["expert" if bit else "dense" for bit in bits or [False] * layers]


@reads("step3p7")
def read_step(source: Source) -> Draft:
    """Read a Step 3.7: three dense layers, experts with one shared, windows in most layers."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    heads = sheet.count("num_attention_heads")
    group = heads_group(
        "gqa", layers, heads, kv_heads(sheet, heads, required=True), sheet.count("head_dim"), head_norms=True
    )
    words = sheet.words("layer_types", ("full_attention", SLIDING), layers)
    if words is None and "layer_types" not in sheet.failed:
        sheet.problem(None, "the key 'layer_types' is missing; expected one word per layer", "add it")
    sliding = [word == SLIDING for word in words or ["full_attention"] * layers]
    draft.attention = split_layers(sliding, sheet.count("sliding_window") if any(sliding) else None, group)
    sheet.skip("sliding_window")
    sheet.must("attention_bias", False, "biases are not known of this type")
    experts, active = sheet.count("num_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_experts", "num_experts_per_tok", experts, active)
    feeds = dense_first(sheet, layers)
    dense = sheet.count("intermediate_size")
    fill_feeds(draft, feeds, dense, experts=experts, active_experts=active,
               shared_experts=sheet.count("n_shared_experts"), shared_size=sheet.count("share_expert_dim"),
               expert_size=sheet.count("moe_intermediate_size"),
               router_bias=sheet.flag("use_moe_router_bias"))  # fmt: skip
    draft.names = SHARED_MANY
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    if draft.draft_layers and "dense" in feeds:
        draft.feed_forward["dense_drafts"] = True
        sheet.log.notes.append("draft layers are dense, and counted with the whole context")
    # A gate per head weighs the output of attention; no key of this form of the file says so.
    draft.add_extra("attention gates per head", layers * draft.hidden * heads)
    return draft
