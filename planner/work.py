"""What one step of a replica asks of each GPU: FLOP, bytes read, bytes sent.

Two readings of the same step. *Expected*: experts as a random choice meets them, heads in the tiles
of the kernels, an indexer on every tensor rank. *Least*: what no implementation can do without; the
bound is made of it. Both are exact fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from planner.attention import Weights
from planner.budget import default_batch
from planner.build import Core
from planner.engines import ServiceRates
from planner.hardware import Gpu
from planner.kvcache import KvCache, rank_share
from planner.layout import Layout
from planner.models import Model
from planner.units import ceil_div
from planner.weights import share_of

FINE = 10**9
"""Parts in which the share of experts that a step meets is rounded up."""


@dataclass(frozen=True)
class Run:
    """A replica as far as its speed goes: the chassis around its GPUs makes no difference.

    Attributes
    ----------
    weights : str
        Weight format.
    chunk_tokens : int
        Most new tokens of one step of an attention group.
    link_bytes_per_s : int
        One direction, of a GPU towards the ranks that share its experts.
    draft_tokens, draft_layers : int
        Tokens proposed per step, and the layers that propose them.
    shards_indexer : bool
        Whether context parallelism spreads an indexer's keys.
    """

    model: Model
    gpu: Gpu
    rates: ServiceRates
    weights: str
    kv: KvCache
    layout: Layout
    chunk_tokens: int
    link_bytes_per_s: int
    draft_tokens: int = 0
    draft_layers: int = 0
    shards_indexer: bool = True

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, core: Core) -> Run:
        """Return a core's replica."""
        launch, engine = core.launch, core.engine
        chunk = (launch and launch.batched_tokens) or default_batch(core.gpu, engine).batched_tokens
        return cls(
            core.model, core.gpu, engine.service, core.weights, core.footprint.kv, core.layout, chunk, _link(core),
            launch.draft_tokens if launch else 0, launch.draft_layers if launch else 0, engine.shards_indexer,
        )  # fmt: skip

    def __hash__(self) -> int:
        """Return a hash of what tells replicas of one scenario apart: they are looked up by the ten thousand."""
        return hash((self.gpu, self.weights, self.kv, self.layout, self.link_bytes_per_s))


def _link(core: Core) -> int:
    """Return the links of a GPU: within a node the fabric, else its host link; over nodes its share of the cards."""
    if core.n_nodes > 1 and core.fabric_nic is not None:
        cards = core.fabric_nics * core.fabric_nic.ports * core.fabric_nic.port_bytes_per_s
        return cards // core.chassis.n_gpus
    return local_link(core.gpu)


def local_link(gpu: Gpu) -> int:
    """Return the bytes per second of a GPU towards another of its node."""
    return gpu.fabric_bytes_per_s or gpu.host_link_bytes_per_s


@dataclass(frozen=True)
class Batch:
    """What a step of a replica holds.

    Attributes
    ----------
    sequences, tokens : int
        Sequences of the replica, and new tokens of each.
    position : int
        Where the new tokens stand, for what attention costs them.
    prefill : bool
        Whether they are of prompts: then only the last would need the output head.
    """

    sequences: int
    tokens: int
    position: int
    prefill: bool


@dataclass(frozen=True)
class Work:
    """What a step asks of the busiest GPU of one pipeline stage.

    Attributes
    ----------
    product_flops, attention_flops, scan_flops : Fraction
        Matrix products, attention proper, and an indexer's scan.
    weight_bytes, kv_bytes : Fraction
        Read from memory.
    stream_bytes : Fraction
        Moved between kernels: zero in the least reading.
    reduced_bytes, exchanged_bytes : Fraction
        Sent within an attention group, and to the ranks that share experts.
    """

    product_flops: Fraction
    attention_flops: Fraction
    scan_flops: Fraction
    weight_bytes: Fraction
    kv_bytes: Fraction
    stream_bytes: Fraction
    reduced_bytes: Fraction
    exchanged_bytes: Fraction


