"""Staging: what comes to a prefill group and goes from it passes its host memory, whole sessions at a time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.prompt_slots import staying_terms, turns_staying
from planner.constraints.terms import Factor, Term, Terms, nodes, of_profile
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

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        size = build.core.footprint
        each = int(build.ram_bytes * build.cache.host_fraction) // max(1, size.staged_bytes)
        found = staying_terms(build, at)
        basis = (
            Factor("memory of a node", build.ram_bytes, "B"),
            of_profile(build.cache, "host", build.cache.host_fraction),
            Factor("a session with its prefix, all copies", size.staged_bytes, "B"),
        )
        have = Term((nodes(build), Factor("whole sessions in a node's pinned memory", each, "sessions")))
        return replace(found, have=(have,), basis=(*basis, *found.basis))
