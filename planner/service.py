"""How fast a replica serves: a roofline with a floor per step.

The *bound* is physics: the peak FLOP/s, the peak bandwidth, the least work, everything overlapped.
Nothing measured may beat it. The *estimate* is what an engine reaches of those peaks, with the
expected work and what every step and layer costs by themselves. Both are exact fractions: the
inputs are known to one digit, but a limit decides the same way every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from planner.hardware import Gpu
from planner.work import Batch, Run, Work, local_link, step_work

_MOST_SESSIONS, _FIRST_TRIED = 4096, 64


def peak_flops(gpu: Gpu, element: str) -> int:
    """Return the dense peak at which weights of an element format are multiplied on `gpu`.

    Formats that the GPU has no units for are widened to BF16 first.
    """
    fp8 = gpu.dense.fp8_flops
    rates = {"fp8": fp8, "fp8-channel": fp8, "nvfp4": gpu.dense.fp4_flops, "mxfp4": gpu.dense.fp4_flops}
    return rates.get(element) or gpu.dense.bf16_flops


def product_peak(run: Run) -> int:
    """Return the dense peak of a replica's matrix products."""
    checkpoint = run.model.checkpoint(run.weights)
    return peak_flops(run.gpu, checkpoint.experts if run.model.feed_forward.experts else checkpoint.linear)


@lru_cache(maxsize=65536)
def step_seconds(run: Run, batch: Batch) -> Fraction:
    """Return the estimated time of one step through all stages."""
    floor = run.rates.step_floor_s + layers_of(run, batch) * run.rates.layer_floor_s
    return floor + run.layout.pp * _stage_seconds(run, step_work(run, batch, least=False))


def layers_of(run: Run, batch: Batch) -> int:
    """Return the layers that a step runs, those that propose tokens among them."""
    drafted = run.draft_tokens if run.draft_layers and not batch.prefill else 0
    return run.model.layers + drafted


def _stage_seconds(run: Run, work: Work) -> Fraction:
    """Return a stage's time: products or reading weights, attention or reading the cache, moving rows, sending."""
    rates, gpu = run.rates, run.gpu
    memory = gpu.memory_bandwidth_bytes_per_s * rates.bandwidth_fraction
    products = work.product_flops / (product_peak(run) * rates.compute_fraction)
    attention = work.attention_flops / (gpu.dense.bf16_flops * rates.attention_fraction)
    attention += work.scan_flops / ((gpu.dense.fp8_flops or gpu.dense.bf16_flops) * rates.attention_fraction)
    sent = work.reduced_bytes / local_link(gpu) + work.exchanged_bytes / run.link_bytes_per_s
    return (
        max(products, work.weight_bytes / memory) + max(attention, work.kv_bytes / memory)
        + work.stream_bytes / memory + sent / rates.fabric_fraction
    )  # fmt: skip


# Prefill


@lru_cache(maxsize=4096)
def prefill_tokens_per_s(run: Run, position: int) -> Fraction:
    """Return the prompt tokens per second of a replica at `position`, all its groups and stages at work."""
    layout, chunk = run.layout, run.chunk_tokens
    seconds = step_seconds(run, Batch(layout.dp, chunk, position, prefill=True))
    return layout.pp * layout.dp * chunk / seconds


