"""The table of estimates and bounds against measured throughput."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.ground_truth.speed.rows import Measured, Speed

FACTOR = 2


def speeds(rows: Iterable[Measured]) -> list[Speed]:
    """Estimate every row."""
    return [Speed.of(row) for row in rows]


def within(found: Sequence[Speed]) -> list[bool]:
    """Return of each row with full context whether the estimate is within a factor of two."""
    return [1 / FACTOR <= s.ratio <= FACTOR for s in found if s.row.full and not s.row.exception]


_HEAD = (
    f"{'row':<11} {'model':<24} {'gpu':<9} {'layout':<8} {'in/out':>10} {'at once':>9} "
    f"{'tokens/s':>8} {'here':>6} {'ratio':>5} {'bound':>7} {'ms':>6} {'here':>6}"
)


def speed_table(found: Sequence[Speed]) -> str:
    """Return the report as text."""
    return "\n".join([_HEAD, "-" * len(_HEAD), *map(_line, found), "", *speed_summary(found)])


def _line(s: Speed) -> str:
    row = s.row
    asked = f"{row.concurrency}" if s.row.at_once == row.concurrency else f"{row.at_once}/{row.concurrency}"
    rate = f"{row.tokens_per_s:,.0f}" if row.tokens_per_s else "-"
    between = f"{row.seen['token_ms']:.1f}" if "token_ms" in row.seen else "-"
    mark = " BEATS THE BOUND" if s.beaten else " *" if row.exception else " ~" if row.inferred else ""
    return (
        f"{row.id:<11} {row.model:<24} {row.gpu:<9} {row.layout:<8} {f'{row.input}/{row.output}':>10} {asked:>9} "
        f"{rate:>8} {s.tokens_per_s:>6,.0f} {s.ratio:>5.2f} {float(row.output * s.bound.requests_per_s):>7,.0f} "
        f"{between:>6} {s.token_ms:>6.1f}{mark}"
    )


def speed_summary(found: Sequence[Speed]) -> list[str]:
    """Return the figures that count."""
    good, beaten = within(found), [s.row.id for s in found if s.beaten and not s.row.exception]
    lines = [f"bound: {'beaten by ' + ', '.join(beaten) if beaten else 'no measurement beats it'}, {len(found)} rows"]
    if good:
        lines.append(
            f"estimate, rows with full context: {sum(good)} of {len(good)} within a factor of {FACTOR} "
            f"({100 * sum(good) // len(good)} %)"
        )
    ratios = sorted(s.ratio for s in found if s.row.full and not s.row.exception)
    if ratios:
        lines.append(
            f"estimate over measured: median {ratios[len(ratios) // 2]:.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}"
        )
    guessed = [f"{s.row.id} {', '.join(s.row.inferred)}" for s in found if s.row.inferred]
    if guessed:
        lines.append(f"~ the source does not say: {'; '.join(guessed)}")
    return lines + [f"* {s.row.id}: {' '.join(s.row.exception.split())}" for s in found if s.row.exception]
