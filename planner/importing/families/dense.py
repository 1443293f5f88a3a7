"""Dense decoders of Llama's kinship: heads of one size, one gated feed-forward per layer."""

from __future__ import annotations

from dataclasses import dataclass

from planner.importing.draft import Draft, Names, under
from planner.importing.families.base import (
    Source,
    fill_feeds,
    head_dim,
    heads_group,
    kv_heads,
    layers_of,
    reads,
    rotary,
    sliding_layers,
    split_layers,
    start,
)
from planner.importing.sheet import Sheet

FUSED = Names(attention=under("self_attn", "qkv_proj", "o_proj"), dense=under("mlp", "gate_up_proj", "down_proj"))
FUSED_FEED = Names(dense=under("mlp", "gate_up_proj", "down_proj"))


@dataclass(frozen=True)
class Kin:
    """In what a model type differs from Llama.

    Attributes
    ----------
    head_dim : int or None
        What the class takes where the key is missing; None where it divides.
    kv_heads : int or None
        The same of key/value heads; None where the key is required or `all_heads` says what it takes.
    all_heads : bool
        Whether the class takes all heads as key/value heads where the key is missing.
    bias : str
        Which key says that projections carry biases; ``always`` or ``never`` where none does.
    bias_default : bool
        What the class takes without that key.
    output_bias : bool or str
        Whether the output projection has one as well; a key where it has its own.
    feed_bias : str
        Which key says so of the feed-forward.
    head_norms, projection_norms : bool
        As in a model's file.
    norms_per_block : int
        As in a model's file.
    tied : bool
        What the class takes without ``tie_word_embeddings``.
    names : Names
        How the checkpoint calls matrices.
    rotary : float
        Share of a head that the class rotates where no key says it.
    """

    head_dim: int | None = None
    kv_heads: int | None = None
    all_heads: bool = False
    bias: str = "attention_bias"
    bias_default: bool = False
    output_bias: bool | str = True
    feed_bias: str = ""
    head_norms: bool = False
    projection_norms: bool = False
    norms_per_block: int = 1
    tied: bool = False
    names: Names = Names()  # noqa: RUF009
    rotary: float = 1.0


def read_heads(source: Source, kin: Kin, draft: Draft, layers: int) -> dict[str, object]:
    """Return the group of a decoder's layers with K/V heads, whatever part of the context they see."""
    sheet = source.text
    heads = sheet.count("num_attention_heads")
    dim = head_dim(sheet, draft.hidden, heads, kin.head_dim)
    bias = kin.bias == "always" or (kin.bias != "never" and sheet.flag(kin.bias, kin.bias_default))
    if kin.bias == "never":
        sheet.must("attention_bias", False, "biases are not known of this type")
    output = sheet.flag(kin.output_bias, False) if isinstance(kin.output_bias, str) else kin.output_bias
    if output and not bias and isinstance(kin.output_bias, str):
        draft.add_extra("attention output biases", layers * draft.hidden, "none")
    kv = kv_heads(sheet, heads, kin.kv_heads, required=not kin.all_heads)
    return heads_group(
        "gqa", layers, heads, kv, dim, bias=bias, output_bias=bool(bias and output), head_norms=kin.head_norms,
        projection_norms=kin.projection_norms, **rotary(sheet, dim, kin.rotary),
    )  # fmt: skip


def read_dense_feed(sheet: Sheet, kin: Kin, draft: Draft, layers: int) -> None:
    """Write dense feed-forward layers and their biases."""
    size = sheet.count("intermediate_size")
    fill_feeds(draft, ["dense"] * layers, size)
    if kin.feed_bias and sheet.flag(kin.feed_bias, False):
        draft.add_extra("feed-forward biases", layers * (2 * size + draft.hidden), "tensor")
    draft.names = kin.names
    draft.norms_per_block = kin.norms_per_block


def read_kin(source: Source, kin: Kin) -> tuple[Draft, dict[str, object], int]:
    """Return the draft without attention, the group of all layers, and their number."""
    draft = start(source, kin.tied)
    layers = layers_of(source.text)
    group = read_heads(source, kin, draft, layers)
    read_dense_feed(source.text, kin, draft, layers)
    return draft, group, layers


_PLAIN = {
    "llama": Kin(all_heads=True, feed_bias="mlp_bias"),
    "granite": Kin(all_heads=True, feed_bias="mlp_bias"),
    "qwen3_vl_text": Kin(head_dim=128, head_norms=True),
    "gemma": Kin(head_dim=256, tied=True),
    "olmo2": Kin(all_heads=True, projection_norms=True),
    "seed_oss": Kin(head_dim=128, bias_default=True, output_bias="attention_out_bias", feed_bias="mlp_bias"),
    "ernie4_5": Kin(head_dim=128, bias="use_bias", feed_bias="use_bias", tied=True),
    "glm": Kin(head_dim=128, bias_default=True, output_bias=False, names=FUSED_FEED, rotary=0.5),
    "glm4": Kin(
        head_dim=128, bias_default=True, output_bias=False, norms_per_block=2, names=FUSED_FEED, rotary=0.5
    ),
}  # fmt: skip
_WINDOWED = {
    "mistral": Kin(kv_heads=8, bias="never"),
    "ministral3": Kin(head_dim=128, kv_heads=8, bias="never"),
    "phi3": Kin(all_heads=True, bias="never", names=FUSED),
}
_SWITCHED = {
    "qwen2": Kin(bias="always", output_bias=False),
    "qwen3": Kin(head_dim=128, head_norms=True),
    "mimo": Kin(bias="always", output_bias=False),
    "smollm3": Kin(feed_bias="mlp_bias", tied=True),
}
_MIXED = {
    # The class's window where the key is missing, and one in how many layers sees the whole context.
    "olmo3": (Kin(all_heads=True, projection_norms=True), 4096, 4),
    "cohere2": (Kin(all_heads=True, tied=True), 4096, 4),
    "exaone4": (Kin(bias="never", head_norms=True), 4096, 4),
}


