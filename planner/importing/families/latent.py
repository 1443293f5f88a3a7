"""Decoders with latent attention, dense or behind an indexer: DeepSeek, Kimi, GLM, Mistral 4."""

from __future__ import annotations

from typing import Any

from planner.importing.draft import LATENT, Draft, Names, under
from planner.importing.families.base import Source, dense_first, layers_of, reads, start
from planner.importing.families.experts import SHARED_MANY, routed
from planner.importing.sheet import BY_ITS_RULE, Derived, Sheet

INDEXER = under("self_attn.indexer", "wq_b", "wk")


def latent_names(group: dict[str, Any]) -> Names:
    """Return how checkpoints call the matrices of a group with latent attention."""
    queries = ("q_a_proj", "q_b_proj") if group["query_rank"] else ("q_proj",)
    indexer_names = INDEXER if group["family"] == "dsa" else ()
    return Names(attention=(*under("self_attn", *queries, *LATENT), *indexer_names), shared=SHARED_MANY.shared)


def latent_group(sheet: Sheet, layers: int, family: str = "mla") -> dict[str, Any]:
    """Return a group of layers with latent attention."""
    nope, rope = sheet.count("qk_nope_head_dim"), sheet.whole("qk_rope_head_dim")
    if sheet.has("qk_head_dim") and not sheet.failed:
        sheet.must("qk_head_dim", int(nope + rope), "the sum of 'qk_nope_head_dim' and 'qk_rope_head_dim'")
    sheet.must("attention_bias", False, "biases are not known of latent attention")
    sheet.skip("head_dim", "num_key_value_heads")
    return {
        "family": family, "layers": layers, "heads": sheet.count("num_attention_heads"),
        "rank": sheet.count("kv_lora_rank"), "rope": rope, "nope": nope, "value_dim": sheet.count("v_head_dim"),
        "query_rank": sheet.whole("q_lora_rank", null=0),
    }  # fmt: skip


def read_latent(source: Source, first_missing: int | None = None, *, bias: bool = True) -> tuple[Draft, int]:
    """Return a draft with experts but without attention, and its layers."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    sheet.must("mlp_bias", False, "biases of feed-forward layers are not known of this type")
    if isinstance(sheet.data.get("moe_layer_freq"), list):
        bits = sheet.bits("moe_layer_freq", layers)
        feeds = ["expert" if bit else "dense" for bit in bits or [True] * layers]
        if sheet.has("first_k_dense_replace") and feeds != dense_first(sheet, layers) and not sheet.failed:
            sheet.problem("moe_layer_freq", "'moe_layer_freq' and 'first_k_dense_replace' disagree")
    else:
        sheet.must("moe_layer_freq", 1, "experts in every layer after the dense ones")
        feeds = dense_first(sheet, layers, first_missing)
    routed(source, draft, feeds, "n_routed_experts", "n_shared_experts", bias)
    return draft, layers


@reads("deepseek_v2", "deepseek_v3", "kimi_k2", "glm4_moe_lite", "mistral4")
def read_dense_latent(source: Source) -> Draft:
    """Read a decoder whose latent attention reads the whole context."""
    sheet, kind = source.text, source.model_type
    methods = ("noaux_tc", "greedy", "group_limited_greedy")
    default = {"deepseek_v2": "greedy", "mistral4": "greedy"}.get(kind, "noaux_tc")
    corrected = sheet.text("topk_method", methods, default) == "noaux_tc"
    first = {"deepseek_v2": 0, "glm4_moe_lite": 1, "mistral4": 0}.get(kind)
    draft, layers = read_latent(source, first, bias=corrected)
    draft.attention = [latent_group(sheet, layers)]
    draft.names = latent_names(draft.attention[0])
    draft.draft_layers = _drafts(source)
    return draft


def _drafts(source: Source) -> int:
    """Return the number of draft layers.

    The class of DeepSeek-V3 takes one without a key. Its kin hold none, one or more, whatever the
    class takes, so that the key must say it. Kimi-VL's files never do: they hold none, as their
    count of parameters shows. Types that never had any take none.
    """
    sheet, key = source.text, "num_nextn_predict_layers"
    if source.model_type in ("deepseek_v2", "mistral4"):
        return sheet.whole(key, 0)
    whole = source.outer.data.get("model_type") if source.outer is not None else None
    if whole == "kimi_vl" and not sheet.has(key):
        sheet.log.notes.append(f"without '{key}', which the class takes as 1: released files of Kimi-VL hold no draft "
                               "layers, as their count of parameters shows")  # fmt: skip
        return 0
    return sheet.whole(key)


@reads("deepseek_v32", "glm_moe_dsa")
def read_sparse_latent(source: Source) -> Draft:
    """Read a decoder whose latent attention reads what an indexer picks."""
    sheet = source.text
    draft, layers = read_latent(source, 3)
    group = latent_group(sheet, layers, "dsa")
    sheet.words("layer_types", ("deepseek_sparse_attention", "indexed_attention"), layers)
    owners: int = layers
    if source.model_type != "deepseek_v32":
        owners, draft.indexed = indexers(sheet, layers)
    draft.attention = [group | indexer(sheet, owners)]
    sheet.must("topk_method", "noaux_tc", "routers with a correction per expert")
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    draft.names = latent_names(group)
    return draft


def indexer(sheet: Sheet, owners: int) -> dict[str, Any]:
    """Return the part of a group that tells its indexer."""
    return {
        "indexer_layers": owners, "indexer_heads": sheet.count("index_n_heads"),
        "indexer_dim": sheet.count("index_head_dim"), "topk": sheet.count("index_topk"),
    }  # fmt: skip


def indexers(sheet: Sheet, layers: int) -> tuple[int, list[bool]]:
    """Return how many layers own an indexer, and which: listed, as a pattern of F and S, or one in so many."""
    pattern = sheet.raw("index_topk_pattern", None)
    if isinstance(pattern, str):
        words = ["full" if sign == "F" else "shared" for sign in pattern]
        if set(pattern) - set("FS") or len(pattern) != layers:
            sheet.problem("index_topk_pattern", f"'index_topk_pattern': expected {layers} letters F or S")
    else:
        words = sheet.words("index_topk_pattern", ("full", "shared"), layers) or []
    frequency = sheet.count("index_topk_freq", 1, 1)
    offset = sheet.whole("index_skip_topk_offset", 2, 2)
    ruled = ["shared" if max(i - offset + 1, 0) % frequency else "full" for i in range(layers)]
    listed = sheet.words("indexer_types", ("full", "shared"), layers)
    given = "index_topk_freq" in sheet.data
    if listed and not sheet.failed and ((words and listed != words) or (given and not words and listed != ruled)):
        other = "index_topk_pattern" if words else "index_topk_freq"
        sheet.problem("indexer_types", f"'indexer_types' and '{other}' disagree")
    owns = [word == "full" for word in listed or words or ruled]
    if not any(owns):
        sheet.problem("indexer_types", "no layer owns an indexer")
    found = max(sum(owns), 1)
    # A list of the wrong length is an error already.
    owns = owns if len(owns) == layers else []
    return (found if listed or words or given else Derived(found, BY_ITS_RULE)), owns
