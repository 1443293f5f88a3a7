"""GPU memory: sessions in flight must lie whole in KV pools."""

from __future__ import annotations

from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open
from planner.problem import Situation


@group_limit
class Hbm:
    """Whole sessions in the KV pools of a group."""

    kind = "hbm"
    label = "GPU memory (KV pools)"
    unit: Unit = "sessions"
    formula = "h * in_flight / open <= replicas * pools * floor((pool - prefixes) / session)"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether any session is in flight."""
        return at.sessions.in_flight > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return whole sessions over all pools."""
        return build.core.hbm_slots

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return sessions in flight per open session."""
        return per_open(at.sessions.in_flight, at)
