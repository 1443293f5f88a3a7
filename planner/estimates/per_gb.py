"""The price per GB of like parts, times a part's capacity: memory modules and drives."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planner.estimates.base import Known, oldest, rule, whole
from planner.hardware import Dimm, Drive, Part
from planner.prices import Estimate, Price

LEAST = 2
"""Priced parts of a family below which nothing is said of the others."""


@rule
class PerGb:
    """median(price / GB) * GB within a family; low and high by the least and the most of it."""

    kind = "per_gb"

    def faults(self, estimate: Estimate, known: Known) -> Iterator[tuple[str, str]]:
        """Yield kinds that have no capacity, and a markup, for there is nothing to compare with."""
        yield from (
            ("kinds", f"rule 'per_gb' is for dimm and drive, not for '{kind}'")
            for kind in estimate.kinds
            if kind not in ("dimm", "drive")
        )
        if estimate.markup_fraction:
            yield "markup", "rule 'per_gb' takes no 'markup'"

    def price(self, estimate: Estimate, part: Part, known: Known) -> Price | None:
        """Return the family's price per GB times the capacity; None below two priced parts of the family."""
        assert isinstance(part, (Dimm, Drive)), "checked when loaded"
        book, like = known.book, family(part)
        alike = [each for each in known.parts[part.kind].values() if family(each) == like]
        priced = [(each, price) for each in alike if (price := book.find(each.id)) and price.estimate != self.kind]
        if len(priced) < LEAST:
            return None
        each_gb = {
            case: [Fraction(getattr(price, case).cents, each.capacity_bytes) for each, price in priced]  # type: ignore[attr-defined]
            for case in ("low", "typical", "high")
        }
        low, typical, high = min(each_gb["low"]), _median(each_gb["typical"]), max(each_gb["high"])
        assumed = any(price.evidence.kind == "assumed" for _, price in priced)
        words = f"median price per GB of {', '.join(each.id for each, _ in priced)}, low and high by its ends"
        sources = tuple(dict.fromkeys(name for _, price in priced for name in price.sources))
        return Price(
            part=part.id, low=whole(low * part.capacity_bytes, book.currency),
            typical=whole(typical * part.capacity_bytes, book.currency),
            high=whole(high * part.capacity_bytes, book.currency), basis="indicative", estimate=self.kind,
            as_of=oldest(*(price.as_of for _, price in priced)), sources=sources,
            derived="" if assumed else words, assumed=f"{words}; some of them are assumed" if assumed else "",
            note=estimate.assumed,
        )  # fmt: skip


def _median(values: list[Fraction]) -> Fraction:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def family(part: Part) -> tuple[object, ...]:
    """Return what memory modules or drives share that are priced alike by the GB.

    Modules up to and beyond 6,400 MT/s (registered, multiplexed); drives for reading seldom written
    cells (below 0.9 writes a day), for reading, and for mixed use (2 and more), data and boot apart.
    """
    if isinstance(part, Dimm):
        return ("dimm", part.speed > 6400)
    assert isinstance(part, Drive), "only these have a capacity"
    return ("drive", part.role, 0 if part.dwpd < Fraction(9, 10) else 1 if part.dwpd < 2 else 2)
