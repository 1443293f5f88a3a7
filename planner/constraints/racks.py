"""Most racks: the site has room for so many, each with its own height and power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.costs import least_racks
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class Racks:
    """sum racks <= limit, over the racks of every class."""

    kind = "racks"
    label = "racks (nodes)"
    formula = "sum(racks of each class) <= limit; racks by nested classes"

    def active(self, at: Situation) -> bool:
        """Return whether there is a limit."""
        return at.scenario.limits.racks is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return nothing: nodes, and how many of them share a rack, are always compared."""
        return ()

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row over the racks of all classes."""
        terms = dict.fromkeys(program.racks.values(), 1)
        program.add_row(self.kind, terms, "<=", problem.at.scenario.limits.racks or 0)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Fill racks from the smallest class up."""
        nodes: dict[int, int] = {}
        for build, n in problem.fleet(counts).items():
            nodes[build.racks_per] = nodes.get(build.racks_per, 0) + n * build.n_nodes
        have = problem.at.scenario.limits.racks or 0
        yield Check(self.kind, self.label, least_racks(nodes), have, "racks", self.formula)
