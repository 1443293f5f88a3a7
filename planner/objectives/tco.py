"""Total cost of ownership over the term, with what is paid at once as an annuity."""

from __future__ import annotations

from collections.abc import Mapping

from planner.bill import fleet_tco_cents
from planner.build import Build
from planner.hardware import Catalog
from planner.objectives.base import objective
from planner.problem import Problem, Situation
from planner.program import Program


@objective
class TotalCost:
    """sum tco * x + tco of cluster lines."""

    kind = "tco"
    unit = "cents"
    words = "the least total cost over the term"

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return the cents of one group over the term, those of its linear lines' power and of volume prices apart."""
        return (build.rest_tco_cents,)

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Return cents per group, rack and lot."""
        return problem.tco_terms_of(program)

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Add up groups and cluster lines."""
        return fleet_tco_cents(problem.pricing, problem.fleet(counts))
