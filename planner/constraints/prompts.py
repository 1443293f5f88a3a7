"""Prompts: every session's turns are prefilled, where it lives or elsewhere, even after losing the spare groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.constraints.sessions import add_covering_rows, surviving
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class Prompts:
    """sum prefills * x - (largest k in use) >= open.

    With a, d and p what groups of both roles, decode and prefill groups reach, sessions and prompts are
    held if a + min(d, p) >= open: this row and that of the open sessions, in one.
    """

    kind = "prompts"
    label = "prompts of open sessions"
    formula = "sum(prefilled sessions * groups) - sum of the k largest in use >= open"

    def active(self, at: Situation) -> bool:
        """Return whether any service may have groups of one role."""
        return any(one.scenario.splits for one in at.services)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return the sessions whose turns one group prefills; more is better."""
        return (-build.prefills,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add a covering row, with the loss of spare groups, for each service that splits."""
        for share in problem.shares():
            if share.at.scenario.splits:
                reaches = [problem.builds[i].prefills for i in share.places]
                groups = [program.groups[i] for i in share.places]
                add_covering_rows(
                    program, share.named(self.kind), reaches, share.at.open_parts, share.at.spares, groups=groups
                )

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Sum what survives the worst loss."""
        reaches = [build.prefills for build in problem.builds]
        for share in problem.shares():
            at, own = share.at, {i: counts[i] for i in share.places if counts.get(i)}
            if at.scenario.splits:
                have = surviving(reaches, own, at.spares) // at.scale
                label = f"{self.label}, {at.spares} group(s) lost" if at.spares else self.label
                yield Check(self.kind, label, at.open, have, "sessions", self.formula, service=at.label)
