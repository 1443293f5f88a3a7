"""Prefill: new prompt tokens per second against the GPUs' FLOP/s."""

from __future__ import annotations

from fractions import Fraction

from planner import service
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.problem import Situation


@group_limit
class Prefill:
    """Tokens per second that a group must prefill."""

    kind = "prefill"
    label = "prefill (FLOP/s)"
    unit: Unit = "tokens/s"
    formula = (
        "h * turns / open * (new + lost tokens + loaded share * chunk / 2)"
        " <= gpus * peak * efficiency / FLOP per token * ceiling"
    )
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether rates are known."""
        return at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return tokens per second at the planned context, at the planned load."""
        context = at.scenario.workload.context.planned_tokens
        rate = service.prefill_tokens_per_s(build.core, context)
        return int(rate * build.core.engine.service.load_ceiling_fraction)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return tokens per second per open session: new ones, a chunk's unstored tail, lost contexts."""
        again = Fraction(build.cache.chunk_tokens, 2)
        return at.turns_per_open * (at.flows.new_tokens + at.flows.loaded * again + at.flows.again_tokens)
