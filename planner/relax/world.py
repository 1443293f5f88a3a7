"""Questions about a scenario with some of its rules dropped or bent, answered exactly.

Builds are derived in *cells*: each filter lets in either its own values or the others, and a
question that opens some filters takes the cells of both sides. Within a cell dominance is that of
its own scenario; cells are united without any, so a build is there whenever it may be needed.

Whether there is any plan at all is asked of *shadows* first: the builds of the scenario without
tiers below GPU memory. They cost less, draw less and host no less, so where not even they make a
plan there is none. Where they do, the real builds of the machines in that plan take their shadows'
place, until there is no plan or a real one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from planner.bill import bill, capex_cents
from planner.build import Build
from planner.candidates import Offers
from planner.costs import Pricing
from planner.errors import InfeasibleError, InputError, PriceMissingError, UnprovenError
from planner.fields import contents
from planner.formulation.objectives import stages
from planner.formulation.rows import make_program
from planner.formulation.tokens import Parts
from planner.hardware import Catalog, OwnedMachine
from planner.interrupts import interrupted
from planner.joint import best_of, by_content, candidates_of
from planner.loading import Shelf
from planner.problem import Problem, Situation
from planner.relax.base import RULES, Filter, Limit, Rule
from planner.scenario import Scenario
from planner.separation import Search, taken_apart
from planner.solve import Outcome, copy_of, least, solve
from planner.verify import verify

Machine = tuple[str, str, int]
Derive = Callable[[Scenario], Sequence[Build]]
FINE = 1000
"""Parts of a limit in which several are weighed against each other."""


class OutOfTimeError(Exception):
    """The deadline struck before an answer."""


@dataclass(frozen=True)
class Found:
    """A fleet with its problem."""

    problem: Problem
    counts: Mapping[int, int]
    rank: tuple[int, ...] = ()

    @property
    def fleet(self) -> dict[Build, int]:
        """Groups by build."""
        return self.problem.fleet(self.counts)

    @property
    def capex(self) -> int:
        """Cents."""
        return capex_cents(bill(self.problem.pricing, self.fleet), self.problem.pricing.case)

    @property
    def nodes(self) -> int:
        """Nodes."""
        return sum(count * build.n_nodes for build, count in self.fleet.items())


def rules_of(scenario: Scenario, shelf: Shelf) -> tuple[Rule, ...]:
    """Return the scenario's rules, those that are asked first whether they matter first."""
    found = tuple(rule for kind in RULES.values() for rule in kind.of(scenario, shelf))
    # Of several services only what is common to all can give way.
    return tuple(r for r in found if r.path.startswith(("limits.", "fleet."))) if scenario.services else found


def without(scenario: Scenario, shelf: Shelf, rules: Iterable[Rule]) -> Scenario:
    """Return the scenario without some of its rules."""
    for rule in rules:
        scenario = rule.dropped(scenario, shelf)
    return scenario


