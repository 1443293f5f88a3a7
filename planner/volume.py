"""Volume prices: what a part costs where many are bought, and how many are best bought.

A tier's price holds for all pieces once so many are bought. Where it pays to buy up to a tier, the
pieces that the fleet does not use are bought, too, and paid for like the others. So what a part
costs never falls where more of it is used, on which dominance and bounds of groups rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor
from types import NoneType

from planner.build import Build, bought_pieces, group_pieces
from planner.costs import Pricing, fleet_drivers, group_drivers, line_quantity
from planner.hardware import ClusterLine, Item, Switch
from planner.prices import Price
from planner.program import Volume
from planner.units import ceil

NODES = ""
"""Use of a part in machines; other uses are the ids of cluster lines."""

Pieces = dict[str, dict[str, int]]
"""Part to use to pieces."""


def uses_of(pricing: Pricing, part: str) -> dict[str, ClusterLine | None]:
    """Return the uses that a part can have: in machines, and in cluster lines by their ids."""
    key = "uses", part
    if key not in pricing.notes:
        lines = (line for line in pricing.catalog.cluster.lines if line.percent is None)
        beside: dict[str, ClusterLine | None] = {line.id: line for line in lines if (line.item or line.id) == part}
        only_beside = beside and isinstance(pricing.catalog.find(part), (Item, Switch, NoneType))
        pricing.notes[key] = beside if only_beside else {NODES: None} | beside
    found: dict[str, ClusterLine | None] = pricing.notes[key]
    return found


def at_tier(pricing: Pricing, part: str, tier: int) -> Pricing:
    """Return prices with those of one tier of a part; the first tier is 1."""
    found = pricing.book.find(part)
    assert found is not None
    return pricing.at_pieces({part: found.volume[tier - 1].from_pieces})


def saved_cents(pricing: Pricing, part: str, tier: int, use: str, tco: bool = False) -> int:
    """Return what a piece in use costs less at a tier; over the term, an annuity is rounded down."""
    cheaper, line = at_tier(pricing, part, tier), uses_of(pricing, part)[use]
    if line is None:
        (once, yearly), (less, less_yearly) = pricing.piece_split(part), cheaper.piece_split(part)
        saved = once - less
        return (floor(pricing.term_factor * saved) if tco else saved) + pricing.finance.years * (yearly - less_yearly)
    saved = pricing.lot_cents(line) - cheaper.lot_cents(line)
    return floor(pricing.term_factor * saved) if tco and not line.per_year else saved


def spare_cents(pricing: Pricing, part: str, tier: int, tco: bool = False) -> int:
    """Return what a piece costs at a tier that is bought beyond those in use: as much as in its cheapest use.

    Were it more, a lot or a rack too many would be bought in its place.
    """
    return min(_use_cents(pricing, part, use, tier, tco) for use in uses_of(pricing, part))


def spare_use(pricing: Pricing, part: str) -> ClusterLine | None:
    """Return the cluster line whose piece a spare one costs as much as; None where it is that of a machine."""
    uses = uses_of(pricing, part)
    return uses[min(uses, key=lambda use: (_use_cents(pricing, part, use, 0, False), use != NODES))]


def _use_cents(pricing: Pricing, part: str, use: str, tier: int, tco: bool) -> int:
    """Return what one more piece in a use costs at a tier, at the least.

    Over the term that is the ordinary price less what the tier saves, each rounded as they are: an annuity of a group
    is rounded up for all its parts together, so that one part more may cost as little as its own rounded down.
    """
    line = uses_of(pricing, part)[use]
    if line is not None:
        lot = pricing.lot_cents(line)
        whole = ceil(pricing.term_factor * lot) if tco and not line.per_year else lot
    else:
        once, yearly = pricing.piece_split(part)
        whole = (floor(pricing.term_factor * once) if tco else once) + pricing.finance.years * yearly
    return whole - (saved_cents(pricing, part, tier, use, tco) if tier else 0)


def volume_terms(pricing: Pricing, volumes: Mapping[int, Volume], tco: bool = False) -> dict[int, int]:
    """Return the cents of a program's variables that count pieces at volume prices."""
    return {
        var: spare_cents(pricing, each.part, each.tier, tco)
        if each.use is None
        else -saved_cents(pricing, each.part, each.tier, each.use, tco)
        for var, each in volumes.items()
    }


def pieces_used(pricing: Pricing, fleet: Mapping[Build, int]) -> Pieces:
    """Return the pieces of each part with volume prices that a fleet uses."""
    found: Pieces = {price.part: {} for price in pricing.book.tiered}
    if not found:
        return {}
    for build, count in fleet.items():
        for _, part, each in pricing.bought(build):
            if part in found:
                found[part][NODES] = found[part].get(NODES, 0) + each * build.n_nodes * count
    drivers = fleet_drivers(fleet, pricing.catalog)
    for part, used in found.items():
        for use, line in uses_of(pricing, part).items():
            if line is not None and drivers[line.driver]:
                used[use] = line_quantity(line, drivers[line.driver])
    return {part: used for part, used in found.items() if sum(used.values())}


@dataclass(frozen=True)
class Choice:
    """The tier at which a part is best bought.

    Attributes
    ----------
    tier : int
        0 where the ordinary price is.
    from_pieces, spare : int
        Where the tier begins, and the pieces bought beyond those in use to get there.
    cents : int
        What it adds to the ordinary price of the pieces in use; below 0 where it saves.
    """

    tier: int
    from_pieces: int
    spare: int
    cents: int


