"""Capex: the total of the bill of materials."""

from __future__ import annotations

from collections.abc import Mapping

from planner.bill import bill, capex_cents
from planner.build import Build
from planner.hardware import Catalog
from planner.objectives.base import objective
from planner.problem import Problem, Situation
from planner.program import Program


@objective
class Capex:
    """sum cost * x + cluster lines."""

    kind = "capex"
    unit = "cents"
    words = "the least capex"

    def uses(self, build: Build, at: Situation, catalog: Catalog) -> tuple[int, ...]:
        """Return nothing: cost is always compared."""
        return ()

    def terms(self, program: Program, problem: Problem) -> dict[int, int]:
        """Return cents per group, rack and lot."""
        return problem.capex_terms_of(program)

    def value(self, problem: Problem, counts: Mapping[int, int]) -> int:
        """Add up the bill of materials."""
        return capex_cents(bill(problem.pricing, problem.fleet(counts)), problem.pricing.case)
