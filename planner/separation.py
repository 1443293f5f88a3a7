"""Pooled problems too large to list their builds: bounds from parts, plans from the builds in use.

A program over parts (`planner.formulation.separate`) is never dearer than the best plan. The parts
in its optimum are put together to builds, over which the plain program is solved. Where both agree
the plan is optimal; else the cores in use are told exactly and the bound is asked again. Of several
pools the one with the least bound is asked next. See docs/math/scale.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Literal

from planner.bill import bill, capex_cents
from planner.build import Build
from planner.candidates import Offers, keep_best
from planner.duality import Dual
from planner.errors import InterruptedPlanError, UnprovenError
from planner.formulation.separate import Separate, Support, make_separate
from planner.formulation.tokens import Parts
from planner.formulation.uniform import Triple, best_uniform
from planner.interrupts import interrupted
from planner.objectives import OBJECTIVES
from planner.problem import Problem, Situation
from planner.solve import Outcome, as_bought, optimise, solve
from planner.solvers import Answer, row_prices, version

PLAIN_UP_TO = 4000
"""Pairs of memory and drives over all cores up to which builds are listed."""


_NEVER = 10**18
"""Of a pool without plans."""
_LEAST_S, _LEAST_TRY_S = 0.1, 1.0
"""Seconds for a bound and for a plan of what a bound found, however late it is."""
_NARROWINGS, _LARGELY = 4, 0.95
"""Times that a pool is narrowed at once, as long as it gets smaller by more than one in twenty."""
_FINE = 10**7
"""Parts of a sum of money that a solver's floating point need not tell apart."""
_FIRST_BUILDS = 6
"""Builds of the first plan."""
Found = tuple[Problem, Outcome]


