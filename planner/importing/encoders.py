"""Parameters of the encoders through which images enter, where their shape is plain.

An encoder does not touch the KV cache, but its weights lie on every GPU or are split over them.
Where no formula is known here, the model's file says that they are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.importing.sheet import Derived, Sheet


@dataclass(frozen=True)
class Encoder:
    """How an encoder is counted.

    Attributes
    ----------
    count : callable
        From the encoder's keys, those around it and the language model's hidden size to parameters.
    harmless : str
        Keys of the encoder that do not matter.
    item : callable or None
        From the encoder's keys and those around it to the tokens and values of the largest image, or
        None where its size is not certain. None for encoders that take images of any size.
    """

    count: Callable[[Sheet, Sheet, int], int]
    harmless: str = ""
    item: Callable[[Sheet, Sheet], tuple[int, int] | None] | None = None


def _layer(hidden: int, inner: int, qkv: int, bias: bool) -> int:
    """Return a layer of four projections and two matrices of a feed-forward."""
    matrices = 4 * hidden * qkv + 2 * hidden * inner
    return matrices + bias * (3 * qkv + hidden + inner + hidden)


_DEEP = ("qwen3_vl", "qwen3_vl_moe")


def _qwen(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Qwen3-VL and Qwen3.5: patches, learned places, layers, mergers."""
    hidden, depth = sheet.count("hidden_size"), sheet.count("depth")
    patch = sheet.count("in_channels") * sheet.count("temporal_patch_size") * sheet.count("patch_size") ** 2
    wide, out = hidden * sheet.count("spatial_merge_size") ** 2, sheet.count("out_hidden_size")
    listed = sheet.items("deepstack_visual_indexes")
    if listed is None and "deepstack_visual_indexes" not in sheet.failed and str(outer.data["model_type"]) in _DEEP:
        sheet.problem(None, f"the key '{sheet.word('deepstack_visual_indexes')}' is missing; expected a list", "add it")
    deep = len(listed or ())
    merger = wide * wide + wide + wide * out + out
    layers = depth * (_layer(hidden, sheet.count("intermediate_size"), hidden, True) + 4 * hidden)
    start = hidden * patch + hidden + sheet.count("num_position_embeddings") * hidden
    return start + layers + merger + 2 * hidden + deep * (merger + 2 * wide)


