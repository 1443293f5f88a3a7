"""Serving engines by version: which formats exist where, and what the engine keeps for itself.

The facts stand in ``catalog/engines/<engine>-<version>.yaml``; adding a version is adding a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planner.attention.gqa import Heads
from planner.errors import nearest
from planner.evidence import Evidence
from planner.fields import Bytes, Count, Flag, Number, Seconds, Share, Text, Tokens, Whole, record
from planner.paging import PagingRules


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
    hidden_multiple, inner_multiple : int
        To multiples of what the kernels pad experts' hidden and intermediate sizes.
    loaded : Fraction or None
        Bytes per weight once loaded, where they differ from the file's.
    workspace : bool
        Whether the kernels of experts in it keep workspaces.
    head_sizes : tuple of int
        Elements per head that the kernels of a KV format take; any if empty.
    equal_heads, no_sinks : bool
        Whether keys and values must be of one size, and heads without learned sinks.
    default_for : tuple of str
        Beginnings of the ids of models for which ``auto`` means this KV format; ``*`` for all.
    """

    format: Text
    families: tuple[Text, ...] = ()
    architectures: tuple[Text, ...]
    hidden_multiple: Count = 1
    inner_multiple: Count = 1
    loaded: Number | None = None
    workspace: Flag = True
    head_sizes: tuple[Count, ...] = ()
    equal_heads: Flag = False
    no_sinks: Flag = False
    default_for: tuple[Text, ...] = ()
    source: tuple[Text, ...] = ()
    assumed: str = ""
    note: str = ""

    def heads_fault(self, groups: Sequence[object]) -> str:
        """Return why these groups of layers cannot have it, as far as the size of heads goes; else empty."""
        for group in groups:
            if not isinstance(group, Heads):
                continue
            sizes = {group.key_dim, group.value_dim}
            if self.head_sizes and not sizes <= set(self.head_sizes):
                wanted = ", ".join(map(str, self.head_sizes))
                return f"needs heads of {wanted} elements, not of {', '.join(map(str, sorted(sizes)))}"
            if self.equal_heads and len(sizes) > 1:
                return f"needs keys and values of one size, not {group.key_dim} and {group.value_dim}"
            if self.no_sinks and group.sinks:
                return "does not go with attention sinks"
        return ""


@record
class Batch:
    """The largest batch that an engine prepares for, by the GPU's memory.

    Attributes
    ----------
    from_memory_bytes : int
        GPUs of at least so much memory.
    not_on : tuple of str
        Architectures that it does not hold for.
    max_sequences : int
        Sequences in one batch.
    tensor_sequences : int or None
        The same of four and more tensor ranks, where it differs.
    batched_tokens : int
        New tokens in one step.
    """

    from_memory_bytes: Bytes
    not_on: tuple[Text, ...] = ()
    max_sequences: Count
    tensor_sequences: Count | None = None
    batched_tokens: Tokens


@record
class Activations:
    """The peak of activations, which is reached in the sampler or in the widest layer.

    sampler = sampler * S * V + vocabulary * V + stream * B * H + sampled * S * H
    layer = widest * B * I / tp + streams * B * H + scores + latent * h * (nope + value)
    peak = base + max(sampler, layer)

    with S sequences, V vocabulary, B batched tokens, H hidden size, I intermediate size, h heads
    per rank; scores for sparse attention, the last term for dense latent attention.

    Attributes
    ----------
    base_bytes : int
        Workspaces of fixed size.
    sampler : Fraction
        Bytes per sequence and vocabulary entry: logits and what sampling derives from them.
    vocabulary : Fraction
        Bytes per vocabulary entry: buffers with one row per multiprocessor.
    stream : Fraction
        Bytes per batched token and hidden unit: one residual stream.
    sampled : Fraction
        Bytes per sequence and hidden unit.
    streams, widest : Fraction
        Bytes per batched token that live within a layer: per hidden and per intermediate unit.
    scores_bytes : int
        Scores of a sparse attention's indexer.
    latent : Fraction
        Bytes per head of this rank and element of its keys and values, when cached latents are
        projected back to heads.
    """

    base_bytes: Bytes
    sampler: Number
    vocabulary: Number
    stream: Number
    sampled: Number
    streams: Number
    widest: Number
    scores_bytes: Bytes
    latent: Number