@lru_cache(maxsize=4096)
def prompt_seconds(run: Run, tokens: int, position: int) -> Fraction:
    """Return the time to prefill one prompt of `tokens` new tokens alone on a replica, chunk by chunk.

    Its attention and dense layers run on the ranks of its own attention group, its experts on all
    ranks that share them. Chunks follow each other through pipeline stages.
    """
    whole, rest = divmod(tokens, run.chunk_tokens)
    sizes = [(run.chunk_tokens, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)
    steps = [(step_seconds(run, Batch(1, size, position, prefill=True)), many) for size, many in sizes]
    if not steps:
        return Fraction(0)
    every = sum((seconds * many for seconds, many in steps), Fraction(0))
    return every / run.layout.pp + steps[0][0] * Fraction(run.layout.pp - 1, run.layout.pp)


# Decode


def decode_step_s(run: Run, sessions: int, context: int) -> Fraction:
    """Return the time of one decode step of a replica with `sessions` at `context` tokens."""
    return step_seconds(run, Batch(sessions, 1 + run.draft_tokens, context, prefill=False))


@lru_cache(maxsize=4096)
def decode_sessions(run: Run, context: int, step_s: Fraction, ceiling: Fraction, prompt_share: Fraction) -> int:
    """Return how many sessions one replica decodes.

    It is the largest n with step(n) / step_s + n * prompt_share <= ceiling.

    Parameters
    ----------
    step_s : Fraction
        Seconds that a step may take with nothing else to do.
    prompt_share : Fraction
        Share of the time that the prompts of each session in flight take.
    """
    return largest(
        lambda n: decode_step_s(run, n, context) / step_s + n * prompt_share, ceiling, _MOST_SESSIONS, _FIRST_TRIED
    )


def largest(busy: Callable[[int], Fraction], ceiling: Fraction, most: int, first: int) -> int:
    """Return the largest n up to `most` with busy(n) <= ceiling, 0 where there is none; busy rises with n.

    It is asked where it would meet the ceiling if it were straight, and every third time half-way: a step's time
    is nearly straight, so that half as many steps are looked at as by halves alone.
    """
    low, high, tried = 0, most, min(first, most)
    below, above, times = 0.0, 0.0, 0
    while low < high:
        share, times = busy(tried), times + 1
        if share <= ceiling:
            low, below = tried, float(share)
        else:
            high, above = tried - 1, float(share)
        rise = (above - below) / (high + 1 - low) if above else below / max(1, low)
        straight = low + int((float(ceiling) - below) / rise) if rise > 0 and times % 3 else (low + high + 1) // 2
        tried = min(high, max(low + 1, straight))
    return low


# Both at once


@dataclass(frozen=True)
class Traffic:
    """Requests that come one after another on each of some connections.

    Attributes
    ----------
    input_tokens, output_tokens : int
        Of each request.
    concurrency : int
        Requests under way on a replica.
    accepted : Fraction
        Tokens per step and sequence, more than 1 with drafts.
    """

    input_tokens: int
    output_tokens: int
    concurrency: int
    accepted: Fraction = Fraction(1)

    @property
    def context(self) -> int:
        """Mean context while decoding."""
        return self.input_tokens + self.output_tokens // 2


def requests_per_s(run: Run, load: Traffic) -> Fraction:
    """Return the requests per second that a replica is estimated to serve: prompts and steps take turns."""
    steps = load.output_tokens / load.accepted
    step = decode_step_s(run, load.concurrency, load.context)
    groups = min(run.layout.dp, load.concurrency)
    return 1 / (_prompt(run, load.input_tokens, groups) / groups + steps * step / load.concurrency)


def _prompt(run: Run, tokens: int, groups: int) -> Fraction:
    """Return the time of a prompt from its start on, chunk by chunk, while `groups` prefill one each."""
    chunk, total = run.chunk_tokens, Fraction(0)
    for start in range(0, tokens, chunk):
        size = min(chunk, tokens - start)
        total += step_seconds(run, Batch(groups, size, start + size // 2, prefill=True))
    return total


def token_seconds(run: Run, load: Traffic) -> Fraction:
    """Return the estimated time between a session's tokens, the prompts of others in between included."""
    step = decode_step_s(run, load.concurrency, load.context) / load.accepted
    if load.concurrency == 1:
        return step
    groups = min(run.layout.dp, load.concurrency)
    return step / (1 - requests_per_s(run, load) * _prompt(run, load.input_tokens, groups) / groups)


# The bound


@dataclass(frozen=True)
class Bound:
    """What no implementation beats.

    Attributes
    ----------
    requests_per_s : Fraction
        Of a replica.
    first_token_s, token_s : Fraction
        Of one request alone, and between its tokens at the full concurrency.
    """

    requests_per_s: Fraction
    first_token_s: Fraction
    token_s: Fraction


def bound(run: Run, load: Traffic) -> Bound:
    """Return the bound: every GPU at its peaks in FLOP/s, in memory bandwidth and on its links, none waiting.

    Steps hold at most `concurrency` sequences, and each reads its weights once. What a prompt needs is
    spread over all groups of the replica, its tokens stand at half its length on average, and it is
    computed beside steps that read memory.
    """
    prompt = _least_seconds(run, Batch(1, load.input_tokens, load.input_tokens // 2, prefill=True))
    step = _least_seconds(run, Batch(load.concurrency, 1, load.input_tokens, prefill=False))
    sequences, stages = load.concurrency, run.layout.pp
    flops = prompt.flops + load.output_tokens * step.flops / sequences
    memory = load.output_tokens / load.accepted * step.memory / sequences
    links = prompt.links + load.output_tokens * step.links / sequences
    first, token = stages * max(prompt.flops, prompt.links), stages * step.longest / load.accepted
    rate = min(1 / max(flops, memory, links), sequences / (first + load.output_tokens * token))
    return Bound(rate, first, token)


@dataclass(frozen=True)
class _Least:
    """The least time of a step's stage, by what limits it."""

    flops: Fraction
    memory: Fraction
    links: Fraction

    @property
    def longest(self) -> Fraction:
        return max(self.flops, self.memory, self.links)


def _least_seconds(run: Run, batch: Batch) -> _Least:
    work, gpu = step_work(run, batch, least=True), run.gpu
    eight = gpu.dense.fp8_flops or gpu.dense.bf16_flops
    # Kernels may round 4-bit weights up and inputs down to what the GPU has units for.
    products = max(product_peak(run), 0 if run.weights == "bf16" else eight)
    return _Least(
        work.product_flops / products + (work.attention_flops + work.scan_flops) / max(products, eight),
        (work.weight_bytes + work.kv_bytes) / gpu.memory_bandwidth_bytes_per_s,
        work.reduced_bytes / local_link(gpu),
    )  # fmt: skip
