"""Prefill: new prompt tokens per second against the GPUs' FLOP/s."""

from __future__ import annotations

from fractions import Fraction

from planner import rates
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, prompts_per_open
from planner.problem import Situation


@group_limit
class Prefill:
    """Tokens per second that a group must prefill."""

    kind = "prefill"
    label = "prefill (FLOP/s)"
    unit: Unit = "tokens/s"
    formula = (
        "h * turns / open * (new + lost tokens + loaded share * chunk / 2)"
        " <= replicas * groups * chunk / step(chunk) * ceiling"
    )
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether rates are known."""
        return at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return tokens per second at the planned context, at the planned load."""
        return rates.prefill_tokens_per_s(build.core, at.scenario)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return tokens per second per open session: new ones, a chunk's unstored tail, lost contexts."""
        return prompts_per_open(build, at)