class World:
    """A scenario, its rules, and what has been found out about them.

    Parameters
    ----------
    derive : callable or None
        Scenario to the builds on offer; None for the catalogue's own.
    deadline : float or None
        On the monotonic clock.
    progress : callable or None
        Is told in words what is asked next.
    """

    def __init__(
        self, scenario: Scenario, shelf: Shelf, pricing: Pricing, solver: str = "highs",
        deadline: float | None = None, derive: Derive | None = None, progress: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.tell = progress or (lambda _: None)
        self.scenario, self.shelf, self.pricing, self.solver = scenario, shelf, pricing, solver
        self.deadline = deadline
        self.rules = rules_of(scenario, shelf)
        self.filters = tuple(rule for rule in self.rules if isinstance(rule, Filter))
        self.derived = derive is None and not scenario.services
        self.why: dict[str, int] = {}
        self.unpriced: dict[str, int] = {}
        self._derive = derive or self._offered
        self._cells: dict[tuple[Any, ...], Sequence[Build]] = {}
        self._answers: dict[frozenset[str], Found | None] = {}

    @property
    def currency(self) -> str:
        """Of the prices in use."""
        return self.pricing.book.currency

    def left_s(self) -> float | None:
        """Return the seconds left; None without a deadline.

        Raises
        ------
        OutOfTimeError
            If none are, or nobody waits any longer.
        """
        if interrupted():
            raise OutOfTimeError
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        return max(left, 0.05)

    # Builds

    def _offered(self, scenario: Scenario) -> Sequence[Build]:
        try:
            return candidates_of(scenario, self.shelf, self.pricing).every
        except InfeasibleError as fault:
            lines = (line.strip().removeprefix("- ") for line in str(fault).splitlines()[1:])
            self.why |= dict.fromkeys(lines, 1)
        except PriceMissingError as fault:
            lines = (line.strip() for line in str(fault).splitlines())
            self.unpriced |= {line.removeprefix("- "): 1 for line in lines if line.startswith("- ")}
        except InputError:
            # A side of one filter and a side of another may make no machine together.
            pass
        return ()

    def _cell(self, scenario: Scenario, key: tuple[Any, ...]) -> Sequence[Build]:
        key = (*key, scenario.service and contents(scenario.service), contents(scenario.workload))
        if key not in self._cells:
            self.left_s()
            # Stock, minimum, maximum and racks are coordinates of dominance: all are kept, whatever the question drops.
            limits = replace(self.scenario.limits, deliver_by=scenario.limits.deliver_by)
            fleet = replace(scenario.fleet, spare_racks=self.scenario.fleet.spare_racks)
            self._cells[key] = self._derive(replace(scenario, limits=limits, fleet=fleet))
        return self._cells[key]

    def builds(self, asked: Scenario, opened: frozenset[str]) -> Sequence[Build]:
        """Return the builds on offer where some filters are open."""
        free = [rule for rule in self.filters if rule.path in opened]
        cells: list[Sequence[Build]] = []
        for sides in itertools.product(*(rule.sides(self.scenario, self.shelf) for rule in free)):
            cell = asked
            for rule, values in zip(free, sides, strict=True):
                cell = rule.limited_to(cell, values)
            key = ("cell", *(rule.own(cell) for rule in self.filters))
            cells.append(self._cell(cell, key))
        return _united(cells)

    def _shadows(self, asked: Scenario) -> Sequence[Build]:
        """Return the builds of a scenario without tiers below GPU memory; in a pool, with all that fits for nothing."""
        builds = self._cell(_bare(asked), ("shadow", *(rule.own(asked) for rule in self.filters)))
        if not Situation.of(asked).pooled:
            return builds
        catalog = self.shelf.catalog
        return tuple(_filled(build, catalog) if _can_grow(build) else build for build in builds)

    def _on_machine(self, asked: Scenario, machine: Machine) -> Sequence[Build]:
        """Return the builds of one machine in groups of one size."""
        gpu, name, n_nodes = machine
        fleet = replace(asked.fleet, gpus=(gpu,), chassis=(name,), group_nodes=(n_nodes,))
        key = ("machine", machine, *(rule.own(asked) for rule in self.filters))
        return self._cell(replace(asked, fleet=fleet), key)

    def problems(self, asked: Scenario, builds: Sequence[Build], least: bool = False) -> list[Problem]:
        """Return the problems whose plans are those of the question: in a pool, one per content.

        Where the `least` of a limit is asked that the question has not, builds are compared in what it counts, too.
        """
        at = Situation.of(asked)
        by = Situation.of(replace(asked, limits=self.scenario.limits, fleet=self.scenario.fleet)) if least else at
        pricing = replace(self.pricing, stock=asked.limits.stock, maximum=asked.limits.maximum)
        return [Problem(at, best_of(part, by, pricing.catalog), pricing) for part in by_content(builds, at)]

    # Answers

    def free(self, kept: Iterable[Rule]) -> tuple[Scenario, frozenset[str]]:
        """Return the scenario with only some of its rules, and the filters that are open in it."""
        paths = {rule.path for rule in kept}
        dropped = [rule for rule in self.rules if rule.path not in paths]
        opened = frozenset(rule.path for rule in dropped if isinstance(rule, Filter))
        return without(self.scenario, self.shelf, (r for r in dropped if not isinstance(r, Filter))), opened

    def holds(self, kept: Iterable[Rule]) -> Found | None:
        """Return a fleet that keeps some of the rules; None where there is none.

        Raises
        ------
        OutOfTimeError
            If the deadline struck before either was certain.
        """
        kept = tuple(kept)
        key = frozenset(rule.path for rule in kept)
        for known, answer in self._answers.items():
            # Fewer rules have a plan where more have one.
            if key <= known if answer else known <= key:
                return answer
        self.tell(f"is there a plan without {_some(rule.path for rule in self.rules if rule.path not in key)}?")
        self._answers[key] = self.any_plan(*self.free(kept))
        return self._answers[key]

    def any_plan(self, asked: Scenario, opened: frozenset[str]) -> Found | None:
        """Return a fleet for a question; None where there is none."""
        if not self.derived:
            return self._first(asked, self.builds(asked, opened))
        by_cost = replace(asked, objective="capex")
        parts = [] if opened else taken_apart(self.builds(asked, opened), Situation.of(by_cost))
        if parts:
            return self._best(self._over_parts(parts))
        wide = without(asked, self.shelf, (rule for rule in self.filters if rule.path in opened))
        if self._needs_real(wide):
            return self._first(asked, self.builds(asked, opened))
        return self._refined(wide)

    def _needs_real(self, asked: Scenario) -> bool:
        """Return whether a shadow may be worse than its build.

        It has other pieces where prices depend on how many are bought, and fewer where a least number is
        asked; more of its nodes share a rack and are lost with it; more sessions are lost with it; and in
        a pool its memory and drives are others than the build's.
        """
        catalog, limits = self.shelf.catalog, asked.limits
        stored = {*catalog.dimms(), *catalog.drives()}
        pooled = Situation.of(asked).pooled and stored & {*limits.stock, *limits.maximum}
        warm = asked.service is not None and asked.service.rewarm_s is not None
        tiers = bool(self.pricing.book.tiered)
        return bool(
            tiers or asked.fleet.spare_racks or warm or pooled or (stored | {*catalog.nics()}) & set(limits.minimum)
        )

    def _refined(self, asked: Scenario) -> Found | None:
        """Return a fleet of real builds, deriving those of a machine when its shadows would be bought."""
        shadows = self._shadows(asked)
        real: dict[Machine, Sequence[Build]] = {}
        while True:
            builds = _distinct(build for found in real.values() for build in found)
            offered = [*builds, *(build for build in shadows if _machine(build) not in real)]
            plan = self._first(asked, offered, cheap=True)
            new = [machine for machine in _machines(plan) if machine not in real] if plan else []
            if not new:
                return plan
            real |= {machine: self._on_machine(asked, machine) for machine in new}

    def _first(self, asked: Scenario, builds: Sequence[Build], cheap: bool = False) -> Found | None:
        """Return a fleet of `builds`, None where there is none; if `cheap` one of those that cost least."""
        for problem in self.problems(asked, builds):
            program = make_program(problem)
            values = self._least(program, problem.capex_terms_of(program) if cheap else {})
            if values is not None:
                return _found(problem, values)
        return None

    def _least(self, program: Any, terms: Mapping[int, int]) -> list[int] | None:
        try:
            return least(program, terms, self.solver, self.left_s())
        except UnprovenError:
            raise OutOfTimeError from None

    def best(self, asked: Scenario, opened: frozenset[str]) -> Found | None:
        """Return the best fleet for a question by its own objective, proven and verified."""
        builds = self.builds(asked, opened)
        parts = taken_apart(builds, Situation.of(asked))
        best = self._best(self._over_parts(parts) if parts else self._one_by_one(asked, builds))
        if best is not None:
            verify(best.problem, best.counts)
        return best

    def _best(self, outcomes: Iterable[tuple[Problem, Outcome]]) -> Found | None:
        """Return the best of proven outcomes."""
        best: Found | None = None
        try:
            for problem, outcome in outcomes:
                if outcome.status == "feasible":
                    raise OutOfTimeError
                if outcome.status == "optimal":
                    found = Found(problem, outcome.counts)
                    found = replace(found, rank=(*(goal.value for goal in outcome.goals), found.capex, found.nodes))
                    best = found if best is None or found.rank < best.rank else best
        except UnprovenError:
            raise OutOfTimeError from None
        return best

    def _over_parts(self, parts: Sequence[Parts]) -> Iterator[tuple[Problem, Outcome]]:
        left_s = self.left_s()
        yield Search(self.solver, None if left_s is None else time.monotonic() + left_s).run(parts)

    def _one_by_one(self, asked: Scenario, builds: Sequence[Build]) -> Iterator[tuple[Problem, Outcome]]:
        """Yield the best of each pool, as long as it is not worse than that of an earlier one."""
        below: int | None = None
        for problem in self.problems(asked, builds):
            outcome = solve(problem, self.solver, self.left_s(), below)
            if outcome.status == "optimal":
                below = outcome.value + 1
            yield problem, outcome

    def least(self, limits: Sequence[Limit], asked: Scenario, opened: frozenset[str]) -> dict[str, int] | None:
        """Return the least that `limits`, which `asked` has not, must allow together.

        One alone: the least that any fleet uses of it. Several: of the fleets whose overshoots,
        in thousandths of their limits, have the least sum, what the cheapest uses of each.
        """
        builds = self.builds(asked, opened)
        if len(limits) == 1 and limits[0].objective:
            by_it = replace(asked, objective=limits[0].objective)
            if taken_apart(builds, Situation.of(by_it)):
                found = self.best(by_it, opened)
                return None if found is None else {limits[0].path: self._told(limits[0], found)}
        best: tuple[tuple[int, ...], dict[str, int]] | None = None
        for problem in self.problems(asked, builds, least=True):
            program = copy_of(make_program(problem))
            terms = [dict(limit.terms(program, problem)) for limit in limits]
            sums = terms[0]
            if len(limits) > 1:
                sums = {self._over(program, limit, used): 1 for limit, used in zip(limits, terms, strict=True)}
            if best is not None:
                program.add_row("below", sums, "<=", best[0][0])
            values = self._least(program, sums)
            if values is None:
                continue
            value = sum(c * values[i] for i, c in sums.items())
            own = stages(problem, program)[0].terms
            if len(limits) > 1:
                program.add_row("least", sums, "<=", value)
                values = self._least(program, own) or values
            rank = (value, sum(c * values[i] for i, c in own.items()))
            told = {limit.path: self._told(limit, _found(problem, values)) for limit in limits}
            best = (rank, told) if best is None or rank < best[0] else best
        return best and best[1]

    def _told(self, limit: Limit, found: Found) -> int:
        """Return what a limit must allow for a fleet, and no less than it does."""
        return max(limit.used(self.scenario, found.problem, found.counts), limit.asked(self.scenario))

    def _over(self, program: Any, limit: Limit, used: Mapping[int, int]) -> int:
        """Add what a limit is overshot by, in thousandths of it; return the variable."""
        asked = limit.room(self.scenario)
        step = max(1, asked // FINE)
        most = sum(c * program.variables[i].upper for i, c in used.items())
        over = program.add_variable("over", max(0, -(-(most - asked) // step)))
        program.add_row("over", {**used, over: -step}, "<=", asked)
        return int(over)


def _some(paths: Iterable[str]) -> str:
    first, *rest = (*paths, "")
    shown = [path for path in (first, *rest[:1]) if path]
    return f"{', '.join(shown)} and {len(rest) - 2} more" if len(rest) > 2 else ", ".join(shown)


def _bare(scenario: Scenario) -> Scenario:
    load = scenario.workload
    # Nothing is loaded and nothing lost: as if each session were still in GPU memory.
    rates = load.rates and replace(load.rates, cold_fraction=Fraction(0), in_gpu_fraction=Fraction(1))
    tiers = replace(scenario.tiers, dram="none", nvme="none", placement="local")
    return replace(scenario, tiers=tiers, workload=replace(load, rates=rates))


def _can_grow(build: Build) -> bool:
    """Return whether memory and drives may be more than a system has."""
    system = build.core.system
    return system is None or (isinstance(system, OwnedMachine) and system.upgrade)


def _filled(build: Build, catalog: Catalog) -> Build:
    """Return the build with as much memory and as many drives as its chassis takes, at the old cost and watts."""
    chassis = build.core.chassis
    dimms = [
        dimm
        for dimm in catalog.dimms().values()
        if dimm.capacity_bytes <= chassis.max_dimm_bytes and dimm.generation == build.cpu.memory_generation
    ]
    fits = [
        drive
        for drive in catalog.drives().values()
        if drive.role == "data" and set(drive.form_factors) & set(chassis.drive_form_factors)
    ]
    # The largest module may be slower than others: as fast as the fastest, no build is above this one.
    largest = max(dimms, key=lambda dimm: dimm.capacity_bytes, default=build.dimm)
    dimm = replace(largest, speed=max((dimm.speed for dimm in dimms), default=largest.speed))
    drive = max(fits, key=lambda drive: drive.capacity_bytes, default=None)
    bays = chassis.drive_bays if drive else 0
    return replace(build, dimm=dimm, dimms=chassis.dimm_slots, drive=drive, drives=bays)


def _united(cells: Sequence[Sequence[Build]]) -> Sequence[Build]:
    """Return the builds of all cells once each; unlisted where none of them is listed yet."""
    cells = [cell for cell in cells if cell]
    if len(cells) == 1 and isinstance(cells[0], Offers):
        return cells[0]
    offers = [cell for cell in cells if type(cell) is Offers]
    if not offers or len(offers) < len(cells):
        return _distinct(build for cell in cells for build in cell)
    # Cells share their cores, so one that is in two of them is the same.
    ways = {way.core: way for offer in offers for way in offer.ways}
    return Offers(list(ways.values()), offers[0].at, offers[0].pricing)


def _distinct(builds: Iterable[Build]) -> list[Build]:
    """Return builds once each, in canonical order: cells may overlap."""
    found = {build.name: build for build in builds}
    return [found[name] for name in sorted(found)]


def _machine(build: Build) -> Machine:
    core = build.core
    return core.gpu.id, core.system.id if core.system else core.chassis.id, core.n_nodes


def _machines(plan: Found) -> list[Machine]:
    return list(dict.fromkeys(_machine(build) for build in plan.fleet))


def _found(problem: Problem, values: Sequence[int]) -> Found:
    groups = make_program(problem).groups
    return Found(problem, {i: values[group] for i, group in enumerate(groups) if values[group]})
