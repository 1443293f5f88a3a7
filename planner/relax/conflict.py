"""A minimal conflict by deletion: a rule that is not needed for there to be no plan is left out.

See docs/math/infeasible.md for why what remains is minimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.relax.base import Filter, Limit, Rule, Switch, Target
from planner.relax.world import OutOfTimeError, World


@dataclass(frozen=True)
class Conflict:
    """Rules that leave no plan together.

    Attributes
    ----------
    rules : tuple of Rule
        Each of them is needed for that, but for those in `untested`.
    untested : tuple of Rule
        Kept because the deadline struck.
    """

    rules: tuple[Rule, ...]
    untested: tuple[Rule, ...] = ()


def find_conflict(world: World, rules: Sequence[Rule]) -> Conflict:
    """Return a minimal conflict among `rules`, which leave no plan together."""
    kept = list(rules)
    untested: list[Rule] = []
    # These take no builds that the scenario's other filters keep out.
    cheap = [rule for rule in rules if isinstance(rule, (Limit, Switch))]
    kept = _one_by_one(world, kept, cheap, untested)
    for some in _at_once(kept):
        kept = _drop(world, kept, some) or kept
    kept = _one_by_one(world, kept, [rule for rule in kept if rule not in cheap], untested)
    return Conflict(tuple(kept), tuple(untested))


def _one_by_one(world: World, kept: list[Rule], some: Sequence[Rule], untested: list[Rule]) -> list[Rule]:
    for rule in some:
        try:
            rest = [other for other in kept if other is not rule]
            if world.holds(rest) is None:
                kept = rest
        except OutOfTimeError:
            untested.append(rule)
    return kept


def _at_once(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Return rules that are worth a try together, so that most often one question does for all."""
    filters: list[Rule] = [rule for rule in rules if isinstance(rule, Filter)]
    targets: list[Rule] = [rule for rule in rules if isinstance(rule, Target)]
    return [some for some in ([*filters, *targets], filters, targets) if len(some) > 1]


def _drop(world: World, kept: list[Rule], some: list[Rule]) -> list[Rule] | None:
    rest = [rule for rule in kept if rule not in some]
    try:
        return rest if world.holds(rest) is None else None
    except OutOfTimeError:
        return None
