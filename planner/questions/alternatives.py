"""Plans a little dearer than the best that are better at something else, each with its price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from planner.build import Build
from planner.errors import InfeasibleError, UnprovenError, UsageError
from planner.formulation.caps import least_of
from planner.interrupts import held, interrupted
from planner.joint import candidates_of
from planner.loading import Shelf
from planner.objectives.parts import distinct_parts
from planner.plan import Plan
from planner.planning import Question, Solved, finish_plan, money_of, question_of, solve_scenario
from planner.problem import Situation
from planner.questions.delivery import lead_time_days, soonest, without_lead_time
from planner.scenario import Scenario
from planner.units import SHARE, QuantityError

VIRTUES = {
    "nodes": "fewest nodes",
    "vendor": "one vendor of machines",
    "parts": "fewest distinct parts",
    "power": "lowest power",
    "headroom": "most headroom",
    "lead_time": "shortest lead time",
}

_MOST_MIXED = 2_000


@dataclass(frozen=True)
class Alternative:
    """The plan that has most of one virtue within the cap.

    Attributes
    ----------
    virtue : str
        Key of `VIRTUES`.
    plan : Plan or None
        None where time ran out.
    had, has : int or None
        What the best plan and this one have of it: nodes, vendors, parts, watts, open sessions that
        could be hosted with spare groups lost, or days until the last part of the machines is there;
        None where these are not known.
    price_cents : int
        What it costs more than the best plan.
    same : bool
        Whether the best plan has it already.
    """

    virtue: str
    plan: Plan | None
    had: int | None
    has: int | None = None
    price_cents: int = 0
    same: bool = False


@dataclass(frozen=True)
class Choice:
    """The best plan and the alternatives to it.

    Attributes
    ----------
    cap_kind, cap : str, int
        The money that is capped and at how many cents.
    without_lead_time : tuple of str
        Parts of the best plan's machines whose lead time is not known.
    """

    best: Plan
    within: Fraction
    cap_kind: str
    cap: int
    others: tuple[Alternative, ...] = field(default_factory=tuple)
    without_lead_time: tuple[str, ...] = ()


def parse_within(text: str) -> Fraction:
    """Read ``10%``.

    Raises
    ------
    UsageError
        If it is no share.
    """
    try:
        return Fraction(SHARE.parse(text.strip()))
    except QuantityError:
        raise UsageError(f"--within {text}: expected a share such as 10%") from None


def alternatives(
    scenario: Scenario, shelf: Shelf, within: Fraction, solver: str = "highs", deadline: float | None = None
) -> Choice:
    """Return the best plan and, for each virtue, the plan that has most of it for little more money.

    Raises
    ------
    InfeasibleError, PriceMissingError, UnprovenError, InputError
        If there is no best plan.
    """
    question = question_of(scenario, shelf, solver, deadline)
    best = question.best(question.candidates.every)
    if best is None:
        # Says which limits leave no plan.
        solve_scenario(scenario, shelf, solver, question.left_s)
        raise InfeasibleError("no plan")
    money = money_of(scenario)
    cap = math.floor(best.value_of(money) * (1 + within))
    asked = replace(question, caps={money: cap})
    with held():
        plan = finish_plan(best, shelf, solver, deadline, compare=False)
        # Sessions of several services do not add up to one headroom, nor do hosted and prefilled ones.
        unlike = asked.at.parts or scenario.splits
        virtues = [virtue for virtue in VIRTUES if virtue != "headroom" or not unlike]
        others = tuple(_alternative(virtue, asked, best, shelf) for virtue in virtues)
    return Choice(plan, within, money, cap, others, without_lead_time(best))


def _alternative(virtue: str, asked: Question, best: Solved, shelf: Shelf) -> Alternative:
    had = measure(virtue, best)
    try:
        found = None if interrupted() else _solve(virtue, asked, best, shelf)
    except UnprovenError:
        found = None
    if found is None:
        return Alternative(virtue, None, had)
    has = measure(virtue, found)
    if has == had:
        return Alternative(virtue, None, had, had, 0, found.outcome.status == "optimal")
    plan = finish_plan(found, shelf, asked.solver, asked.deadline, compare=False)
    return Alternative(virtue, plan, had, has, found.capex - best.capex)


def measure(virtue: str, solved: Solved) -> int | None:
    """Return what a fleet has of a virtue; None where that is not known."""
    if virtue == "lead_time":
        return lead_time_days(solved)
    if virtue == "vendor":
        return len({vendor(build) for build in solved.fleet})
    value = solved.value_of(virtue)
    return -value // solved.problem.at.scale if virtue == "headroom" else value


def vendor(build: Build) -> str:
    """Return who sells the machine."""
    return build.core.system.vendor if build.core.system else build.core.chassis.vendor


def _solve(virtue: str, asked: Question, best: Solved, shelf: Shelf) -> Solved | None:
    if virtue == "vendor":
        return _one_vendor(asked, best)
    if virtue == "parts":
        return _fewest_parts(asked, best, shelf)
    if virtue == "lead_time":
        return soonest(asked, best, shelf)
    own = best.scenario.objectives
    scenario = replace(best.scenario, objective=(virtue, *(kind for kind in own if kind != virtue)))
    question = replace(asked, scenario=scenario, at=Situation.of(scenario))
    return question.best(question.candidates.every)


def _fewest_parts(asked: Question, best: Solved, shelf: Shelf) -> Solved | None:
    """Return the best plan with the fewest distinct parts.

    No plan has fewer than the build with fewest. A plan with as many consists of builds with the
    same parts, so that each set of parts is a small program of its own. Where none of them stays
    within the cap, several sets are mixed in one program, if it is of a size to be solved.
    """
    own = best.scenario.objectives
    scenario = replace(best.scenario, objective=("parts", *own))
    # Parts are counted within machines too: what was dropped there may share more of them.
    every = candidates_of(scenario, shelf, asked.pricing).every
    if asked.at.parts:
        return _mixed(asked, scenario, every)
    sets: dict[frozenset[str], list[Build]] = {}
    for build in every:
        sets.setdefault(distinct_parts(build), []).append(build)
    least = min(map(len, sets))
    if measure("parts", best) == least:
        return best
    small = sorted((builds for parts, builds in sets.items() if len(parts) == least), key=lambda b: _floor(asked, b))
    found: list[Solved] = []
    most = min(asked.caps.values())
    for builds in small:
        plan = asked.best(builds) if _floor(asked, builds) <= most else None
        if plan is not None:
            found.append(plan)
            most = min(most, plan.capex) if own[0] == "capex" else most
    if found:
        return _first(found)
    # What has fewer parts than the best plan, and more than the least, is made of builds that have fewer.
    had = measure("parts", best)
    assert had is not None
    fewer = [build for build in every if len(distinct_parts(build)) < had]
    if had - 1 <= least or not fewer:
        return best
    return (_mixed(asked, scenario, fewer) or best) if len(fewer) <= _MOST_MIXED else None


def _mixed(asked: Question, scenario: Scenario, every: Sequence[Build]) -> Solved | None:
    """Return the best plan over all builds in one program, if it is of a size to be solved."""
    question = replace(asked, scenario=scenario, at=Situation.of(scenario))
    return question.best(every) if len(every) <= _MOST_MIXED else None


def _floor(asked: Question, builds: Sequence[Build]) -> int:
    """Return what the capped money of a fleet of these builds cannot be below, cluster lines apart."""
    kind = next(iter(asked.caps))
    each = min(Fraction(least_of(asked.pricing, build)[kind], build.reach) for build in builds)
    return math.ceil(asked.at.open_parts * each)


def _first(plans: Sequence[Solved]) -> Solved:
    """Return the best of several plans, proven only if each of them is."""
    first = min(plans, key=lambda each: each.rank)
    proven = all(each.outcome.status == "optimal" for each in plans)
    return first if proven else replace(first, outcome=replace(first.outcome, status="feasible"))


def _one_vendor(asked: Question, best: Solved) -> Solved | None:
    """Return the best plan of one vendor alone; of the best plan itself where it is one."""
    if measure("vendor", best) == 1:
        return best
    every = asked.candidates.every
    found = [_of(asked, [b for b in every if vendor(b) == name]) for name in sorted({vendor(b) for b in every})]
    plans = [each for each in found if each is not None]
    return _first(plans) if plans else best


def _of(asked: Question, builds: Sequence[Build]) -> Solved | None:
    return asked.best(builds) if builds else None
