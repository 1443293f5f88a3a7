"""Drives: every retained session with write-all, the cold ones with spill."""

from __future__ import annotations

from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open
from planner.constraints.terms import Factor, Term, Terms, fitting, nodes, of_profile, sessions_per_open
from planner.demand import nvme_sessions
from planner.problem import Situation
from planner.spread import fitting_bytes

GB = 10**9


def tier_gb(build: Build) -> int:
    """Return the whole GB of one node's drives that are given to the tier."""
    return int(build.nvme_bytes * build.cache.space_fraction) // GB


@group_limit
class Nvme:
    """Bytes of the drive tier of a group."""

    kind = "nvme"
    label = "drives (KV tier)"
    unit: Unit = "B"
    formula = "h * nvme_sessions / open * stored <= nodes * GB(drives * capacity * space) * usable - prefixes"
    depends: Depends = "drives"

    def active(self, at: Situation) -> bool:
        """Return whether drives hold KV caches."""
        return at.scenario.tiers.nvme != "none"

    def have(self, build: Build, at: Situation) -> int:
        """Return usable bytes of all nodes of the group."""
        prefixes = 0 if at.pooled else build.n_nodes * build.core.footprint.prefix_bytes
        size = build.n_nodes * tier_gb(build) * GB
        one = build.core.footprint
        return fitting_bytes(int(size * build.cache.usable_fraction) - prefixes, one.stored_bytes, one.spread_bytes)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return stored bytes per open session."""
        return per_open(nvme_sessions(at.scenario, at.sessions), at) * build.core.footprint.stored_bytes

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cache, size = build.cache, build.core.footprint
        what = f"{build.drives} x {build.drive.id}" if build.drive else "no drives"
        tier = Factor(f"tier on {what}", tier_gb(build) * GB, "B")
        have = [Term((nodes(build), tier, of_profile(cache, "usable", cache.usable_fraction)), "own contexts")]
        if not at.pooled:
            prefixes = Factor("shared prefixes", size.prefix_bytes, "B")
            have.append(Term((nodes(build), prefixes), "shared prefixes", minus=True))
        if size.spread_bytes:
            have = [fitting(self.have(build, at), size)]
        held = sessions_per_open("on drives", nvme_sessions(at.scenario, at.sessions), at)
        need = Term((held, Factor("what a session takes", size.stored_bytes, "B")))
        return Terms(tuple(have), (need,), (of_profile(cache, "space", cache.space_fraction),))
