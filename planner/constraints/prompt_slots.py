"""Prompt slots: turns that are on a prefill group lie whole in its KV pools."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.first_token import prompt_stay_seconds, stay_steps
from planner.constraints.terms import Factor, Term, Terms, turns
from planner.problem import Situation
from planner.roles import turn_tokens


def turns_staying(build: Build, at: Situation) -> Fraction:
    """Return how many turns are on a prefill group for each open session that it prefills: rate times stay."""
    if not at.turns_per_s:
        return Fraction(0)
    return at.turns_per_open * prompt_stay_seconds(build.core, build.cache, at, turn_tokens(build, at))


def staying_terms(build: Build, at: Situation) -> Terms:
    """Return the same, number by number, without what a group has; the stay's steps are the basis."""
    steps = stay_steps(build.core, build.cache, at, turn_tokens(build, at))
    stay = Factor("stay of a turn", sum(steps.values(), Fraction(0)), "s")
    basis = tuple(Factor(what, 1000 * seconds, "ms") for what, seconds in steps.items() if seconds)
    return Terms((), (Term((turns(at), stay)),), basis)


@group_limit
class PromptSlots:
    """Whole sessions in the KV pools of a prefill group."""

    kind = "prompt_slots"
    label = "GPU memory (prompts)"
    unit: Unit = "sessions"
    formula = "h * turns / open * stay <= replicas * pools * floor((pool - prefixes) / session)"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether groups that only prefill may be bought, and rates are known."""
        return at.scenario.splits and at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return whole sessions over all pools."""
        return build.core.hbm_slots

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return turns on the group per open session, by Little's law."""
        return turns_staying(build, at)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        core = build.core
        pools = Factor(f"pools: {core.replicas} x {core.layout.name}", core.replicas * core.layout.dp)
        each = Factor(f"whole sessions in a pool of {core.pool.tokens:,} tokens", core.pool.sessions, "sessions")
        return replace(staying_terms(build, at), have=(Term((pools, each)),))
