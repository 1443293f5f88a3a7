"""The table of predictions against logs, per row and per family of attention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.ground_truth.predict import Bytes, Case, Memory, case_of, check_blocks, check_bytes, predict
from tests.ground_truth.rows import Row


@dataclass(frozen=True)
class Result:
    """One row with its checks."""

    case: Case
    bytes: Bytes | None
    memory: Memory | None
    whole_blocks: bool | None = None


def results(rows: Iterable[Row]) -> list[Result]:
    """Check every row as far as it goes."""
    found = []
    for row in rows:
        case = case_of(row)
        found.append(Result(case, check_bytes(case), predict(case), check_blocks(case)))
    return found


def mean(errors: Sequence[Fraction]) -> Fraction:
    """Return the mean of absolute values."""
    return sum((abs(error) for error in errors), Fraction(0)) / len(errors) if errors else Fraction(0)


def campaign(found: Sequence[Result], *, h100: bool) -> list[Fraction]:
    """Return the errors of predicted KV memory, of the H100 runs or of all others."""
    return [
        r.memory.error for r in found
        if r.memory is not None and r.case.row.h100_campaign == h100 and not (r.case.row.exception and not h100)
    ]  # fmt: skip


def table(found: Sequence[Result]) -> str:
    """Return the report as text."""
    lines = [_HEAD, "-" * len(_HEAD)]
    lines += [_line(result) for result in found]
    return "\n".join([*lines, "", *summary(found)])


_HEAD = (
    f"{'row':<11} {'model':<22} {'how':<32} {'tokens logged':>13} {'from GiB':>8} "
    f"{'GiB':>6} {'predicted':>9} {'off':>7}"
)


def _line(r: Result) -> str:
    row = r.case.row
    how = f"{row.engine} {row.gpu or '?'} {row.layout}"
    words = {None: "-", True: "blocks", False: "NO BLOCKS"}
    from_gib = (
        words[r.whole_blocks] if r.bytes is None else "exact" if r.bytes.off == 0 else f"{float(r.bytes.error):+.2%}"
    )
    gib = str(row.seen.get("kv_gib", row.seen.get("moved_gib", "-")))
    if "k_gib" in row.seen:
        gib = str(Fraction(str(row.seen["k_gib"])) + Fraction(str(row.seen["v_gib"])))
        gib = f"{float(Fraction(gib)):.2f}"
    predicted = f"{r.memory.budget.kv_bytes / 2**30:.2f}" if r.memory else "-"
    off = f"{float(r.memory.error):+.2%}" if r.memory else "-"
    mark = " *" if row.exception else ""
    tokens = f"{row.seen['tokens']:,}" if "tokens" in row.seen else "-"
    return f"{row.id:<11} {row.model:<22} {how:<32} {tokens:>13} {from_gib:>8} {gib:>6} {predicted:>9} {off:>7}{mark}"


def summary(found: Sequence[Result]) -> list[str]:
    """Return the figures that count, and the same by family."""
    shape = [r for r in found if r.bytes is not None and not r.case.row.exception]
    exact = sum(1 for r in shape if r.bytes is not None and r.bytes.off == 0)
    lines = [f"tokens from the printed GiB: {exact} of {len(shape)} rows within the print's rounding and one block"]
    for h100, words in ((True, "vLLM 0.19 on H100"), (False, "other rows with full context")):
        errors = campaign(found, h100=h100)
        if errors:
            worst = max(abs(error) for error in errors)
            lines.append(
                f"KV memory from shape and profile, {words}: mean absolute error {float(mean(errors)):.2%}, "
                f"worst {float(worst):.2%}, {len(errors)} rows"
            )
    families: dict[str, list[Fraction]] = {}
    for r in found:
        if r.memory is not None and not (r.case.row.exception and not r.case.row.h100_campaign):
            families.setdefault("+".join(sorted({g.family for g in r.case.model.attention})), []).append(r.memory.error)
    lines += [f"  {name}: {float(mean(errors)):.2%} over {len(errors)}" for name, errors in sorted(families.items())]
    lines += [f"* {r.case.row.id}: {' '.join(r.case.row.exception.split())}" for r in found if r.case.row.exception]
    return lines
