"""Pooled problems too large to list their builds: bounds from parts, plans from the builds in use.

A program over parts (`planner.formulation.separate`) is never dearer than the best plan. The parts
in its optimum are put together to builds, over which the plain program is solved. Where both agree
the plan is optimal; else the cores in use are told exactly, or the parts in use are excluded, and the
bound is asked again. Of several pools the one with the least bound is asked next.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from planner.build import Build
from planner.candidates import Offers, keep_best
from planner.costs import bill, capex_cents
from planner.errors import InterruptedPlanError, UnprovenError
from planner.formulation.separate import Separate, Support, make_separate
from planner.formulation.tokens import Parts
from planner.interrupts import interrupted
from planner.problem import Problem, Situation
from planner.solve import Outcome, optimise, solve
from planner.solvers import relaxation, version

PLAIN_UP_TO = 4000
"""Pairs of memory and drives over all cores up to which builds are listed."""


_NOTHING: Support = (frozenset(), frozenset(), frozenset())
Found = tuple[Problem, Outcome]


def is_large(pools: Sequence[Offers], at: Situation) -> bool:
    """Return whether the builds of any pool are too many to be listed."""
    ways = (way for offers in pools for way in offers.best_ways(at))
    return sum(len(way.hosts) * len(way.drives) for way in ways) > PLAIN_UP_TO


def taken_apart(builds: Sequence[Build], at: Situation) -> list[Parts]:
    """Return the parts of each pool where its builds are too many to be listed; none where they are not."""
    pools = builds.pools() if isinstance(builds, Offers) and at.pooled and not at.parts else []
    if not is_large(pools, at):
        return []
    parts = [Parts.of(pool, at) for pool in pools]
    return parts if all(part.separable for part in parts) else []


@dataclass
class _Pool:
    """What is known of one pool.

    Attributes
    ----------
    bound : int
        No plan of it is cheaper; to begin with, the optimum without whole numbers.
    done : bool
        Whether nothing better than the best so far is in it.
    stopped : bool
        Whether time ran out before that.
    exact : set of int
        Cores that are told exactly.
    known : Support
        Cores, memory and drives of which the best plan is known: all that were ever in use.
    """

    parts: Parts
    bound: int
    done: bool = False
    stopped: bool = False
    exact: set[int] = field(default_factory=set)
    known: Support = _NOTHING
    builds: set[Build] = field(default_factory=set)


@dataclass
class Search:
    """The best plan of all pools so far, and what is left to look at."""

    solver: str
    deadline: float | None = None
    below: int | None = None
    best: Found | None = None

    def run(self, pools: Sequence[Parts]) -> Found:
        """Return the best plan with the problem of the builds that it was chosen from.

        Raises
        ------
        UnprovenError
            If time ran out before any plan was found.
        """
        start = time.monotonic()
        asked = [_Pool(parts, _promise(parts)) for parts in pools]
        self._finish(asked, 0)
        stopped = [pool.bound for pool in asked if pool.stopped]
        if self.best is None:
            if interrupted():
                raise InterruptedPlanError("interrupted before a plan was found")
            if stopped:
                raise UnprovenError("no plan was found in time; allow more with --time-limit")
            nothing = Problem(pools[0].at, (), pools[0].offers.pricing)
            return nothing, Outcome("infeasible", {}, solver=version(self.solver), seconds=time.monotonic() - start)
        if not stopped:
            self._break_ties(asked)
        problem, outcome = self.best
        bound = min([outcome.value, *stopped])
        status: Literal["optimal", "feasible"] = "optimal" if bound >= outcome.value else "feasible"
        first = replace(outcome.goals[0], bound=bound, status=status)
        seconds = time.monotonic() - start
        goals = (first, *outcome.goals[1:])
        return problem, replace(outcome, status=status, bound=bound, seconds=seconds, goals=goals)

    def _break_ties(self, pools: Sequence[_Pool]) -> None:
        """Look in all pools for plans that are as good, and better in the second objective."""
        for pool in pools:
            pool.done, pool.bound = False, 0
        self._finish(pools, 1)

    def _finish(self, pools: Sequence[_Pool], stage: int) -> None:
        while left := [pool for pool in pools if not pool.done]:
            pool = min(left, key=lambda pool: pool.bound)
            self._step(pool, stage)

    def _step(self, pool: _Pool, stage: int) -> None:
        """Ask one pool for its bound, and for a plan of the parts in use.

        In the second stage plans must be as good as the best in the first objective, and better in
        the second.
        """
        made = make_separate(pool.parts, pool.parts.tokens(pool.exact))
        if made is None:
            pool.done = True
            return
        self._narrow(made, pool, stage)
        terms = made.stages()[stage]
        answer = optimise(made.program, terms, self.solver, self._left())
        if answer.status in ("infeasible", "nothing"):
            pool.done, pool.stopped = True, answer.status == "nothing"
            return
        proven = answer.status == "optimal"
        value = sum(c * answer.values[i] for i, c in terms.items())
        pool.bound = max(pool.bound, value if proven else int(answer.bound or 0))
        closed = self._try(pool, made.support(answer.values))
        loose = {
            token.way
            for token, var in zip(made.tokens, made.cores, strict=True)
            if answer.values[var] and not token.exact
        }
        pool.exact |= loose
        better = self.best is None or self._values(self.best)[stage] > pool.bound
        if not better:
            pool.done = True
        elif not proven or not (loose or (made.used and closed)):
            pool.done = pool.stopped = True

    def _narrow(self, made: Separate, pool: _Pool, stage: int) -> None:
        """Leave only what is better than the best, beyond what is known."""
        terms = made.stages()
        if stage == 0 and self.below is not None:
            made.program.add_row("below", terms[0], "<=", self.below - 1)
        if stage == 1:
            assert self.best is not None
            first, second = self._values(self.best)
            made.program.add_row("keep", terms[0], "<=", first)
            made.program.add_row("below", terms[1], "<=", second - 1)
        if made.used and pool.known != _NOTHING:
            made.require_other(pool.known)

    def _values(self, best: Found) -> tuple[int, int]:
        """Return both objectives of a plan."""
        problem, outcome = best
        fleet = problem.fleet(outcome.counts)
        if problem.at.scenario.objectives == ("nodes",):
            return outcome.value, capex_cents(bill(problem.pricing, fleet), problem.pricing.case)
        return outcome.value, sum(count * build.n_nodes for build, count in fleet.items())

    def _try(self, pool: _Pool, support: Support) -> bool:
        """Solve over the builds that the parts in use make; return whether the best of them is known now.

        Where the number of builds is limited, parts of earlier rounds are put together with these.
        """
        parts = pool.parts
        ways, hosts, drives = (a | b for a, b in zip(pool.known, support, strict=True))
        joined = (ways, hosts, drives) if parts.strict else support
        fresh = set(_builds(parts, joined)) - pool.builds
        if fresh:
            pool.builds |= fresh
            pricing = parts.offers.pricing
            named = sorted(pool.builds, key=lambda build: build.name)
            problem = Problem(parts.at, keep_best(named, parts.at, pricing.catalog), pricing)
            at_most = self.below if self.best is None else self.best[1].value + 1
            try:
                outcome = solve(problem, self.solver, self._left(), at_most)
            except (UnprovenError, InterruptedPlanError):
                return False
            if outcome.status != "infeasible":
                found = problem, outcome
                if self.best is None or self._values(found) < self._values(self.best):
                    self.best, self.below = found, outcome.value
            if outcome.status == "feasible":
                return False
        pool.known = joined
        return True

    def _left(self) -> float | None:
        return None if self.deadline is None else max(0.1, self.deadline - time.monotonic())


def _promise(parts: Parts) -> int:
    """Return the optimum without whole numbers, less what a solver may err by."""
    made = make_separate(parts, parts.tokens(()))
    value = relaxation(made.program, made.stages()[0]) if made else 0.0
    return int(value * (1 - 1e-6)) if math.isfinite(value) else 0


def _builds(parts: Parts, support: Support) -> Iterator[Build]:
    """Yield the legal builds of some parts."""
    ways, hosts, drives = support
    for i in sorted(ways):
        way = parts.ways[i]
        for host in hosts & parts.host_of[i].keys():
            for drive in drives & parts.drive_of[i].keys():
                if parts.hosts[host].watts + parts.drives[drive].watts <= parts.room(way, 1):
                    yield parts.offers.build(way, parts.host_of[i][host], parts.drive_of[i][drive])
