"""What a reader of a configuration hands on: a model's shape in the words of a model's file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.attention import WeightKind

GATED = ("gate_proj", "up_proj", "down_proj")
HEADS = ("q_proj", "k_proj", "v_proj", "o_proj")
LATENT = ("kv_a_proj_with_mqa", "kv_b_proj", "o_proj")


@dataclass(frozen=True)
class Names:
    """How a checkpoint names the matrices of a layer, for lists of what stays unquantised.

    Attributes
    ----------
    attention, linear_attention : tuple of str
        Matrices of attention, and of layers with a state, below the layer's name.
    dense, shared : tuple of str
        Matrices of dense feed-forward and of shared experts.
    experts : str
        What routed experts are named, before their number.
    expert_matrices : tuple of str
        Matrices of an expert.
    """

    attention: tuple[str, ...] = tuple(f"self_attn.{name}" for name in HEADS)
    linear_attention: tuple[str, ...] = ()
    dense: tuple[str, ...] = tuple(f"mlp.{name}" for name in GATED)
    shared: tuple[str, ...] = ()
    experts: str = "mlp.experts"
    expert_matrices: tuple[str, ...] = GATED


@dataclass(frozen=True)
class Matrix:
    """A kind of matrix of one layer; `{e}` in its name stands for an expert's number."""

    layer: int
    name: str
    kind: WeightKind


def under(parent: str, *names: str) -> tuple[str, ...]:
    """Return names below `parent`."""
    return tuple(f"{parent}.{name}" for name in names)


@dataclass
class Draft:
    """A model's shape.

    Attributes
    ----------
    hidden, vocabulary, max_context : int
        Sizes of the residual stream and the vocabulary; longest context in tokens.
    positions : int
        Rows of position tables where linear scaling makes more of them; 0 else.
    tied : bool
        Whether embedding and output head are one matrix.
    attention : list of dict
        Groups of layers as a model's file writes them, those that grow with the context first.
    feed_forward : dict
        The feed-forward layers likewise.
    draft_layers, norms_per_block : int
        As in a model's file.
    extra : list of dict
        Parameters beside the layers likewise.
    encoder : bool
        Whether images or sound enter.
    encoder_item : tuple of int, or None
        Of the largest image: tokens that it becomes and values that it has, where that is certain.
    drafts_untold : bool
        Whether no key says how many draft layers the files hold.
    indexed : sequence of bool
        Per layer whether it owns an indexer; empty where all that could have one do.
    names : Names
        How the checkpoint calls matrices.
    expert_format : str
        Element format of routed experts in a checkpoint in FP8; empty where they are as the rest.
    states : sequence of bool
        Per layer whether it carries a state instead of a cache.
    feeds : sequence of str
        Per layer ``dense``, ``expert``, ``both`` or, where it has no feed-forward, nothing.
    attends : sequence of bool
        Per layer whether it has attention or a state at all.
    """

    hidden: int
    vocabulary: int
    max_context: int
    tied: bool
    positions: int = 0
    attention: list[dict[str, Any]] = field(default_factory=list)
    feed_forward: dict[str, Any] = field(default_factory=dict)
    draft_layers: int = 0
    norms_per_block: int = 1
    extra: list[dict[str, Any]] = field(default_factory=list)
    encoder: bool = False
    encoder_item: tuple[int, int] | None = None
    drafts_untold: bool = False
    indexed: Sequence[bool] = ()
    names: Names = field(default_factory=Names)
    expert_format: str = ""
    states: Sequence[bool] = ()
    feeds: Sequence[str] = ()
    attends: Sequence[bool] = ()

    def add_extra(self, name: str, count: int, split: str = "tensor") -> None:
        """Add `count` parameters beside the layers, unless there are none."""
        if count:
            self.extra.append({"name": name, "count": count, "split": split})

    def matrices(self) -> Iterable[Matrix]:
        """Yield every matrix that a quantisation may touch, those of an expert once per layer."""
        for i, feed in enumerate(self.feeds):
            state = bool(self.states) and self.states[i]
            attends = not self.attends or self.attends[i]
            lacks = bool(self.indexed) and not self.indexed[i]
            for name in (self.names.linear_attention if state else self.names.attention) if attends else ():
                if not (lacks and ".index" in name):
                    yield Matrix(i, name, "attention")
            for name in self.names.dense if feed in ("dense", "both") else ():
                yield Matrix(i, name, "linear")
            if feed in ("expert", "both"):
                for name in self.names.shared if self.has_shared else ():
                    yield Matrix(i, name, "linear")
                for name in self.names.expert_matrices:
                    yield Matrix(i, f"{self.names.experts}.{{e}}.{name}", "expert")

    @property
    def has_shared(self) -> bool:
        """Whether its layers with experts have shared ones."""
        feed = self.feed_forward
        return bool(feed.get("shared_experts") or feed.get("shared_size"))
