"""Drive reads: turns whose session resumes from drives."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import Factor, Term, Terms, ceiling, nodes, of_profile, resumed, stored_copies, turns
from planner.problem import Situation
from planner.units import floor_share


@group_limit
class NvmeRead:
    """Bytes per second that a group reads from its drives."""

    kind = "nvme_read"
    label = "drive reads (resume)"
    unit: Unit = "B/s"
    formula = "h * turns / open * from drives * resumed bytes * copies <= nodes * drive flow * efficiency * ceiling"
    depends: Depends = "drives"

    def active(self, at: Situation) -> bool:
        """Return whether drives serve resumes at known rates."""
        return at.turns_per_s > 0 and at.scenario.tiers.nvme != "none"

    def have(self, build: Build, at: Situation) -> int:
        """Return what the drives really read, at the planned load."""
        cut = topology.drive_read(build.core.chassis, build.drive, build.drives)
        shares = build.cache.drive_read_fraction, build.cache.load_ceiling_fraction
        return floor_share(build.n_nodes * cut.bytes_per_s, *shares)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session, of the turns whose session is on drives alone."""
        size = build.core.footprint
        return at.turns_per_open * at.flows.from_nvme * size.resume_bytes * size.copies

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cut, cache = topology.drive_read(build.core.chassis, build.drive, build.drives), build.cache
        drives = Factor("drives to memory", cut.bytes_per_s, "B/s", cut.text)
        efficiency = of_profile(cache, "drive_read", cache.drive_read_fraction)
        need = (turns(at), Factor("from drives", at.flows.from_nvme, "share"), resumed(build), stored_copies(build))
        return Terms((Term((nodes(build), drives, efficiency, ceiling(build))),), (Term(need),))
