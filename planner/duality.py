"""What no solution of a program can be below, and can have of a variable, from any prices of its rows: exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from planner.program import Program
from planner.units import ceil_div

_FINE = 2**40
"""Steps of a price: so fine that rounding costs nothing that matters."""


@dataclass(frozen=True)
class Dual:
    """What prices of the rows say of a program's solutions.

    For prices y of the rows, those of ``>=`` not negative and those of ``<=`` not positive, every
    solution has c x >= y rhs + (c - y A) x, and each variable stands between its bounds. Prices
    near the dual optimum make the least of that the optimum without whole numbers; all others a
    weaker bound, never a wrong one.

    Attributes
    ----------
    program : Program
        Whose solutions they are.
    least : int
        No solution's terms are below this, in fine steps.
    reduced : mapping of int to int
        Cost of each variable beyond what the prices pay for, in fine steps; 0 where left out.
    """

    program: Program
    least: int
    reduced: Mapping[int, int]

    @classmethod
    def of(cls, program: Program, terms: Mapping[int, int], prices: Sequence[float]) -> Dual:
        """Return what prices, whoever found them, say of `terms`."""
        reduced = {i: cost * _FINE for i, cost in terms.items()}
        least = 0
        for row, price in zip(program.rows, prices, strict=True):
            whole = round(price * _FINE) if isfinite(price) else 0
            whole = max(0, whole) if row.sense == ">=" else min(0, whole)
            if whole:
                least += whole * row.rhs
                for i, value in row.terms.items():
                    reduced[i] = reduced.get(i, 0) - whole * value
        for i, cost in reduced.items():
            variable = program.variables[i]
            least += cost * (variable.lower if cost > 0 else variable.upper)
        return cls(program, least, reduced)

    @property
    def bound(self) -> int:
        """What the terms of no whole solution are below."""
        return ceil_div(self.least, _FINE)

    def upper(self, i: int, most: int) -> int:
        """Return the most of a variable in solutions whose terms are at most `most`; below its lower bound in none.

        Each unit above the lower bound adds its reduced cost to the least.
        """
        variable, cost = self.program.variables[i], self.reduced.get(i, 0)
        if cost <= 0:
            return variable.upper
        return min(variable.upper, variable.lower + (most * _FINE - self.least) // cost)