@record
class Workspace:
    """A buffer that experts and sparse attention share; the larger use sizes it.

    experts = experts * M * k * (max(I_e, H) + max(2 I_e, H))
    sparse = B * (query * h + padded * ceil64(h)) + factor * longest context * row

    with M tokens of one step over all attention groups, k experts per token of intermediate size
    I_e on this rank, H their width, B batched tokens, h heads per rank.

    Attributes
    ----------
    experts : Fraction
        Bytes per element of the two workspaces of fused experts; 0 where kernels keep none.
    query, padded : Fraction
        Bytes per batched token and head, and head rounded up to 64.
    factor, long_factor : int
        Rows of ``row_bytes`` per token of maximum context, up to ``long_from_tokens`` and beyond.
    picked : Fraction
        Bytes per batched token and selected token: the buffer of selections, kept beside.
    """

    experts: Number
    query: Number
    padded: Number
    factor: Count
    long_factor: Count
    long_from_tokens: Tokens
    row_bytes: Bytes
    picked: Number


@record
class Reserve:
    """Memory that an engine leaves free by rule instead of a fixed share (SGLang).

    reserve = max(floor, base + chunk * B + rank * tp * pp + sequence * S + group * S * dp
                         + graphs, or latent if the attention is latent) + experts if spread;
    taken off the driver's memory, the rest rounded to a thousandth; B batched tokens, S sequences,
    dp attention groups.

    Attributes
    ----------
    base_bytes, chunk_bytes, rank_bytes, sequence_bytes, group_bytes, many_bytes : int
        As in the formula; `many_bytes` is added to `group_bytes` above ``many_sequences``.
    many_sequences : int
        See above.
    graphs_bytes, latent_bytes, expert_bytes : int
        Prefill graphs of K/V heads and of latent attention, neither with pipeline stages; buffers
        of spread experts.
    floor_bytes, floor_from_bytes : int
        Least reserve on GPUs of at least so much memory.
    """

    base_bytes: Bytes
    chunk_bytes: Bytes
    rank_bytes: Bytes
    sequence_bytes: Bytes
    group_bytes: Bytes
    many_bytes: Bytes
    many_sequences: Count
    graphs_bytes: Bytes
    latent_bytes: Bytes
    expert_bytes: Bytes
    floor_bytes: Bytes
    floor_from_bytes: Bytes


@record
class Runtime:
    """What an engine takes from each GPU beside weights and KV cache.

    Attributes
    ----------
    visible_fraction : Fraction
        Share of the driver's total that the engine sees as total, for GPUs of which no log says.
    base_single_bytes, base_parallel_bytes, base_bridged_bytes : int
        Contexts and communication buffers of a rank alone, of ranks that reduce or exchange over a
        GPU fabric, and of ranks that do so over PCIe.
    position_bytes : Fraction
        Bytes per element of the tables of sines and cosines.
    batches : tuple of Batch
        The first that fits the GPU counts.
    activations : Activations or None
        None where they live in the reserve.
    workspace : Workspace or None
        None where it lives in the reserve.
    graphs_bytes : int
        Captured graphs, where they are inside the budget.
    expert_buffer_bytes : int
        All-to-all buffers with expert parallelism.
    """

    visible_fraction: Share
    base_single_bytes: Bytes
    base_parallel_bytes: Bytes
    base_bridged_bytes: Bytes
    position_bytes: Number
    batches: tuple[Batch, ...]
    activations: Activations | None = None
    workspace: Workspace | None = None
    graphs_bytes: Bytes
    expert_buffer_bytes: Bytes


@record
class ServiceRates:
    """What the engine reaches of the hardware's peaks, and what each step costs whatever it holds.

    Attributes
    ----------
    compute_fraction, attention_fraction : Fraction
        Of dense FLOP/s: matrix products at the weights' type, attention at BF16.
    bandwidth_fraction, fabric_fraction : Fraction
        Of memory bandwidth, and of one direction of the links between GPUs.
    load_ceiling_fraction, decode_ceiling_fraction : Fraction
        Shares of the time at the peak: that prompts may take, and that prompts and steps may take
        together with the promised rate still kept.
    step_floor_s, layer_floor_s : Fraction
        Shortest step, and what each layer adds.
    stream_passes : int
        Times that a layer reads or writes a BF16 row of the hidden size for each token.
    latent_tile : int
        Query heads that kernels of latent attention take at once; fewer take as long.
    """

    compute_fraction: Share
    attention_fraction: Share
    bandwidth_fraction: Share
    fabric_fraction: Share
    load_ceiling_fraction: Share
    decode_ceiling_fraction: Share
    step_floor_s: Seconds
    layer_floor_s: Seconds
    stream_passes: Whole
    latent_tile: Count


