"""GPU memory: sessions in flight must lie whole in KV pools."""

from __future__ import annotations

from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open
from planner.constraints.terms import Factor, Term, Terms, sessions_per_open
from planner.placement import sticky_sessions
from planner.problem import Situation


@group_limit
class Hbm:
    """Whole sessions in the KV pools of a group."""

    kind = "hbm"
    label = "GPU memory (KV pools)"
    unit: Unit = "sessions"
    formula = (
        "h * in_flight / open <= replicas * pools * floor((pool - prefixes) / session); placed for good:"
        " h <= replicas * pools * the most of which so few wait"
    )
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether any session is in flight."""
        return at.sessions.in_flight > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return whole sessions over all pools; placed for good, open ones that the pools serve."""
        core, how = build.core, at.scenario.serving
        if how.placement == "balanced":
            return core.hbm_slots
        pools, overflow = core.replicas * core.layout.dp, float(how.overflow_fraction)
        return pools * sticky_sessions(at.open, at.sessions.in_flight, core.pool.sessions, overflow)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return sessions in flight per open session; placed for good, 1."""
        if at.scenario.serving.placement == "sticky":
            return Fraction(1)
        return per_open(at.sessions.in_flight, at)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        core, how = build.core, at.scenario.serving
        pools = core.replicas * core.layout.dp
        need = sessions_per_open("in flight", at.sessions.in_flight, at)
        each = Factor(f"whole sessions in a pool of {core.pool.tokens:,} tokens", core.pool.sessions, "sessions")
        if how.placement == "sticky":
            need = Factor("placed for good", Fraction(1))
            each = Factor("open sessions that a pool serves", self.have(build, at) // pools, "sessions")
        count = Factor(f"pools: {core.replicas} x {core.layout.name}", pools)
        return Terms(have=(Term((count, each)),), need=(Term((need,)),))
