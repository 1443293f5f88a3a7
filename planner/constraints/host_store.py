"""Links from GPUs to host memory: what turns store leaves over them, beside what is loaded."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.host_link import HostLink
from planner.constraints.terms import Factor, Term, Terms, ceiling, loads, nodes, of_profile, stores
from planner.evidence import Evidence
from planner.problem import Situation
from planner.roles import into_gpus, out_of_gpus

BOTH_WAYS = Fraction(834, 500)
"""What a link moves both ways at once over what it moves in one: 83.4 against 50 GB/s, measured on an
H100 with blocks of 2 MB (vLLM blog, 2026-01-08)."""
_MEASURED = Evidence("derived", text="83.4 over 50 GB/s, an H100 with blocks of 2 MB (vLLM blog, 2026-01-08)")


def _planned(build: Build, flow: int) -> Fraction:
    return build.n_nodes * flow * build.cache.host_link_fraction * build.cache.load_ceiling_fraction


@group_limit
class HostStore:
    """Bytes per second from the GPUs of a group into host memory."""

    kind = "host_store"
    label = "host links (store)"
    unit: Unit = "B/s"
    formula = "h * turns / open * stored tokens * rate * copies <= nodes * link flow * efficiency * ceiling"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether anything is stored at known rates."""
        return HostLink().active(at)

    def have(self, build: Build, at: Situation) -> int:
        """Return what the links really move towards the memory, at the planned load."""
        core = build.core
        return int(_planned(build, topology.host_store(core.chassis, core.gpu).bytes_per_s))

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session."""
        return at.turns_per_open * out_of_gpus(build, at)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cut, cache = topology.host_store(build.core.chassis, build.core.gpu), build.cache
        links = Factor("GPUs to memory", cut.bytes_per_s, "B/s", cut.text)
        efficiency = of_profile(cache, "host_link", cache.host_link_fraction)
        return Terms((Term((nodes(build), links, efficiency, ceiling(build))),), stores(build, at))


@group_limit
class HostBoth:
    """Bytes per second over the links of a group, both ways together."""

    kind = "host_both"
    label = "host links (both ways)"
    unit: Unit = "B/s"
    formula = "h * turns / open * (loaded + stored bytes) <= nodes * link flow * 1.668 * efficiency * ceiling"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether tiers move anything at known rates."""
        return HostLink().active(at)

    def have(self, build: Build, at: Situation) -> int:
        """Return what the links really move both ways at once, at the planned load."""
        core = build.core
        return int(BOTH_WAYS * _planned(build, topology.host_link(core.chassis, core.gpu).bytes_per_s))

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session."""
        return at.turns_per_open * (into_gpus(build, at) + out_of_gpus(build, at))

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        (one_way,) = HostLink().terms(build, at).have
        both = Factor("both ways at once over one way", BOTH_WAYS, evidence=_MEASURED)
        return Terms((Term((*one_way.factors, both)),), (*loads(build, at), *stores(build, at)))
