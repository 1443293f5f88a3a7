"""Decoders that stand alone: Llama 4, MiniMax-M2 and M3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planner.importing.draft import GATED, Draft, Names, under
from planner.importing.families.base import (
    MOST_LAYERS,
    Source,
    check_experts,
    dense_first,
    fill_feeds,
    heads_group,
    kv_heads,
    layers_of,
    reads,
    rotary,
    start,
)
from planner.importing.families.dense import Kin, read_heads
from planner.importing.families.experts import BLOCK
from planner.importing.sheet import Sheet


@reads("llama4_text")
def read_llama4(source: Source) -> Draft:
    """Read a Llama 4: three of four layers see their own chunk only."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    group = read_heads(source, Kin(head_dim=128), draft, layers)
    sheet.skip("use_qk_norm")  # Norms without weights.
    chunk = sheet.optional("attention_chunk_size", 8192)
    local = _local_layers(sheet, layers)
    n_local = sum(local) if chunk else 0
    draft.attention = [group | {"layers": layers - n_local}] if n_local < layers else []
    if n_local:
        draft.attention.append(group | {"family": "chunked", "layers": n_local, "chunk": chunk})
    _llama4_feeds(sheet, draft, layers)
    return draft


def _local_layers(sheet: Sheet, layers: int) -> list[bool]:
    words = sheet.words("layer_types", ("full_attention", "chunked_attention"), layers)
    every = sheet.count("no_rope_layer_interval", 4)
    given = sheet.raw("no_rope_layers", None)
    rope = None if given == [] else sheet.bits("no_rope_layers", layers)
    local = rope or [bool((i + 1) % every) for i in range(layers)]
    if words is not None:
        named = [word == "chunked_attention" for word in words]
        if rope is not None and named != rope:
            sheet.problem("layer_types", "'layer_types' and 'no_rope_layers' disagree")
        return named
    return local


def _llama4_feeds(sheet: Sheet, draft: Draft, layers: int) -> None:
    step = sheet.count("interleave_moe_layer_step", 1)
    listed = sheet.items("moe_layers")
    ruled = list(range(step - 1, layers, step)) if step <= MOST_LAYERS else []
    if listed is not None and listed != ruled:
        sheet.problem("moe_layers", "'moe_layers' and 'interleave_moe_layer_step' disagree")
    feeds = ["expert" if i in set(ruled) else "dense" for i in range(layers)]
    dense = sheet.count("intermediate_size_mlp") if "dense" in feeds else 0
    sheet.skip("intermediate_size_mlp")
    experts, active = sheet.count("num_local_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_local_experts", "num_experts_per_tok", experts, active)
    fill_feeds(draft, feeds, dense, experts=experts, active_experts=active, shared_experts=1,
               expert_size=sheet.count("intermediate_size"))  # fmt: skip
    draft.names = Names(
        dense=under("feed_forward", *GATED), shared=under("feed_forward.shared_expert", *GATED),
        experts="feed_forward.experts",     )  # fmt: skip


