"""What a rule of the user's is to a diagnosis: something that can be dropped, and that can bend.

Three sorts bend in three ways. A *limit* is a row of the program and gives way by an amount in its
own unit. A *target* decides what builds host; how far it must give way is found by trying. A
*filter* says which builds may be offered at all and is opened, by the values that a plan needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from planner.build import Build
from planner.constraints import FLEET_RULES
from planner.hardware import OwnedMachine
from planner.loading import Shelf
from planner.problem import Problem, Situation
from planner.program import Program
from planner.registry import Registry
from planner.scenario import Scenario

FAR = 10**12


class Rule(ABC):
    """One rule of a scenario.

    Attributes
    ----------
    path : str
        Its setting.
    label : str
        What a reader calls it.
    covers : tuple of str
        Settings that this kind of rule answers for.
    """

    path: str
    label: str
    covers: tuple[str, ...] = ()

    @classmethod
    def of(cls, scenario: Scenario, shelf: Shelf) -> Iterator[Rule]:
        """Yield the rules of this kind that the scenario has."""
        rule = cls()
        if rule.active(scenario, shelf):
            yield rule

    @abstractmethod
    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether the scenario has it."""

    @abstractmethod
    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario without it."""


class Amount(Rule):
    """A rule with a number."""

    @abstractmethod
    def asked(self, scenario: Scenario) -> int:
        """Return the number that the scenario asks for, in whole units."""

    @abstractmethod
    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another number."""

    @abstractmethod
    def shown(self, amount: int, currency: str) -> str:
        """Return an amount with its unit, for reading."""

    @abstractmethod
    def text(self, amount: int, currency: str) -> str:
        """Return an amount as a scenario writes it."""

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done, in words."""
        more = self.shown(amount - self.asked(scenario), currency)
        return f"raise the {self.label} by {more} to {self.shown(amount, currency)}"


class Limit(Amount):
    """A limit with a packing row: what is used of it adds up over the fleet.

    Attributes
    ----------
    kind : str
        The fleet rule that holds it.
    objective : str
        The objective that is what it limits; empty where there is none.
    """

    kind: str
    objective: str = ""

    @abstractmethod
    def terms(self, program: Program, problem: Problem) -> Mapping[int, int]:
        """Return what each variable uses of it."""

    def room(self, scenario: Scenario) -> int:
        """Return the right side of its row, in the unit of its terms."""
        return self.asked(scenario)

    def used(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return what a fleet uses of it; `scenario` has the limit."""
        limited = Problem(Situation.of(scenario), problem.builds, problem.pricing)
        return next(iter(FLEET_RULES[self.kind].check(limited, counts))).need


class Target(Amount):
    """A number that is asked of builds or of the fleet, without a row of its own.

    Attributes
    ----------
    step : int
        How finely it is tried.
    """

    step: int = 1

    @abstractmethod
    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return a number that a fleet found without this rule keeps to, or the loosest there is."""

    def reached(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int], amount: int) -> int:
        """Return the number nearest to what is asked that a fleet found under `amount` surely keeps to."""
        return amount


class Filter(Rule):
    """A list of what may be offered."""

    @abstractmethod
    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return the values that the scenario allows."""

    @abstractmethod
    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the values that it might allow besides."""

    @abstractmethod
    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with other values."""

    @abstractmethod
    def value(self, build: Build) -> Any:
        """Return the value that lets a build in."""

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether anything is kept out."""
        return bool(self.own(scenario)) and bool(self.others(scenario, shelf))

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with every value allowed."""
        return self.limited_to(scenario, (*self.own(scenario), *self.others(scenario, shelf)))

    def sides(self, scenario: Scenario, shelf: Shelf) -> tuple[tuple[Any, ...], ...]:
        """Return the values by which builds are derived where it is open; together they let in all builds."""
        return (self.own(scenario), self.others(scenario, shelf))

    def outside(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return the values of `builds` that the scenario does not allow."""
        return tuple(sorted({self.value(build) for build in builds} - set(self.own(scenario))))

    def opened(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return the values that let in `builds` besides what the scenario allows."""
        return (*self.own(scenario), *self.outside(scenario, builds))

    def text(self, values: tuple[Any, ...]) -> str:
        """Return values as a scenario writes them."""
        return f"[{', '.join(map(str, values))}]"

    def words(self, values: tuple[Any, ...]) -> str:
        """Return what is to be done, in words."""
        return f"allow {self.label} {' and '.join(map(str, values))}"


class Switch(Filter):
    """A filter that is one value or nothing: it can only be dropped."""

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return what stands for nothing."""
        return (None,)

    def sides(self, scenario: Scenario, shelf: Shelf) -> tuple[tuple[Any, ...], ...]:
        """Return nothing at all: that lets in all builds at once."""
        return ((None,),)

    def value(self, build: Build) -> Any:
        """Return nothing: a build does not say what let it in."""
        return None

    def opened(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return what stands for nothing."""
        return (None,)

    def text(self, values: tuple[Any, ...]) -> str:
        """Return the value, or null."""
        return "null" if values[-1] is None else str(values[-1])

    def words(self, values: tuple[Any, ...]) -> str:
        """Return what is to be done, in words."""
        return f"drop the {self.label}"


RULES: Registry[type[Rule]] = Registry("rule")
C = TypeVar("C", bound=type[Rule])


def rule(cls: C) -> C:
    """Register a kind of rule under its path."""
    RULES.register(cls.path)(cls)
    return cls


def with_limits(scenario: Scenario, **changes: Any) -> Scenario:
    """Return the scenario with other limits."""
    return replace(scenario, limits=replace(scenario.limits, **changes))


def with_fleet(scenario: Scenario, **changes: Any) -> Scenario:
    """Return the scenario with other fleet settings."""
    return replace(scenario, fleet=replace(scenario.fleet, **changes))


def with_serving(scenario: Scenario, **changes: Any) -> Scenario:
    """Return the scenario with other serving settings."""
    return replace(scenario, serving=replace(scenario.serving, **changes))


def bought(builds: Sequence[Build]) -> list[Build]:
    """Return the builds that are bought: what is owned may be used whatever the fleet's filters."""
    return [build for build in builds if not isinstance(build.core.system, OwnedMachine)]


def per_group(program: Program, problem: Problem, of_build: Callable[[Build], int]) -> Mapping[int, int]:
    """Return terms that count something of each group."""
    return {program.groups[i]: of_build(build) for i, build in enumerate(problem.builds)}


def counted(amount: int, one: str, many: str) -> str:
    """Return ``1 node``, ``2,000 nodes``."""
    return f"{amount:,} {one if amount == 1 else many}"
