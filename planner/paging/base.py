"""What one rank holds of a model's layers, an engine version's rules for it, and what a paging answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner.fields import Count, Flag, Number, Whole, record
from planner.units import ceil_div

Style = Literal["grouped", "pools", "plain"]
Prints = Literal["groups", "concurrency", "tokens"]


@dataclass(frozen=True)
class LayerKind:
    """Layers of one kind, as one rank holds them.

    Attributes
    ----------
    name : str
        E.g. ``full attention``.
    layers : int
        Layers of this kind on this rank, that is in its pipeline stage; draft layers included.
    token_bytes : Fraction
        Bytes per token of the sequence and layer on this rank; 0 for a pure state. A cache that
        keeps one row for r tokens has a row's bytes over r here.
    state_bytes : int
        Bytes of recurrent state per sequence and layer on this rank; 0 for none.
    window_tokens : int or None
        The sliding window, or the chunk: what is older is dropped. None keeps everything.
    chunked : bool
        Whether the window is a chunk, which starts anew at its multiples, and does not slide.
    beside : str
        Name of the kind in whose layers this cache lives as well, e.g. of the latent that an
        indexer's keys stand beside; empty for a kind of its own.
    model_layers : int or None
        Layers of this kind over all pipeline stages; None where this rank holds all of them.
    token_ranks : int
        Ranks over which a sequence's tokens are dealt out (decode context parallelism).
    own_block_tokens : int or None
        Tokens of its block where the kernel fixes them apart from the engine's block size.
    page_multiple_bytes : int
        A layer's page is padded to a multiple of this.
    """

    name: str
    layers: int
    token_bytes: Fraction
    state_bytes: int = 0
    window_tokens: int | None = None
    chunked: bool = False
    beside: str = ""
    model_layers: int | None = None
    token_ranks: int = 1
    own_block_tokens: int | None = None
    page_multiple_bytes: int = 1

    @property
    def grows(self) -> bool:
        """Whether it keeps every token."""
        return self.window_tokens is None and not self.state_bytes

    @property
    def total_layers(self) -> int:
        """Layers over all pipeline stages."""
        return self.layers if self.model_layers is None else self.model_layers


@record
class PagingRules:
    """How one engine version pages its caches.

    The defaults are those of vllm 0.33.0; what differs in 0.19.0 is said at each.

    Attributes
    ----------
    style : {'grouped', 'pools', 'plain'}
        ``grouped``: one pool of equal blocks that groups of layers share (vLLM). ``pools``: a
        pool per kind of layers, split by ratios (SGLang). ``plain``: bytes, rounded to blocks.
    prints : {'groups', 'concurrency', 'tokens'}
        Where the printed token count comes from. ``groups``: blocks over groups, times the
        smallest block (vllm 0.19.0 v1/core/kv_cache_utils.py:1302). ``concurrency``: start-up
        concurrency times the longest context (vllm 0.33.0 v1/core/kv_cache_utils.py:1128).
        ``tokens``: what the growing layers hold.
    null_blocks : int
        Blocks that no request gets (vllm 0.33.0 v1/core/kv_cache_planning.py:1533); the printed
        numbers count them all the same.
    widen_below : Fraction
        Kinds whose layer counts differ by less than this factor are padded up to the larger
        count, else split down to the smaller (vllm 0.33.0 v1/core/kv_cache_planning.py:524).
    pads_pages : bool
        Whether a page that does not divide the largest one is padded to it; false in vllm
        0.19.0, which refuses such a model (v1/core/kv_cache_utils.py:942).
    caches_states : bool
        Whether prefix caching is on by default for models with recurrent layers; not in vllm 0.19.0.
    state_block_multiple : int
        The attention block of a model with recurrent layers is a multiple of this, in tokens:
        the backend's least block (vllm 0.33.0 platforms/interface.py:1070). 64 where states are
        saved amid a prefill (v1/attention/backends/gdn_attn.py:34).
    state_pages : int
        State pages per sequence without prefix caching (vllm 0.33.0 v1/kv_cache_interface.py:1141).
    cached_state_pages : int
        With prefix caching: the running state and the one before (v1/kv_cache_interface.py:1138).
    checkpoint_pages : int
        Further state pages while a prompt is read (v1/kv_cache_interface.py:1138); 1 where the
        kernel saves states amid a prefill, and always 0 in vllm 0.19.0.
    state_chunk : int
        Chunk of tokens of recurrent layers that save a state at every block with prefix caching
        (Mamba-2 in vllm 0.24.0 to 0.28.0, v1/kv_cache_interface.py:294, mode "all"); 0 where only
        the last states are kept.
    steps_in_flight : int
        Steps whose tokens count as unsettled: 2 with asynchronous scheduling (vllm 0.33.0
        config/vllm.py:594); 1 without and in vllm 0.19.0.
    stage_steps : int
        Further such steps per further pipeline stage (config/vllm.py:594); 0 in vllm 0.19.0.
    window_pool : Fraction
        Tokens of the pool of windowed layers per token of the full pool (sglang 0.5.23
        srt/arg_groups/fields/schedule.py:150).
    window_slack_pages : int
        Pages that a sequence takes beyond its window there (srt/model_executor/pool_configurator.py:936).
    state_pool : Fraction
        Bytes for recurrent state per byte for tokens (srt/arg_groups/fields/schedule.py:220).
    state_slots : int
        State slots per running sequence with prefix caching (srt/mem_cache/kv_cache_configurator.py:227);
        1 without.
    spare_state_slots : int
        State slots that no sequence gets (srt/mem_cache/kv_cache_configurator.py:3404).
    """

    style: Style
    prints: Prints
    null_blocks: Whole = 1
    widen_below: Number = Fraction(3, 2)
    pads_pages: Flag = True
    caches_states: Flag = True
    state_block_multiple: Count = 16
    state_pages: Count = 1
    cached_state_pages: Count = 2
    checkpoint_pages: Whole = 0
    state_chunk: Whole = 0
    steps_in_flight: Count = 2
    stage_steps: Whole = 1
    window_pool: Number = Fraction(4, 5)
    window_slack_pages: Whole = 2
    state_pool: Number = Fraction(9, 10)
    state_slots: Count = 3
    spare_state_slots: Whole = 1


@dataclass(frozen=True)
class Deployment:
    """What else the paging depends on.

    Attributes
    ----------
    prefix_caching : bool
        Whether finished prompts are kept for later requests.
    draft_tokens : int
        Tokens proposed per step by speculative decoding.
    stages : int
        Pipeline stages.
    packs : bool
        Whether the model's kernels take pages of different sizes side by side in a block.
    frees_windows : bool
        Whether what left a window is freed; false where a KV connector cannot follow, and
        windowed layers then keep everything.
    state_chunk_tokens : int
        Chunk of recurrent layers that save their state at every block, as Mamba-2 does with
        prefix caching in vllm 0.19.0 to 0.28.0 (v1/kv_cache_interface.py:294, mode "all"); 0
        where only the last states are kept.
    """

    prefix_caching: bool = True
    draft_tokens: int = 0
    stages: int = 1
    packs: bool = False
    frees_windows: bool = True
    state_chunk_tokens: int = 0

    @property
    def saves_every_state(self) -> bool:
        """Whether a recurrent layer holds a state per block of the sequence."""
        return self.prefix_caching and self.state_chunk_tokens > 0


@dataclass(frozen=True)
class Claim:
    """What sessions take of a rank's KV memory, as far as one limit of it goes: fixed + n * session.

    Attributes
    ----------
    fixed_bytes, session_bytes : Fraction
        Taken once, and by each whole session.
    """

    fixed_bytes: Fraction
    session_bytes: Fraction


@dataclass(frozen=True)
class Paging(ABC):
    """How one rank's caches lie in blocks; made by `lay_out`.

    All counts of blocks are in blocks of `page_bytes`.

    Attributes
    ----------
    rules : PagingRules
        The engine's.
    deployment : Deployment
        Its settings.
    block_tokens : int
        Tokens of a block of the layers that keep everything, per context rank.
    n_groups : int
        Groups of layers with block tables of their own; each draws its own blocks.
    page_bytes : int
        Bytes of one block over the layers of a group.
    padding_layers : int
        Layer places, over all groups and stages, that hold nothing.
    """

    rules: PagingRules
    deployment: Deployment
    block_tokens: int
    n_groups: int
    page_bytes: int
    padding_layers: int

    def in_flight_tokens(self, batched_tokens: int) -> int:
        """Return the most tokens whose steps are not settled, at `batched_tokens` a step."""
        return batched_tokens * (self.rules.steps_in_flight + self.rules.stage_steps * (self.deployment.stages - 1))

    def n_blocks(self, kv_bytes: int) -> int:
        """Return the blocks that `kv_bytes` make; with pipeline stages the least of all ranks counts."""
        return max(0, kv_bytes) // self.page_bytes

    def usable_blocks(self, kv_bytes: int) -> int:
        """Return the blocks that requests may have."""
        return max(0, self.n_blocks(kv_bytes) - self.rules.null_blocks)

    @abstractmethod
    def request_blocks(self, tokens: int, prefix_tokens: int = 0) -> int:
        """Return what a decoding request of `tokens` holds, without what it shares of a prefix."""

    @abstractmethod
    def prefix_blocks(self, tokens: int) -> int:
        """Return what a stored prefix of `tokens` holds, once for all requests that begin with it."""

    @abstractmethod
    def admission_blocks(self, tokens: int, batched_tokens: int) -> int:
        """Return what the engine reckons a request of `tokens` at when it starts up.

        A windowed layer counts with all tokens in flight as if they were this request's.
        """

    @abstractmethod
    def reserve_blocks(self, tokens: int, batched_tokens: int, prefills: int = 1) -> int:
        """Return what prompts being read hold beyond `request_blocks`, over all of a pool together.

        Parameters
        ----------
        tokens : int
            Of each prompt.
        batched_tokens : int
            The most tokens of one step.
        prefills : int
            Prompts being read at once; the tokens in flight are theirs together.
        """

    def request_bytes(self, tokens: int, prefix_tokens: int = 0) -> int:
        """Return the bytes on this rank of a decoding request."""
        return self.request_blocks(tokens, prefix_tokens) * self.page_bytes

    def sessions(self, kv_bytes: int, tokens: int, batched_tokens: int, prefills: int = 1) -> int:
        """Return how many whole requests of `tokens` are held while `prefills` of them are being read."""
        spare = self.usable_blocks(kv_bytes) - self.reserve_blocks(tokens, batched_tokens, prefills)
        return max(0, spare) // self.request_blocks(tokens)

    def claims(self, tokens: int, prefix_tokens: int, prefixes: int, batched_tokens: int) -> tuple[Claim, ...]:
        """Return what requests of `tokens` take that share one of so many prefixes, one of them being read.

        Parameters
        ----------
        prefixes : int
            Different prefixes, each stored once.
        """
        fixed = self.rules.null_blocks + self.reserve_blocks(tokens, batched_tokens)
        fixed += prefixes * self.prefix_blocks(prefix_tokens)
        each = self.request_blocks(tokens, prefix_tokens)
        return (Claim(Fraction(fixed * self.page_bytes), Fraction(each * self.page_bytes)),)

    def printed_concurrency(self, kv_bytes: int, max_model_len: int, batched_tokens: int) -> Fraction:
        """Return the engine's "maximum concurrency" for requests of `max_model_len`."""
        return Fraction(self.n_blocks(kv_bytes), self.admission_blocks(max_model_len, batched_tokens))

    @abstractmethod
    def printed_tokens(self, kv_bytes: int, max_model_len: int, batched_tokens: int) -> int:
        """Return the engine's "KV cache size" in tokens."""


def ceil_to(value: int, multiple: int) -> int:
    """Return `value` rounded up to a multiple."""
    return ceil_div(value, multiple) * multiple


def page_of(kind: LayerKind, block_tokens: int) -> int:
    """Return the bytes of one layer's page of `block_tokens` tokens, or of its state."""
    size = kind.state_bytes or -int(-kind.token_bytes * block_tokens // 1)
    return ceil_to(size, kind.page_multiple_bytes)
