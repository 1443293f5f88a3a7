"""Budget: capex_total, cluster lines and tax included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.bill import bill, capex_cents
from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program


@fleet_rule
class Budget:
    """sum cost * x + cluster lines <= budget."""

    kind = "budget"
    label = "budget (capex_total)"
    formula = "sum(group cost * groups) + sum(piece * pieces of cluster lines) <= budget"

    def active(self, at: Situation) -> bool:
        """Return whether there is a budget."""
        return at.scenario.limits.budget is not None

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return nothing: cost is always compared."""
        return ()

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add one packing row over the objective's own terms."""
        budget = problem.at.scenario.limits.budget
        assert budget is not None
        program.add_row(self.kind, problem.capex_terms_of(program), "<=", budget.cents)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Add up the bill of materials."""
        budget = problem.at.scenario.limits.budget
        assert budget is not None
        need = capex_cents(bill(problem.pricing, problem.fleet(counts)), problem.pricing.case)
        yield Check(self.kind, self.label, need, budget.cents, "cents", self.formula)
