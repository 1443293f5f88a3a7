"""The loss of any one rack: what stands elsewhere still holds the load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    service: str
    places: tuple[int, ...]
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
            groups = [program.groups[i] for i in cover.places]
            for size, at_risk in _classes(problem, cover.places):
                name = f"{self.kind}_{cover.name}_{size}"
                add_covering_rows(program, name, cover.capacities, cover.need, size, at_risk, groups)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Lose the worst rack of each class."""
        for cover in _covers(problem):
            own = {k: counts[i] for k, i in enumerate(cover.places) if counts.get(i)}
            left = min(
                surviving(cover.capacities, own, size, at_risk) for size, at_risk in _classes(problem, cover.places)
            )
            need, have = (n // cover.scale if cover.divided else n * cover.scale for n in (cover.need, left))
            yield Check(
                self.kind, f"{cover.label}, {self.label}", need, have, cover.unit, self.formula, service=cover.service
            )


def _classes(problem: Problem, places: Sequence[int]) -> Iterator[tuple[int, list[bool]]]:
    """Yield nodes of a rack with the builds that may stand in it: those of that class or a higher one.

    At worst all nodes of a rack are of the one service.
    """
    classes = [problem.builds[i].racks_per for i in places]
    for size in sorted(set(classes)):
        yield size, [each >= size for each in classes]


def _covers(problem: Problem) -> Iterator[_Cover]:
    for share in problem.shares():
        at, name, label = share.at, share.named("sessions"), "open sessions"
        reaches = tuple(problem.builds[i].hosts for i in share.places)
        yield _Cover(name, label, at.label, share.places, reaches, at.open_parts, "sessions", at.scale, True)
        if at.scenario.splits:
            name, label = share.named("prompts"), "prompts of open sessions"
            reaches = tuple(problem.builds[i].prefills for i in share.places)
            yield _Cover(name, label, at.label, share.places, reaches, at.open_parts, "sessions", at.scale, True)
    for kind in POOLS:
        for pool in kind.pooled(problem):
            name = pool.name.replace(kind.kind, kind.tier)
            units, need = pool.units, pool.need
            yield _Cover(name, kind.label, pool.service, pool.places, units, need, kind.unit, kind.unit_bytes, False)
