"""Hybrids with Mamba-2 layers: Nemotron-H and Granite 4."""

from __future__ import annotations

from collections.abc import Sequence

from planner.importing.draft import Draft, Names, under
from planner.importing.families.base import (
    MOST_LAYERS,
    Source,
    check_experts,
    fill_feeds,
    heads_group,
    kv_heads,
    reads,
    start,
)
from planner.importing.families.dense import Kin, read_heads
from planner.importing.sheet import Sheet

_SIGNS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
_WORDS = {"linear_attention": "mamba", "full_attention": "attention", "mamba": "mamba", "attention": "attention",
          "moe": "moe", "mlp": "mlp"}  # fmt: skip
NAMES = Names(
    attention=under("mixer", "q_proj", "k_proj", "v_proj", "o_proj"),
    linear_attention=under("mixer", "in_proj", "out_proj"),
    dense=under("mixer", "up_proj", "down_proj"),
    shared=under("mixer.shared_experts", "up_proj", "down_proj"),
    experts="mixer.experts",
    expert_matrices=("up_proj", "down_proj"),
)


def _kinds(sheet: Sheet) -> list[str]:
    """Return the kind of every block, from a pattern of signs or a list of words."""
    pattern = sheet.raw("hybrid_override_pattern", None)
    listed = sheet.items("layers_block_type")
    if isinstance(pattern, str) and pattern and not set(pattern) - set(_SIGNS) and len(pattern) <= MOST_LAYERS:
        found = [_SIGNS[sign] for sign in pattern]
    elif pattern is not None:
        sheet.problem("hybrid_override_pattern", "'hybrid_override_pattern': expected a text of the signs M * E -")
        return ["attention"]
    elif listed and all(isinstance(word, str) and word in _WORDS for word in listed) and len(listed) <= MOST_LAYERS:
        return _checked(sheet, "layers_block_type", [_WORDS[word] for word in listed])
    else:
        key = "layers_block_type" if listed is not None else None
        sheet.problem(key, "'hybrid_override_pattern' or 'layers_block_type' must tell the kind of every block: "
                      + ", ".join(_WORDS))  # fmt: skip
        return ["attention"]
    if listed is not None and [_WORDS.get(str(word)) for word in listed] != found:
        sheet.problem("layers_block_type", "'layers_block_type' and 'hybrid_override_pattern' disagree")
    return _checked(sheet, "hybrid_override_pattern", found)


def _checked(sheet: Sheet, key: str, kinds: list[str]) -> list[str]:
    if sheet.has("num_hidden_layers") and sheet.count("num_hidden_layers") != len(kinds) and not sheet.failed:
        layers = sheet.count("num_hidden_layers")
        sheet.problem(key, f"'{key}' has {len(kinds)} blocks, 'num_hidden_layers' says {layers}")
    return kinds


@reads("nemotron_h")
def read_nemotron(source: Source) -> Draft:
    """Read a Nemotron-H: every block is a mixer of one kind or a feed-forward, with one norm."""
    sheet = source.text
    draft = start(source)
    kinds = _kinds(sheet)
    n_attention, n_mamba = kinds.count("attention"), kinds.count("mamba")
    sheet.must("sliding_window", None, "no window")
    for key in ("attention_bias", "mlp_bias", "use_bias", "mamba_proj_bias"):
        sheet.must(key, False, "biases are not known of this type")
    sheet.must("use_conv_bias", True, "convolutions with a bias")
    heads = sheet.count("num_attention_heads")
    dim = sheet.count("head_dim" if "attention_head_dim" not in sheet.data else "attention_head_dim")
    if n_attention:
        # Their order comes from the states; the engine keeps no table of positions.
        draft.attention.append(
            heads_group("gqa", n_attention, heads, kv_heads(sheet, heads, required=True), dim, rotary=0)
        )
    if n_mamba:
        draft.attention.append({
            "family": "mamba2", "layers": n_mamba, "heads": sheet.count("mamba_num_heads"),
            "dim": sheet.count("mamba_head_dim"), "groups": sheet.count("n_groups"),
            "state": sheet.count("ssm_state_size"), "kernel": sheet.count("conv_kernel"),
            "state_type": _state_type(sheet),
        })  # fmt: skip
    sheet.skip("expand")
    _nemotron_feeds(sheet, draft, kinds)
    _nemotron_drafts(sheet, draft)
    return draft


