"""Host memory's bandwidth: all that tiers move crosses it, some of it twice."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import Factor, Term, Terms, ceiling, crossings, nodes
from planner.evidence import Evidence
from planner.problem import Situation
from planner.roles import has_tiers, through_memory

REACHED = Fraction(4, 5)
"""Share of nominal memory bandwidth that copies reach; assumed, as streaming tests show."""
_ASSUMED = Evidence("assumed", text="Streaming tests show about as much of the nominal rate.")


@group_limit
class DramBandwidth:
    """Bytes per second that a group reads and writes in host memory."""

    kind = "dram_bandwidth"
    label = "host memory (traffic)"
    unit: Unit = "B/s"
    formula = (
        "h * turns / open * (loads + staged from drives + stores in and out + remote reads out and in)"
        " <= nodes * sockets * channels * speed * 8 * 4/5 * ceiling"
    )
    depends: Depends = "host"

    def active(self, at: Situation) -> bool:
        """Return whether tiers move anything at known rates."""
        return at.turns_per_s > 0 and (has_tiers(at) or at.scenario.splits)

    def have(self, build: Build, at: Situation) -> int:
        """Return what the memory of all nodes may be planned for, reads and writes together."""
        sockets = build.core.chassis.n_cpus
        each = topology.memory_bytes_per_s(build.cpu, build.dimm, build.dimms, sockets)
        return int(build.n_nodes * sockets * each * REACHED * build.cache.load_ceiling_fraction)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session."""
        return at.turns_per_open * through_memory(build, at)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        sockets = build.core.chassis.n_cpus
        each = topology.memory_bytes_per_s(build.cpu, build.dimm, build.dimms, sockets)
        have = (
            nodes(build), Factor("sockets", sockets),
            Factor("memory of a socket", each, "B/s", f"{build.dimms} x {build.dimm.id} on {build.cpu.id}"),
            Factor("what copies reach", REACHED, "share", evidence=_ASSUMED), ceiling(build),
        )  # fmt: skip
        return Terms((Term(have),), crossings(build, at))
