"""Pooled problems too large to list their builds: bounds from parts, plans from the builds in use.

A program over parts (`planner.formulation.separate`) is never dearer than the best plan. The parts
in its optimum are put together to builds, over which the plain program is solved. Where both agree
the plan is optimal; else the cores in use are told exactly and the bound is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from planner.build import Build
from planner.candidates import Offers, keep_best
from planner.errors import UnprovenError
from planner.formulation.separate import Separate, make_separate, used_options
from planner.formulation.tokens import Parts
from planner.problem import Problem, Situation
from planner.solve import Outcome, optimise, solve
from planner.solvers import version

PLAIN_UP_TO = 4000
"""Pairs of memory and drives over all cores up to which builds are listed."""


def is_large(offers: Offers, at: Situation) -> bool:
    """Return whether builds are too many to be listed."""
    return sum(len(way.hosts) * len(way.drives) for way in offers.best_ways(at)) > PLAIN_UP_TO


@dataclass
class Search:
    """The best plan of a pooled problem so far, and what is known of better ones.

    Attributes
    ----------
    below : int or None
        Only plans of less are of interest.
    exact : set of int
        Cores that are told exactly.
    bound : int
        No plan of interest is cheaper.
    """

    parts: Parts
    solver: str
    deadline: float | None = None
    below: int | None = None
    exact: set[int] = field(default_factory=set)
    builds: set[Build] = field(default_factory=set)
    best: tuple[Problem, Outcome] | None = None
    bound: int = 0

    def run(self) -> tuple[Problem, Outcome]:
        """Return the best plan with the problem of the builds that it was chosen from.

        Raises
        ------
        UnprovenError
            If time ran out before any plan was found.
        """
        start = time.monotonic()
        status = self._rounds()
        seconds = time.monotonic() - start
        if self.best is not None:
            problem, outcome = self.best
            bound = outcome.value if status == "optimal" else min(self.bound, outcome.value)
            first = replace(outcome.goals[0], bound=bound, status=status)
            goals = (first, *outcome.goals[1:])
            return problem, replace(outcome, status=status, bound=bound, seconds=seconds, goals=goals)
        if status != "optimal":
            raise UnprovenError("no plan was found in time; allow more with --time-limit")
        nothing = Problem(self.parts.at, (), self.parts.offers.pricing)
        return nothing, Outcome("infeasible", {}, solver=version(self.solver), seconds=seconds)

    def _rounds(self) -> Literal["optimal", "feasible"]:
        """Ask for bounds and plans in turn; return ``optimal`` where nothing better is left, else ``feasible``."""
        while True:
            made = make_separate(self.parts, self.parts.tokens(self.exact))
            if made is None:
                return "optimal"
            terms = made.objective()
            if self.below is not None:
                made.program.add_row("below", terms, "<=", self.below - 1)
            answer = optimise(made.program, terms, self.solver, self._left())
            if answer.status == "infeasible":
                return "optimal"
            if answer.status == "nothing":
                return "feasible"
            value = sum(c * answer.values[i] for i, c in terms.items())
            self.bound = max(self.bound, value if answer.status == "optimal" else int(answer.bound or 0))
            self._try(made, answer.values)
            if self.best is not None and self.best[1].value <= self.bound:
                return "optimal"
            loose = {
                token.way
                for token, var in zip(made.tokens, made.cores, strict=True)
                if answer.values[var] and not token.exact
            }
            if answer.status != "optimal" or not loose:
                return "feasible"
            self.exact |= loose

    def _try(self, made: Separate, values: Sequence[int]) -> None:
        """Solve over the builds that the parts in use make, and those of earlier rounds."""
        fresh = set(_builds(made, values)) - self.builds
        if not fresh:
            return
        self.builds |= fresh
        at, pricing = self.parts.at, self.parts.offers.pricing
        named = sorted(self.builds, key=lambda build: build.name)
        problem = Problem(at, keep_best(named, at, pricing.catalog), pricing)
        try:
            outcome = solve(problem, self.solver, self._left(), self.below)
        except UnprovenError:
            return
        if outcome.status != "infeasible":
            self.best, self.below = (problem, outcome), outcome.value

    def _left(self) -> float | None:
        return None if self.deadline is None else max(0.1, self.deadline - time.monotonic())


def _builds(made: Separate, values: Sequence[int]) -> Iterator[Build]:
    """Yield the legal builds of the parts in use."""
    parts = made.parts
    for i, hosts, drives in used_options(made, values):
        way = parts.ways[i]
        for host in hosts:
            for drive in drives:
                if parts.hosts[host].watts + parts.drives[drive].watts <= parts.room(way, 1):
                    yield parts.offers.build(way, parts.host_of[i][host], parts.drive_of[i][drive])
