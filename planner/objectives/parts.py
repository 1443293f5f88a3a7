"""Fewest distinct parts in machines: what must be kept in spares and known to those who mend."""

from __future__ import annotations

from collections.abc import Mapping

from planner.build import Build
from planner.hardware import Catalog
from planner.objectives.base import objective
from planner.problem import Problem, Situation
from planner.program import Program


def distinct_parts(build: Build) -> frozenset[str]:
    """Return the ids of the parts of one node; a whole system counts as the parts inside."""
    return frozenset(part for _, part, _ in build.parts())


@objective
class DistinctParts:
    """x_b <= U_b * z_p for each part p of b; minimise sum z."""

    kind = "parts"
    unit = "parts"
    words = "the fewest distinct parts"

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return nothing: builds are compared only with those of the same parts (`by_part`)."""
        return ()

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Add a binary per part and return their sum."""
        found: dict[str, int] = {}
        for i, build in enumerate(problem.builds):
            group = program.groups[i]
            for part in sorted(distinct_parts(build)):
                if part not in found:
                    found[part] = program.add_variable(f"part_{len(found)}", 1)
                row = {group: 1, found[part]: -program.variables[group].upper}
                program.add_row(f"part_{i}", row, "<=", 0)
        terms = dict.fromkeys(found.values(), 1)
        # Something is bought, and the build with the fewest parts has so many: else the bound without whole
        # numbers is near nothing.
        program.add_row("parts", terms, ">=", min((len(distinct_parts(build)) for build in problem.builds), default=0))
        return terms

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Count the parts in use."""
        return len(frozenset().union(*(distinct_parts(build) for build in problem.fleet(counts))))
