"""Drives: every retained session with write-all, the cold ones with spill."""

from __future__ import annotations

from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open
from planner.demand import nvme_sessions
from planner.problem import Situation

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
        return int(size * build.cache.usable_fraction) - prefixes

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return stored bytes per open session."""
        return per_open(nvme_sessions(at.scenario, at.sessions), at) * build.core.footprint.stored_bytes