def step_work(run: Run, batch: Batch, *, least: bool) -> Work:
    """Return the work of one step, per GPU and pipeline stage."""
    model, layout = run.model, run.layout
    stage = _stage(run, least)
    own = Fraction(batch.sequences, layout.dp) if least else Fraction(ceil_div(batch.sequences, layout.dp))
    mine, every = own * batch.tokens, batch.sequences * batch.tokens
    attention, scan = _attention(run, batch, least)
    stream = 2 * run.rates.stream_passes * model.hidden * model.layers * mine
    return Work(
        product_flops=stage * (mine * _own_flops(run, batch.prefill, least) + every * _expert_flops(run)),
        attention_flops=stage * mine * attention,
        scan_flops=stage * mine * scan,
        weight_bytes=_weight_bytes(run, every, least) + _draft_bytes(run, batch, least),
        kv_bytes=(1 if batch.prefill else own) * session_read_bytes(run, batch.position, least),
        stream_bytes=Fraction(0) if least else stage * stream,
        # Reduced in the network and in one byte per element, a row leaves once; experts may all be at home.
        reduced_bytes=stage * mine * _reduced(run) / (4 if least else 1),
        exchanged_bytes=Fraction(0) if least else stage * every * _exchanged(run),
    )


def _stage(run: Run, least: bool) -> Fraction:
    """Return the share of the layers that the fullest pipeline stage holds."""
    pp, layers = run.layout.pp, run.model.layers
    return Fraction(1, pp) if least else Fraction(ceil_div(layers, pp), layers)


# Matrix products


@lru_cache(maxsize=4096)
def _own_flops(run: Run, prefill: bool, least: bool) -> Fraction:
    """Return FLOP per token outside experts, on one rank of its attention group.

    A rank multiplies a token with all that it holds; at the least, no two ranks do the same.
    """
    model, layout = run.model, run.layout
    shared = layout.pcp if prefill else 1
    head = Fraction(0 if prefill else model.vocabulary * model.hidden, layout.tp)
    parameters = Fraction(model.derived_active_parameters - _active_experts(model), layout.tp)
    parameters -= Fraction(model.vocabulary * model.hidden, layout.tp)
    if not least:
        parameters = sum((w.count * share_of(w, layout) for w in _in_layers(model) if w.kind != "expert"), Fraction(0))
    return 2 * (parameters + head) / shared


def _in_layers(model: Model) -> Iterator[Weights]:
    """Yield the weights that every step reads: no embedding, no encoder, and the output head apart."""
    beside = {extra.name for extra in model.extra}
    return (w for w in model.weights if w.split not in ("first", "last") and w.name not in beside)


def _expert_flops(run: Run) -> Fraction:
    """Return FLOP per token in experts, on one of the ranks that share them."""
    layout = run.layout
    return Fraction(2 * _active_experts(run.model), layout.ep if layout.ep > 1 else layout.tp * layout.pcp)


def _active_experts(model: Model) -> int:
    ff = model.feed_forward
    return ff.expert_layers * ff.active_experts * ff.expert_parameters(model.hidden)


def flops_per_token(model: Model, position: int) -> int:
    """Return FLOP to prefill one token at `position`: two per active weight but the head's, and attention."""
    attention = sum(group.prefill_flops(position) for group in model.attention)
    return 2 * (model.derived_active_parameters - model.vocabulary * model.hidden) + attention


# Attention


def _attention(run: Run, batch: Batch, least: bool) -> tuple[Fraction, Fraction]:
    """Return FLOP per token of attention proper and of an indexer's scan on one rank of an attention group."""
    layout, decode = run.layout, not batch.prefill
    ranks = layout.tp * (1 if decode else layout.pcp)
    proper = scans = Fraction(0)
    for group in run.model.attention:
        flops = group.decode_flops(batch.position) if decode else group.prefill_flops(batch.position)
        scan = group.scan_flops(batch.position)
        heads = group.latent_heads(decode=decode)
        share = Fraction(1, ranks)
        if heads and not least:
            gathered = heads * (layout.dcp if decode else 1)
            share = max(Fraction(gathered, layout.tp), Fraction(run.rates.latent_tile)) / heads
            share /= layout.dcp if decode else layout.pcp
        proper += (flops - scan) * share
        scans += scan * (Fraction(1, ranks) if least else Fraction(1, 1 if decode else layout.pcp))
    return proper, scans


