"""The plan whose parts are all there soonest: what cannot come in time is left out before candidates are made."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from planner.answer import Solved
from planner.eligibility import last_day, lead_days_of
from planner.errors import InfeasibleError, PriceMissingError, UnprovenError
from planner.interrupts import interrupted
from planner.loading import Shelf
from planner.planning import Question, question_of


def _leads(solved: Solved) -> dict[str, int | None]:
    """Return the lead time of each part that is bought for the machines of a plan."""
    pricing, limits = solved.problem.pricing, solved.scenario.limits
    parts = {part for build in solved.fleet for _, part, count in pricing.bought(build) if count}
    return {part: lead_days_of(part, pricing.book, limits) for part in sorted(parts)}


def without_lead_time(solved: Solved) -> tuple[str, ...]:
    """Return the parts of a plan's machines whose lead time nobody knows."""
    return tuple(part for part, days in _leads(solved).items() if days is None)


def lead_time_days(solved: Solved) -> int | None:
    """Return when the last part of the machines is there; None where one part's lead time is not known."""
    days = [days for days in _leads(solved).values() if days is not None]
    return None if without_lead_time(solved) else max(days, default=0)


def soonest(asked: Question, best: Solved, shelf: Shelf) -> Solved | None:
    """Return the best of the plans within the caps whose last part comes soonest; `best` if none comes sooner.

    Whether a plan exists is monotone in the day of delivery, so that the first day is found by
    halving. Returns None where time ran out before any was found.
    """
    pricing, limits = best.problem.pricing, best.scenario.limits
    had = lead_time_days(best)
    every = {lead_days_of(price.part, pricing.book, limits) for price in pricing.book.prices}
    days = sorted(each for each in every if each is not None and (had is None or each < had))
    found, proven, low, high = best, True, 0, len(days)
    while low < high and not interrupted():
        middle = (low + high) // 2
        try:
            within = _within(days[middle], asked, shelf)
        except UnprovenError:
            within, proven = None, False
        if within is None:
            low = middle + 1
        else:
            reached = lead_time_days(within)
            assert reached is not None, "what has no lead time was left out"
            found, high = within, days.index(reached)
    if low < high or not proven:
        return None if found is best else replace(found, outcome=replace(found.outcome, status="feasible"))
    return found


def _within(days: int, asked: Question, shelf: Shelf) -> Solved | None:
    """Return the best plan within the caps whose parts all come within so many days; None if there is none."""
    day = last_day(asked.pricing.book.as_of) + timedelta(days=days)
    scenario = replace(asked.scenario, limits=replace(asked.scenario.limits, deliver_by=day.isoformat()))
    try:
        question = question_of(scenario, shelf, asked.solver, asked.deadline)
    except (InfeasibleError, PriceMissingError):
        return None
    return replace(question, caps=asked.caps).best(question.candidates.every)
