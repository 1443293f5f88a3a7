"""Peak rates with sparsity taken for dense ones: twice what a GPU does on the matrices of a language model."""

from __future__ import annotations

from collections.abc import Iterator

from planner.catalog_checks import Entry
from planner.lint.base import Flaw, Severity, Stock, number, rule

_T = 10**12
DENSE_BF16_T = {
    "sm70": 130, "sm75": 130, "sm80": 312, "sm86": 160, "sm89": 367, "sm90": 990, "sm100": 2500, "sm103": 2500,
    "sm120": 504, "gfx90a": 384, "gfx942": 1308, "gfx950": 2520,
}  # fmt: skip
"""The most TFLOP/s of dense BF16 (FP16 before Ampere) that a GPU of the architecture has."""
DENSE_FP4_T = {"sm100": 10_000, "sm103": 15_000, "sm120": 2016, "gfx950": 10_100}
"""The same of FP4."""
_MOST_FLOP_PER_BYTE = 600
"""Of unknown architectures: dense parts have up to 500 BF16 FLOP for each byte of memory bandwidth."""
_STEPS = {"fp8": ("bf16", (1, 2)), "fp4": ("fp8", (1, 2, 3))}
"""Rate of a format as a multiple of the next wider one's: units as wide, half as wide, or tripled (Blackwell Ultra)."""
_HALVED = ("sm120",)
"""Consumer cards of these add up BF16 and FP8 at half the rate, FP4 at the whole: it may be four times FP8."""
_TOLERANCE = 0.07


@rule
class SparseFlops:
    """Dense rates that look like those with sparsity."""

    name = "sparse-flops"
    severity: Severity = "error"
    words = "TFLOP/s with sparsity taken for dense: between formats, by architecture, against the bandwidth"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each GPU."""
        for entry in stock.entries("gpu"):
            yield from _steps(entry)
            yield from _peak(entry)


def _steps(entry: Entry) -> Iterator[Flaw]:
    dense = entry.record.dense
    for key, (wider, allowed) in _STEPS.items():
        rate, base = getattr(dense, f"{key}_flops"), getattr(dense, f"{wider}_flops")
        if not rate or not base:
            continue
        if key == "fp4" and entry.record.architecture in _HALVED:
            allowed = (*allowed, 4)
        ratio = rate / base
        if not any(abs(ratio / step - 1) <= _TOLERANCE for step in allowed):
            times = " or ".join(f"{step} x" for step in allowed)
            message = f"{key} is {number(ratio)} x {wider}; dense rates are {times}"
            yield Flaw(entry, ("dense", key), message, "one of the two counts sparsity; write both without")


def _peak(entry: Entry) -> Iterator[Flaw]:
    gpu = entry.record
    hint = "front pages print twice as much, with sparsity"
    for key, table in (("bf16", DENSE_BF16_T), ("fp4", DENSE_FP4_T)):
        rate, most = getattr(gpu.dense, f"{key}_flops") or 0, table.get(gpu.architecture)
        if most is not None and rate > 1.05 * most * _T:
            message = f"{number(rate / _T)} TFLOP/s in {key.upper()}; {gpu.architecture} has {most:,} dense at the most"
            yield Flaw(entry, ("dense", key), message, hint)
    per_byte = gpu.dense.bf16_flops / gpu.memory_bandwidth_bytes_per_s
    if gpu.architecture not in DENSE_BF16_T and per_byte > _MOST_FLOP_PER_BYTE:
        message = f"{number(per_byte)} FLOP in BF16 for each byte of bandwidth; dense parts stay below 600"
        yield Flaw(entry, ("dense", "bf16"), message, hint)
