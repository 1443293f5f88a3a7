"""Models: their shape, their parameters by group, the bytes of their weights.

Parameters follow from the shape; the published totals are there to check them, byte by byte
where a checkpoint's index gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from planner.attention import AnyAttention, WeightKind, Weights
from planner.errors import InputError, nearest
from planner.evidence import Evidence
from planner.fields import Count, Flag, Text, Tokens, Whole, record
from planner.units import ceil

BYTES_PER_WEIGHT: Mapping[str, Fraction] = {
    "bf16": Fraction(2),
    "fp8": 1 + Fraction(4, 128 * 128),  # one fp32 scale per 128 x 128 block
    "fp8-channel": Fraction(1),
    "int8-channel": Fraction(1),
    "mxfp8": 1 + Fraction(1, 32),  # one e8m0 scale per 32 weights
    "fp32": Fraction(4),
    "nvfp4": Fraction(1, 2) + Fraction(1, 16),  # one fp8 scale per 16 weights
    "mxfp4": Fraction(1, 2) + Fraction(1, 32),  # one e8m0 scale per 32 weights
    "int4": Fraction(1, 2) + Fraction(2, 32),  # one BF16 scale per group of 32
    "int4-g128": Fraction(1, 2) + Fraction(5, 256),  # one 16-bit scale and a 4-bit zero per 128 (GPTQ, AWQ)
}


@record
class FeedForward:
    """The feed-forward layers.

    Attributes
    ----------
    dense_layers, dense_size : int
        Layers without experts and their intermediate size; 0 where there are none.
    expert_layers, experts, active_experts, shared_experts, expert_size
        Layers with experts, how many there are, run per token, always run, and their size.
    router_bias : bool
        Whether each router has an fp32 correction per expert.
    expert_bias : bool
        Whether experts and router carry biases (gpt-oss).
    matrices : int
        Per feed-forward: three with a gate, two without.
    shared_size : int or None
        Intermediate size of all shared experts together; `shared_experts` times `expert_size` if
        left out.
    shared_gate : bool
        Whether a gate of one output weighs the shared expert.
    expert_hidden : int or None
        Width at which routed experts work, between two projections; the model's own if left out.
    dense_drafts : bool
        Whether draft layers are dense although others have experts.
    """

    dense_layers: Whole = 0
    dense_size: Whole = 0
    expert_layers: Whole = 0
    experts: Whole = 0
    active_experts: Whole = 0
    shared_experts: Whole = 0
    expert_size: Whole = 0
    router_bias: Flag = False
    expert_bias: Flag = False
    matrices: Count = 3
    shared_size: Whole | None = None
    shared_gate: Flag = False
    expert_hidden: Whole | None = None
    dense_drafts: Flag = False

    def expert_parameters(self, hidden: int) -> int:
        """Return the parameters of one routed expert, biases excluded."""
        return self.matrices * (self.expert_hidden or hidden) * self.expert_size

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the parameters by group."""
        dense = self.dense_layers * self.matrices * hidden * self.dense_size
        shared = self.shared_experts * self.expert_size if self.shared_size is None else self.shared_size
        bias = (2 * self.expert_size + hidden + 1) * self.experts * self.expert_bias
        router = hidden * self.experts + hidden * self.shared_gate
        latent = 2 * hidden * self.expert_hidden if self.expert_hidden else 0
        experts = self.expert_layers * self.experts * self.expert_parameters(hidden)
        return (
            Weights("dense feed-forward", dense, "linear", "tensor"),
            Weights("routed experts", experts, "expert", "expert"),
            Weights("shared experts", self.expert_layers * self.matrices * hidden * shared, "linear", "shared"),
            Weights("projections around experts", self.expert_layers * latent, "linear", "none"),
            Weights("expert biases", self.expert_layers * bias, "other", "expert"),
            Weights("routers", self.expert_layers * router, "other", "none"),
            Weights("router corrections", self.expert_layers * self.experts * self.router_bias, "fp32", "none"),
        )


@record
class Extra:
    """Parameters beside the decoder's layers: an image encoder, embeddings per layer.

    Attributes
    ----------
    name : str
        What they are.
    count : int
        How many.
    split : {'tensor', 'none'}
        Whether tensor parallelism splits them.
    """

    name: Text
    count: Count
    split: Literal["tensor", "none"] = "tensor"


