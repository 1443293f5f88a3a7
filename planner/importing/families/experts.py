"""Decoders with K/V heads and routed experts."""

from __future__ import annotations

from planner.importing.draft import GATED, Draft, Names, under
from planner.importing.families.base import (
    Source,
    check_experts,
    dense_first,
    fill_feeds,
    layers_of,
    reads,
    start,
)
from planner.importing.families.dense import Kin, all_windowed, read_heads, switched_layers
from planner.importing.sheet import Sheet

BLOCK = Names(
    dense=under("mlp", *GATED), experts="block_sparse_moe.experts", expert_matrices=("w1", "w2", "w3"),
    shared=under("block_sparse_moe.shared_experts", *GATED),
)  # fmt: skip
SHARED_ONE = Names(shared=under("mlp.shared_expert", *GATED))
SHARED_MANY = Names(shared=under("mlp.shared_experts", *GATED))


def sparse_steps(sheet: Sheet, layers: int) -> list[str]:
    """Return per layer ``dense`` or ``expert`` from ``decoder_sparse_step`` and ``mlp_only_layers``."""
    step = sheet.count("decoder_sparse_step", 1)
    only = sheet.items("mlp_only_layers")
    if only is None:
        sheet.log.defaults.append(f"{sheet.word('mlp_only_layers')} none")
        only = []
    if any(isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < layers for i in only):
        sheet.problem("mlp_only_layers", f"'mlp_only_layers': expected numbers of layers, 0 to {layers - 1}")
        only = []
    return ["dense" if i in only or (i + 1) % step else "expert" for i in range(layers)]


def dense_size(sheet: Sheet, feeds: list[str]) -> int:
    """Return the size of dense layers, which only matters where there are any."""
    if "dense" in feeds:
        return sheet.count("intermediate_size")
    sheet.skip("intermediate_size")
    return 0


@reads("mixtral", "phimoe", "granitemoe")
def read_mixtral(source: Source) -> Draft:
    """Read a decoder with experts in every layer and none shared."""
    sheet, phi = source.text, source.model_type == "phimoe"
    kins = {
        "mixtral": Kin(kv_heads=8, bias="never"),
        "phimoe": Kin(kv_heads=8),
        "granitemoe": Kin(all_heads=True),
    }
    draft = start(source)
    layers = layers_of(sheet)
    group = read_heads(source, kins[source.model_type], draft, layers)
    experts, active = sheet.count("num_local_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_local_experts", "num_experts_per_tok", experts, active)
    fill_feeds(draft, ["expert"] * layers, 0, experts=experts, active_experts=active,
               expert_size=sheet.count("intermediate_size"))  # fmt: skip
    draft.names = BLOCK
    draft.attention = [group]
    if source.model_type != "granitemoe":
        draft.attention = all_windowed(sheet, draft, group, layers)
    if phi:  # Norms with biases, and a head with one.
        draft.norms_per_block = 2
        draft.add_extra("final norm's bias", draft.hidden, "none")
        draft.add_extra("output head's bias", draft.vocabulary * sheet.flag("lm_head_bias", False), "none")
    return draft


@reads("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text")
def read_qwen_moe(source: Source) -> Draft:
    """Read a Qwen with routed experts; those of the second generation share one as well."""
    sheet, second = source.text, source.model_type == "qwen2_moe"
    kin = Kin(bias="qkv_bias", bias_default=True, output_bias=False) if second else Kin(head_norms=True)
    draft = start(source)
    layers = layers_of(sheet)
    group = read_heads(source, kin, draft, layers)
    draft.attention = switched_layers(sheet, group, layers)
    feeds = sparse_steps(sheet, layers)
    experts, active = sheet.count("num_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_experts", "num_experts_per_tok", experts, active)
    shared = sheet.whole("shared_expert_intermediate_size") if second else None
    fill_feeds(draft, feeds, dense_size(sheet, feeds), experts=experts, active_experts=active,
               expert_size=sheet.count("moe_intermediate_size"), shared_size=shared or None,
               shared_gate=bool(shared))  # fmt: skip
    draft.names = SHARED_ONE
    if not second:
        sheet.must("shared_expert_intermediate_size", 0, "no shared expert")
        sheet.must("qkv_bias", False, "biases are told by 'attention_bias'")
        sheet.must("use_qk_norm", True, "norms of queries and keys")
    return draft


