"""An integer program in plain whole numbers, independent of any solver.

Some programs also have continuous variables: how traffic is shared out. A row that holds one is a
*mixed row*, in exact fractions. A solver's values of it are a hint and no more: whoever adds mixed
rows proves the whole counts on their own, as `planner.split.certificate` does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from planner.units import ceil_div

Sense = Literal[">=", "<="]
VariableKind = Literal["integer", "continuous"]


@dataclass(frozen=True)
class Variable:
    """A number between two bounds, whole unless its kind says otherwise."""

    name: str
    lower: int
    upper: int
    kind: VariableKind = "integer"


@dataclass(frozen=True)
class Row:
    """A linear condition: sum of coefficient times variable, `sense`, `rhs`."""

    name: str
    terms: Mapping[int, int]
    sense: Sense
    rhs: int


@dataclass(frozen=True)
class MixedRow:
    """A linear condition in exact fractions that holds continuous variables too."""

    name: str
    terms: Mapping[int, Fraction]
    sense: Sense
    rhs: Fraction


@dataclass(frozen=True)
class Volume:
    """What a variable counts of a part with volume prices: pieces in a use at a tier, or spare ones (no use)."""

    part: str
    tier: int
    use: str | None


@dataclass
class Program:
    """Variables and rows under construction, with the variables' meanings.

    Attributes
    ----------
    groups : list of int
        Variable of each build: how many groups of it.
    used : dict
        Build to the binary that is 1 where any group of it is bought; filled on demand.
    racks : dict
        Rack class to the number of racks of it.
    lots : dict
        Cluster line's id to the lots of it, for lines that are rounded up.
    beyond : dict of (str, int) to int
        Driver and how many of it need nothing, to the binary that is 1 where there are more.
    volumes : dict of int to Volume
        Variables that count pieces at volume prices.
    mixed_rows : list of MixedRow
        Rows with continuous variables.
    """

    variables: list[Variable] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    used: dict[int, int] = field(default_factory=dict)
    racks: dict[int, int] = field(default_factory=dict)
    lots: dict[str, int] = field(default_factory=dict)
    beyond: dict[tuple[str, int], int] = field(default_factory=dict)
    volumes: dict[int, Volume] = field(default_factory=dict)
    mixed_rows: list[MixedRow] = field(default_factory=list)

    def add_variable(self, name: str, upper: int, lower: int = 0, kind: VariableKind = "integer") -> int:
        """Add a variable and return its index; names are made unique by the index."""
        self.variables.append(Variable(f"v{len(self.variables):05d}_{name}", lower, upper, kind))
        return len(self.variables) - 1

    def add_row(self, name: str, terms: Mapping[int, int], sense: Sense, rhs: int) -> None:
        """Add a row, divided by the greatest common divisor of its coefficients.

        The right-hand side is rounded towards the stricter side, which loses no whole solution.
        """
        terms = {index: value for index, value in terms.items() if value}
        divisor = math.gcd(*terms.values()) if terms else 1
        rhs = ceil_div(rhs, divisor) if sense == ">=" else rhs // divisor
        shrunk = {index: value // divisor for index, value in terms.items()}
        self.rows.append(Row(f"r{len(self.rows):04d}_{name}", shrunk, sense, rhs))

    def add_equal(self, name: str, terms: Mapping[int, int]) -> None:
        """Add two rows: the terms sum to 0."""
        self.add_row(name, terms, "<=", 0)
        self.add_row(name, terms, ">=", 0)

    def add_mixed_row(self, name: str, terms: Mapping[int, Fraction], sense: Sense, rhs: Fraction) -> None:
        """Add a row with continuous variables, as it is."""
        kept = {index: value for index, value in terms.items() if value}
        self.mixed_rows.append(MixedRow(f"m{len(self.mixed_rows):04d}_{name}", kept, sense, rhs))

    def mark_used(self, build: int) -> int:
        """Return the binary of a build, adding it with x <= upper * used."""
        if build not in self.used:
            group = self.groups[build]
            self.used[build] = self.add_variable(f"used_{build}", 1)
            upper = self.variables[group].upper
            self.add_row(f"used_{build}", {group: 1, self.used[build]: -upper}, "<=", 0)
        return self.used[build]
