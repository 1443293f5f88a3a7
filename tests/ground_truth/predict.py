"""What the planner says of a row: tokens from the printed GiB, and both from shape and profile alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from planner.budget import Budget, Launch, default_batch, gpu_budget
from planner.engines import Engine
from planner.kvcache import KvCache, kv_cache, rank_share
from planner.layout import Layout
from planner.loading import Shelf, load_shelf
from planner.models import Model
from planner.paging import Paging, PoolPaging
from planner.pool import rank_paging
from tests.ground_truth.rows import Row

TOLERANCE = Fraction(2, 1000)


@cache
def shelf() -> Shelf:
    """The shipped catalogue with the GPUs and models that only logs name."""
    return load_shelf((Path(__file__).parent / "catalog",))


@dataclass(frozen=True)
class Case:
    """A row with everything it names looked up."""

    row: Row
    model: Model
    engine: Engine
    layout: Layout
    kv: KvCache
    paging: Paging
    batched_tokens: int

    @property
    def max_model_len(self) -> int:
        """The longest context of the run, the model's where it is not known."""
        return self.row.max_model_len or self.model.max_context_tokens

    def printed_tokens(self, kv_bytes: int) -> int:
        """Return what the engine prints for so many bytes per GPU."""
        return self.paging.printed_tokens(kv_bytes, self.max_model_len, self.batched_tokens)


def case_of(row: Row) -> Case:
    """Return the row's model, engine, layout and paging; an unknown name is an error."""
    found = shelf()
    model, engine = found.model(row.model), found.engines.engines[row.engine]
    layout, kv = Layout.parse(row.layout), kv_cache(model, row.kv, row.draft_layers)
    paging = rank_paging(kv, layout, engine, model.family, row.draft_tokens, row.prefix_caching)
    gpu = found.catalog.gpus().get(row.gpu)
    step = row.batched_tokens or (default_batch(gpu, engine).batched_tokens if gpu else 8192)
    return Case(row, model, engine, layout, kv, paging, step)


@dataclass(frozen=True)
class Bytes:
    """Printed tokens against those that the printed GiB should make.

    Attributes
    ----------
    low, high : int
        Tokens at the ends of the GiB's rounding.
    off : Fraction
        By how much the printed tokens lie outside, beyond one block.
    """

    low: int
    high: int
    tokens: int
    off: Fraction

    @property
    def fits(self) -> bool:
        """Whether they lie inside, within 0.2 % beside it."""
        return self.off <= TOLERANCE

    @property
    def error(self) -> Fraction:
        """Tokens of the middle against the printed ones."""
        return Fraction(self.low + self.high, 2 * self.tokens) - 1


def check_moved(case: Case) -> Bytes | None:
    """Return how the tokens agree that an offload product moved for one rank; None where it does not say."""
    text = case.row.seen.get("moved_gib")
    if text is None:
        return None
    shares = ((p, rank_share(p, case.layout.tp, case.layout.dcp, case.engine.shards_indexer)) for p in case.kv.parts)
    rate = sum((share * p.layers * p.row_bytes for p, share in shares if p.grows), Fraction(0))
    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
    low, high = (int((Fraction(text) + side) * 2**30 // rate) for side in (-half, half))
    tokens = case.row.seen["tokens"]
    return Bytes(low, high, tokens, max(Fraction(0), Fraction(max(low - tokens, tokens - high - 1), tokens)))


def check_blocks(case: Case) -> bool | None:
    """Return whether a whole number of blocks gives the printed tokens; None where GiB were printed or no tokens."""
    tokens = case.row.seen.get("tokens")
    if tokens is None or case.row.kv_bytes is not None or case.row.max_model_len is None:
        return None
    page, per_block = case.paging.page_bytes, case.printed_tokens(1000 * case.paging.page_bytes) / 1000
    near = round(tokens / per_block)
    return any(case.printed_tokens(n * page) == tokens for n in range(max(0, near - 9), near + 10))


def check_bytes(case: Case) -> Bytes | None:
    """Return how tokens and GiB of a row agree; None where it does not have both."""
    if "moved_gib" in case.row.seen:
        return check_moved(case)
    interval, tokens = case.row.kv_bytes, case.row.seen.get("tokens")
    if interval is None or tokens is None:
        return None
    low, high = (_tokens_of(case, size) for size in interval)
    beside = max(low - tokens, tokens - high, 0) - _one_block(case, high)
    return Bytes(low, high, tokens, max(Fraction(0), Fraction(beside, tokens)))


def _tokens_of(case: Case, size: Fraction) -> int:
    """Return the printed tokens of so much KV memory; separate pools print that of tokens alone."""
    if isinstance(case.paging, PoolPaging):
        return int(size // case.paging.full_bytes)
    return case.printed_tokens(int(size))


def _one_block(case: Case, tokens: int) -> int:
    """Return by how many printed tokens one block more or less moves the number."""
    if isinstance(case.paging, PoolPaging):
        return case.paging.block_tokens
    size = case.paging.page_bytes
    some = next(n for n in range(1, 10**9) if case.printed_tokens(2**n) > tokens)
    at = 2**some
    return case.printed_tokens(at + size) - case.printed_tokens(at) + 1


@dataclass(frozen=True)
class Memory:
    """A predicted budget against what was printed.

    Attributes
    ----------
    tokens : int
        Predicted.
    seen : Fraction
        Printed, or the printed GiB where no tokens were.
    error : Fraction
        Predicted over printed, minus one.
    """

    budget: Budget
    tokens: int
    error: Fraction


def predict(case: Case) -> Memory | None:
    """Return the prediction from architecture and profile alone; None where the row does not say enough."""
    row = case.row
    if not row.full:
        return None
    budget = budget_of(case)
    tokens = case.printed_tokens(budget.kv_bytes)
    if "tokens" in row.seen:
        return Memory(budget, tokens, Fraction(tokens, row.seen["tokens"]) - 1)
    return Memory(budget, tokens, budget.kv_bytes / (Fraction(str(row.seen["kv_gib"])) * 2**30) - 1)


def budget_of(case: Case) -> Budget:
    """Return the derived budget of a row's GPU."""
    row = case.row
    launch = Launch(
        case.max_model_len, row.utilisation, row.max_sequences, row.batched_tokens,
        draft_layers=row.draft_layers, draft_tokens=row.draft_tokens, kv_format=row.kv,
    )  # fmt: skip
    gpu = shelf().catalog.gpus()[row.gpu]
    return gpu_budget(case.model, gpu, case.engine, row.weights, case.layout, launch)
