"""Links between host memory and GPUs: every turn's session is loaded back over them."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.problem import Situation
from planner.roles import has_tiers, into_gpus


@group_limit
class HostLink:
    """Bytes per second from host memory into the GPUs of a group."""

    kind = "host_link"
    label = "host links (resume)"
    unit: Unit = "B/s"
    formula = "h * turns / open * loaded share * resumed bytes * copies <= nodes * link flow * efficiency * ceiling"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether sessions come back from below GPU memory, or from other groups, at known rates."""
        return at.turns_per_s > 0 and (has_tiers(at) or at.scenario.splits)

    def have(self, build: Build, at: Situation) -> int:
        """Return what the links really move, at the planned load."""
        cut = topology.host_link(build.core.chassis, build.core.gpu)
        effective = cut.bytes_per_s * build.cache.host_link_fraction * build.cache.load_ceiling_fraction
        return int(build.n_nodes * effective)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session; copies are pulled by each rank."""
        return at.turns_per_open * into_gpus(build, at)
