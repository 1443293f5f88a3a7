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
    "nvfp4": Fraction(1, 2) + Fraction(1, 16),  # one fp8 scale per 16 weights
    "mxfp4": Fraction(1, 2) + Fraction(1, 32),  # one e8m0 scale per 32 weights
    "int4": Fraction(1, 2) + Fraction(2, 32),  # one BF16 scale per group of 32
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

    def weights(self, hidden: int) -> tuple[Weights, ...]:
        """Return the parameters by group."""
        one = 3 * hidden * self.expert_size
        bias = (2 * self.expert_size + hidden + 1) * self.experts * self.expert_bias
        router = hidden * self.experts + self.experts * self.router_bias
        return (
            Weights("dense feed-forward", self.dense_layers * 3 * hidden * self.dense_size, "linear", "tensor"),
            Weights("routed experts", self.expert_layers * self.experts * one, "expert", "expert"),
            Weights("shared experts", self.expert_layers * self.shared_experts * one, "linear", "tensor"),
            Weights("expert biases", self.expert_layers * bias, "other", "expert"),
            Weights("routers", self.expert_layers * router, "other", "none"),
        )


@record
class Checkpoint:
    """A published set of weights.

    Attributes
    ----------
    format : str
        What users call it: ``bf16``, ``fp8``, ``nvfp4``, ``mxfp4``, ``int4``.
    experts, linear, other : str
        Element format of routed experts, other matrices, and the rest.
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
    other: Text = "bf16"
    draft: str = ""
    draft_vocabulary: Flag = False
    bytes: Whole | None = None
    source: tuple[Text, ...] = ()
    note: str = ""

    def element_bytes(self, kind: WeightKind) -> Fraction:
        """Return bytes per parameter of one kind of weight."""
        name = {"expert": self.experts, "linear": self.linear, "other": self.other}[kind]
        if name not in BYTES_PER_WEIGHT:
            raise InputError(f"unknown element format '{name}'; {nearest(name, BYTES_PER_WEIGHT)}")
        return BYTES_PER_WEIGHT[name]

    def draft_element_bytes(self, kind: WeightKind) -> Fraction:
        """Return bytes per parameter of one kind of weight in the draft layers."""
        return BYTES_PER_WEIGHT[self.draft] if self.draft else self.element_bytes(kind)


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
    attention : tuple
        Groups of layers by attention family.
    feed_forward : FeedForward
        Dense and expert layers.
    draft_layers : int
        Multi-token-prediction layers, each a full layer with a projection of its own.
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
    attention: tuple[AnyAttention, ...]
    feed_forward: FeedForward
    draft_layers: Whole = 0
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
    def family(self) -> str:
        """The family that decides the KV format: that of the group that grows with the context."""
        return self.attention[0].family

    @cached_property
    def weights(self) -> tuple[Weights, ...]:
        """All parameters of the main model by group."""
        vocabulary = self.vocabulary * self.hidden
        norms = (2 * self.layers + 1) * self.hidden
        attention = [w for group in self.attention for w in group.weights(self.hidden)]
        head = [] if self.tied else [Weights("output head", vocabulary, "other", "last")]
        ends = [Weights("embedding", vocabulary, "other", "first"), *head]
        groups = [*attention, *self.feed_forward.weights(self.hidden), *ends]
        groups.append(Weights("layer norms", norms, "other", "none"))
        return tuple(w for w in groups if w.count)

    @cached_property
    def draft_weights(self) -> tuple[Weights, ...]:
        """Parameters of one draft layer: a layer like the last, a projection and five norms."""
        group = self.attention[0]
        # Each draft layer owns an indexer even where the main layers share theirs.
        one = [replace(w, count=w.count // self._owners(w)) for w in group.weights(self.hidden)]
        ff = replace(self.feed_forward, dense_layers=0, expert_layers=1)
        if not self.feed_forward.expert_layers:
            ff = replace(self.feed_forward, dense_layers=1)
        projection = Weights("draft projection", 2 * self.hidden**2, "linear", "none")
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
        idle = ff.expert_layers * (ff.experts - ff.active_experts) * 3 * self.hidden * ff.expert_size
        return self.derived_parameters - idle - (0 if self.tied else self.vocabulary * self.hidden)

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
