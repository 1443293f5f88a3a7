"""Fabric cards: with pooled tiers, sessions come from any node."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import Factor, Term, Terms, nodes, resumed, stored_copies, turns
from planner.evidence import Evidence
from planner.problem import Situation

PLANNED_SHARE = Fraction(1, 2)
"""Share of nominal that RDMA reaches and that may be planned: 194 of 400 GB/s were measured over
8 x 400 Gbit/s (PegaFlow, vLLM blog, 2026-05-18)."""
_MEASURED = Evidence("derived", text="194 of 400 GB/s over 8 x 400 Gbit/s (PegaFlow, vLLM blog, 2026-05-18)")


@group_limit
class Fabric:
    """Bytes per second into a group over the fabric."""

    kind = "fabric"
    label = "fabric (pooled tiers)"
    unit: Unit = "B/s"
    formula = "h * turns / open * loaded share * resumed bytes * copies <= nodes * card flow * 1/2"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether tiers are pooled and rates known."""
        return at.pooled and at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return what the cards may be planned for."""
        cut = topology.fabric(build.core.chassis, build.core.fabric_nic, build.core.fabric_nics)
        return int(build.n_nodes * cut.bytes_per_s * PLANNED_SHARE)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session: any turn may find its session elsewhere."""
        size = build.core.footprint
        return at.turns_per_open * at.flows.loaded * size.resume_bytes * size.copies

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        core = build.core
        cut = topology.fabric(core.chassis, core.fabric_nic, core.fabric_nics)
        cards = Factor("cards to memory", cut.bytes_per_s, "B/s", cut.text)
        planned = Factor("reached and planned", PLANNED_SHARE, "share", evidence=_MEASURED)
        need = (turns(at), Factor("loaded", at.flows.loaded, "share"), resumed(build), stored_copies(build))
        return Terms((Term((nodes(build), cards, planned)),), (Term(need),))