@reads("minimax_m2")
def read_minimax_m2(source: Source) -> Draft:
    """Read a MiniMax-M2: experts in every layer, norms over all heads together."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    heads = sheet.count("num_attention_heads")
    dim = sheet.count("head_dim", 128)
    normed = sheet.flag("use_qk_norm", True)
    kind = sheet.text("qk_norm_type", ("per_layer", "per_head"), "per_layer")
    draft.attention = [heads_group(
        "gqa", layers, heads, kv_heads(sheet, heads, required=True), dim,
        projection_norms=normed and kind == "per_layer", head_norms=normed and kind == "per_head", **rotary(sheet, dim),
    )]  # fmt: skip
    listed = sheet.items("attn_type_list", layers)
    if listed is not None and any(isinstance(one, bool) or one != 1 for one in listed):
        sheet.problem("attn_type_list", "'attn_type_list': layers other than 1, the whole context, are not known")
    experts, active = sheet.count("num_local_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_local_experts", "num_experts_per_tok", experts, active)
    shared = sheet.whole("shared_intermediate_size", 0)
    fill_feeds(draft, ["expert"] * layers, 0, experts=experts, active_experts=active, shared_size=shared or None,
               expert_size=sheet.count("intermediate_size"),
               router_bias=sheet.flag("use_routing_bias", True))  # fmt: skip
    sheet.must("sliding_window", None, "no window")
    sheet.must("attention_bias", False, "biases are not known of this type")
    draft.names = BLOCK
    sheet.skip("mlp_intermediate_size", "shared_moe_mode")  # Of dense and shared layers, of which there are none.
    _no_drafts(sheet, draft)
    return draft


def _no_drafts(sheet: Sheet, draft: Draft) -> None:
    """Note draft modules that a configuration names; their weights are no part of the main files."""
    modules = sheet.data.get("num_mtp_modules")
    sheet.skip("num_mtp_modules", "use_mtp", "mtp_transformer_layers")
    if modules and not draft.draft_layers:
        sheet.log.notes.append(f"the configuration names {modules} draft modules; no weights of theirs are counted")


@reads("minimax_m3", "minimax_m3_vl_text")
def read_minimax_m3(source: Source) -> Draft:
    """Read a MiniMax-M3: an indexer picks blocks in all but the first layers."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    heads, dim = sheet.count("num_attention_heads"), sheet.count("head_dim", 128)
    sheet.must("use_qk_norm", True, "norms of queries and keys")
    sheet.must("qk_norm_type", "per_head", "norms of queries and keys per head")
    sheet.must("attention_output_gate", False, "no gate")
    group = heads_group("gqa", layers, heads, kv_heads(sheet, heads, required=True), dim, head_norms=True,
                        **rotary(sheet, dim))  # fmt: skip
    blocks, draft.indexed = _blocks(sheet, layers)
    draft.attention = [group | blocks]
    feeds = _m3_feeds(sheet, layers)
    experts, active = sheet.count("num_local_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "num_local_experts", "num_experts_per_tok", experts, active)
    size = sheet.count("intermediate_size")
    sheet.must("moe_intermediate_size", int(size), "as 'intermediate_size'")
    shared = sheet.whole("n_shared_experts", 1)
    fill_feeds(draft, feeds, sheet.count("dense_intermediate_size"), experts=experts, active_experts=active,
               expert_size=size, shared_size=shared * sheet.count("shared_intermediate_size") or None,
               router_bias=sheet.flag("use_routing_bias", True))  # fmt: skip
    draft.names = replace(BLOCK, attention=(*BLOCK.attention, *under("self_attn", "index_q_proj", "index_k_proj")))
    draft.draft_layers = sheet.whole("num_nextn_predict_layers", 0)
    _no_drafts(sheet, draft)
    return draft


def _m3_feeds(sheet: Sheet, layers: int) -> list[str]:
    bits = sheet.bits("moe_layer_freq", layers)
    if bits is None and "moe_layer_freq" not in sheet.failed:
        sheet.problem(None, "the key 'moe_layer_freq' is missing; expected a list of zeros and ones", "add it")
    feeds = ["expert" if bit else "dense" for bit in bits or [True] * layers]
    if sheet.has("first_k_dense_replace") and feeds != dense_first(sheet, layers) and not sheet.failed:
        sheet.problem("moe_layer_freq", "'moe_layer_freq' and 'first_k_dense_replace' disagree")
    return feeds


def _blocks(sheet: Sheet, layers: int) -> tuple[dict[str, Any], list[bool]]:
    """Return the part of the group that tells its indexer, and which layers own one."""
    from planner.importing.families.delta import unknown

    sparse = sheet.below("sparse_attention_config")
    if sparse is None:
        sheet.problem(None, "the key 'sparse_attention_config' is missing; expected the indexer's sizes", "add it")
        return {}, []
    sparse.must("use_sparse_attention", True, "layers with an indexer")
    bits = sparse.bits("sparse_attention_freq", layers)
    if bits is None and "sparse_attention_freq" not in sparse.failed:
        sparse.problem(None, "the key 'sparse_attention_freq' is missing; expected a list of zeros and ones", "add it")
    if bits is not None and not any(bits):
        sparse.problem("sparse_attention_freq", "no layer owns an indexer")
    sparse.skip("sparse_disable_index_value", "sparse_score_type", "sparse_init_block", "sparse_local_block")
    found = {
        "family": "indexed_gqa", "indexer_layers": max(sum(bits or ()), 1),
        "indexer_heads": sparse.count("sparse_num_index_heads"), "indexer_dim": sparse.count("sparse_index_dim"),
        "selected": sparse.count("sparse_topk_blocks") * sparse.count("sparse_block_size"),
    }  # fmt: skip
    unknown(sparse)
    return found, bits or []
