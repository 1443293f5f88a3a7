"""The front of two objectives: every plan that is not worse in one without being better in the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.errors import UnprovenError, UsageError, nearest
from planner.interrupts import held
from planner.loading import Shelf
from planner.plan import Plan
from planner.planning import Question, Solved, finish_plan, question_of, solve_scenario
from planner.scenario import OBJECTIVES, Scenario

MOST_POINTS = 100


@dataclass(frozen=True)
class Front:
    """Plans from the best in the first objective to the best in the second.

    Attributes
    ----------
    over : tuple of str
        The two objectives.
    plans : tuple of Plan
        Each proven; none is as good as another in both.
    open_end : str
        Why the front may go on; empty where it is whole.
    """

    over: tuple[str, str]
    plans: tuple[Plan, ...]
    open_end: str = ""


def parse_pair(text: str) -> tuple[str, str]:
    """Read ``capex,power``.

    Raises
    ------
    UsageError
        If these are not two different objectives.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in OBJECTIVES:
            raise UsageError(f"--over {text}: unknown objective '{word}'; {nearest(word, OBJECTIVES)}")
    if len(words) != 2 or words[0] == words[1]:
        raise UsageError(f"--over {text}: expected two different objectives, such as capex,power")
    return words[0], words[1]


def front(
    scenario: Scenario, shelf: Shelf, over: tuple[str, str], solver: str = "highs", deadline: float | None = None,
    most: int = MOST_POINTS,
) -> Front:  # fmt: skip
    """Return the front, by whole-number caps: the second objective has to fall from point to point.

    Each point minimises the first objective, then the second, with the second below what the point
    before has. So no point is dominated, none comes twice, and none between two is left out.

    Raises
    ------
    InfeasibleError, PriceMissingError, UnprovenError, InputError
        If there is not even one plan.
    """
    both = replace(scenario, objective=over)
    question = question_of(both, shelf, solver, deadline)
    plans: list[Plan] = []
    with held():
        for found in _points(question, over[1]):
            if found is None:
                return Front(over, tuple(plans), "stopped before proof; what comes after is not known")
            if len(plans) == most:
                return Front(over, tuple(plans), f"cut after {most} points; more with --points")
            plans.append(finish_plan(found, shelf, solver, deadline, compare=False))
    if not plans:
        # Says which limits leave no plan.
        solve_scenario(both, shelf, solver, question.left_s)
    return Front(over, tuple(plans))


def _points(question: Question, second: str) -> Iterator[Solved | None]:
    """Yield the points in order; None where one could not be proven."""
    first = True
    while True:
        try:
            found = question.best(question.candidates.every)
        except UnprovenError:
            if first:
                raise
            yield None
            return
        if found is None:
            return
        if found.outcome.status != "optimal":
            yield None
            return
        yield found
        first = False
        question = replace(question, caps={second: found.value_of(second) - 1})
