"""Memory bandwidth that no memory of that size has.

Stacked memory comes in whole stacks: of the sizes and speeds that a generation is made in, some number of stacks must
give both the memory and the bandwidth. Graphics memory is soldered in modules: one module per channel, or two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planner.hardware import Gpu
from planner.lint.base import Flaw, Severity, Stock, number, rule

_GB = 10**9
MOST_STACKS = 8
"""On one GPU of today."""


class Stacked(NamedTuple):
    """A generation of stacked memory: GiB of a stack, and GB/s of one, slowest to fastest in use."""

    name: str
    sizes: tuple[int, ...]
    slowest: int
    fastest: int

    def fits(self, gib: float, gb_per_s: float) -> bool:
        """Return whether some number of stacks gives both; up to a tenth of each may be kept back."""
        return any(
            0.89 * size * n <= gib <= size * n and self.slowest <= gb_per_s / n <= self.fastest
            for size in self.sizes
            for n in range(1, MOST_STACKS + 1)
        )


class Soldered(NamedTuple):
    """Memory in modules: GB/s for each GiB, least to most."""

    name: str
    least: float
    most: float

    def fits(self, gib: float, gb_per_s: float) -> bool:
        """Return whether the bandwidth goes with the memory."""
        return self.least <= gb_per_s / gib <= self.most


HBM2 = Stacked("HBM2", (4, 8), 180, 315)
HBM2E = Stacked("HBM2e", (8, 16), 300, 480)
HBM3 = Stacked("HBM3", (16, 24), 500, 840)
HBM3E = Stacked("HBM3e", (16, 24, 32, 36), 600, 1280)
HBM4 = Stacked("HBM4", (32, 36, 48), 1500, 2850)
# 56 to 96 GB/s a channel of one or two modules of 1 or 2 GiB; of GDDR7 88 to 136 GB/s, of 2 to 4 GiB.
GDDR6 = Soldered("GDDR6", 12, 96)
GDDR7 = Soldered("GDDR7", 11, 68)
LPDDR = Soldered("LPDDR", 1, 13)
Memory = Stacked | Soldered
_EVERY: tuple[Memory, ...] = (HBM2, HBM2E, HBM3, HBM3E, HBM4, GDDR6, GDDR7, LPDDR)
BY_ARCHITECTURE: dict[str, tuple[Memory, ...]] = {
    "sm70": (HBM2,), "sm75": (GDDR6,), "sm80": (HBM2, HBM2E), "sm86": (GDDR6,), "sm89": (GDDR6,),
    "sm90": (HBM2E, HBM3, HBM3E), "sm100": (HBM3E,), "sm103": (HBM3E,), "sm120": (GDDR7,), "sm121": (LPDDR,),
    "gfx90a": (HBM2E,), "gfx942": (HBM3, HBM3E), "gfx950": (HBM3E,),
}  # fmt: skip
"""Which memory the GPUs of an architecture have; of others any may be."""


@rule
class MemoryBandwidth:
    """Bandwidth against memory size, by the kind of memory."""

    name = "memory-bandwidth"
    severity: Severity = "error"
    words = "bandwidth that no HBM stacks or GDDR modules of that size have"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each GPU."""
        for entry in stock.entries("gpu"):
            gpu: Gpu = entry.record
            gib, gb_per_s = gpu.memory_bytes / 2**30, gpu.memory_bandwidth_bytes_per_s / _GB
            kinds = BY_ARCHITECTURE.get(gpu.architecture, _EVERY)
            if not any(kind.fits(gib, gb_per_s) for kind in kinds):
                names = ", ".join(kind.name for kind in kinds)
                message = f"{number(gb_per_s)} GB/s from {number(gib)} GiB: expected what {names} gives"
                hint = "check both: marketed GB against GiB, bits against bytes, one die against the whole board"
                yield Flaw(entry, ("memory_bandwidth",), message, hint)
