"""Which measurements apply to a replica, and what they say of a plan's context and prompts.

Between rows the slower one counts, beyond them nothing is promised. A row at a shorter context than
planned says nothing about decode; a prompt measured at an earlier position is slowed by its FLOP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from planner.throughput import Row, Throughput
from planner.work import Run, flops_per_token


def rows_of(table: Throughput, run: Run, engine: tuple[str, str]) -> tuple[Row, ...]:
    """Return the rows of a replica on an engine, told by its id and its name."""
    return tuple(row for row in table.rows if _applies(row, run, engine))


def _applies(row: Row, run: Run, engine: tuple[str, str]) -> bool:
    same = (row.model, row.gpu, row.layout) == (run.model.id, run.gpu.id, run.layout.name)
    named = row.engine.lower() in ("", *(word.lower() for word in engine))
    return same and named and row.weights in ("", run.weights) and row.kv_format in ("", run.kv.name)


def sessions_measured(
    rows: Sequence[Row], allowed_s: Callable[[Row], Fraction], context: int, roofline: Callable[[], int]
) -> int | None:
    """Return the sessions that a replica decodes with as long between tokens as allowed; None without rows for it.

    The largest concurrency up to which every row meets it: between two the larger one's time counts,
    beyond the largest nothing is promised. Below the smallest, should that fail, the roofline says.
    """
    rows = _nearest_context(rows, context)
    if not rows:
        return None
    met = 0
    for row in rows:
        if row.between_s > allowed_s(row):
            return met or min(row.concurrency - 1, roofline())
        met = row.concurrency
    return met


def _nearest_context(rows: Sequence[Row], context: int) -> list[Row]:
    """Return a row per concurrency, in order: of those at least as long as planned the shortest, then the slowest."""
    enough = sorted(
        (row for row in rows if row.context_tokens >= context),
        key=lambda row: (row.concurrency, row.context_tokens, -row.between_s),
    )
    return [next(same) for _, same in groupby(enough, key=lambda row: row.concurrency)]


def prefill_measured(rows: Sequence[Row], run: Run, position: int, roofline: Fraction) -> Fraction | None:
    """Return prompt tokens per second of a replica at `position`; None without rows for it.

    Prompts measured alone say it, the slowest of the longest counts. Rows under load show what was
    prefilled beside decoding: less than could be, so they count only where they are above the roofline.
    """
    alone = list(_alone(rows))
    if alone:
        longest = max(row.input_tokens for row in alone)
        each = [_rate_alone(row, run, position) for row in alone if row.input_tokens == longest]
        return run.layout.dp * min(each)
    shown = [row.prefilled_per_s * _slowed(row, run, position) for row in rows if row.input_tokens > row.prefix_tokens]
    return max(shown) if shown and max(shown) > roofline else None


def prompt_measured(rows: Sequence[Row], run: Run, tokens: int, position: int) -> Fraction | None:
    """Return the time to prefill `tokens` alone on a replica; None without rows for it.

    A shorter prompt than any measured takes as long as the shortest, a longer one in proportion.
    """
    alone = sorted(_alone(rows), key=lambda row: (_computed(row), -(row.first_token_s or 0)))
    if not alone:
        return None
    row = next((row for row in alone if _computed(row) >= tokens), alone[-1])
    assert row.first_token_s is not None
    return row.first_token_s * max(Fraction(1), Fraction(tokens, _computed(row))) / _slowed(row, run, position)


def _alone(rows: Sequence[Row]) -> Iterator[Row]:
    return (row for row in rows if row.concurrency == 1 and row.first_token_s and _computed(row) > 0)


def _computed(row: Row) -> int:
    return row.input_tokens - row.prefix_tokens


def _rate_alone(row: Row, run: Run, position: int) -> Fraction:
    assert row.first_token_s is not None
    return _computed(row) / row.first_token_s * _slowed(row, run, position)


def _slowed(row: Row, run: Run, position: int) -> Fraction:
    """Return how much slower a token is at `position` than at the mean of the row's prompt, by its FLOP; at most 1."""
    mean = row.prefix_tokens + _computed(row) // 2
    return min(Fraction(1), Fraction(flops_per_token(run.model, mean), flops_per_token(run.model, position)))
