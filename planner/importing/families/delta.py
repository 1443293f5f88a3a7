"""Hybrids with a delta rule: Qwen3-Next and later, Kimi-Linear and Kimi-K3."""

from __future__ import annotations

from typing import Any

from planner.errors import nearest
from planner.importing.draft import Draft, Names, under
from planner.importing.families.base import (
    FULL,
    Source,
    check_experts,
    dense_first,
    fill_feeds,
    layers_of,
    reads,
    rename,
    start,
)
from planner.importing.families.dense import Kin, read_heads
from planner.importing.families.experts import SHARED_MANY, SHARED_ONE, dense_size, routed, sparse_steps
from planner.importing.families.latent import latent_group, latent_names
from planner.importing.sheet import Sheet

LINEAR = "linear_attention"
NEXT_LINEAR = under("linear_attn", "in_proj_qkvz", "out_proj")
QWEN_LINEAR = under("linear_attn", "in_proj_qkv", "in_proj_z", "out_proj")
KDA_LINEAR = under("self_attn", "q_proj", "k_proj", "v_proj", "o_proj", "f_a_proj", "f_b_proj", "g_a_proj", "g_b_proj")


@reads("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
def read_delta(source: Source) -> Draft:
    """Read a Qwen whose layers mostly carry a state."""
    sheet, first = source.text, source.model_type == "qwen3_next"
    draft = start(source)
    layers = layers_of(sheet)
    states = _states(sheet, layers)
    full = read_heads(source, Kin(head_dim=256, head_norms=True, output_bias=False, rotary=0.25), draft, layers)
    sheet.must("attention_bias", False, "biases are not known of this type")
    if first:
        sheet.must("attn_output_gate", True, "queries with a gate beside them")
    # Both classes gate the output; later files say so with a key.
    gate = sheet.flag("attn_output_gate", True)
    if not all(states):
        draft.attention.append(full | {"layers": states.count(False)} | ({"gate": True} if gate else {}))
    if any(states):
        draft.attention.append(_delta_group(sheet, sum(states), first))
    _delta_feeds(source, draft, layers)
    draft.states = states
    if first:
        # Neither the published file nor its class has such a key, but the published weights hold a draft layer.
        draft.drafts_untold = not sheet.has("num_nextn_predict_layers")
        draft.draft_layers = 0 if draft.drafts_untold else sheet.whole("num_nextn_predict_layers")
        sheet.must("use_sliding_window", False, "no window")
    else:
        draft.draft_layers = sheet.whole("mtp_num_hidden_layers", 0)
    sheet.must("mtp_use_dedicated_embeddings", False, "draft layers that share the embedding")
    return draft


def _states(sheet: Sheet, layers: int) -> list[bool]:
    words = sheet.words("layer_types", (FULL, LINEAR), layers)
    every = sheet.count("full_attention_interval", 4)
    if words is None:
        return [bool((i + 1) % every) for i in range(layers)]
    states = [word == LINEAR for word in words]
    if "full_attention_interval" in sheet.data and states != [bool((i + 1) % every) for i in range(layers)]:
        sheet.problem("layer_types", "'layer_types' and 'full_attention_interval' disagree")
    return states


def _delta_group(sheet: Sheet, layers: int, first: bool) -> dict[str, Any]:
    # Without a key the state is kept as the activations are.
    kind = sheet.text("mamba_ssm_dtype", ("float32", "bfloat16", "float16"), "bfloat16" if first else None)
    return {
        "family": "gdn", "layers": layers, "key_heads": sheet.count("linear_num_key_heads"),
        "value_heads": sheet.count("linear_num_value_heads"), "key_dim": sheet.count("linear_key_head_dim"),
        "value_dim": sheet.count("linear_value_head_dim"), "kernel": sheet.count("linear_conv_kernel_dim"),
        "state_type": "fp32" if kind == "float32" else "bf16",
    }  # fmt: skip


def _delta_feeds(source: Source, draft: Draft, layers: int) -> None:
    sheet = source.text
    linear = NEXT_LINEAR if source.model_type == "qwen3_next" else QWEN_LINEAR
    draft.names = Names(linear_attention=linear, shared=SHARED_ONE.shared)
    if source.model_type == "qwen3_5_text":
        sheet.skip("mlp_only_layers")
        fill_feeds(draft, ["dense"] * layers, sheet.count("intermediate_size"))
        return
    feeds = sparse_steps(sheet, layers) if source.model_type == "qwen3_next" else ["expert"] * layers
    if source.model_type == "qwen3_5_moe_text" and sheet.items("mlp_only_layers"):
        sheet.problem("mlp_only_layers", "dense layers are not known of this type")
    experts, active = sheet.count("num_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_experts", "num_experts_per_tok", experts, active)
    fill_feeds(draft, feeds, dense_size(sheet, feeds), experts=experts, active_experts=active,
               expert_size=sheet.count("moe_intermediate_size"), shared_gate=True,
               shared_size=sheet.count("shared_expert_intermediate_size"))  # fmt: skip


@reads("kimi_linear")
def read_kimi_linear(source: Source) -> Draft:
    """Read a Kimi-Linear or the language model of a Kimi-K3."""
    sheet = source.text
    key = "max_position_embeddings" if "max_position_embeddings" in sheet.data else "model_max_length"
    sheet.skip("model_max_length")
    draft = start(source, False, key)
    layers = layers_of(sheet)
    sheet.must("moe_layer_freq", 1, "experts in every layer after the dense ones")
    rename(sheet, "num_experts_per_token", "num_experts_per_tok")
    routed(source, draft, dense_first(sheet, layers, 1), "num_experts", "num_shared_experts")
    linear = sheet.below("linear_attn_config")
    if linear is None:
        sheet.problem(None, "the key 'linear_attn_config' is missing; expected the layers with a state", "add it")
        return draft
    states = _kimi_states(linear, layers)
    full = latent_group(sheet, states.count(False) or 1)
    sheet.must("mla_use_nope", True, "latent attention without positions")
    full |= {"gate": True} if sheet.flag("mla_use_output_gate", False) else {}
    group = {
        "family": "kda", "layers": sum(states), "heads": linear.count("num_heads"), "dim": linear.count("head_dim"),
        "kernel": linear.count("short_conv_kernel_size"), "state_type": "fp32",
    }  # fmt: skip
    group |= {"full_rank_gate": True} if linear.flag("use_full_rank_gate", False) else {}
    linear.skip("gate_lower_bound", "safe_gate")
    unknown(linear)
    draft.attention = ([full] if not all(states) else []) + ([group] if any(states) else [])
    draft.states = states
    draft.names = Names(attention=latent_names(full).attention, linear_attention=KDA_LINEAR, shared=SHARED_MANY.shared)
    draft.draft_layers = sheet.whole("num_nextn_predict_layers", 0)
    _third_generation(sheet, draft, layers)
    return draft


def unknown(sheet: Sheet) -> None:
    """Refuse keys of a nested mapping that nobody read."""
    for key in sheet.data.keys() - sheet.known:
        sheet.problem(key, f"unknown key '{sheet.word(key)}'", nearest(key, sheet.known), at_key=True)


def _kimi_states(linear: Sheet, layers: int) -> list[bool]:
    """Return per layer whether it has a state; the two lists count from 1 and share the layers out."""
    lists = [linear.items("kda_layers"), linear.items("full_attn_layers")]
    if any(one is None for one in lists):
        linear.problem(None, "the keys 'kda_layers' and 'full_attn_layers' must list the layers", "add them")
        return [False] * layers
    kda, full = (list(one or ()) for one in lists)
    both = kda + full
    if any(isinstance(i, bool) or not isinstance(i, int) for i in both) or sorted(both) != list(range(1, layers + 1)):
        linear.problem("kda_layers", f"'kda_layers' and 'full_attn_layers' do not share out the layers 1 to {layers}")
        return [False] * layers
    return [i in set(kda) for i in range(1, layers + 1)]


def _third_generation(sheet: Sheet, draft: Draft, layers: int) -> None:
    """Write what Kimi-K3 adds: experts at a narrower width, and residuals that look back."""
    width = sheet.optional("routed_expert_hidden_size", None)
    normed = sheet.flag("latent_moe_use_norm", False)
    expert_layers = draft.feed_forward.get("expert_layers", 0)
    if width:
        draft.feed_forward["expert_hidden"] = width
        draft.add_extra("norms of narrow experts", expert_layers * width * normed, "none")
    if sheet.optional("attn_res_block_size", None):
        draft.add_extra("residuals that look back", (4 * layers + 2) * draft.hidden, "none")
