"""The loss of any one rack: what stands elsewhere still holds the load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner.build import Build
from planner.constraints.base import Check, Unit, fleet_rule
from planner.constraints.pools import POOLS
from planner.constraints.sessions import add_covering_rows, surviving
from planner.problem import Problem, Situation
from planner.program import Program


@dataclass(frozen=True)
class _Cover:
    """What must be covered: capacities of one group by build, the need, and a unit's size for readers."""

    name: str
    label: str
    capacities: tuple[int, ...]
    need: int
    unit: Unit
    scale: int
    divided: bool


@fleet_rule
class SpareRacks:
    """sum reach * x - (largest c reaches of class c or more) >= open, for each class c."""

    kind = "spare_racks"
    label = "any rack lost"
    formula = "sum(reach * groups) - sum of the c largest reaches of rack class c or more >= open, for each c"

    def active(self, at: Situation) -> bool:
        """Return whether a rack may be lost."""
        return at.scenario.fleet.spare_racks > 0

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return the class: more nodes to a rack are lost together."""
        return (build.racks_per,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add the covering rows of sessions and pools for each class of racks."""
        for cover in _covers(problem):
            for size, at_risk in _classes(problem):
                name = f"{self.kind}_{cover.name}_{size}"
                add_covering_rows(program, name, cover.capacities, cover.need, size, at_risk)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Lose the worst rack of each class."""
        for cover in _covers(problem):
            left = min(surviving(cover.capacities, counts, size, at_risk) for size, at_risk in _classes(problem))
            need, have = (n // cover.scale if cover.divided else n * cover.scale for n in (cover.need, left))
            yield Check(self.kind, f"{cover.label}, {self.label}", need, have, cover.unit, self.formula)


def _classes(problem: Problem) -> Iterator[tuple[int, list[bool]]]:
    """Yield nodes of a rack with the builds that may stand in it: those of that class or a higher one."""
    for size in sorted({build.racks_per for build in problem.builds}):
        yield size, [build.racks_per >= size for build in problem.builds]


def _covers(problem: Problem) -> Iterator[_Cover]:
    at, builds = problem.at, problem.builds
    reaches = tuple(build.reach for build in builds)
    yield _Cover("sessions", "open sessions", reaches, at.open_parts, "sessions", at.scale, True)
    for pool in POOLS:
        if builds and pool.active(at):
            units = tuple(max(0, pool.units(build, at)) for build in builds)
            need = pool.need_units(builds[0], at)
            yield _Cover(pool.tier, pool.label, units, need, pool.unit, pool.unit_bytes, False)
