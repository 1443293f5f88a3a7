"""Chassis that cannot be filled: plans leave bays or slots empty for lack of power."""

from __future__ import annotations

from collections.abc import Iterator

from planner.lint.base import Flaw, Severity, Stock, rule
from planner.lint.power_supplies import least_w, most_w, supplies
from planner.units import format_watts


@rule
class FullPower:
    """A chassis whose supplies carry its GPUs, but not everything that fits."""

    name = "full-power"
    severity: Severity = "note"
    words = "supplies that carry a chassis with its GPUs, but not with all slots and bays full of the hungriest parts"

    def check(self, stock: Stock) -> Iterator[Flaw]:
        """Look at each chassis with the GPU that takes most."""
        gpus = stock.catalog.gpus()
        for entry in stock.entries("chassis"):
            chassis = entry.record
            if not chassis.gpu_models:
                continue
            gpu = max((gpus[name] for name in chassis.gpu_models), key=lambda one: (one.power_w, one.id))
            least, most = least_w(stock.catalog, chassis, gpu), most_w(stock.catalog, chassis, gpu)
            if least is not None and most is not None and least <= chassis.power_limit_w < most:
                message = (
                    f"with '{gpu.id}' and all slots and bays full it takes {format_watts(most)}; {supplies(chassis)}"
                )
                yield Flaw(entry, ("psus",), message)