@record
class Checkpoint:
    """A published set of weights.

    Attributes
    ----------
    format : str
        What users call it: ``bf16``, ``fp8``, ``nvfp4``, ``mxfp4``, ``int4``.
    experts, linear, other : str
        Element format of routed experts, other matrices, and the rest.
    attention, head : str
        Element format of the matrices of attention, empty where it is as `linear`, and of the
        output head, empty where it is as `other`.
    draft : str
        Element format of everything in the draft (MTP) layers; empty where it is as the rest.
    draft_vocabulary : bool
        Whether the draft layer's file holds embedding and output head a second time; engines
        load them once.
    bytes : int or None
        Published total, which the derived one is checked against.
    """

    format: Text
    experts: Text
    linear: Text
    attention: str = ""
    head: str = ""
    other: Text = "bf16"
    draft: str = ""
    draft_vocabulary: Flag = False
    bytes: Whole | None = None
    source: tuple[Text, ...] = ()
    note: str = ""

    def element_bytes(self, kind: WeightKind) -> Fraction:
        """Return bytes per parameter of one kind of weight."""
        attention = self.attention or self.linear
        names = {"expert": self.experts, "linear": self.linear, "attention": attention, "other": self.other}
        names |= {"head": self.head or self.other, "fp32": "fp32"}
        name = names[kind]
        if name not in BYTES_PER_WEIGHT:
            raise InputError(f"unknown element format '{name}'; {nearest(name, BYTES_PER_WEIGHT)}")
        return BYTES_PER_WEIGHT[name]

    def draft_element_bytes(self, kind: WeightKind) -> Fraction:
        """Return bytes per parameter of one kind of weight in the draft layers."""
        return BYTES_PER_WEIGHT[self.draft] if self.draft and kind != "fp32" else self.element_bytes(kind)


