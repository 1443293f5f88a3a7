"""After a loss: what a lost group held is prefilled again by the rest within the time promised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from planner import rates
from planner.build import Build
from planner.constraints.base import Check, fleet_rule, prompts_per_open
from planner.problem import Problem, Share, Situation
from planner.program import Program
from planner.units import ceil, ceil_div
from planner.workload import prefix_tokens, returning_share


def lost_tokens(build: Build, at: Situation) -> int:
    """Return the tokens of contexts that come back after the loss of one group of a build, rounded up.

    With spare groups all reaches add up to at least what is open beyond the largest of them, so a
    group of reach r hosts no more than open * r / (open + r).
    """
    reach, total = build.reach, at.open_parts
    hosted = Fraction(total * reach, total + reach) if at.spares else Fraction(reach)
    context = at.scenario.workload.context.planned_tokens - prefix_tokens(at.scenario.workload)
    return ceil(hosted / at.scale * returning_share(at.scenario.workload, at.sessions) * context)


def prefilled_per_s(build: Build, at: Situation) -> int:
    """Return the prompt tokens per second of one group within its ceiling."""
    return rates.prefill_tokens_per_s(build.core, at.scenario)


def _needed(build: Build, at: Situation) -> int:
    """Return the tokens per second that the rest must prefill once a group of this build is lost."""
    promised = at.scenario.service
    assert promised is not None
    assert promised.rewarm_s is not None
    return ceil(at.open * prompts_per_open(build, at) + lost_tokens(build, at) / promised.rewarm_s)


@fleet_rule
class Rewarm:
    """sum rate * x - rate of one >= load + lost / time, for each build in use."""

    kind = "rewarm"
    label = "re-warming after a loss"
    formula = (
        "sum(prefill * groups) - prefill of the lost group >= prompts + its returning tokens / time, for each in use"
    )

    def active(self, at: Situation) -> bool:
        """Return whether any service promises how soon it is warm again."""
        return any(_promises(one) for one in at.services)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what a group prefills, where more is better, and what its loss costs."""
        if not _promises(at):
            return ()
        return (-prefilled_per_s(build, at), lost_tokens(build, at))

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add a row for each build: the rest prefills what it held, if it is in use."""
        for share in _promising(problem):
            speeds = {i: prefilled_per_s(problem.builds[i], share.at) for i in share.places}
            for i in share.places:
                need = _needed(problem.builds[i], share.at) + speeds[i]
                terms = {program.groups[j]: speed for j, speed in speeds.items()}
                program.add_row(f"{self.kind}_{i}", terms | {program.mark_used(i): -need}, ">=", 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Lose each build in use in turn; tell the worst."""
        for share in _promising(problem):
            own = {i: counts[i] for i in share.places if counts.get(i)}
            total = sum(n * prefilled_per_s(problem.builds[i], share.at) for i, n in own.items())
            pairs = []
            for i in own:
                build = problem.builds[i]
                pairs.append((_needed(build, share.at), total - prefilled_per_s(build, share.at)))
            need, have = min(pairs, key=lambda pair: pair[1] - pair[0], default=(0, 0))
            yield Check(self.kind, self.label, need, have, "tokens/s", self.formula, service=share.at.label)


def groups_that_rewarm(problem: Problem) -> dict[int, int]:
    """Return by build the groups that alone prefill what any lost group held; more are never needed for that."""
    found: dict[int, int] = {}
    for share in _promising(problem):
        speeds = {i: prefilled_per_s(problem.builds[i], share.at) for i in share.places}
        most = max((_needed(problem.builds[i], share.at) + speed for i, speed in speeds.items()), default=0)
        found |= {i: ceil_div(most, speed) for i, speed in speeds.items() if speed}
    return found


def _promises(at: Situation) -> bool:
    promised = at.scenario.service
    return promised is not None and promised.rewarm_s is not None and at.turns_per_s > 0


def _promising(problem: Problem) -> Iterable[Share]:
    return (share for share in problem.shares() if _promises(share.at))


def rewarm_seconds(problem: Problem, counts: Mapping[int, int], build: Build) -> Fraction | None:
    """Return how long the rest prefills what one group of `build` held; None where it cannot."""
    at = problem.at_of(build)
    own = ((problem.builds[i], n) for i, n in counts.items() if problem.builds[i].core.service == at.label)
    rest = sum(n * prefilled_per_s(one, at) for one, n in own) - prefilled_per_s(build, at)
    spare = rest - at.open * prompts_per_open(build, at)
    return lost_tokens(build, at) / spare if spare > 0 else None