def best_tier(
    pricing: Pricing, part: str, used: Mapping[str, int], tco: bool = False, room: int | None = None
) -> Choice:
    """Return the tier for so many pieces by use, and what it adds at once, or over the term.

    It is the one that has been chosen, else the cheapest, the first of several; `room` is the most to spare.
    """
    found, total = pricing.book.find(part), sum(used.values())
    assert found is not None

    def added(tier: int, tco: bool) -> int:
        spare = max(0, found.volume[tier - 1].from_pieces - total)
        saved = sum(n * saved_cents(pricing, part, tier, use, tco) for use, n in used.items())
        return spare * spare_cents(pricing, part, tier, tco) - saved

    tiers = range(1, len(found.volume) + 1)
    if pricing.tiers is not None:
        best = pricing.tiers.get(part, 0)
    else:
        within = (tier for tier in tiers if room is None or found.volume[tier - 1].from_pieces - total <= room)
        best = min((0, *within), key=lambda tier: added(tier, pricing.by_term) if tier else 0)
    if not best:
        return Choice(0, 0, 0, 0)
    begin = found.volume[best - 1].from_pieces
    return Choice(best, begin, max(0, begin - total), added(best, tco))


def best_tiers(pricing: Pricing, fleet: Mapping[Build, int], tco: bool = False) -> dict[str, Choice]:
    """Return the tier of each part with volume prices that a fleet uses."""
    return {
        part: best_tier(pricing, part, used, tco, _room(pricing, fleet, part, used))
        for part, used in pieces_used(pricing, fleet).items()
    }


def _room(pricing: Pricing, fleet: Mapping[Build, int], part: str, used: Mapping[str, int]) -> int | None:
    """Return how many more of a part than a fleet uses can be had and are wanted."""
    beside = sum(n for use, n in used.items() if use != NODES)
    rooms = [
        limits[part] - beside - sum(count * pieces(build, part) for build, count in fleet.items())
        for limits, pieces in ((pricing.stock, bought_pieces), (pricing.maximum, group_pieces))
        if part in limits
    ]
    return min(rooms, default=None)


@dataclass(frozen=True)
class Paid:
    """What some parts cost at once and over the years, as far as their number does not decide it.

    Attributes
    ----------
    cents, tco_cents : int
        At ordinary prices; the same over the term.
    rest_cents, rest_tco_cents : int
        Of those, what parts without volume prices cost.
    least_cents, least_tco_cents : int
        With all parts at their cheapest tier.
    pieces : tuple of int
        Of each part of the book with volume prices, in machines.
    """

    cents: int
    tco_cents: int
    rest_cents: int
    rest_tco_cents: int
    least_cents: int
    least_tco_cents: int
    pieces: tuple[int, ...]


def volume_counts(pricing: Pricing, rows: Iterable[tuple[str, int]]) -> tuple[int, ...]:
    """Return the pieces of each part with volume prices in (part, count) rows."""
    counts = {price.part: 0 for price in pricing.book.tiered}
    for part, count in rows if counts else ():
        if part in counts:
            counts[part] += count
    return tuple(counts.values())


def paid_for(
    pricing: Pricing, rows: Iterable[tuple[str, int]], drivers: Mapping[str, int], cents: int, tco_cents: int
) -> Paid:
    """Return how what (part, count) rows and linear cluster lines cost splits.

    Parameters
    ----------
    drivers : mapping of str to int
        What the rows' machines add to each driver of cluster lines.
    cents, tco_cents : int
        What all of it costs at ordinary prices.
    """
    tiered = pricing.book.tiered
    if not tiered:
        return Paid(cents, tco_cents, cents, tco_cents, cents, tco_cents, ())
    counts = volume_counts(pricing, rows)
    free, most = [0, 0], [0, 0]
    for price, own in zip(tiered, counts, strict=True):
        for use, line in uses_of(pricing, price.part).items() if own or drivers else ():
            n = own if line is None else line.pieces * drivers.get(line.driver, 0) * pricing.is_linear(line)
            if n:
                whole, whole_tco, saved, saved_tco = _of_piece(pricing, price, use)
                free = [free[0] + n * whole, free[1] + n * whole_tco]
                most = [most[0] + n * saved, most[1] + n * saved_tco]
    return Paid(
        cents, tco_cents, cents - free[0], tco_cents - free[1], cents - most[0], tco_cents - most[1], counts
    )  # fmt: skip


def _of_piece(pricing: Pricing, price: Price, use: str) -> tuple[int, ...]:
    """Return what a piece costs at the ordinary price, and what it saves at most, each also over the term.

    Over the term both are rounded down, so that no saving is more than the whole.
    """
    key = price.part, use
    if key not in pricing.notes:
        tiers = range(1, len(price.volume) + 1)
        saved = (max(saved_cents(pricing, price.part, tier, use, tco) for tier in tiers) for tco in (False, True))
        pricing.notes[key] = (*_whole_cents(pricing, price.part, use), *saved)
    found: tuple[int, ...] = pricing.notes[key]
    return found


def _whole_cents(pricing: Pricing, part: str, use: str) -> tuple[int, int]:
    line = uses_of(pricing, part)[use]
    if line is None:
        once, yearly = pricing.piece_split(part)
        later = pricing.finance.years * yearly
        return once + later, floor(pricing.term_factor * once) + later
    lot = pricing.lot_cents(line)
    return lot, lot if line.per_year else floor(pricing.term_factor * lot)


def group_paid(pricing: Pricing, build: Build) -> Paid:
    """Return how the cost of one group splits."""
    rows = ((part, count * build.n_nodes) for _, part, count in pricing.bought(build))
    drivers, cents = group_drivers(build, pricing.catalog), pricing.group_cents(build)
    return paid_for(pricing, rows, drivers, cents, pricing.group_tco_cents(build, cents))
