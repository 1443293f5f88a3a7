"""The answer to a split, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from planner.profiles import Instance
from planner.split.problem import Bucket


@dataclass(frozen=True)
class Rented:
    """So many of one instance.

    Attributes
    ----------
    busy : Fraction
        Of all of them together, in instances; at most `count`.
    """

    instance: Instance
    count: int
    busy: Fraction

    @property
    def cents_per_hour(self) -> Fraction:
        """All of them together."""
        return self.count * self.instance.price_rate.cents


@dataclass(frozen=True)
class Served:
    """A bucket with the share that each kind of instance serves."""

    bucket: Bucket
    shares: Mapping[str, Fraction]


@dataclass(frozen=True)
class Alone:
    """A fleet of one kind of instance: how many hold the load; None where it cannot."""

    instance: Instance
    count: int | None


@dataclass(frozen=True)
class SplitPlan:
    """A verified answer to a split scenario.

    Attributes
    ----------
    status : {'optimal', 'feasible'}
        ``optimal``: within this profile, this mix and these prices, by the solver's bound.
    value, bound : Fraction
        Cents per hour.
    load : Fraction
        The largest share of time for which any kind of instance is busy, at most 1.
    """

    scenario: str
    title: str
    profile: str
    status: Literal["optimal", "feasible"]
    currency: str
    value: Fraction
    bound: Fraction
    rented: tuple[Rented, ...]
    served: tuple[Served, ...]
    load: Fraction
    alone: tuple[Alone, ...]
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    requests_per_s: Fraction
    verified: bool
    warnings: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def n_instances(self) -> int:
        """All instances."""
        return sum(row.count for row in self.rented)

    @property
    def n_gpus(self) -> int:
        """All GPUs in them."""
        return sum(row.count * row.instance.n_gpus for row in self.rented)

    @property
    def gap(self) -> float:
        """Distance of the bound from the value, as a share of the value."""
        return float((self.value - self.bound) / self.value)
