"""Serving engines by version: which formats exist where, and what the engine keeps for itself.

The facts stand in ``catalog/engines/<engine>-<version>.yaml``; adding a version is adding a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planner.errors import nearest
from planner.evidence import Evidence
from planner.fields import Bytes, Count, Flag, Number, Seconds, Share, Text, Tokens, Whole, record


@record
class FormatRule:
    """A format and where it exists.

    Attributes
    ----------
    format : str
        Name of a KV or weight format.
    families : tuple of str
        Attention families that can store it (KV formats); empty for weight formats.
    architectures : tuple of str
        GPU architectures that have kernels for it.
    """

    format: Text
    families: tuple[Text, ...] = ()
    architectures: tuple[Text, ...]
    source: tuple[Text, ...] = ()
    assumed: str = ""
    note: str = ""


@record
class Runtime:
    """What an engine takes from each GPU beside weights and KV cache.

    Attributes
    ----------
    visible_fraction : Fraction
        Share of the driver's total that the engine sees as total.
    base_single_bytes, base_parallel_bytes : int
        Contexts and communication buffers of one GPU alone and of several together.
    logits_factor : Fraction
        Activation peak: so many bytes per sequence in the batch and vocabulary entry.
    hidden_factor : Fraction
        Activation peak: so many bytes per batched token and hidden unit.
    max_sequences, batched_tokens : int
        Profiling batch.
    graphs_bytes : int
        Captured graphs, where they are inside the budget.
    sparse_workspace_factor, sparse_workspace_long_factor : int
        DSA prefill workspace in rows of ``sparse_row_bytes`` per token of maximum context, up to
        ``sparse_long_from_tokens`` and beyond.
    expert_buffer_bytes : int
        All-to-all buffers with expert parallelism.
    """

    visible_fraction: Share
    base_single_bytes: Bytes
    base_parallel_bytes: Bytes
    logits_factor: Number
    hidden_factor: Number
    max_sequences: Count
    batched_tokens: Count
    graphs_bytes: Bytes
    sparse_workspace_factor: Count
    sparse_workspace_long_factor: Count
    sparse_long_from_tokens: Tokens
    sparse_row_bytes: Bytes
    expert_buffer_bytes: Bytes


@record
class ServiceRates:
    """What the engine reaches of the hardware's peaks, for the coarse service floors.

    Attributes
    ----------
    prefill_fraction, decode_fraction : Fraction
        Of dense FLOP/s at the weights' type, and of memory bandwidth.
    load_ceiling_fraction : Fraction
        Share of the resulting rate that may be planned at the peak.
    step_floor_s : Fraction
        Shortest decode step whatever the batch.
    """

    prefill_fraction: Share
    decode_fraction: Share
    load_ceiling_fraction: Share
    step_floor_s: Seconds


@record
class Engine:
    """One version of a serving engine.

    Attributes
    ----------
    utilisation_fraction : Fraction
        Share of the visible memory that the engine may use.
    block_tokens, latent_block_tokens : int
        KV block of K/V heads and of latent attention.
    context_parallel : bool
        Whether decode context parallelism exists.
    shards_indexer : bool
        Whether it spreads the indexer's keys too.
    sparse_context_architectures : tuple of str
        GPU architectures on which context parallelism goes with sparse attention.
    """

    kind: Literal["engine"] = "engine"
    id: Text
    name: Text
    version: Text
    utilisation_fraction: Share
    block_tokens: Count
    latent_block_tokens: Count
    context_parallel: Flag
    shards_indexer: Flag
    sparse_context_architectures: tuple[Text, ...] = ()
    runtime: Runtime
    service: ServiceRates
    kv_formats: tuple[FormatRule, ...]
    weight_formats: tuple[FormatRule, ...]
    source: tuple[Text, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    note: str = ""

    def kv_format_fault(self, kv_format: str, family: str, architecture: str) -> str:
        """Return why this KV format cannot be used there; empty where it can."""
        rules = [r for r in self.kv_formats if family in r.families]
        legal = [r.format for r in rules if architecture in r.architectures]
        if kv_format in legal:
            return ""
        known = sorted({r.format for r in rules})
        there = f"{self.name} on {architecture} has {', '.join(sorted(set(legal))) or 'none'}"
        if kv_format not in known:
            return f"{self.name} has no KV format '{kv_format}' for {family}; {nearest(kv_format, known)}"
        where = sorted({a for r in rules if r.format == kv_format for a in r.architectures})
        return f"KV format '{kv_format}' exists on {', '.join(where)} only; {there}"

    def kv_format_note(self, kv_format: str, family: str, architecture: str) -> str:
        """Return what must be known to use this KV format there; empty where nothing."""
        for rule in self.kv_formats:
            if rule.format == kv_format and family in rule.families and architecture in rule.architectures:
                return rule.assumed or rule.note
        return ""

    def weight_format_fault(self, weight_format: str, architecture: str) -> str:
        """Return why this weight format cannot be used there; empty where it can."""
        rules = {r.format: r for r in self.weight_formats}
        if weight_format not in rules:
            return f"{self.name} has no weight format '{weight_format}'; {nearest(weight_format, rules)}"
        if architecture in rules[weight_format].architectures:
            return ""
        where = ", ".join(rules[weight_format].architectures)
        return f"weights in '{weight_format}' run on {where} only, not on {architecture}"


@record
class Cache:
    """A KV offload product: how it fills host memory and drives.

    Attributes
    ----------
    engines : tuple of str
        Engine ids that it works with; empty for all.
    validated_architectures : tuple of str
        GPU architectures that its own documents or public runs show it on.
    chunk_tokens : int
        Only whole chunks are stored.
    usable_fraction : Fraction
        Share of a tier's configured size that holds live data (eviction starts before it is full).
    space_fraction : Fraction
        Share of the drives' space that is given to the tier.
    host_fraction : Fraction
        Share of host memory that may be pinned for the tier.
    staging_prefixes : int
        Concurrent loads from the lower tier, each needing its whole prefix in host memory.
    host_link_fraction, drive_read_fraction, drive_write_fraction : Fraction
        What the product really moves of the nominal bandwidth.
    load_ceiling : Fraction
        Share of that which may be planned.
    """

    kind: Literal["cache"] = "cache"
    id: Text
    name: Text
    version: Text
    engines: tuple[Text, ...] = ()
    validated_architectures: tuple[Text, ...] = ()
    chunk_tokens: Count
    usable_fraction: Share
    space_fraction: Share
    host_fraction: Share
    staging_prefixes: Whole
    host_link_fraction: Share
    drive_read_fraction: Share
    drive_write_fraction: Share
    load_ceiling_fraction: Share
    source: tuple[Text, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    note: str = ""


@record
class Measured:
    """Figures of a real run, used instead of our estimate where everything named agrees.

    Attributes
    ----------
    weights_memory_bytes, kv_memory_bytes : int
        Per GPU.
    """

    kind: Literal["measured"] = "measured"
    id: Text
    model: Text
    engine: Text
    weights: Text
    kv_format: Text
    gpu: Text
    layout: Text
    weights_memory_bytes: Bytes
    kv_memory_bytes: Bytes
    source: tuple[Text, ...]
    note: str = ""


@dataclass(frozen=True)
class EngineShelf:
    """All engines, offload products and measurements of the catalogue by id."""

    engines: Mapping[str, Engine]
    caches: Mapping[str, Cache]
    measured: tuple[Measured, ...] = ()