@reads("glm4_moe")
def read_glm4_moe(source: Source) -> Draft:
    """Read a GLM of the fourth generation with experts."""
    sheet = source.text
    norms = sheet.flag("use_qk_norm", False)
    draft = start(source)
    layers = layers_of(sheet)
    group = read_heads(source, Kin(output_bias=False, head_norms=norms, rotary=0.5), draft, layers)
    draft.attention = [group]
    routed(source, draft, dense_first(sheet, layers), "n_routed_experts", "n_shared_experts")
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    return draft


def routed(
    source: Source, draft: Draft, feeds: list[str], experts_key: str, shared_key: str, bias: bool = True
) -> None:
    """Write experts with a correction per router, and shared ones of the same size."""
    sheet = source.text
    experts, active = sheet.count(experts_key), sheet.count("num_experts_per_tok")
    for other in {"num_experts", "num_local_experts", "n_routed_experts"} - {experts_key}:
        sheet.must(other, int(experts), f"as '{experts_key}'")
    check_experts(sheet, experts_key, "num_experts_per_tok", experts, active)
    fill_feeds(draft, feeds, dense_size(sheet, feeds), experts=experts, active_experts=active,
               shared_experts=sheet.whole(shared_key, null=0) or None,
               expert_size=sheet.count("moe_intermediate_size"), router_bias=bias)  # fmt: skip
    draft.names = SHARED_MANY


@reads("hy_v3")
def read_hunyuan(source: Source) -> Draft:
    """Read a Hunyuan of the third generation."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    draft.attention = [read_heads(source, Kin(head_dim=128, head_norms=True), draft, layers)]
    sheet.must("mlp_bias", False, "biases of feed-forward layers are not known of this type")
    routed(source, draft, dense_first(sheet, layers, 1), "num_experts", "num_shared_experts")
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    sheet.skip("moe_router_use_sigmoid", "moe_router_enable_expert_bias", "expert_hidden_dim")
    return draft


@reads("ernie4_5_moe")
def read_ernie_moe(source: Source) -> Draft:
    """Read an Ernie with experts in a range of its layers."""
    sheet = source.text
    draft = start(source, True)
    layers = layers_of(sheet)
    draft.attention = [read_heads(source, Kin(bias="use_bias"), draft, layers)]
    first, step = sheet.whole("moe_layer_start_index", 1), sheet.count("moe_layer_interval", 1)
    end = sheet.data.get("moe_layer_end_index", -1)
    last = layers - 1 if end == -1 else sheet.whole("moe_layer_end_index")
    sheet.skip("moe_layer_end_index", "moe_capacity", "moe_use_aux_free", "moe_gate", "moe_group")
    if sheet.whole("num_nextn_predict_layers", 0):
        # Their shape is not that of other layers, and no count of files with them was seen.
        sheet.log.notes.append("the configuration names draft layers; no weights of theirs are counted")
    feeds = ["expert" if first <= i <= last and not (i + 1) % step else "dense" for i in range(layers)]
    experts, active = sheet.count("moe_num_experts"), sheet.count("moe_k")
    check_experts(sheet, "moe_num_experts", "moe_k", experts, active)
    sheet.must("num_experts_per_tok", int(active), "as 'moe_k'")
    fill_feeds(draft, feeds, dense_size(sheet, feeds), experts=experts, active_experts=active,
               shared_experts=sheet.whole("moe_num_shared_experts", null=0) or None,
               expert_size=sheet.count("moe_intermediate_size"), router_bias=True)  # fmt: skip
    draft.names = SHARED_MANY
    return draft
