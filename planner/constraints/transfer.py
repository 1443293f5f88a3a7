"""Transfer: contexts to prefill groups and what they prefilled back, over the fabric cards of both sides."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.fabric import PLANNED_SHARE
from planner.constraints.terms import Factor, Term, Terms, context, nodes, prompts_back
from planner.problem import Situation
from planner.roles import context_bytes, handed_bytes


@group_limit
class Transfer:
    """Bytes per second over the cards of a decode or prefill group, in the busier direction."""

    kind = "transfer"
    label = "fabric (prefill and decode)"
    unit: Unit = "B/s"
    formula = (
        "h * turns / open * max(kept share * resumed bytes, prefilled tokens * rate) * copies"
        " <= nodes * card flow * 1/2"
    )
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether groups of one role may be bought, and rates are known."""
        return at.scenario.splits and at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return what the cards may be planned for in each direction."""
        cut = topology.fabric(build.core.chassis, build.core.fabric_nic, build.core.fabric_nics)
        return int(build.n_nodes * cut.bytes_per_s * PLANNED_SHARE)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session; cards move as much each way at once."""
        return at.turns_per_open * max(context_bytes(build, at), handed_bytes(build, at))

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number, of the busier direction."""
        cut = topology.fabric(build.core.chassis, build.core.fabric_nic, build.core.fabric_nics)
        cards = Factor("cards", cut.bytes_per_s, "B/s", cut.text)
        away = context_bytes(build, at) >= handed_bytes(build, at)
        need = context(build, at, "contexts") if away else prompts_back(build, at, "prompts")
        return Terms((Term((nodes(build), cards, Factor("planned share", PLANNED_SHARE, "share"))),), (need,))