@reads(*_PLAIN)
def read_plain(source: Source) -> Draft:
    """Read a decoder whose layers all see the whole context."""
    draft, group, layers = read_kin(source, _PLAIN[source.model_type])
    source.text.must("sliding_window", None, "no window")
    source.text.words("layer_types", ("full_attention",), layers)
    draft.attention = [group]
    return draft


@reads(*_WINDOWED)
def read_windowed(source: Source) -> Draft:
    """Read a decoder whose layers all have a window, where ``sliding_window`` is a number."""
    draft, group, layers = read_kin(source, _WINDOWED[source.model_type])
    draft.attention = all_windowed(source.text, draft, group, layers, required=source.model_type == "mistral")
    source.text.skip("layer_types", "max_window_layers")
    return draft


def all_windowed(sheet: Sheet, draft: Draft, group: dict[str, object], layers: int, *, required: bool = False
                 ) -> list[dict[str, object]]:  # fmt: skip
    """Return `group` with the window of ``sliding_window``, if that is a number within the context.

    Classes take none without the key, but that of Mistral takes 4,096, the window of its first
    release. Every later one writes null; a file without the key is an excerpt of either, and the
    two differ by the whole cache of a long context, so that there the key is `required`.
    """
    if required:
        hint = "give it with --assume sliding_window=null for no window, or sliding_window=4096 for Mistral-7B-v0.1's"
        window = sheet.optional("sliding_window", hint=hint)
    else:
        window = sheet.optional("sliding_window", None)
    if window is not None and window >= draft.max_context:
        sheet.log.notes.append(f"the window of {window:,} tokens holds the whole context")
        window = None
    words = sheet.words("layer_types", ("full_attention", "sliding_attention"), layers)
    if words is not None:
        return split_layers([word == "sliding_attention" for word in words], window, group)
    return split_layers([True] * layers, window, group)


@reads(*_SWITCHED)
def read_switched(source: Source) -> Draft:
    """Read a decoder that has windows only where ``use_sliding_window`` says so."""
    draft, group, layers = read_kin(source, _SWITCHED[source.model_type])
    sheet = source.text
    draft.attention = switched_layers(sheet, group, layers)
    if source.model_type == "mimo":
        draft.draft_layers = sheet.whole("num_nextn_predict_layers")
        sheet.must("attention_bias", True, "queries, keys and values with biases")
    sheet.skip("no_rope_layers", "no_rope_layer_interval")
    return draft


def switched_layers(sheet: Sheet, group: dict[str, object], layers: int) -> list[dict[str, object]]:
    """Return the layers of a Qwen: whole ones, and with ``use_sliding_window`` those with a window."""
    used = sheet.flag("use_sliding_window", False)
    window = sheet.optional("sliding_window", None) if used else None
    sheet.skip("sliding_window")
    first = sheet.whole("max_window_layers") if window and not sheet.has("layer_types") else layers
    sheet.skip("max_window_layers")
    words = sheet.words("layer_types", ("full_attention", "sliding_attention"), layers)
    if window and not words:
        sheet.log.defaults.append(f"{sheet.word('layer_types')} windows from layer {first} on")
    sliding = [word == "sliding_attention" for word in words] if words else [i >= first for i in range(layers)]
    if any(sliding) and not window:
        sheet.problem("layer_types", "layers with a window, but no 'sliding_window' in use")
    return split_layers(sliding, window, group)


@reads(*_MIXED)
def read_mixed(source: Source) -> Draft:
    """Read a decoder that mixes layers with and without a window."""
    kin, default, every = _MIXED[source.model_type]
    draft, group, layers = read_kin(source, kin)
    sheet = source.text
    sheet.skip("sliding_window_pattern")
    window = sheet.optional("sliding_window", default)
    pattern = sheet.data.get("sliding_window_pattern")
    every = sheet.count("sliding_window_pattern") if isinstance(pattern, int) else every
    rule = f"every {every}th of full_attention"
    sliding = sliding_layers(sheet, layers, lambda i: bool((i + 1) % every), rule)
    if isinstance(pattern, str) and not sheet.has("layer_types"):
        sheet.problem("sliding_window_pattern", "a pattern of letters needs 'layer_types' beside it")
    if source.model_type == "cohere2":
        sheet.log.notes.append("one norm per layer serves attention and feed-forward; two are counted")
        sheet.skip("use_parallel_block", "use_parallel_embedding", "use_embedding_sharing", "use_gated_activation",
                   "layer_switch", "order_of_interleaved_layers")  # fmt: skip
        sheet.must("use_qk_norm", False, "norms of queries and keys are not known of this type")
    draft.attention = split_layers(sliding, window, group)
    return draft
