"""Ways out: the smallest sets of rules that must bend, each by as little as will do, then at least cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.relax.base import Amount, Filter, Limit, Rule, Target
from planner.relax.conflict import Conflict, find_conflict
from planner.relax.spares import SpareGroups
from planner.relax.world import Found, OutOfTimeError, World
from planner.scenario import Scenario

MOST_RULES = 2
"""Most rules of a way out, while fewer do."""

Told = dict[str, Any]
"""Path of a rule to its new amount, or to the values that a filter allows."""


@dataclass(frozen=True)
class Way:
    """A set of rules, bent, with the best plan that then exists.

    Attributes
    ----------
    scenario : Scenario
        With the rules bent.
    nearest : bool
        Whether the least bending was found within the deadline.
    """

    rules: tuple[Rule, ...]
    told: Mapping[str, Any]
    scenario: Scenario
    found: Found
    nearest: bool = True


@dataclass
class Search:
    """What was found, and what the deadline left out."""

    ways: list[Way] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    not_tried: list[tuple[Rule, ...]] = field(default_factory=list)


def plain_ways(world: World) -> Search:
    """Return the ways out over one rule that needs no other builds; what is most asked for comes first."""
    search = Search()
    for rule in sorted(world.rules, key=_effort):
        if isinstance(rule, Limit | SpareGroups):
            try:
                if world.holds(other for other in world.rules if other is not rule):
                    search.ways.append(bend(world, (rule,)))
            except OutOfTimeError:
                search.not_tried.append((rule,))
    return search


def find_ways(world: World, conflict: Conflict, search: Search) -> Search:
    """Return every smallest set of up to two rules whose bending makes a plan, each bent as little as will do.

    Each set has a rule of each conflict. So the first rule is taken from the first conflict, the
    second from a conflict that remains without the first. Where no set of two suffices one larger
    set is told. `search` has the sets that were found before.
    """
    search.conflicts.append(conflict)
    open_sets: list[tuple[tuple[Rule, ...], Conflict]] = [((), conflict)]
    while open_sets:
        short = _grow(world, open_sets, search)
        if short and len(short[0]) >= MOST_RULES:
            # Beyond that one set is followed, and only where nothing smaller was found.
            short = [] if search.ways else short[:1]
        open_sets = list(_conflicts_without(world, short, search))
    return search


def _grow(
    world: World, open_sets: Sequence[tuple[tuple[Rule, ...], Conflict]], search: Search
) -> list[tuple[Rule, ...]]:
    """Bend the sets with one rule more where that suffices; return those where it does not."""
    short: list[tuple[Rule, ...]] = []
    done = {
        frozenset(rule.path for rule in rules) for rules in (*(way.rules for way in search.ways), *search.not_tried)
    }
    grown = [(*chosen, rule) for chosen, conflict in open_sets for rule in sorted(conflict.rules, key=_effort)]
    for rules in grown:
        paths = frozenset(rule.path for rule in rules)
        if any(known <= paths for known in done):
            continue
        try:
            held = world.holds(rule for rule in world.rules if rule.path not in paths)
            if held is None:
                short.append(rules)
            else:
                search.ways.append(bend(world, rules))
        except OutOfTimeError:
            search.not_tried.append(rules)
        done.add(paths)
    return short


def _effort(rule: Rule) -> int:
    """Return how much it takes to bend a rule: those that need no other builds come first."""
    return 2 if isinstance(rule, Filter) else 0 if isinstance(rule, Limit) else 1


def _conflicts_without(
    world: World, sets: Sequence[tuple[Rule, ...]], search: Search
) -> Iterator[tuple[tuple[Rule, ...], Conflict]]:
    for rules in sets:
        conflict = find_conflict(world, [rule for rule in world.rules if rule not in rules])
        if conflict.untested:
            search.not_tried.append(rules)
        else:
            search.conflicts.append(conflict)
            yield rules, conflict


def bend(world: World, rules: Sequence[Rule]) -> Way:
    """Return the plan where `rules` give way by as little as will do, and no other rule does.

    Limits first, then targets in their order, then cost. Filters are opened; told are the values
    that the plan uses.

    Raises
    ------
    OutOfTimeError
        If the deadline struck before there was any plan with a price.
    """
    world.tell(f"how little must {' and '.join(rule.path for rule in rules)} give way?")
    kept = [rule for rule in world.rules if rule not in rules]
    told: Told = {}
    limits = [rule for rule in rules if isinstance(rule, Limit)]
    if limits:
        amounts = world.least(limits, *world.free(kept))
        assert amounts is not None, "a set of rules that suffices leaves a plan"
        told |= amounts
    nearest = True
    targets = [rule for rule in rules if isinstance(rule, Target)]
    for target in targets:
        told[target.path], sure = _nearest(world, rules, target, told)
        nearest = nearest and sure
    found = world.best(*_asked(world, rules, told))
    if found is None:
        raise OutOfTimeError
    for target in targets:
        told[target.path] = target.reached(world.scenario, found.problem, found.counts, told[target.path])
    for rule in rules:
        if isinstance(rule, Filter):
            told[rule.path] = rule.opened(world.scenario, list(found.fleet))
    scenario, _ = _asked(world, rules, told)
    return Way(tuple(rules), told, scenario, found, nearest)


def _asked(world: World, rules: Sequence[Rule], told: Told) -> tuple[Scenario, frozenset[str]]:
    """Return the scenario with `rules` bent as told so far, dropped where nothing is told yet."""
    scenario, opened = world.scenario, set()
    for rule in rules:
        if isinstance(rule, Filter) and rule.path in told:
            scenario = rule.limited_to(scenario, told[rule.path])
        elif isinstance(rule, Filter):
            opened.add(rule.path)
        elif isinstance(rule, Amount) and rule.path in told:
            scenario = rule.bent(scenario, told[rule.path])
        else:
            scenario = rule.dropped(scenario, world.shelf)
    return scenario, frozenset(opened)


def _nearest(world: World, rules: Sequence[Rule], target: Target, told: Told) -> tuple[int, bool]:
    """Return the number nearest to what the target asks that leaves a plan, by bisection; and whether it is sure."""
    found = world.any_plan(*_asked(world, rules, told))
    assert found is not None, "a set of rules that suffices leaves a plan"
    asked = target.asked(world.scenario)
    good = target.loosest(world.scenario, found.problem, found.counts)
    sign, step = (1, max(1, asked // 100)) if good > asked else (-1, 1)
    bad, top = 0, -(-abs(good - asked) // step)
    while top - bad > 1:
        middle = (bad + top) // 2
        try:
            plan = world.any_plan(*_asked(world, rules, {**told, target.path: asked + sign * step * middle}))
        except OutOfTimeError:
            return _within(asked + sign * step * top, good, sign), False
        bad, top = (middle, top) if plan is None else (bad, middle)
    return _within(asked + sign * step * top, good, sign), True


def _within(amount: int, good: int, sign: int) -> int:
    return min(amount, good) if sign > 0 else max(amount, good)


def shortfall(world: World, rule: Amount, conflict: Conflict) -> int | None:
    """Return what `rule` must allow for there to be a plan if only the other rules of a conflict hold."""
    others = [other for other in conflict.rules if other is not rule]
    asked, opened = world.free(others)
    if isinstance(rule, Limit):
        told = world.least([rule], asked, opened)
        return None if told is None else told[rule.path]
    return None
