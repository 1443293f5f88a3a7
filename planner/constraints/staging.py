"""Staging: what comes to a prefill group and goes from it passes its host memory, whole sessions at a time."""

from __future__ import annotations

from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.prompt_slots import turns_staying
from planner.problem import Situation


@group_limit
class Staging:
    """Whole sessions in the pinned host memory of a prefill group."""

    kind = "staging"
    label = "host memory (prompts)"
    unit: Unit = "sessions"
    formula = "h * turns / open * stay <= nodes * floor(ram * host / (session + prefix))"
    depends: Depends = "host"

    def active(self, at: Situation) -> bool:
        """Return whether groups that only prefill may be bought, and rates are known."""
        return at.scenario.splits and at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return whole sessions over all nodes."""
        pinned = int(build.ram_bytes * build.cache.host_fraction)
        return build.n_nodes * (pinned // max(1, build.core.footprint.staged_bytes))

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return turns on the group per open session, by Little's law."""
        return turns_staying(build, at)
