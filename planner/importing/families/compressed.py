"""DeepSeek-V4: compressed caches beside a short window."""

from __future__ import annotations

from typing import Any

from planner.importing.draft import Draft, Names, under
from planner.importing.families.base import Source, check_experts, fill_feeds, layers_of, reads, start
from planner.importing.sheet import Sheet

SPARSE, DENSE = 4, 128
NAMES = Names(
    attention=under("attn", "wq_a", "wq_b", "wkv", "wo_a", "wo_b"),
    shared=under("ffn.shared_experts", "w1", "w2", "w3"),
    experts="ffn.experts",
    expert_matrices=("w1", "w2", "w3"),
)


@reads("deepseek_v4", "deepseek_ref")
def read_v4(source: Source) -> Draft:
    """Read a DeepSeek-V4; ``deepseek_ref`` is what repackaged files call it."""
    sheet = source.text
    draft = start(source)
    layers = layers_of(sheet)
    draft.attention = [_group(sheet, layers)]
    experts, active = sheet.count("n_routed_experts"), sheet.count("num_experts_per_tok")
    check_experts(sheet, "n_routed_experts", "num_experts_per_tok", experts, active)
    hashed = min(sheet.whole("num_hash_layers"), layers)
    fill_feeds(draft, ["expert"] * layers, 0, experts=experts, active_experts=active,
               shared_experts=sheet.whole("n_shared_experts", null=0) or None,
               expert_size=sheet.count("moe_intermediate_size"))  # fmt: skip
    draft.add_extra("router corrections", (layers - hashed) * experts, "none")
    draft.add_extra("hash routing tables", hashed * draft.vocabulary * active, "none")
    streams = sheet.count("hc_mult")
    mix = (2 + streams) * streams
    each = mix * streams * draft.hidden + mix + 3
    head = streams * streams * draft.hidden + streams + 1
    draft.add_extra("stream mixing", 2 * layers * each + head, "none")
    draft.names = NAMES
    draft.expert_format = _expert_format(sheet)
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    sheet.must("attention_bias", False, "biases are not known of this type")
    sheet.must("mlp_bias", False, "biases are not known of this type")
    sheet.text("topk_method", ("noaux_tc",), "noaux_tc")
    sheet.log.notes.append(
        "stream mixing and router corrections are fp32 and hash tables 32-bit in the engine, here counted as the rest: "
        "under 0.1 % too few bytes"
    )
    return draft


def _expert_format(sheet: Sheet) -> str:
    """Return what experts are kept in where the checkpoint is quantised; engines differ on it without the key."""
    if not sheet.has("quantization_config"):
        sheet.skip("expert_dtype")
        return ""
    return {"fp4": "mxfp4", "fp8": "fp8"}[sheet.text("expert_dtype", ("fp4", "fp8"))]


def _group(sheet: Sheet, layers: int) -> dict[str, Any]:
    ratios = _ratios(sheet, layers)
    sheet.must("num_key_value_heads", 1, "one head that all queries share")
    if not ratios.count(SPARSE) and not sheet.failed:
        sheet.problem("compress_ratios", f"no layer has the ratio {SPARSE}, and so none an indexer")
    return {
        "family": "compressed", "layers": layers, "heads": sheet.count("num_attention_heads"),
        "dim": sheet.count("head_dim"), "rope": sheet.count("qk_rope_head_dim"),
        "query_rank": sheet.count("q_lora_rank"), "output_rank": sheet.count("o_lora_rank"),
        "output_groups": sheet.count("o_groups"), "sparse_layers": max(ratios.count(SPARSE), 1), "sparse_ratio": SPARSE,
        "dense_layers": ratios.count(DENSE), "dense_ratio": DENSE, "window": sheet.count("sliding_window"),
        "indexer_heads": sheet.count("index_n_heads"), "indexer_dim": sheet.count("index_head_dim"),
        "topk": sheet.count("index_topk"),
    }  # fmt: skip


def _ratios(sheet: Sheet, layers: int) -> list[int]:
    """Return the ratio of every layer; the list may go on with those of draft layers."""
    found = sheet.items("compress_ratios")
    if found is None:
        if "compress_ratios" not in sheet.failed:
            sheet.problem(None, "the key 'compress_ratios' is missing; expected one ratio per layer", "add it")
        return [SPARSE]
    odd = [one for one in found if isinstance(one, bool) or not isinstance(one, int) or one not in (0, SPARSE, DENSE)]
    drafts = sheet.data.get("num_nextn_predict_layers", 0)
    if odd:
        sheet.problem("compress_ratios", f"'compress_ratios': found {odd[0]!r}, expected 0, {SPARSE} or {DENSE}")
    elif len(found) != layers and len(found) != layers + (drafts if isinstance(drafts, int) else 0):
        sheet.problem("compress_ratios", f"'compress_ratios' has {len(found)} items, the model has {layers} layers")
    return found[:layers]
