"""The loss of any racks, one or a few: what stands elsewhere still holds the load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from planner.build import Build
from planner.constraints.base import Check, Unit, fleet_rule
from planner.constraints.pools import POOLS
from planner.constraints.sessions import Tier, add_covering_rows, add_nested_covering_rows, surviving_nested
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
    """sum reach * x - (largest reaches that racks of some classes hold) >= open, for each choice of classes."""

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
        """Add the covering rows of sessions and pools for each choice of classes of the racks that are lost."""
        for cover in _covers(problem):
            groups = [program.groups[i] for i in cover.places]
            for chosen, tiers in _losses(problem, cover.places):
                name = f"{self.kind}_{cover.name}_{'_'.join(map(str, chosen))}"
                if len(chosen) == 1:
                    (tier,) = tiers
                    add_covering_rows(program, name, cover.capacities, cover.need, tier.most, tier.inside, groups)
                else:
                    add_nested_covering_rows(program, name, cover.capacities, cover.need, tiers, groups)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Lose the worst racks of each choice of classes."""
        racks = problem.at.scenario.fleet.spare_racks
        label = self.label if racks == 1 else f"any {racks} racks lost"
        for cover in _covers(problem):
            own = {k: counts[i] for k, i in enumerate(cover.places) if counts.get(i)}
            left = min(surviving_nested(cover.capacities, own, tiers) for _, tiers in _losses(problem, cover.places))
            need, have = (n // cover.scale if cover.divided else n * cover.scale for n in (cover.need, left))
            yield Check(
                self.kind, f"{cover.label}, {label}", need, have, cover.unit, self.formula, service=cover.service
            )


def _losses(problem: Problem, places: Sequence[int]) -> Iterator[tuple[tuple[int, ...], list[Tier]]]:
    """Yield classes of the racks that are lost, with how many nodes of each class or less they hold.

    A rack of class c holds up to c nodes, all of that class or a higher one. So of nodes below the
    second chosen class only the first rack has room, below the third the first two, and so on. At
    worst all nodes of a rack are of the one service.
    """
    classes = [problem.builds[i].racks_per for i in places]
    for chosen in combinations_with_replacement(sorted(set(classes)), problem.at.scenario.fleet.spare_racks):
        tiers = []
        for low in sorted(set(chosen)):
            above = min((size for size in chosen if size > low), default=None)
            inside = [each >= low and (above is None or each < above) for each in classes]
            tiers.append(Tier(sum(size for size in chosen if size <= low), inside))
        yield chosen, tiers


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
