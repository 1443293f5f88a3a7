"""What a constraint is: one formula that gives a row, a check and a line of the report.

Group limits hold within each replica group: they bound how many open sessions it can host (its
*reach*), because a session's memory, links and compute must be in one place. Fleet rules hold
over all groups together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol

from planner.build import Build
from planner.constraints.terms import Terms
from planner.problem import Problem, Situation
from planner.program import Program
from planner.registry import Registry
from planner.roles import concerns, tokens_of_role

Unit = Literal[
    "sessions",
    "B",
    "B/s",
    "B/day",
    "tokens/s",
    "ms",
    "W",
    "RU",
    "nodes",
    "cents",
    "pieces",
    "builds",
    "models",
    "kinds",
    "racks",
]
Depends = Literal["core", "host", "drives"]


@dataclass(frozen=True)
class Check:
    """A constraint held against a plan in exact integers.

    Attributes
    ----------
    kind : str
        The constraint.
    label : str
        What it is for a reader.
    need, have : int
        In `unit`; a limit is met where need <= have.
    binding : bool
        Whether it decides the plan.
    service : str
        Which service of a plan of several it is of; empty where of all.
    """

    kind: str
    label: str
    need: int
    have: int
    unit: Unit
    formula: str
    binding: bool = False
    service: str = ""

    @property
    def words(self) -> str:
        """The label, and whose it is where it is one service's."""
        return f"{self.label}, {self.service}" if self.service else self.label

    @property
    def slack(self) -> int:
        """What is left."""
        return self.have - self.need

    @property
    def met(self) -> bool:
        """Whether the constraint holds."""
        return self.need <= self.have


class GroupLimit(Protocol):
    """A limit within each replica group.

    The reach of a group is the largest h with h * need <= have, in parts of a session.
    """

    kind: str
    label: str
    unit: Unit
    formula: str
    depends: Depends

    def active(self, at: Situation) -> bool:
        """Return whether the scenario asks for it."""
        ...

    def have(self, build: Build, at: Situation) -> int:
        """Return what one group offers, rounded down."""
        ...

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return what each hosted open session needs of it, exactly."""
        ...

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return both once more, number by number, for reading."""
        ...


class FleetRule(Protocol):
    """A rule over the whole fleet."""

    kind: str
    label: str
    formula: str

    def active(self, at: Situation) -> bool:
        """Return whether the scenario asks for it."""
        ...

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what the rule counts of one group beside cost, so that less is better.

        Dominance compares these: a rule that forgets one loses optima without a word.
        """
        ...

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add the rule's rows in whole numbers."""
        ...

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Hold the rule against counts of groups by build index, without the program."""
        ...


GROUP_LIMITS: Registry[GroupLimit] = Registry("group limit")
FLEET_RULES: Registry[FleetRule] = Registry("fleet rule")


def group_limit(cls: type) -> type:
    """Register a group limit under its kind."""
    GROUP_LIMITS.register(cls.kind)(cls())  # type: ignore[attr-defined]
    return cls


def fleet_rule(cls: type) -> type:
    """Register a fleet rule under its kind."""
    FLEET_RULES.register(cls.kind)(cls())  # type: ignore[attr-defined]
    return cls


_NUMBERS: dict[str, int] = {}


def apart(text: str) -> tuple[int, int]:
    """Return two coordinates by which dominance compares only what has the same `text`."""
    number = _NUMBERS.setdefault(text, len(_NUMBERS))
    return (number, -number)


@lru_cache(maxsize=32)
def limits_of(role: str, at: Situation) -> tuple[GroupLimit, ...]:
    """Return the active limits that concern groups of a role."""
    return tuple(limit for limit in GROUP_LIMITS.values() if limit.active(at) and concerns(limit.kind, role))


def reach(limit: GroupLimit, build: Build, at: Situation) -> int | None:
    """Return what `build` hosts of open sessions under `limit`, in parts; None without bound.

    See `planner.problem.Situation.scale` for the parts.
    """
    return hosted(limit.have(build, at), limit.need(build, at), at)


def hosted(have: int, need: Fraction, at: Situation) -> int | None:
    """Return the open sessions, in parts, that a group with `have` hosts; None without bound."""
    if need == 0:
        return None if have >= 0 else 0
    # In integers: this is asked a hundred thousand times, and fractions cost ten times as much.
    return max(0, have * at.scale * need.denominator // need.numerator)


def prompts_per_open(build: Build, at: Situation) -> Fraction:
    """Return the prompt tokens per second that come with each open session; 0 where no rates are known."""
    return _prompts_per_open(build.core.role, build.cache.chunk_tokens, at)


@lru_cache(maxsize=8)
def _prompts_per_open(role: str, chunk_tokens: int, at: Situation) -> Fraction:
    return at.turns_per_open * tokens_of_role(role, chunk_tokens, at.flows)


def per_open(part: int, at: Situation) -> Fraction:
    """Return how many of `part` sessions come on each open session."""
    return Fraction(part, at.open)