def _state_type(sheet: Sheet) -> str:
    kind = sheet.text("mamba_ssm_cache_dtype", ("float32", "bfloat16", "float16"), "float32")
    return "fp32" if kind == "float32" else "bf16"


def _nemotron_feeds(sheet: Sheet, draft: Draft, kinds: Sequence[str]) -> None:
    words = {"mlp": "dense", "moe": "expert"}
    feeds = [words.get(kind, "") for kind in kinds]
    dense = sheet.count("intermediate_size") if "dense" in feeds else 0
    more = {}
    if "expert" in feeds:
        experts, active = sheet.count("n_routed_experts"), sheet.count("num_experts_per_tok")
        check_experts(sheet, "n_routed_experts", "num_experts_per_tok", experts, active)
        shared = sheet.whole("n_shared_experts", null=0)
        more = {
            "experts": experts, "active_experts": active, "expert_size": sheet.count("moe_intermediate_size"),
            "shared_experts": shared or None, "router_bias": True,
            "expert_hidden": sheet.optional("moe_latent_size", None),
            "shared_size": shared * sheet.count("moe_shared_expert_intermediate_size") if shared else None,
        }  # fmt: skip
    sheet.skip("intermediate_size", "n_routed_experts", "num_experts_per_tok", "n_shared_experts", "moe_latent_size",
               "moe_intermediate_size", "moe_shared_expert_intermediate_size")  # fmt: skip
    fill_feeds(draft, feeds, dense, **more)
    draft.feed_forward["matrices"] = 2
    draft.states = [kind == "mamba" for kind in kinds]
    draft.attends = [kind in ("mamba", "attention") for kind in kinds]
    draft.names = NAMES


def _nemotron_drafts(sheet: Sheet, draft: Draft) -> None:
    draft.draft_layers = sheet.whole("num_nextn_predict_layers", 0)
    sheet.must("mtp_hybrid_override_pattern", "*E", "draft layers of attention and experts")
    words = sheet.items("mtp_layers_block_type")
    if words is not None and [_WORDS.get(str(word)) for word in words] != ["attention", "moe"]:
        sheet.problem("mtp_layers_block_type", "'mtp_layers_block_type': expected attention, then moe")


@reads("granitemoehybrid")
def read_granite_hybrid(source: Source) -> Draft:
    """Read a Granite 4: layers of attention or Mamba-2, each with a feed-forward, experts where there are any."""
    sheet = source.text
    draft = start(source)
    layers = sheet.count("num_hidden_layers")
    words = sheet.words("layer_types", ("mamba", "attention"), layers) or []
    if not words and "layer_types" not in sheet.failed:
        sheet.problem(None, "the key 'layer_types' is missing; expected one word per layer", "add it")
    sheet.skip("layers_block_type")
    n_mamba = words.count("mamba")
    full = read_heads(source, Kin(all_heads=True), draft, len(words) - n_mamba)
    draft.attention = [full] if n_mamba < len(words) else []
    if n_mamba:
        draft.attention.append({
            "family": "mamba2", "layers": n_mamba, "heads": sheet.count("mamba_n_heads"),
            "dim": sheet.count("mamba_d_head"),
            "groups": sheet.count("mamba_n_groups"), "state": sheet.count("mamba_d_state"),
            "kernel": sheet.count("mamba_d_conv"), "state_type": "bf16",
        })  # fmt: skip
    sheet.must("mamba_conv_bias", True, "convolutions with a bias")
    sheet.must("mamba_proj_bias", False, "biases are not known of this type")
    sheet.skip("mamba_expand")
    shared, experts = sheet.count("shared_intermediate_size"), sheet.whole("num_local_experts")
    if experts:
        active = sheet.count("num_experts_per_tok")
        check_experts(sheet, "num_local_experts", "num_experts_per_tok", experts, active)
        fill_feeds(draft, ["expert"] * len(words), 0, experts=experts, active_experts=active,
                   expert_size=sheet.count("intermediate_size"), shared_size=shared)  # fmt: skip
    else:
        sheet.skip("intermediate_size", "num_experts_per_tok")
        fill_feeds(draft, ["dense"] * len(words), shared)
    draft.states = [word == "mamba" for word in words]
    draft.names = Names(
        linear_attention=under("mamba", "in_proj", "out_proj"),
        dense=under("shared_mlp", "input_linear", "output_linear"),
        shared=under("shared_mlp", "input_linear", "output_linear"), experts="block_sparse_moe",
        expert_matrices=("input_linear", "output_linear"),
    )  # fmt: skip
    return draft
