"""Decoders that mix layers with a window and layers with the whole context: gpt-oss, MiMo-V2, Step."""

from __future__ import annotations

from typing import Any

from planner.importing.draft import Draft, Names
from planner.importing.families.base import (
    FULL,
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
    rename,
    sliding_layers,
    split_layers,
    start,
)
from planner.importing.families.delta import unknown
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


@reads("step3p5", "step3p7")
def read_step(source: Source) -> Draft:
    """Read a Step 3.5 or 3.7: three dense layers, experts with one shared, windows in most layers."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    for other, name in _STEP_NAMES.items():
        rename(sheet, other, name)
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    draft.attention = _step_groups(sheet, layers, draft.draft_layers)
    sheet.must("attention_bias", False, "biases are not known of this type")
    experts, active = sheet.count("num_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_experts", "num_experts_per_tok", experts, active)
    feeds = _step_feeds(sheet, layers)
    dense = sheet.count("intermediate_size")
    fill_feeds(draft, feeds, dense, experts=experts, active_experts=active,
               shared_experts=sheet.count("n_shared_experts", 1), shared_size=sheet.count("share_expert_dim"),
               expert_size=sheet.count("moe_intermediate_size"),
               router_bias=sheet.flag("use_moe_router_bias"))  # fmt: skip
    draft.names = SHARED_MANY
    if draft.draft_layers and "dense" in feeds:
        draft.feed_forward["dense_drafts"] = True
        sheet.log.notes.append("draft layers are dense, and counted with the whole context")
    # A gate per head weighs the output of attention; not every form of the file says so.
    sheet.must("use_head_wise_attn_gate", True, "a gate per head")
    gates = sum(group["layers"] * group["heads"] for group in draft.attention)
    draft.add_extra("attention gates per head", draft.hidden * gates)
    return draft


_STEP_NAMES = {
    "num_attention_groups": "num_key_value_heads", "moe_num_experts": "num_experts",
    "n_routed_experts": "num_experts", "moe_top_k": "num_experts_per_tok", "share_expert_dims": "share_expert_dim",
}  # fmt: skip
"""Its own words for what other classes call otherwise."""


def _step_groups(sheet: Sheet, layers: int, drafts: int) -> list[dict[str, Any]]:
    """Return its layers with and without a window, which have heads of their own number."""
    _without_drafts(sheet, "layer_types", layers, drafts)
    _without_drafts(sheet, "partial_rotary_factors", layers, drafts)
    sheet.must("use_qk_norm", True, "norms of queries and keys")
    sheet.skip("need_fp32_gate", "moe_router_activation", "use_rope_layers", "sliding_window")
    words = sheet.words("layer_types", (FULL, SLIDING), layers)
    if words is None and "layer_types" not in sheet.failed:
        sheet.problem(None, "the key 'layer_types' is missing; expected one word per layer", "add it")
    heads = sheet.count("num_attention_heads")
    kv, dim = sheet.count("num_key_value_heads"), sheet.count("head_dim")
    if heads % kv and not sheet.failed:
        sheet.problem("num_key_value_heads", f"{heads} heads are no multiple of {kv} key/value heads")
    shares = _shares(sheet, words or [])
    n_near = (words or []).count(SLIDING)
    groups = []
    if n_near < layers:
        far = {"rotary": round(dim * shares[FULL])} if shares.get(FULL, 1) != 1 else {}
        groups.append(heads_group("gqa", layers - n_near, heads, kv, dim, head_norms=True, **far))
    if n_near:
        heads, kv, dim = _near_heads(sheet, kv, dim)
        near = {"rotary": round(dim * shares[SLIDING])} if shares.get(SLIDING, 1) != 1 else {}
        groups.append(heads_group("sliding_window", n_near, heads, kv, dim, head_norms=True,
                                  window=sheet.count("sliding_window"), **near))  # fmt: skip
    return groups


def _near_heads(sheet: Sheet, kv: int, dim: int) -> tuple[int, int, int]:
    """Return heads, key/value heads and elements per head of layers with a window.

    The class takes those of the other layers without a key. No published file means that, and
    excerpts leave the key out, so that it is required.
    """
    other = sheet.below("attention_other_setting")
    if other is None:
        heads = sheet.count("num_sliding_attention_heads")
    else:
        other.must("attention_type", SLIDING, "the heads of layers with a window")
        heads, kv = other.count("num_attention_heads"), other.count("num_attention_groups")
        dim = other.count("head_dim")
        other.must("true_head_dim", int(dim), "as 'head_dim'")
        unknown(other)
        sheet.must("num_sliding_attention_heads", int(heads), "as in 'attention_other_setting'")
    if heads % kv and not sheet.failed:
        sheet.problem("attention_other_setting", f"{heads} heads are no multiple of {kv} key/value heads")
    return heads, kv, dim


def _without_drafts(sheet: Sheet, key: str, layers: int, drafts: int) -> None:
    """Cut what a list per layer says of draft layers."""
    listed = sheet.data.get(key)
    if isinstance(listed, list) and drafts and len(listed) == layers + drafts:
        sheet.data = {**sheet.data, key: listed[:layers]}


def _shares(sheet: Sheet, words: list[str]) -> dict[str, float]:
    """Return the rotated share of a head by kind of layer, where the file tells it per layer."""
    listed = sheet.items("partial_rotary_factors", len(words)) if words else None
    if any(isinstance(one, bool) or not isinstance(one, int | float) or not 0 < one <= 1 for one in listed or ()):
        sheet.problem("partial_rotary_factors", "'partial_rotary_factors': expected shares above 0 up to 1")
        return {}
    found = {(word, float(share)) for word, share in zip(words, listed or (), strict=False)}
    if len(found) > len(dict(found)):
        sheet.problem("partial_rotary_factors", "'partial_rotary_factors' differ between layers of one kind")
    return dict(found)


def _step_feeds(sheet: Sheet, layers: int) -> list[str]:
    """Return per layer ``dense`` or ``expert``, from the numbers of layers with experts where they are listed."""
    given = sheet.raw("moe_layers_enum", None)
    if given is None:
        return dense_first(sheet, layers)
    items = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, list) or not all(_is_layer(item, layers) for item in items):
        sheet.problem("moe_layers_enum", f"'moe_layers_enum': expected numbers of layers, 0 to {layers - 1}")
        return ["expert"] * layers
    expert = {int(item) for item in items}
    feeds = ["expert" if i in expert else "dense" for i in range(layers)]
    if (sheet.has("first_k_dense_replace") or sheet.has("mlp_layer_types")) and feeds != dense_first(sheet, layers):
        sheet.problem("moe_layers_enum", "'moe_layers_enum' and the key that lists dense layers disagree")
    return feeds


def _is_layer(item: object, layers: int) -> bool:
    digits = isinstance(item, str) and len(item.strip()) < 6 and item.strip().isascii() and item.strip().isdigit()
    whole = isinstance(item, int) and not isinstance(item, bool)
    return (digits or whole) and 0 <= int(str(item)) < layers
