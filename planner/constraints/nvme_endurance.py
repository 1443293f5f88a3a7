"""Drive endurance: what a day of turns writes against what the drives are rated for over the term."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import Factor, Term, Terms, nodes, of_profile, stored_copies, token_bytes
from planner.hardware import Drive
from planner.problem import Situation
from planner.units import floor_share

WARRANTY_YEARS = 5
"""Over which drives are rated where their entry does not say: data sheets of enterprise drives state
their writes per day over five years."""


def rated_bytes(drive: Drive) -> Fraction:
    """Return what one drive is rated to be written over its life."""
    return drive.capacity_bytes * drive.dwpd * 365 * (drive.warranty_years or WARRANTY_YEARS)


@cache
def _rated_per_day(drive: Drive, years: int) -> Fraction:
    return rated_bytes(drive) / (365 * years)


@group_limit
class NvmeEndurance:
    """Bytes per day that a group writes to its drives."""

    kind = "nvme_endurance"
    label = "drive endurance"
    unit: Unit = "B/day"
    formula = (
        "h * written tokens per day / open * rate * copies * amplification"
        " <= nodes * drives * capacity * DWPD * warranty / years * wear"
    )
    depends: Depends = "drives"

    def active(self, at: Situation) -> bool:
        """Return whether drives are written at known rates."""
        return at.turns_per_s > 0 and at.scenario.tiers.nvme != "none"

    def have(self, build: Build, at: Situation) -> int:
        """Return the bytes per day that are planned for, so that the rating lasts for the term."""
        if build.drive is None:
            return 0
        rated = _rated_per_day(build.drive, at.scenario.finance.years)
        return floor_share(build.n_nodes * build.drives, rated, at.scenario.limits.drive_wear_fraction)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per day per open session, at the mean rate through the day's hours."""
        size = build.core.footprint
        return at.written_per_day * size.kv.rate * size.copies * build.cache.write_amplification

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cache, drive, scenario = build.cache, build.drive, at.scenario
        rated = _rated_per_day(drive, scenario.finance.years) if drive else Fraction(0)
        words = f"of {drive.id}: {float(drive.dwpd):g} writes a day" if drive else "of no drive"
        have = (
            nodes(build), Factor("drives of a node", build.drives),
            Factor(f"rating {words}, over {scenario.finance.years} years", rated, "B/day",
                   evidence=drive.evidence.get("dwpd") if drive else None),
            Factor("limits.drive_wear", scenario.limits.drive_wear_fraction, "share"),
        )  # fmt: skip
        need = (
            Factor("tokens a day of an open session", at.written_per_day, "tokens"), token_bytes(build),
            stored_copies(build), of_profile(cache, "write_amplification", cache.write_amplification, ""),
        )  # fmt: skip
        return Terms((Term(have),), (Term(need),))