@lru_cache(maxsize=4096)
def session_read_bytes(run: Run, context: int, least: bool = False) -> Fraction:
    """Return what one decode step reads of a session's cache on one rank of a stage."""
    tokens: dict[str, int] = {}
    for group in run.model.attention:
        tokens |= group.read_fraction_tokens(context)
    layout, total = run.layout, Fraction(0)
    for part in run.kv.parts:
        share = rank_share(part, layout.tp, layout.dcp, run.shards_indexer)
        share *= Fraction(part.layers, layout.pp) if least else ceil_div(part.layers, layout.pp)
        total += share * part.row_bytes * tokens.get(part.name, context)
        total += 2 * share * part.state_bytes  # read and written back
    return total


# Weights


def experts_hit(model: Model, tokens: int, *, least: bool) -> Fraction:
    """Return the share of experts that `tokens` meet in a layer: expected, rounded up, or at the very least."""
    ff = model.feed_forward
    if not ff.experts:
        return Fraction(0)
    one = Fraction(ff.active_experts, ff.experts)
    return one if least else _expected(one, tokens)


@lru_cache(maxsize=16384)
def _expected(one: Fraction, tokens: int) -> Fraction:
    return Fraction(-((-(1 - (1 - one) ** tokens) * FINE) // 1), FINE)


def _weight_bytes(run: Run, tokens: int, least: bool) -> Fraction:
    dense, experts, head = _read_once(run)
    return _stage(run, least) * (dense + experts * experts_hit(run.model, tokens, least=least)) + head


@lru_cache(maxsize=4096)
def _read_once(run: Run) -> tuple[Fraction, Fraction, Fraction]:
    """Return bytes per GPU of all layers' weights outside experts, in experts, and of the output head.

    Left out is what a step does not read: the embedding, encoders, and what loading adds.
    """
    model, layout = run.model, run.layout
    checkpoint = model.checkpoint(run.weights)
    dense = experts = Fraction(0)
    for weights in _in_layers(model):
        size = weights.count * checkpoint.element_bytes(weights.kind) * share_of(weights, layout)
        dense, experts = (dense, experts + size) if weights.kind == "expert" else (dense + size, experts)
    kind = "other" if model.tied else "head"
    head = model.vocabulary * model.hidden * checkpoint.element_bytes(kind) / layout.tp  # type: ignore[arg-type]
    return dense, experts, head


def _draft_bytes(run: Run, batch: Batch, least: bool) -> Fraction:
    """Return what proposing tokens reads: a draft layer and the head for each of them."""
    if batch.prefill or not run.draft_tokens or not run.draft_layers or least:
        return Fraction(0)
    dense, experts = _draft_layer(run)
    each = dense + experts * experts_hit(run.model, batch.sequences, least=False) + _read_once(run)[2]
    return run.draft_tokens * each


@lru_cache(maxsize=4096)
def _draft_layer(run: Run) -> tuple[Fraction, Fraction]:
    checkpoint = run.model.checkpoint(run.weights)

    def size(weights: Weights) -> Fraction:
        return weights.count * checkpoint.draft_element_bytes(weights.kind) * share_of(weights, run.layout)

    parts = run.model.draft_weights
    dense = sum((size(w) for w in parts if w.kind != "expert"), Fraction(0))
    return dense, sum((size(w) for w in parts if w.kind == "expert"), Fraction(0))


# Between GPUs


def _reduced(run: Run) -> Fraction:
    """Return bytes per token that a tensor rank sends in two all-reduces of BF16 rows per layer."""
    tensor, model = run.layout.tp, run.model
    return Fraction(2 * 2 * 2 * (tensor - 1) * model.hidden * model.layers, tensor)


def _exchanged(run: Run) -> Fraction:
    """Return bytes per token that a GPU sends to the experts' ranks and back, in BF16 rows."""
    layout, ff = run.layout, run.model.feed_forward
    if layout.ep == 1 or layout.dp == 1:
        return Fraction(0)
    ranks = min(ff.active_experts, layout.ep - 1)
    return Fraction(2 * 2 * run.model.hidden * ranks * ff.expert_layers, layout.ep)
