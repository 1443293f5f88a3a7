"""Most headroom: open sessions that could be hosted beyond those that are, spare groups lost."""

from __future__ import annotations

from collections.abc import Mapping

from planner.build import Build
from planner.constraints.sessions import surviving
from planner.hardware import Catalog
from planner.objectives.base import objective
from planner.problem import Problem, Situation
from planner.program import Program


@objective
class Headroom:
    """Minus what survives of sum reach * x; only within a cost cap, else it has no end."""

    kind = "headroom"
    unit = "sessions"
    words = "the most headroom"

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return nothing: reach is always compared."""
        return ()

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Return the covering row of the sessions, turned around, in parts of a session."""
        row = next(row for row in program.rows if row.name.partition("_")[2] == "sessions")
        scale = max(
            (build.hosts // row.terms[program.groups[i]] for i, build in enumerate(problem.builds) if build.hosts),
            default=1,
        )
        return {var: -scale * value for var, value in row.terms.items()}

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Sum the reach of what survives the worst loss, as a negative number."""
        return -surviving([build.hosts for build in problem.builds], counts, problem.spares)
