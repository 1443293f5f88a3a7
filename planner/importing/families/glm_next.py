"""GLM-5.3-Flash: latent attention behind an indexer with pooled keys, between layers with a state."""

from __future__ import annotations

from typing import Any

from planner.importing.draft import Draft, Names
from planner.importing.families.base import FULL, Source, reads
from planner.importing.families.delta import KDA_LINEAR, LINEAR, unknown
from planner.importing.families.latent import indexer, indexers, latent_group, latent_names, read_latent
from planner.importing.sheet import Sheet


@reads("glm5_next_text")
def read_glm_next(source: Source) -> Draft:
    """Read a GLM-5.3-Flash; its streams beside the residual are counted, as are the pools of its indexer."""
    sheet = source.text
    draft, layers = read_latent(source, 3)
    words = sheet.words("layer_types", (FULL, LINEAR, "indexed_attention"), layers)
    if words is None and "layer_types" not in sheet.failed:
        sheet.log.defaults.append(f"{sheet.word('layer_types')} every 4th of indexed_attention")
    states = [word == LINEAR for word in words] if words else [i % 4 != 3 for i in range(layers)]
    full = latent_group(sheet, max(states.count(False), 1), "dsa")
    pool = sheet.count("index_kpool", 16)
    listed = sheet.has("indexer_types") or sheet.has("index_topk_freq")
    owners = indexers(sheet, layers)[0] if listed else layers
    if owners != layers:
        sheet.problem("indexer_types", "layers that share an indexer are not known of this type")
    sheet.skip("index_topk_pattern", "index_skip_topk_offset", "index_kpool_always_select_tail", "linear_lower_bound")
    full |= indexer(sheet, states.count(False) or 1) | {"indexer_pool": pool}
    draft.attention = [full] if not all(states) else []
    if any(states):
        draft.attention.append(_state_group(sheet, sum(states)))
    draft.states = states
    draft.names = Names(attention=latent_names(full).attention, linear_attention=KDA_LINEAR, shared=draft.names.shared)
    draft.draft_layers = sheet.whole("num_nextn_predict_layers")
    draft.add_extra("pools of the indexer", states.count(False) * full["indexer_dim"] * (pool + draft.hidden), "none")
    streams = sheet.count("hc_mult", 4)
    mix = (2 + streams) * streams
    draft.add_extra("stream mixing", 2 * layers * (mix * streams * draft.hidden + mix + 3), "none")
    return draft


def _state_group(sheet: Sheet, layers: int) -> dict[str, Any]:
    """Return the layers with a state, from one mapping or from keys of their own."""
    nested = sheet.below("linear_attn_config")
    names = ("num_heads", "head_dim", "short_conv_kernel_size")
    if nested is not None:
        heads, dim, kernel = (nested.count(name) for name in names)
        nested.skip("gate_lower_bound", "safe_gate", "kda_layers", "full_attn_layers")
        unknown(nested)
        sheet.skip("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    else:
        heads, dim = sheet.count("linear_num_heads", 64), sheet.count("linear_head_dim", 128)
        kernel = sheet.count("linear_conv_kernel_dim", 4)
    return {"family": "kda", "layers": layers, "heads": heads, "dim": dim, "kernel": kernel, "state_type": "fp32"}
