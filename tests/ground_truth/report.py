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


def campaign(found: Sequence[Result], *, h100: bool, inferred: bool | None = None) -> list[Fraction]:
    """Return the errors of predicted KV memory, of the H100 runs or of all others.

    Parameters
    ----------
    inferred : bool or None
        Only rows with inferred options, only those without, or both.
    """
    return [
        r.memory.error for r in found
        if r.memory is not None and r.case.row.h100_campaign == h100 and not (r.case.row.exception and not h100)
        and inferred in (None, bool(r.case.row.inferred))
    ]  # fmt: skip


def shapes(found: Sequence[Result], *, inferred: bool) -> list[bool]:
    """Return of each row with printed GiB and tokens whether they agree exactly; exceptions are left out."""
    return [
        r.bytes.off == 0 for r in found
        if r.bytes is not None and bool(r.case.row.inferred) == inferred and not _unjudged(r)
    ]  # fmt: skip


def _unjudged(r: Result) -> bool:
    """Return whether a row is a named exception, or does not say the options that its figures need."""
    fits = (r.bytes is None or r.bytes.fits) and r.whole_blocks is not False
    return bool(r.case.row.exception) or (r.case.row.unsaid and not fits)


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
    if _unjudged(r) and not row.exception:
        from_gib = "not said"
    gib = str(row.seen.get("kv_gib", row.seen.get("moved_gib", "-")))
    if "k_gib" in row.seen:
        gib = str(Fraction(str(row.seen["k_gib"])) + Fraction(str(row.seen["v_gib"])))
        gib = f"{float(Fraction(gib)):.2f}"
    predicted = f"{r.memory.budget.kv_bytes / 2**30:.2f}" if r.memory else "-"
    off = f"{float(r.memory.error):+.2%}" if r.memory else "-"
    mark = " *" if row.exception else " ~" if row.inferred else ""
    tokens = f"{row.seen['tokens']:,}" if "tokens" in row.seen else "-"
    return f"{row.id:<11} {row.model:<22} {how:<32} {tokens:>13} {from_gib:>8} {gib:>6} {predicted:>9} {off:>7}{mark}"


def summary(found: Sequence[Result]) -> list[str]:
    """Return the figures that count, as published and with inferred options, and the same by family."""
    lines = []
    for inferred, words in ((False, "as published"), (True, "with inferred options")):
        shape = shapes(found, inferred=inferred)
        if shape:
            lines.append(
                f"tokens from the printed GiB, {words}: {sum(shape)} of {len(shape)} rows within the print's rounding "
                "and one block"
            )
        blocks = [r.whole_blocks for r in found if r.whole_blocks is not None and bool(r.case.row.inferred) == inferred
                  and not _unjudged(r)]  # fmt: skip
        if blocks:
            lines.append(f"whole blocks give the printed tokens, {words}: {sum(blocks)} of {len(blocks)} rows")
    lines += _means(found)
    lines += _families(found)
    lines += [f"* {r.case.row.id}: {' '.join(r.case.row.exception.split())}" for r in found if r.case.row.exception]
    guesses = [f"{r.case.row.id} {', '.join(r.case.row.inferred)}" for r in found if r.case.row.inferred]
    if guesses:
        lines.append(f"~ inferred since the source does not say it: {'; '.join(guesses)}")
    unsaid = [r.case.row.id for r in found if _unjudged(r) and not r.case.row.exception]
    if unsaid:
        lines.append(f"not said: options of {', '.join(unsaid)}, such as draft tokens, which the source names")
    return lines


def _means(found: Sequence[Result]) -> list[str]:
    lines = []
    for h100, inferred, words in (
        (True, None, "vLLM 0.19 on H100"),
        (False, False, "other rows with full context, as published"),
        (False, True, "other rows with full context, with inferred options"),
    ):
        errors = campaign(found, h100=h100, inferred=inferred)
        if errors:
            worst = max(abs(error) for error in errors)
            lines.append(
                f"KV memory from shape and profile, {words}: mean absolute error {float(mean(errors)):.2%}, "
                f"worst {float(worst):.2%}, {len(errors)} rows"
            )
    return lines


def _families(found: Sequence[Result]) -> list[str]:
    families: dict[str, list[tuple[Fraction, bool]]] = {}
    for r in found:
        if r.memory is not None and not (r.case.row.exception and not r.case.row.h100_campaign):
            name = "+".join(sorted({g.family for g in r.case.model.attention}))
            families.setdefault(name, []).append((r.memory.error, bool(r.case.row.inferred)))
    lines = []
    for name, errors in sorted(families.items()):
        guessed = sum(1 for _, inferred in errors if inferred)
        with_options = f", {guessed} of them with inferred options" if guessed else ""
        lines.append(f"  {name}: {float(mean([error for error, _ in errors])):.2%} over {len(errors)}{with_options}")
    return lines
