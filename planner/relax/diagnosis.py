"""A diagnosis as plain data: conflict, shortfalls, ways out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.costs import Pricing, book_of
from planner.loading import Shelf
from planner.owned import with_owned
from planner.relax.base import Amount, Filter, Rule
from planner.relax.conflict import Conflict, find_conflict
from planner.relax.held import Held, find_held
from planner.relax.ways import Search, Way, find_ways, plain_ways, shortfall
from planner.relax.world import Derive, OutOfTimeError, World
from planner.scenario import Scenario

DEADLINE_S = 60.0
"""Seconds for a diagnosis unless told otherwise; one derivation of builds may come on top."""


@dataclass(frozen=True)
class Named:
    """A rule of a conflict, as a reader sees it.

    Attributes
    ----------
    needed : bool
        Whether dropping it alone ends the conflict; False where the deadline left that open.
    """

    path: str
    label: str
    asked: str
    needed: bool = True


@dataclass(frozen=True)
class Shortfall:
    """By how much a rule is short.

    Attributes
    ----------
    asked, need, short : int
        In whole units of the rule: cents, watts, milliseconds, pieces.
    words : tuple of str
        The same with units.
    enough : bool
        Whether a plan exists as soon as this rule alone gives way by that much; else others must
        give way besides.
    """

    path: str
    label: str
    asked: int
    need: int
    words: tuple[str, str, str]
    enough: bool

    @property
    def short(self) -> int:
        """What is missing."""
        return abs(self.need - self.asked)

    @property
    def share(self) -> Fraction:
        """What is missing as a share of what is asked: by this they are ordered."""
        return Fraction(self.short, max(1, self.asked))


@dataclass(frozen=True)
class WayOut:
    """Rules bent together and what the best plan then costs.

    Attributes
    ----------
    overrides : tuple of str
        ``path=value``, as ``--set`` takes them.
    nearest : bool
        Whether nothing less would do; False where the deadline left that open.
    """

    rules: tuple[str, ...]
    words: str
    overrides: tuple[str, ...]
    capex_cents: int
    nodes: int
    scenario: Scenario
    nearest: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """Why a scenario has no plan and what to do.

    Attributes
    ----------
    conflict : tuple of Named
        Empty where not even without all rules there is a plan.
    minimal : bool
        Whether each rule of the conflict is needed.
    hopeless : bool
        Whether no plan exists without any of the rules.
    why : tuple of str
        Why no build can host a session, where none can.
    unpriced : tuple of str
        Parts without a price, which might help.
    not_tried : tuple of str
        What the deadline left out.
    further : tuple of tuple of str
        Conflicts that remain where a rule of the first one is dropped and there still is no plan.
    held : Held or None
        How much of the load can be held with no rule bent; None where it was not asked.
    """

    scenario: str
    title: str
    currency: str
    conflict: tuple[Named, ...]
    shortfalls: tuple[Shortfall, ...]
    ways_out: tuple[WayOut, ...]
    minimal: bool = True
    hopeless: bool = False
    why: tuple[str, ...] = ()
    unpriced: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()
    further: tuple[tuple[str, ...], ...] = ()
    held: Held | None = None


def diagnose(
    scenario: Scenario, shelf: Shelf, pricing: Pricing, solver: str = "highs", time_limit_s: float | None = DEADLINE_S,
    why: Sequence[str] = (), derive: Derive | None = None, ways: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Diagnosis:  # fmt: skip
    """Return why `scenario`, which has no plan, has none, and the ways out.

    Parameters
    ----------
    time_limit_s : float or None
        What is not found by then is said to be left out; None for no limit.
    why : sequence of str
        What is known already about builds that cannot host a session.
    derive : callable or None
        Other builds than those of the catalogue.
    ways : bool
        Whether to look for ways out too.
    progress : callable or None
        Is told in words what is asked next.
    """
    deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
    if scenario.fleet.owned:
        shelf = with_owned(scenario, shelf)
        pricing = replace(pricing, catalog=shelf.catalog, book=book_of(shelf.catalog, scenario.finance))
    world = World(scenario, shelf, pricing, solver, deadline, derive, progress)
    search = plain_ways(world) if ways else Search()
    conflict = find_conflict(world, world.rules)
    if not conflict.rules:
        return _told(world, conflict, Search(), tuple(why), hopeless=True)
    if ways:
        find_ways(world, conflict, search)
    found = _told(world, conflict, search, tuple(why))
    # Of several services none is the one whose users may be fewer.
    return _with_held(world, found) if ways and not scenario.services else found


def _with_held(world: World, found: Diagnosis) -> Diagnosis:
    held = find_held(world)
    lost = () if held else ("how much of the load can be held",)
    return replace(found, held=held, not_tried=(*found.not_tried, *lost))


def _told(world: World, conflict: Conflict, search: Search, why: tuple[str, ...], hopeless: bool = False) -> Diagnosis:
    scenario = world.scenario
    named = tuple(Named(r.path, r.label, _asked(world, r), r not in conflict.untested) for r in conflict.rules)
    lost = [f"whether {rule.path} matters" for rule in conflict.untested]
    lost += [f"bending {' with '.join(rule.path for rule in rules)}" for rules in search.not_tried]
    outs = sorted((_way_out(world, way) for way in search.ways), key=_order)
    return Diagnosis(
        scenario.name, scenario.title, world.currency, named, _shortfalls(world, search), tuple(outs),
        minimal=not conflict.untested, hopeless=hopeless, why=why, unpriced=tuple(world.unpriced),
        not_tried=tuple(dict.fromkeys(lost)),
        further=tuple(dict.fromkeys(tuple(rule.path for rule in one.rules) for one in search.conflicts[1:])),
    )  # fmt: skip


def _order(way: WayOut) -> tuple[object, ...]:
    return (len(way.rules), way.capex_cents, way.rules)


def _asked(world: World, rule: Rule) -> str:
    if isinstance(rule, Filter):
        return rule.text(rule.own(world.scenario))
    assert isinstance(rule, Amount)
    return rule.shown(rule.asked(world.scenario), world.currency)


def _shortfalls(world: World, search: Search) -> tuple[Shortfall, ...]:
    """Return the shortfalls, the smallest first by share."""
    found: dict[str, Shortfall] = {}
    for way in search.ways:
        for rule in way.rules if len(way.rules) == 1 else ():
            if isinstance(rule, Amount):
                found[rule.path] = _shortfall(world, rule, way.told[rule.path], enough=True)
    for conflict in search.conflicts:
        for rule in conflict.rules:
            if isinstance(rule, Amount) and rule.path not in found:
                try:
                    need = shortfall(world, rule, conflict)
                except OutOfTimeError:
                    continue
                if need is not None:
                    found[rule.path] = _shortfall(world, rule, need, enough=False)
    return tuple(sorted(found.values(), key=lambda one: (one.share, one.path)))


def _shortfall(world: World, rule: Amount, need: int, enough: bool) -> Shortfall:
    asked = rule.asked(world.scenario)
    words = (asked, need, abs(need - asked))
    shown = tuple(rule.shown(amount, world.currency) for amount in words)
    return Shortfall(rule.path, rule.label, asked, need, (shown[0], shown[1], shown[2]), enough)


def _way_out(world: World, way: Way) -> WayOut:
    words, overrides = [], []
    for rule in way.rules:
        told = way.told[rule.path]
        if isinstance(rule, Filter):
            words.append(rule.words(rule.outside(world.scenario, list(way.found.fleet))))
            overrides.append(f"{rule.path}={rule.text(told)}")
        elif isinstance(rule, Amount):
            words.append(rule.words(world.scenario, told, world.currency))
            overrides.append(f"{rule.path}={rule.text(told, world.currency)}")
    paths = tuple(rule.path for rule in way.rules)
    capex, nodes = way.found.capex, way.found.nodes
    return WayOut(paths, " and ".join(words), tuple(overrides), capex, nodes, way.scenario, way.nearest)
