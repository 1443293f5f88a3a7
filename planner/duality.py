"""What no solution of a program can be below, from any prices of its rows: exact, whoever found the prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from planner.program import Program
from planner.units import ceil_div

_FINE = 2**40
"""Steps of a price: so fine that rounding costs nothing that matters."""


def bound_from_prices(program: Program, terms: Mapping[int, int], prices: Sequence[float]) -> int:
    """Return a lower bound of `terms` over all whole solutions.

    For prices y of the rows, those of ``>=`` not negative and those of ``<=`` not positive, every
    solution has c x >= y rhs + (c - y A) x, and each variable stands between its bounds. Prices
    near the dual optimum make this the optimum without whole numbers; all others a weaker bound,
    never a wrong one.
    """
    left = {i: cost * _FINE for i, cost in terms.items()}
    total = 0
    for row, price in zip(program.rows, prices, strict=True):
        whole = round(price * _FINE) if isfinite(price) else 0
        whole = max(0, whole) if row.sense == ">=" else min(0, whole)
        if whole:
            total += whole * row.rhs
            for i, value in row.terms.items():
                left[i] = left.get(i, 0) - whole * value
    for i, cost in left.items():
        variable = program.variables[i]
        total += cost * (variable.lower if cost > 0 else variable.upper)
    return ceil_div(total, _FINE)