@record
class Model:
    """A language model.

    Attributes
    ----------
    max_context_tokens : int
        Longest context it was released for.
    hidden, vocabulary : int
        Sizes of the residual stream and of the vocabulary.
    tied : bool
        Whether input and output embeddings are one matrix.
    positions_tokens : int or None
        Rows of the tables of sines and cosines where engines make more than the longest context:
        linear scaling multiplies it by its factor.
    attention : tuple
        Groups of layers by attention family.
    feed_forward : FeedForward
        Dense and expert layers.
    draft_layers : int
        Multi-token-prediction layers, each a full layer with a projection of its own.
    norms_per_block : int
        Norms around each attention and each feed-forward; two where outputs are normalised too.
    extra : tuple of Extra
        Parameters beside the layers, kept in the format of the rest.
    encoder : bool
        Whether images or sound enter through an encoder, for which engines keep room.
    encoder_item_tokens, encoder_item_elements : int or None
        Of the largest image: tokens that it becomes and values that it has.
    parameters, active_parameters : int or None
        Published counts without draft layers.
    """

    kind: Literal["model"] = "model"
    id: Text
    name: Text
    aliases: tuple[Text, ...] = ()
    max_context_tokens: Tokens
    hidden: Count
    vocabulary: Count
    tied: Flag = False
    positions_tokens: Tokens | None = None
    attention: tuple[AnyAttention, ...]
    feed_forward: FeedForward
    draft_layers: Whole = 0
    norms_per_block: Count = 1
    extra: tuple[Extra, ...] = ()
    encoder: Flag = False
    encoder_item_tokens: Count | None = None
    encoder_item_elements: Count | None = None
    parameters: Whole | None = None
    active_parameters: Whole | None = None
    checkpoints: tuple[Checkpoint, ...]
    source: tuple[Text, ...] = ()
    note: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def layers(self) -> int:
        """Decoder layers without draft layers."""
        return sum(group.layers for group in self.attention)

    @property
    def rope_table_elements(self) -> int:
        """Elements of the tables of sines and cosines: one per kind of layers, for every position."""
        kinds = {group.rope_elements() for group in self.attention}
        return (self.positions_tokens or self.max_context_tokens) * sum(kinds)

    @property
    def family(self) -> str:
        """The family that decides the KV format: that of the group that grows with the context."""
        return self.attention[0].family

    @cached_property
    def weights(self) -> tuple[Weights, ...]:
        """All parameters of the main model by group."""
        vocabulary = self.vocabulary * self.hidden
        ff = self.feed_forward
        # Dense layers and experts may stand side by side in one layer (Gemma 4), and hybrids have layers without.
        blocks = self.layers + min(self.layers, ff.dense_layers + ff.expert_layers)
        norms = (self.norms_per_block * blocks + 1) * self.hidden
        attention = [w for group in self.attention for w in group.weights(self.hidden)]
        head = [] if self.tied else [Weights("output head", vocabulary, "head", "last")]
        ends = [Weights("embedding", vocabulary, "other", "first"), *head]
        groups = [*attention, *self.feed_forward.weights(self.hidden), *ends]
        groups.append(Weights("layer norms", norms, "other", "none"))
        groups += [Weights(extra.name, extra.count, "other", extra.split) for extra in self.extra]
        return tuple(w for w in groups if w.count)

    @cached_property
    def draft_weights(self) -> tuple[Weights, ...]:
        """Parameters of one draft layer: a layer like the last, a projection and five norms."""
        group = self.attention[0]
        # Each draft layer owns an indexer even where the main layers share theirs.
        one = [replace(w, count=w.count // self._owners(w)) for w in group.weights(self.hidden)]
        ff = replace(self.feed_forward, dense_layers=0, expert_layers=1)
        if not self.feed_forward.expert_layers or self.feed_forward.dense_drafts:
            ff = replace(self.feed_forward, dense_layers=1, expert_layers=0)
        # Quantised checkpoints leave it in BF16.
        projection = Weights("draft projection", 2 * self.hidden**2, "other", "none")
        norms = Weights("draft norms", 5 * self.hidden, "other", "none")
        groups = (*one, *ff.weights(self.hidden), projection, norms)
        return tuple(replace(w, name=f"draft: {w.name}") for w in groups if w.count)

    def _owners(self, weights: Weights) -> int:
        group = self.attention[0]
        indexer = weights.name.startswith("indexer")
        return int(getattr(group, "indexer_layers", group.layers)) if indexer else group.layers

    @property
    def derived_parameters(self) -> int:
        """Parameters that follow from the shape, router corrections counted once each."""
        return sum(w.count for w in self.weights)

    @property
    def derived_active_parameters(self) -> int:
        """Parameters that one token meets, the embedding's look-up excluded."""
        ff = self.feed_forward
        idle = ff.expert_layers * (ff.experts - ff.active_experts) * ff.expert_parameters(self.hidden)
        beside = sum(extra.count for extra in self.extra)
        return self.derived_parameters - idle - beside - (0 if self.tied else self.vocabulary * self.hidden)

    def checkpoint(self, weight_format: str) -> Checkpoint:
        """Return the checkpoint in `weight_format`.

        Raises
        ------
        InputError
            If the model has none; names those it has.
        """
        by_format = {c.format: c for c in self.checkpoints}
        if weight_format not in by_format:
            raise InputError(f"{self.name} has no weights in '{weight_format}'; {nearest(weight_format, by_format)}")
        return by_format[weight_format]

    def file_bytes(self, weight_format: str) -> int:
        """Return the bytes of the published files: with draft layers and what they repeat."""
        checkpoint = self.checkpoint(weight_format)
        repeated = 2 * self.vocabulary * self.hidden * checkpoint.element_bytes("other")
        again = ceil(repeated) if checkpoint.draft_vocabulary else 0
        return self.weight_bytes(weight_format, self.draft_layers) + again

    def weight_bytes(self, weight_format: str, draft_layers: int = 0) -> int:
        """Return the bytes of all weights with so many draft layers, rounded up."""
        checkpoint = self.checkpoint(weight_format)
        total = sum(w.count * checkpoint.element_bytes(w.kind) for w in self.weights)
        for weights in self.draft_weights if draft_layers else ():
            total += draft_layers * weights.count * checkpoint.draft_element_bytes(weights.kind)
        return ceil(total)
