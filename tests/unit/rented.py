"""Small profiles and splits, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.profiles import Instance, Profile
from planner.split.problem import SplitProblem
from planner.split_scenario import SplitFleet, SplitLimits, SplitScenario, SplitService, SplitWorkload
from planner.units import MoneyRate

Numbers = Sequence[Sequence[int | str | Fraction]]


def table(numbers: Numbers) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(Fraction(number) for number in row) for row in numbers)


def instance(name: str, cents: int | str, throughput: Numbers) -> Instance:
    return Instance(name=name, price_rate=MoneyRate("USD", Fraction(cents), "h"), requests_per_s=table(throughput))


def problem(
    *instances: Instance, rate: int | str, mix: Numbers, stock: Mapping[str, int] | None = None
) -> SplitProblem:
    profile = Profile(id="small", name="Small", instances=instances)
    scenario = SplitScenario(
        name="small", title="Small", workload=SplitWorkload(requests_per_s=Fraction(rate), mix=table(mix)),
        service=SplitService(profile="small"), fleet=SplitFleet(), limits=SplitLimits(stock=stock or {}),
    )  # fmt: skip
    return SplitProblem.of(scenario, profile)


def example(rate: int | str = 30) -> SplitProblem:
    """Mélange's own example."""
    return problem(
        instance("a10g", 101, [[2, 1], [5, 2]]),
        instance("a100", 367, [[20, 20], [40, 20]]),
        rate=rate,
        mix=[["0.2", "0.1"], ["0.5", "0.2"]],
    )
