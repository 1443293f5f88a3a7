"""Decode: sessions in flight must each get their tokens per second."""

from __future__ import annotations

from fractions import Fraction

from planner import service
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open
from planner.problem import Situation


@group_limit
class Decode:
    """Sessions that a group decodes at the promised rate."""

    kind = "decode"
    label = "decode (memory bandwidth)"
    unit: Unit = "sessions"
    formula = "h * in_flight / open <= replicas * max{n: floor + pp * (weights hit + n * read) / bandwidth <= 1 / rate}"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether a rate is promised."""
        return at.scenario.service is not None and at.sessions.in_flight > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return sessions over all replicas of the group."""
        promised = at.scenario.service
        assert promised is not None
        context = at.scenario.workload.context.planned_tokens
        each = service.decode_sessions(build.core, promised.decode_tokens_per_s, context)
        return build.core.replicas * each

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return sessions in flight per open session."""
        return per_open(at.sessions.in_flight, at)
