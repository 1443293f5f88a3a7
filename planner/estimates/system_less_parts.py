"""The price of a bare chassis: that of a whole system in it, less the parts inside."""

from __future__ import annotations

from collections.abc import Iterator

from planner.estimates.base import Known, oldest, rule, whole
from planner.hardware import Chassis, Part, System
from planner.prices import Estimate, Price


@rule
class SystemLessParts:
    """price(system) - sum count * typical(part); of several systems the one that leaves least."""

    kind = "system_less_parts"

    def faults(self, estimate: Estimate, known: Known) -> Iterator[tuple[str, str]]:
        """Yield kinds that hold no parts, and a markup."""
        yield from (
            ("kinds", f"rule 'system_less_parts' is for chassis, not for '{kind}'")
            for kind in estimate.kinds
            if kind != "chassis"
        )
        if estimate.markup_fraction:
            yield "markup", "rule 'system_less_parts' takes no 'markup'"

    def price(self, estimate: Estimate, part: Part, known: Known) -> Price | None:
        """Return what remains of a system's price; None where no system is priced, or nothing remains."""
        systems = (each for each in known.parts["system"].values() if isinstance(each, System))
        found = [self._less(each, part, estimate, known) for each in systems if each.chassis == part.id]
        return min((price for price in found if price is not None), key=lambda price: price.typical.cents, default=None)

    def _less(self, system: System, part: Part, estimate: Estimate, known: Known) -> Price | None:
        assert isinstance(part, Chassis), "checked when loaded"
        book = known.book
        whole_price, inside = book.find(system.id), [(name, n, book.find(name)) for name, n in _inside(system, part)]
        prices = [price for _, _, price in inside if price is not None]
        if whole_price is None or len(prices) < len(inside):
            return None
        less = sum(n * price.typical.cents for _, n, price in inside if price is not None)
        left = {case: getattr(whole_price, case).cents - less for case in ("low", "typical", "high")}
        if left["low"] <= 0:
            return None
        used = [whole_price, *prices]
        assumed = any(price.evidence.kind == "assumed" for price in used)
        words = f"price of {system.id} less {', '.join(f'{n} x {name}' for name, n, _ in inside)} at typical prices"
        return Price(
            part=part.id, **{case: whole(cents, book.currency) for case, cents in left.items()},  # type: ignore[arg-type]
            as_of=oldest(*(price.as_of for price in used)), basis="indicative", estimate=self.kind,
            sources=tuple(dict.fromkeys(name for price in used for name in price.sources)),
            derived="" if assumed else words, assumed=f"{words}; some of them are assumed" if assumed else "",
            note=estimate.assumed,
        )  # fmt: skip


def _inside(system: System, chassis: Chassis) -> list[tuple[str, int]]:
    """Return the parts of a system beside its chassis."""
    rows = [(system.gpu, chassis.n_gpus), (system.cpu, chassis.n_cpus)]
    quantities = (system.dimms, *system.drives, system.boot, *system.nics)
    return [*rows, *((quantity.part, quantity.count) for quantity in quantities)]
