"""Drive writes: every new token of every turn, at once or when its session goes cold."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import (
    Factor,
    Term,
    Terms,
    ceiling,
    nodes,
    of_profile,
    stored_copies,
    stored_tokens,
    token_bytes,
    turns,
)
from planner.problem import Situation
from planner.units import floor_share


@group_limit
class NvmeWrite:
    """Bytes per second that a group writes to its drives."""

    kind = "nvme_write"
    label = "drive writes (store)"
    unit: Unit = "B/s"
    formula = "h * turns / open * stored tokens * rate * copies <= nodes * drive flow * efficiency * ceiling"
    depends: Depends = "drives"

    def active(self, at: Situation) -> bool:
        """Return whether drives are written at known rates."""
        return at.turns_per_s > 0 and at.scenario.tiers.nvme != "none"

    def have(self, build: Build, at: Situation) -> int:
        """Return what the drives really write, at the planned load."""
        cut = topology.drive_write(build.core.chassis, build.drive, build.drives)
        shares = build.cache.drive_write_fraction, build.cache.load_ceiling_fraction
        return floor_share(build.n_nodes * cut.bytes_per_s, *shares)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session: the answer is stored as the next prompt."""
        size = build.core.footprint
        return at.turns_per_open * at.flows.stored_tokens * size.kv.rate * size.copies

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cut, cache = topology.drive_write(build.core.chassis, build.drive, build.drives), build.cache
        drives = Factor("memory to drives", cut.bytes_per_s, "B/s", cut.text)
        efficiency = of_profile(cache, "drive_write", cache.drive_write_fraction)
        need = (turns(at), stored_tokens(at), token_bytes(build), stored_copies(build))
        return Terms((Term((nodes(build), drives, efficiency, ceiling(build))),), (Term(need),))
