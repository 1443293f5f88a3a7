"""Decode: sessions in flight must each get their tokens per second."""

from __future__ import annotations

from fractions import Fraction

from planner import rates
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open, prompts_per_open
from planner.problem import Situation


@group_limit
class Decode:
    """Sessions that a group decodes at the promised rate."""

    kind = "decode"
    label = "decode (memory bandwidth)"
    unit: Unit = "sessions"
    formula = "h * in_flight / open <= replicas * max{n: step(n) * rate / accepted + n * prompts <= ceiling}"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether a rate is promised."""
        return at.scenario.service is not None and at.sessions.in_flight > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return sessions over all replicas of the group."""
        prompts = prompts_per_open(build, at) * at.open / at.sessions.in_flight
        return build.core.replicas * rates.decode_sessions(build.core, at.scenario, prompts)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return sessions in flight per open session."""
        return per_open(at.sessions.in_flight, at)
