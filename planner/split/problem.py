"""What is to be decided: how many of each instance, and which share of each bucket goes where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from planner.profiles import Instance, Profile
from planner.split_scenario import SplitScenario

Counts = Mapping[int, int]


@dataclass(frozen=True)
class Bucket:
    """Requests of one size that do come in.

    Attributes
    ----------
    row, column : int
        Its place in the profile's tables.
    requests_per_s : Fraction
        How many.
    """

    row: int
    column: int
    requests_per_s: Fraction


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """A scenario with its profile.

    Attributes
    ----------
    buckets : tuple of Bucket
        Those with requests.
    offers : tuple of Instance
        What may be rented.
    """

    scenario: SplitScenario
    profile: Profile
    buckets: tuple[Bucket, ...]
    offers: tuple[Instance, ...]

    @classmethod
    def of(cls, scenario: SplitScenario, profile: Profile) -> SplitProblem:
        """Scale the mix so that its shares are 1 in all, and leave out what is not asked for."""
        load, wanted = scenario.workload, scenario.fleet.instances
        scale = load.requests_per_s / sum((share for row in load.mix for share in row), Fraction(0))
        cells = [(i, j, share * scale) for i, row in enumerate(load.mix) for j, share in enumerate(row)]
        buckets = tuple(Bucket(*cell) for cell in cells if cell[2])
        offers = tuple(i for i in profile.instances if not wanted or i.name in wanted)
        return cls(scenario, profile, buckets, offers)

    @cached_property
    def loads(self) -> tuple[Mapping[int, Fraction], ...]:
        """Per offer: bucket to the instances that all of it would keep busy; where it can serve."""
        return tuple(
            {
                b: bucket.requests_per_s / offer.requests_per_s[bucket.row][bucket.column]
                for b, bucket in enumerate(self.buckets)
                if offer.serves(bucket.row, bucket.column)
            }
            for offer in self.offers
        )

    @cached_property
    def most(self) -> tuple[int, ...]:
        """Per offer: as many as all that it can serve would keep busy, and as can be had."""
        stock = self.scenario.limits.stock
        alone = [math.ceil(sum(loads.values(), Fraction(0))) for loads in self.loads]
        return tuple(min(n, stock.get(o.name, n)) for n, o in zip(alone, self.offers, strict=True))

    @cached_property
    def money_cents(self) -> Fraction:
        """The largest amount of which every price is a whole multiple."""
        prices = [offer.price_rate.cents for offer in self.offers]
        below = math.lcm(*(price.denominator for price in prices))
        return Fraction(math.gcd(*(int(price * below) for price in prices)), below)

    def price(self, offer: int) -> int:
        """Return the price of an offer in whole `money_cents`."""
        return int(self.offers[offer].price_rate.cents / self.money_cents)

    def unserved(self) -> list[Bucket]:
        """Return the buckets that nothing on offer can serve."""
        return [bucket for b, bucket in enumerate(self.buckets) if not any(b in loads for loads in self.loads)]
