"""Fewest pieces of a part in the machines of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build, group_pieces
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class Minimum:
    """sum pieces * x >= minimum, for each part with one.

    Cluster lines do not count: their quantities follow from the nodes, and a row that asked for
    more of them would buy what no rule of quantity asks for.
    """

    kind = "minimum"
    label = "fewest"
    formula = "sum(pieces of the part in a group * groups) >= minimum"

    def active(self, at: Situation) -> bool:
        """Return whether any part has a minimum."""
        return bool(at.scenario.limits.minimum)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return the pieces of one group; more is better."""
        return tuple(-group_pieces(build, part) for part in at.scenario.limits.minimum)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one covering row per part."""
        for part, least in problem.at.scenario.limits.minimum.items():
            terms = {program.groups[i]: group_pieces(build, part) for i, build in enumerate(problem.builds)}
            program.add_row(f"{self.kind}_{part}", terms, ">=", least)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the pieces."""
        fleet = problem.fleet(counts)
        for part, least in problem.at.scenario.limits.minimum.items():
            have = sum(n * build.n_nodes * _in_a_node(build, part) for build, n in fleet.items())
            yield Check(self.kind, f"{self.label} of {part}", least, have, "pieces", self.formula)


def _in_a_node(build: Build, part: str) -> int:
    system = build.core.system
    whole = 1 if system is not None and system.id == part else 0
    return whole + sum(count for _, name, count in build.parts() if name == part)