def _moon(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Kimi-K2.5 and later with its projector."""
    third = sheet.text("mm_projector_type", ("patchmerger", "patchmergerv2")) == "patchmergerv2"
    sheet.must("mlp_type", "mlp2", "two matrices per feed-forward")
    hidden, inner = sheet.count("vt_hidden_size"), sheet.count("vt_intermediate_size")
    qkv = sheet.count("qkv_hidden_size", hidden, hidden, rule=True)
    attention_bias, bias = sheet.flag("attn_bias", True), sheet.flag("linear_bias", True)
    norm = hidden * (1 if sheet.text("norm_type", ("layernorm", "rmsnorm"), "layernorm") == "rmsnorm" else 2)
    layer = (
        4 * hidden * qkv + (3 * qkv + hidden) * attention_bias + 2 * hidden * inner + (inner + hidden) * bias + 2 * norm
    )
    places = sheet.count("init_pos_emb_height") * sheet.count("init_pos_emb_width") * hidden
    patches = 3 * sheet.count("patch_size") ** 2 * hidden + hidden * sheet.flag("patch_embed_proj_bias", True)
    wide = hidden * _merged(sheet)
    projector = wide * wide + wide * text_hidden + (text_hidden if third else wide + text_hidden + 2 * hidden)
    return places + patches + sheet.count("vt_num_hidden_layers") * layer + norm + projector


def _gemma4(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Gemma 4: gated layers with four norms, places in a table, one projection."""
    hidden, heads, dim = sheet.count("hidden_size"), sheet.count("num_attention_heads"), sheet.count("head_dim")
    sheet.must("num_key_value_heads", int(heads), "as 'num_attention_heads'")
    sheet.must("attention_bias", False, "no biases")
    sheet.must("use_clipped_linears", False, "plain matrices")
    layer = 4 * hidden * heads * dim + 3 * hidden * sheet.count("intermediate_size") + 4 * hidden + 2 * dim
    patches = 3 * sheet.count("patch_size") ** 2 * hidden + 2 * sheet.count("position_embedding_size") * hidden
    standard = 2 * hidden * sheet.flag("standardize", False)
    return patches + sheet.count("num_hidden_layers") * layer + standard + hidden * text_hidden


def _siglip(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Gemma 3: SigLIP without its head, and one projection."""
    hidden, side = sheet.count("hidden_size"), sheet.count("image_size")
    patch = sheet.count("patch_size")
    layer = _layer(hidden, sheet.count("intermediate_size"), hidden, True) + 4 * hidden
    start = 3 * patch**2 * hidden + hidden + (side // patch) ** 2 * hidden
    return start + sheet.count("num_hidden_layers") * layer + 2 * hidden + hidden + hidden * text_hidden


def _pixtral(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Mistral 3: Pixtral, a merger of patches, two matrices of a projector."""
    hidden, inner = sheet.count("hidden_size"), sheet.count("intermediate_size")
    layer = 4 * hidden**2 + 3 * hidden * inner + 2 * hidden
    channels = sheet.count("num_channels", 3)
    start = channels * sheet.count("patch_size") ** 2 * hidden + hidden
    merge = outer.count("spatial_merge_size") ** 2 * hidden * hidden
    bias = 2 * text_hidden * outer.flag("multimodal_projector_bias", False)
    projector = hidden + merge + hidden * text_hidden + text_hidden**2 + bias
    return start + sheet.count("num_hidden_layers") * layer + projector


def _clip(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of MiniMax-M3: CLIP with rotated places, a projector and a merger."""
    hidden = sheet.count("hidden_size")
    layer = _layer(hidden, sheet.count("intermediate_size"), hidden, True) + 4 * hidden
    sheet.text("position_embedding_type", ("rope",), "rope")
    merging = sheet.below("img_token_compression_config")
    side = merging.count("spatial_merge_size") if merging else sheet.count("spatial_merge_size", 2)
    frames = merging.count("temporal_patch_size") if merging else sheet.count("temporal_patch_size", 2)
    patches = sheet.count("num_channels", 3) * frames * sheet.count("patch_size") ** 2 * hidden
    wide = outer.count("projector_hidden_size")
    merge = text_hidden * side**2 * wide + wide + wide * text_hidden + text_hidden
    projector = hidden * wide + wide + wide * text_hidden + text_hidden + merge
    return patches + 2 * hidden + sheet.count("num_hidden_layers") * layer + projector


def _moonvit(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Kimi-VL with its projector: places in a table, patches merged by area."""
    hidden, side = sheet.count("hidden_size"), _merged(sheet)
    places = sheet.count("init_pos_emb_height") * sheet.count("init_pos_emb_width") * hidden
    patches = 3 * sheet.count("patch_size") ** 2 * hidden + hidden
    layer = _layer(hidden, sheet.count("intermediate_size"), hidden, True) + 4 * hidden
    wide = hidden * side
    projector = 2 * hidden + wide * wide + wide + wide * text_hidden + text_hidden
    return places + patches + sheet.count("num_hidden_layers") * layer + 2 * hidden + projector


def _merged(sheet: Sheet) -> int:
    """Return how many patches become one token."""
    sides = [side for side in sheet.items("merge_kernel_size", 2) or () if isinstance(side, int) and 0 < side < 1000]
    if len(sides) != 2:
        sheet.problem("merge_kernel_size", "'merge_kernel_size': expected two whole numbers")
        return 1
    return sides[0] * sides[1]


def _llama4(sheet: Sheet, outer: Sheet, text_hidden: int) -> int:
    """Return the encoder of Llama 4: patches of one tile, an adapter of two matrices, one projection."""
    hidden, inner = sheet.count("hidden_size"), sheet.count("intermediate_size")
    channels, patch = sheet.count("num_channels", 3), sheet.count("patch_size")
    places = (sheet.count("image_size") // patch) ** 2 + 1
    layer = _layer(hidden, inner, hidden, True) + 4 * hidden
    start = channels * patch**2 * hidden + hidden + places * hidden + 4 * hidden
    width, out = sheet.count("projector_input_dim"), sheet.count("projector_output_dim")
    sheet.must("vision_output_dim", int(out), "as 'projector_output_dim'")
    sheet.must("multi_modal_projector_bias", False, "no bias")
    # Shuffled pixels lie side by side, as wide as the feed-forward.
    if inner != hidden * _shuffled(sheet) and not sheet.failed:
        sheet.problem("intermediate_size", f"{inner} is not {hidden} by the square of 'pixel_shuffle_ratio'")
    return start + sheet.count("num_hidden_layers") * layer + inner * width + width * out + out * text_hidden


def _shuffled(sheet: Sheet) -> int:
    """Return how many patches become one token."""
    ratio = sheet.raw("pixel_shuffle_ratio", 0.5)
    if isinstance(ratio, bool) or ratio not in (1, 0.5, 0.25):
        sheet.problem("pixel_shuffle_ratio", "'pixel_shuffle_ratio': expected 1, 0.5 or 0.25")
        return 1
    side: int = round(1 / ratio)
    return side**2


_BY_PROCESSOR = "limit of its image processor, which no key here tells: "


def _gemma_item(sheet: Sheet, outer: Sheet) -> tuple[int, int] | None:
    """Return one image as Gemma 3 has it: always of one size, always as many tokens."""
    return outer.count("mm_tokens_per_image", 256), 3 * sheet.count("image_size") ** 2


def _pixtral_item(sheet: Sheet, outer: Sheet) -> tuple[int, int] | None:
    """Return the largest image of Pixtral: a square of the longest edge, patches merged."""
    if not sheet.has("image_size"):
        return None
    side, token = sheet.count("image_size"), sheet.count("patch_size") * outer.count("spatial_merge_size")
    return None if side % token else ((side // token) ** 2, sheet.count("num_channels", 3) * side**2)


def _moonvit_item(sheet: Sheet, outer: Sheet) -> tuple[int, int] | None:
    """Return the largest image of Kimi-VL: 4,096 patches."""
    why = f"{_BY_PROCESSOR}4,096 patches"
    values = 4096 * 3 * sheet.count("patch_size") ** 2
    return Derived(max(4096 // _merged(sheet), 1), why), Derived(values, why)


def _llama4_item(sheet: Sheet, outer: Sheet) -> tuple[int, int] | None:
    """Return the largest image of Llama 4: sixteen tiles, and one of the whole."""
    why = f"{_BY_PROCESSOR}16 tiles and one of the whole"
    side, patch = sheet.count("image_size"), sheet.count("patch_size")
    tokens = (side // patch) ** 2 // _shuffled(sheet)
    values = sheet.count("num_channels", 3) * side**2
    return Derived(17 * max(tokens, 1), why), Derived(17 * values, why)


_QWEN_KEYS = "num_heads"
ENCODERS = {
    "qwen3_vl": Encoder(_qwen, _QWEN_KEYS), "qwen3_vl_moe": Encoder(_qwen, _QWEN_KEYS),
    "qwen3_5": Encoder(_qwen, _QWEN_KEYS), "qwen3_5_moe": Encoder(_qwen, _QWEN_KEYS),
    "kimi_k25": Encoder(_moon, "mm_hidden_size pos_emb_type projector_ln_eps text_hidden_size video_attn_type "
                        "merge_type vt_num_attention_heads init_pos_emb_time pos_emb_interpolation_mode"),
    "gemma4": Encoder(_gemma4, "global_head_dim pooling_kernel_size max_position_embeddings"),
    "gemma3": Encoder(_siglip, "num_attention_heads num_channels vision_use_head num_image_tokens num_positions",
                      _gemma_item),
    "mistral3": Encoder(_pixtral, "num_attention_heads image_size head_dim max_image_size", _pixtral_item),
    "kimi_vl": Encoder(_moonvit, "num_attention_heads", _moonvit_item),
    "llama4": Encoder(_llama4, "num_attention_heads projector_dropout vision_feature_select_strategy rope_theta",
                      _llama4_item),
    "minimax_m3_vl": Encoder(_clip, "num_attention_heads image_size projection_dim rope_mode vocab_size "
                             "vision_segment_max_frames"),
}  # fmt: skip
ENCODERS |= {"kimi_k3": ENCODERS["kimi_k25"], "ministral3": ENCODERS["mistral3"]}