def taken_apart(builds: Sequence[Build], at: Situation) -> list[Parts]:
    """Return the parts of each pool where its builds are too many to be listed; none where they are not."""
    pools = builds.pools() if isinstance(builds, Offers) and at.pooled and not at.parts else []
    if not pools or not Parts.separable(at):
        return []
    parts = [Parts.of(pool, at) for pool in pools]
    return parts if sum(part.pairs for part in parts) > PLAIN_UP_TO else []


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
    close : bool
        Whether answers half-way between bound and plan lead no further.
    exact : set of int
        Cores that are told exactly.
    """

    parts: Parts
    bound: int = 0
    done: bool = False
    stopped: bool = False
    close: bool = False
    exact: set[int] = field(default_factory=set)


@dataclass
class Search:
    """The best plan of all pools so far, and what is left to look at."""

    solver: str
    deadline: float | None = None
    best: Found | None = None

    def run(self, pools: Sequence[Parts]) -> Found:
        """Return the best plan with the problem of the builds that it was chosen from.

        Raises
        ------
        UnprovenError
            If time ran out before any plan was found.
        """
        start = time.monotonic()
        self._begin(pools)
        asked = [_Pool(parts) for parts in pools]
        for pool in asked:
            self._promise(pool)
        self._finish(asked, self._step)
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

    def _begin(self, pools: Sequence[Parts]) -> None:
        """Find some plan: of a few builds, each of which is good alone, in the pool where one is best."""
        found = [(triples, parts) for parts in pools if (triples := best_uniform(parts, _FIRST_BUILDS))]
        if found:
            triples, parts = min(found, key=lambda some: some[0][0])
            self._try(parts, [triple for _, triple in triples])

    def _promise(self, pool: _Pool) -> None:
        """Say what no plan of a pool that is as good as the best can be below."""
        made = self._narrowed(pool)
        if made is None:
            pool.done, pool.bound = True, _NEVER
        elif not pool.bound:
            # Nothing is as good as the best, says a solver, or there is none yet: what is there without it?
            free = make_separate(pool.parts, pool.parts.tokens(()))
            dual = free and _dual(free)
            pool.bound = max(0, dual.bound) if dual else 0

    def _narrowed(self, pool: _Pool) -> Separate | None:
        """Return the program of a pool without what no plan that is as good as the best can use.

        Options and cores that are not in any such plan leave the pool for good: the best only gets better.
        """
        known = self._known()
        made = make_separate(pool.parts, pool.parts.tokens(pool.exact), known)
        for again in reversed(range(_NARROWINGS)):
            dual = None if made is None or known is None else _dual(made)
            if made is None or known is None or dual is None:
                return made
            pool.bound = max(pool.bound, min(dual.bound, known + 1))
            if dual.bound > known:
                return made
            caps = made.caps(partial(dual.upper, most=known))
            left = pool.parts.without(pool.exact, *caps.gone)
            if not again or left.size > _LARGELY * pool.parts.size:
                return make_separate(pool.parts, made.tokens, known, caps)
            pool.parts = left
            made = make_separate(left, left.tokens(pool.exact), known)
        return made

    def _known(self) -> int | None:
        """Return the first objective of the best plan so far."""
        return None if self.best is None else self.best[1].value

    def _least(self) -> float:
        """Return the first objective of the best plan so far, infinite without one."""
        return math.inf if self.best is None else self.best[1].value

    def _finish(self, pools: Sequence[_Pool], step: Callable[[_Pool], None]) -> None:
        while left := [pool for pool in pools if not pool.done and pool.bound <= self._least()]:
            if self._is_over():
                for each in left:
                    each.done = each.stopped = True
                return
            step(min(left, key=lambda pool: pool.bound))

    def _step(self, pool: _Pool) -> None:
        """Ask one pool for its bound, and for a plan of the parts in use.

        Plans as good as the best are let in: where there are none either, nobody need ask for ties.
        """
        made = self._made(pool)
        if made is None:
            pool.done, pool.bound = True, max(pool.bound, int(min(self._least() + 1, _NEVER)))
            return
        terms, before = made.stages()[0], self._least()
        # Half-way between bound and plan is far enough while cores are loose: what is in use then is told exactly.
        gap = 0 if pool.close or self.best is None else int(before - pool.bound) // 2
        answer = optimise(made.program, terms, self.solver, self._left(), gap)
        if answer.status == "infeasible":
            pool.done, pool.bound = True, int(min(self._least() + 1, _NEVER))
            return
        if answer.status == "optimal":
            pool.bound = max(pool.bound, sum(c * answer.values[i] for i, c in terms.items()))
        elif answer.bound is not None and math.isfinite(answer.bound):
            pool.bound = max(pool.bound, math.floor(answer.bound))
        loose = self._use(pool, made, answer)
        if self._least() <= pool.bound:
            pool.done = True
        elif not loose and self._least() == before:
            pool.done = pool.stopped = not gap
            pool.close = True

    def _break_ties(self, pools: Sequence[_Pool]) -> None:
        """Look for plans that are as good, and better in the second objective, in the pools that may have any."""
        most = self._least()
        self._finish([replace(pool, done=False) for pool in pools if pool.bound <= most], self._step_of_ties)

    def _step_of_ties(self, pool: _Pool) -> None:
        """Ask one pool for a plan that is as good as the best, and better in the second objective.

        Cost is minimised in either case, the other objective is a row: solvers bound cost far
        better than nodes. The best plan gets better until there is no other.
        """
        assert self.best is not None
        made, before = self._made(pool), self._values(self.best)
        if made is None:
            pool.done = True
            return
        made.program.add_row("below", made.stages()[1], "<=", before[1] - 1)
        terms = made.stages()[0] if self._in_cents() else made.capex_terms()
        answer = optimise(made.program, terms, self.solver, self._left())
        loose = self._use(pool, made, answer)
        pool.done = not loose and self._values(self.best) == before

    def _made(self, pool: _Pool) -> Separate | None:
        """Return the program of a pool, with only what is as good as the best; None where there is none.

        Money is let in that is a ten-millionth dearer: solvers count in floating point, and have called a program
        empty whose one solution fills such a row to the cent.
        """
        made = self._narrowed(pool)
        if pool.bound > self._least():
            return None
        if made is not None and self.best is not None:
            value = self.best[1].value
            near = 1 + value // _FINE if self._in_cents() else 0
            made.program.add_row("keep", made.stages()[0], "<=", value + near)
        return made

    def _in_cents(self) -> bool:
        """Return whether the first objective is money."""
        assert self.best is not None
        return OBJECTIVES[self.best[0].at.scenario.objectives[0]].unit == "cents"

    def _use(self, pool: _Pool, made: Separate, answer: Answer) -> bool:
        """Put the parts of an answer together to plans; return whether any core in use was not told exactly."""
        if answer.status not in ("optimal", "feasible"):
            return False
        self._try(pool.parts, _triples(pool.parts, made.support(answer.values)))
        used = (token for token, var in zip(made.tokens, made.cores, strict=True) if answer.values[var])
        loose = {token.way for token in used if not token.exact}
        pool.exact |= loose
        return bool(loose)

    def _values(self, best: Found) -> tuple[int, int]:
        """Return both objectives of a plan."""
        problem, outcome = best
        fleet = problem.fleet(outcome.counts)
        if problem.at.scenario.objectives == ("nodes",):
            return outcome.value, capex_cents(bill(problem.pricing, fleet), problem.pricing.case)
        return outcome.value, sum(count * build.n_nodes for build, count in fleet.items())

    def _try(self, parts: Parts, triples: Iterable[Triple]) -> None:
        """Solve over a few builds of one pool."""
        pricing = parts.offers.pricing
        named = sorted(_builds(parts, triples), key=lambda build: build.name)
        if not named:
            return
        problem = Problem(parts.at, keep_best(named, parts.at, pricing.catalog), pricing)
        known = self._known()
        at_most = None if known is None else known + 1
        try:
            outcome = solve(problem, self.solver, self._left(_LEAST_TRY_S), at_most)
        except (UnprovenError, InterruptedPlanError):
            return
        if outcome.status != "infeasible":
            found = as_bought(problem, outcome), outcome
            if self.best is None or self._values(found) < self._values(self.best):
                self.best = found

    def _left(self, least: float = _LEAST_S) -> float | None:
        return None if self.deadline is None else max(least, self.deadline - time.monotonic())

    def _is_over(self) -> bool:
        """Return whether no pool should be asked any more."""
        return interrupted() or (self.deadline is not None and time.monotonic() >= self.deadline)


def _dual(made: Separate) -> Dual | None:
    """Return what the prices of a program's rows say of its first objective; None where no solver finds prices."""
    terms = made.stages()[0]
    prices = row_prices(made.program, terms)
    return Dual.of(made.program, terms, prices) if prices else None


def _triples(parts: Parts, support: Support) -> Iterator[Triple]:
    """Yield what cores, memory and drives can be put together."""
    ways, hosts, drives = support
    for i in sorted(ways):
        yield from product([i], sorted(hosts & parts.host_of[i].keys()), sorted(drives & parts.drive_of[i].keys()))


def _builds(parts: Parts, triples: Iterable[Triple]) -> Iterator[Build]:
    """Yield those that are legal."""
    for i, host, drive in triples:
        way = parts.ways[i]
        if parts.hosts[host].watts + parts.drives[drive].watts <= parts.room(way, 1):
            yield parts.offers.build(way, parts.host_of[i][host], parts.drive_of[i][drive])
