"""Links between host memory and GPUs: every turn's session is loaded back over them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import Factor, Term, Terms, ceiling, loads, nodes, of_profile
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

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cut, cache = topology.host_link(build.core.chassis, build.core.gpu), build.cache
        links = Factor("memory to GPUs", cut.bytes_per_s, "B/s", cut.text)
        efficiency = of_profile(cache, "host_link", cache.host_link_fraction)
        need = loads(build, at)
        if len(need) == 1:
            need = (replace(need[0], words=""),)
        return Terms((Term((nodes(build), links, efficiency, ceiling(build))),), need)