@record
class Engine:
    """One version of a serving engine.

    Attributes
    ----------
    utilisation_fraction : Fraction or None
        Share of the visible memory that the engine may use; None where `reserve` says it.
    reserve : Reserve or None
        What it leaves free by rule.
    block_tokens, latent_block_tokens, compressed_block_tokens : int
        KV block of K/V heads, of latent attention, and of compressed caches.
    paging : PagingRules
        How blocks, pages and groups of layers come about.
    context_parallel, prefill_context_parallel : bool
        Whether decode and prefill context parallelism exist.
    shards_indexer : bool
        Whether it spreads the indexer's keys too.
    sparse_context_architectures : tuple of str
        GPU architectures on which context parallelism goes with sparse attention.
    """

    kind: Literal["engine"] = "engine"
    id: Text
    name: Text
    version: Text
    utilisation_fraction: Share | None = None
    reserve: Reserve | None = None
    block_tokens: Count
    latent_block_tokens: Count
    compressed_block_tokens: Count = 256
    paging: PagingRules
    context_parallel: Flag
    prefill_context_parallel: Flag = False
    shards_indexer: Flag
    sparse_context_architectures: tuple[Text, ...] = ()
    runtime: Runtime
    service: ServiceRates
    kv_formats: tuple[FormatRule, ...]
    weight_formats: tuple[FormatRule, ...]
    source: tuple[Text, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    note: str = ""

    def architecture_fault(self, architecture: str) -> str:
        """Return why nothing can be said of a GPU architecture; empty where some rule names it."""
        known = {a for rule in (*self.kv_formats, *self.weight_formats) for a in rule.architectures}
        if architecture in known:
            return ""
        names = ", ".join(sorted(known))
        return f"the profile of {self.name} {self.version} says nothing of {architecture}; it knows {names}"

    def kv_format_fault(self, kv_format: str, family: str, architecture: str, groups: Sequence[object] = ()) -> str:
        """Return why this KV format cannot be used there; empty where it can.

        Parameters
        ----------
        groups : sequence of Attention
            The model's groups of layers, whose heads the kernels must take.
        """
        if fault := self.architecture_fault(architecture):
            return fault
        rules = [r for r in self.kv_formats if family in r.families]
        there_rules = [r for r in rules if architecture in r.architectures]
        legal = [r.format for r in there_rules if not r.heads_fault(groups)]
        if kv_format in legal:
            return ""
        for rule in there_rules:
            if rule.format == kv_format:
                other = f"; {self.name} has {', '.join(sorted(set(legal)))} there" if legal else ""
                return f"KV format '{kv_format}' on {architecture} {rule.heads_fault(groups)}{other}"
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

    def default_kv_format(self, model: str, family: str, architecture: str, groups: Sequence[object] = ()) -> str:
        """Return what ``auto`` means for a model there: its own default, else BF16, else what alone is legal."""
        rules = [r for r in self.kv_formats if family in r.families and architecture in r.architectures]
        for rule in rules:
            if any(name == "*" or model.startswith(name) for name in rule.default_for):
                return rule.format
        legal = list(dict.fromkeys(r.format for r in rules if not r.heads_fault(groups)))
        return "bf16" if "bf16" in legal or not legal else legal[0]

    def weight_rule(self, element: str) -> FormatRule | None:
        """Return the rule of weights in an element format, None where there is none."""
        return next((rule for rule in self.weight_formats if rule.format == element), None)

    def weight_format_fault(self, weight_format: str, architecture: str) -> str:
        """Return why this weight format cannot be used there; empty where it can."""
        if fault := self.architecture_fault(architecture):
            return fault
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
    latent : {'once', 'once if plain', 'once if plain and dense', 'per rank'}
        How often a cache that all ranks hold alike is stored; ``plain``: without pipeline and
        context parallelism; ``dense``: without an indexer.
    sized_per : {'node', 'engine', 'rank'}
        What the product's own size setting counts.
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
    write_amplification : Fraction
        Bytes that flash cells take per byte that the product writes, at the size of its writes.
    """

    kind: Literal["cache"] = "cache"
    id: Text
    name: Text
    version: Text
    engines: tuple[Text, ...] = ()
    validated_architectures: tuple[Text, ...] = ()
    latent: Literal["once", "once if plain", "once if plain and dense", "per rank"]
    sized_per: Literal["node", "engine", "rank"] = "node"
    chunk_tokens: Count
    usable_fraction: Share
    space_fraction: Share
    host_fraction: Share
    staging_prefixes: Whole
    host_link_fraction: Share
    drive_read_fraction: Share
    drive_write_fraction: Share
    load_ceiling_fraction: Share
    write_amplification: Number
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
    max_model_tokens : int or None
        Longest context that the run was started for; None where it is not known, and then taken
        to be any.
    utilisation_fraction, max_sequences, batched_tokens
        Other options of the run; None for the engine's defaults.
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
    max_model_tokens: Tokens | None = None
    utilisation_fraction: Share | None = None
    max_sequences: Count | None = None
    batched_tokens: Tokens | None = None
    source: tuple[Text, ...]
    note: str = ""


@dataclass(frozen=True)
class EngineShelf:
    """All engines, offload products and measurements of the catalogue by id."""

    engines: Mapping[str, Engine]
    caches: Mapping[str, Cache]
    measured: tuple[Measured, ...] = ()
