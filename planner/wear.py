"""Drive wear as money: what a term of writes uses up of the drives that a plan buys.

It is told beside the total cost and is no part of what is minimised. Writes are the workload's and
spread over the groups of a fleet in proportion to their reach, so that what a group wears is a ratio
of counts: no sum over groups says it exactly, and a sum that charged each group for its full reach
would make machines look dear for sessions that they do not host. See docs/math/nvme_endurance.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from planner.bill import bill
from planner.build import Build
from planner.constraints.nvme_endurance import NvmeEndurance, rated_bytes
from planner.problem import Problem, Situation
from planner.roles import BOTH, PREFILL
from planner.units import ceil

DAYS_PER_YEAR = 365


@dataclass(frozen=True)
class DriveWear:
    """What writes use up of one build's drives over the term.

    Attributes
    ----------
    build, drive : str
        Name of the build and id of its drive.
    pieces : int
        Drives of all its groups.
    written_bytes : int
        To all of them over the term, write amplification included, rounded up.
    used : Fraction
        Of what they are rated to be written; above 1 they are worn out before the term is over.
    price_cents : int or None
        All of them with tax, None where the price book has no price of the drive.
    """

    build: str
    drive: str
    pieces: int
    written_bytes: int
    used: Fraction
    price_cents: int | None

    @property
    def used_cents(self) -> int | None:
        """The part of their price that is used up, rounded up; above it where they wear out."""
        return None if self.price_cents is None else ceil(self.used * self.price_cents)

    @property
    def replaced_cents(self) -> int | None:
        """What takes the place of worn out drives costs, by the share of the rating it needs; 0 where they last."""
        return None if self.price_cents is None else ceil(max(Fraction(0), self.used - 1) * self.price_cents)


def wear_of(problem: Problem, fleet: Mapping[Build, int]) -> tuple[DriveWear, ...]:
    """Return the wear of each build's drives; nothing of services without known rates or without drives."""
    case = problem.pricing.case
    paid = {
        line.part: line.unit_cents[case] + line.tax_cents[case]
        for line in bill(problem.pricing, fleet)
        if line.scope == "node"
    }
    return tuple(wear for at in problem.at.services for wear in _service_wear(problem, fleet, at, paid))


def _service_wear(
    problem: Problem, fleet: Mapping[Build, int], at: Situation, paid: Mapping[str, int]
) -> Iterator[DriveWear]:
    limit = NvmeEndurance()
    if not limit.active(at):
        return
    days = DAYS_PER_YEAR * at.scenario.finance.years
    for build, hosted in _hosted(fleet, at).items():
        pieces = fleet[build] * build.n_nodes * build.drives
        if build.drive is None or not pieces:
            continue
        written = hosted * limit.need(build, at) * days
        each = paid.get(build.drive.id) or _price(problem, build.drive.id)
        used = written / (pieces * rated_bytes(build.drive))
        price = None if each is None else pieces * each
        yield DriveWear(build.name, build.drive.id, pieces, ceil(written), used, price)


def _hosted(fleet: Mapping[Build, int], at: Situation) -> dict[Build, Fraction]:
    """Return the open sessions on all groups of a build, in proportion to what they host.

    Sessions of groups that only decode are as many as those that prefill for them can follow.
    """
    own = {build: n for build, n in fleet.items() if n and build.core.service == at.label}
    able = {one: sum(n * build.hosts for build, n in own.items() if (build.core.role != BOTH) == one)
            for one in (True, False)}  # fmt: skip
    if not sum(able.values()):
        return {}
    follow = sum(n * build.prefills for build, n in own.items() if build.core.role == PREFILL)
    even = Fraction(at.open_parts * able[True], able[True] + able[False])
    apart = max(Fraction(at.open_parts - able[False]), min(Fraction(follow), even)) if able[True] else Fraction(0)
    taken = {True: apart / at.scale, False: (at.open_parts - apart) / at.scale}
    found = {}
    for build, n in own.items():
        one = build.core.role != BOTH
        if build.hosts:
            found[build] = taken[one] * n * build.hosts / able[one]
    return found


def _price(problem: Problem, part: str) -> int | None:
    """Return the price of a drive that came with its machine, tax included; None where the book has none."""
    cents = problem.pricing.book.cents(part, problem.pricing.case)
    return None if cents is None else cents + problem.pricing.tax_on(cents)
