"""Decode: sessions in flight must each get their tokens per second."""

from __future__ import annotations

from fractions import Fraction

from planner import rates
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open, prompts_per_open
from planner.constraints.terms import Factor, Term, Terms, of_profile, sessions_per_open
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

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        core, scenario = build.core, at.scenario
        promised = scenario.service.decode_tokens_per_s if scenario.service else 0
        prompts = prompts_per_open(build, at) * at.open / at.sessions.in_flight
        each = rates.decode_sessions(core, scenario, prompts)
        speed = core.engine.service
        have = Term((
            Factor("replicas of a group", core.replicas),
            Factor("sessions that a replica decodes at the promised rate", each, "sessions"),
        ))  # fmt: skip
        basis = (
            Factor("promised to each session", promised, "tokens/s"),
            Factor("prompt tokens that come with each in flight", prompts, "tokens/s"),
            Factor("memory bandwidth of a GPU", core.gpu.memory_bandwidth_bytes_per_s, "B/s",
                   evidence=core.gpu.evidence.get("memory_bandwidth")),
            of_profile(core.engine, "service.bandwidth", speed.bandwidth_fraction),
            of_profile(core.engine, "service.compute", speed.compute_fraction),
            of_profile(core.engine, "service.attention", speed.attention_fraction),
            of_profile(core.engine, "service.fabric", speed.fabric_fraction),
            of_profile(core.engine, "service.decode_ceiling", rates.decode_ceiling(scenario, speed)),
        )  # fmt: skip
        return Terms((have,), (Term((sessions_per_open("in flight", at.sessions.in_flight, at),)),), basis)
