"""Machines that are there already: no more of each than there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


def _nodes(build: Build, name: str) -> int:
    """Return how many of the machine one group takes."""
    system = build.core.system
    return build.n_nodes if system is not None and system.id == name else 0


@fleet_rule
class OwnedMachines:
    """sum nodes * x <= count, for each kind of machine that is owned."""

    kind = "owned"
    label = "owned"
    formula = "sum(nodes * groups of the machine) <= count"

    def active(self, at: Situation) -> bool:
        """Return whether any machine is there already."""
        return bool(at.scenario.fleet.owned)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group takes of each."""
        return tuple(_nodes(build, own.name) for own in at.scenario.fleet.owned)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row per kind of machine."""
        for own in problem.at.scenario.fleet.owned:
            terms = {program.groups[i]: _nodes(build, own.name) for i, build in enumerate(problem.builds)}
            program.add_row(f"{self.kind}_{own.name}", terms, "<=", own.count)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the machines."""
        fleet = problem.fleet(counts)
        for own in problem.at.scenario.fleet.owned:
            need = sum(n * _nodes(build, own.name) for build, n in fleet.items())
            yield Check(self.kind, f"{self.label}: {own.name}", need, own.count, "nodes", self.formula)
