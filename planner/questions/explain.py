"""Why a build of a plan hosts what it hosts: each limit's numbers, what it allows, what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from string import ascii_uppercase

from planner.answer import Solved
from planner.build import Build
from planner.candidates import limiting_kind
from planner.constraints import GROUP_LIMITS, GroupLimit
from planner.constraints.base import hosted, limits_of
from planner.constraints.terms import Terms
from planner.errors import UsageError, nearest
from planner.halves import pooled_kinds
from planner.problem import Situation
from planner.verify import allocate


@dataclass(frozen=True)
class LimitTold:
    """A limit of one group.

    Attributes
    ----------
    need : Fraction
        Of each open session.
    have : int
        Of one group.
    reach : int or None
        Whole open sessions that it allows; None without bound.
    used_fraction : Fraction or None
        Of what the group has, with the sessions that it hosts; None where nothing adds up.
    binding : bool
        Whether it decides what the group can host.
    """

    limit: GroupLimit
    terms: Terms
    need: Fraction
    have: int
    reach: int | None
    used_fraction: Fraction | None
    binding: bool


@dataclass(frozen=True)
class BuildTold:
    """A build of a plan.

    Attributes
    ----------
    letter : str
        How it is asked for.
    groups : int
        How many the plan buys.
    at : Situation
        Of its service.
    hosted : Fraction
        Open sessions that one of its groups hosts at most, once the spare groups are lost.
    """

    letter: str
    build: Build
    groups: int
    at: Situation
    hosted: Fraction
    limits: tuple[LimitTold, ...]


def explain(solved: Solved, letter: str | None = None, kind: str | None = None) -> tuple[BuildTold, ...]:
    """Return the builds of a plan with their limits; with `letter` one of them, with `kind` one limit.

    Raises
    ------
    UsageError
        If the plan has no such build, or no build such a limit.
    """
    problem, fleet = solved.problem, solved.fleet
    shares = allocate(problem, fleet)
    told = [
        _told(name, build, count, problem.at_of(build), max(shares.get(build, [Fraction(0)])))
        for name, (build, count) in zip(letters(len(fleet)), fleet.items(), strict=True)
    ]
    return tuple(_with_kind(_with_letter(told, letter), kind))


def letters(count: int) -> list[str]:
    """Return so many names: A to Z, then A2 to Z2."""
    rounds = range(-(-count // len(ascii_uppercase)))
    names = [f"{letter}{number + 1 if number else ''}" for number in rounds for letter in ascii_uppercase]
    return names[:count]


def _with_letter(told: Sequence[BuildTold], letter: str | None) -> Sequence[BuildTold]:
    some = [one for one in told if letter is None or one.letter == letter.upper()]
    if not some:
        raise UsageError(f"--build {letter}: the plan has {', '.join(one.letter for one in told)}")
    return some


def _with_kind(told: Sequence[BuildTold], kind: str | None) -> Sequence[BuildTold]:
    if kind is None:
        return told
    known = list(dict.fromkeys(each.limit.kind for one in told for each in one.limits))
    if kind not in known:
        why = "not checked in this plan" if kind in GROUP_LIMITS else "no row within groups"
        raise UsageError(f"--row {kind}: {why}; {nearest(kind, known)}")
    return [
        BuildTold(one.letter, one.build, one.groups, one.at, one.hosted,
                  tuple(each for each in one.limits if each.limit.kind == kind))
        for one in told
    ]  # fmt: skip


def _told(letter: str, build: Build, groups: int, at: Situation, most: Fraction) -> BuildTold:
    deciding = limiting_kind(build, at)
    # A pool turns some limits into rules over the fleet.
    here = [limit for limit in limits_of(build.core.role, at) if limit.kind not in pooled_kinds(at)]
    limits = tuple(_limit(limit, build, at, most, limit.kind == deciding) for limit in here)
    return BuildTold(letter, build, groups, at, most, limits)


def _limit(limit: GroupLimit, build: Build, at: Situation, most: Fraction, binding: bool) -> LimitTold:
    need, have = limit.need(build, at), limit.have(build, at)
    parts = hosted(have, need, at)
    used = need * most / have if need and have else None
    reach = None if parts is None else parts // at.scale
    return LimitTold(limit, limit.terms(build, at), need, have, reach, used, binding)
