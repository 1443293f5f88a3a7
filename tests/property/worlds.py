"""The shipped catalogue, scenarios drawn from it, and the planner's answer as one number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from planner.errors import InfeasibleError, PriceMissingError
from planner.loading import Shelf, load_shelf
from planner.planning import Solved, solve_scenario
from planner.prices import PriceBook
from planner.scenario import Override, Scenario
from planner.scenario_files import load_scenario
from planner.units import Money
from planner.verify import verify

STABLE = settings(
    deadline=None, derandomize=True, max_examples=6, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip
BLOCK = 64 * 256
"""A multiple of every engine's KV block times 8 context ranks, and of every product's chunk."""

Settings = Mapping[str, str]


@cache
def shelf() -> Shelf:
    return load_shelf()


def scenario(given: Settings, name: str = "report-real") -> Scenario:
    return load_scenario(name, [Override(path, text) for path, text in given.items()])


def solved(asked: Scenario, on: Shelf | None = None, solver: str = "highs") -> Solved | None:
    """Return the verified answer; None where there is none."""
    try:
        found = solve_scenario(asked, on or shelf(), solver)
    except (InfeasibleError, PriceMissingError):
        return None
    verify(found.problem, found.outcome.counts)
    return found


def cost(asked: Scenario, on: Shelf | None = None, solver: str = "highs") -> float:
    """Return the optimal value of the scenario's objective; infinite where there is no plan."""
    found = solved(asked, on, solver)
    return float("inf") if found is None else found.outcome.value


def bill_of(found: Solved | None) -> dict[str, int] | None:
    """Return groups by the build's name."""
    return found and {build.name: count for build, count in found.fleet.items()}


def reprice(on: Shelf, book: str, part: str, factor: tuple[int, int]) -> Shelf:
    """Return the shelf with every price of one part multiplied by `factor`, rounded down."""

    def scaled(amount: Money) -> Money:
        return Money(amount.currency, max(1, amount.cents * factor[0] // factor[1]))

    old = on.catalog.book(book)
    prices = tuple(
        replace(p, low=scaled(p.low), typical=scaled(p.typical), high=scaled(p.high)) if p.part == part else p
        for p in old.prices
    )
    new: PriceBook = replace(old, prices=prices)
    return replace(on, catalog=replace(on.catalog, books={**on.catalog.books, book: new}))


@st.composite
def worlds(draw: st.DrawFn, **fixed: str) -> dict[str, str]:
    """Draw overrides of ``report-real`` on a few machines, so that a solve takes a fraction of a second."""
    gpus = draw(st.sampled_from(["[h200-sxm]", "[mi300x]", "[b200]", "[h200-sxm, mi300x]", "[h20-141]"]))
    given = {
        "fleet.gpus": gpus,
        "workload.users": str(draw(st.integers(5, 500))),
        "workload.context.planned": f"{draw(st.integers(1, 8)) * BLOCK} tokens",
        "workload.context.mean": "null",
        "workload.warm": f"{draw(st.integers(0, 100))} %",
        "workload.duty": f"{draw(st.integers(2, 60))} %",
        "tiers.dram": draw(st.sampled_from(["inclusive", "exclusive"])),
        "tiers.nvme": draw(st.sampled_from(["write-all", "spill"])),
        "fleet.spare_groups": str(draw(st.integers(0, 2))),
        "fleet.max_builds": draw(st.sampled_from(["1", "2"])),
        "objective": draw(st.sampled_from(["capex", "capex", "tco"])),
    }
    return given | {path.replace("__", "."): text for path, text in fixed.items()}
