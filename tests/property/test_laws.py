"""Laws that hold whatever the prices are: how the optimal cost moves when one thing does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.planning import solve_scenario
from tests.property.worlds import BLOCK, STABLE, bill_of, cost, reprice, scenario, shelf, solved, worlds

BOOK = "us-2026-11"


@STABLE
@given(worlds())
def test_twice_the_users_never_cost_less(world: dict[str, str]) -> None:
    twice = str(2 * int(world["workload.users"]))
    assert cost(scenario(world)) <= cost(scenario(world | {"workload.users": twice}))


@STABLE
@given(worlds(), st.integers(1, 3))
def test_one_user_more_never_costs_less(world: dict[str, str], step: int) -> None:
    # The census rounds warm and in-flight sessions up, so shares per session may fall by a hair
    # where one is added; with nothing rounded the law is exact.
    world = world | {"workload.warm": "50 %", "workload.duty": "100 %", "workload.peak_over_mean": "1"}
    more = str(int(world["workload.users"]) + step)
    assert cost(scenario(world)) <= cost(scenario(world | {"workload.users": more}))


@STABLE
@given(worlds(), st.data())
def test_a_cheaper_part_never_raises_the_cost(world: dict[str, str], data: st.DataObject) -> None:
    # Whatever part it is, in the plan or not.
    first = solved(scenario(world))
    assume(first is not None)
    parts = sorted({part for build in first.fleet for _, part, _ in first.problem.pricing.bought(build)})
    part = data.draw(st.sampled_from([*parts, "sn4700", "rdimm-128"]))
    assert cost(scenario(world), reprice(shelf(), BOOK, part, (2, 3))) <= first.outcome.value


@STABLE
@given(worlds(), st.data())
def test_a_dearer_part_never_lowers_the_cost(world: dict[str, str], data: st.DataObject) -> None:
    first = solved(scenario(world))
    assume(first is not None)
    parts = sorted({part for build in first.fleet for _, part, _ in first.problem.pricing.bought(build)})
    part = data.draw(st.sampled_from(parts))
    assert cost(scenario(world), reprice(shelf(), BOOK, part, (3, 2))) >= first.outcome.value


LIMITS = ["limits.power", "limits.rack_units", "fleet.max_nodes", "limits.budget", "limits.stock", "fleet.max_builds"]


@pytest.mark.parametrize("path", LIMITS)
@STABLE
@given(worlds(objective="tco"), st.integers(60, 110))
def test_a_limit_never_lowers_the_cost_and_more_of_it_never_raises_it(
    path: str, world: dict[str, str], percent: int
) -> None:
    free = solved(scenario(world))
    assume(free is not None)
    tight, loose = (_limit(path, free, share) for share in (percent, percent + 20))
    costs = [cost(scenario(world | {path: text})) for text in (tight, loose)]
    assert costs[0] >= costs[1]
    assert path == "fleet.max_builds" or costs[1] >= free.outcome.value


def _limit(path: str, free: object, percent: int) -> str:
    """Return so many percent of what the plan without the limit takes, as a scenario writes it."""
    fleet = free.fleet  # type: ignore[attr-defined]
    nodes = sum(count * build.n_nodes for build, count in fleet.items())
    build = next(iter(fleet))
    units = sum(count * b.n_nodes * b.core.chassis.rack_units for b, count in fleet.items())
    watts = sum(count * b.power_w for b, count in fleet.items()) + 3_000
    dimms = sum(count * b.n_nodes * b.dimms for b, count in fleet.items() if b.dimm is build.dimm)
    return {
        "limits.power": f"{watts * percent // 100} W",
        "limits.rack_units": str(max(1, units * percent // 100)),
        "fleet.max_nodes": str(max(1, nodes * percent // 100)),
        "limits.budget": f"USD {free.capex * percent // 10_000}",  # type: ignore[attr-defined]
        "limits.stock": f"{{{build.dimm.id}: {dimms * percent // 100}}}",
        "fleet.max_builds": "1" if percent < 80 else "2",
    }[path]


@STABLE
@given(worlds(fleet__spare_groups="1"))
def test_dropping_the_spare_group_never_costs_more(world: dict[str, str]) -> None:
    assert cost(scenario(world | {"fleet.spare_groups": "0"})) <= cost(scenario(world))


@STABLE
@given(worlds())
def test_exclusive_host_memory_never_costs_more_than_inclusive(world: dict[str, str]) -> None:
    costs = [cost(scenario(world | {"tiers.dram": how})) for how in ("exclusive", "inclusive")]
    assert costs[0] <= costs[1]


@STABLE
@given(worlds())
def test_spilling_never_costs_more_than_writing_all(world: dict[str, str]) -> None:
    costs = [cost(scenario(world | {"tiers.nvme": how})) for how in ("spill", "write-all")]
    assert costs[0] <= costs[1]


@STABLE
@given(worlds(), st.integers(1, 8), st.integers(1, 8))
def test_a_shorter_context_never_costs_more(world: dict[str, str], one: int, other: int) -> None:
    # Whole blocks and chunks, no prefix: every rounding is the same for both.
    world = world | {"workload.shared_prefix": "null"}
    costs = [cost(scenario(world | {"workload.context.planned": f"{n * BLOCK} tokens"})) for n in sorted((one, other))]
    assert costs[0] <= costs[1]


@STABLE
@given(worlds())
def test_a_faster_promise_never_costs_less(world: dict[str, str]) -> None:
    slow, fast = (cost(scenario(world | {"service.decode": f"{n} tokens/s"})) for n in (10, 30))
    assert slow <= fast


@STABLE
@given(worlds())
def test_both_solvers_agree(world: dict[str, str]) -> None:
    assert cost(scenario(world), solver="cbc") == cost(scenario(world), solver="highs")


@STABLE
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_catalogue_does_not_matter(world: dict[str, str], random: object) -> None:
    # Same counts of the same builds whatever the order of parts, prices and names.
    catalog = shelf().catalog

    def shuffled(items: dict[str, object]) -> dict[str, object]:
        keys = list(items)
        random.shuffle(keys)  # type: ignore[attr-defined]
        return {key: items[key] for key in keys}

    parts = {kind: shuffled(dict(by_id)) for kind, by_id in shuffled(dict(catalog.parts)).items()}  # type: ignore[call-overload]
    other = replace(shelf(), catalog=replace(catalog, parts=parts, books=shuffled(dict(catalog.books))))
    assert bill_of(solved(scenario(world), other)) == bill_of(solved(scenario(world)))


@STABLE
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_scenario_does_not_matter(world: dict[str, str], random: object) -> None:
    names = ["fp8_ds_mla", "fp8", "bf16"]
    random.shuffle(names)  # type: ignore[attr-defined]
    given_order = solved(scenario(world | {"serving.kv_formats": f"[{', '.join(names)}]"}))
    assert bill_of(given_order) == bill_of(solved(scenario(world | {"serving.kv_formats": "[bf16, fp8, fp8_ds_mla]"})))


@STABLE
@given(worlds())
def test_other_units_say_the_same(world: dict[str, str]) -> None:
    # 16Ki tokens and 16384, 10 s and 10000 ms, 20 kW and 20000 W, USD 9M and USD 9000k.
    tokens = int(world["workload.context.planned"].split()[0])
    one = {
        "workload.context.planned": f"{tokens} tokens", "service.first_token": "10 s", "limits.power": "90 kW",
        "limits.budget": "USD 9M",
    }  # fmt: skip
    other = {
        "workload.context.planned": f"{tokens // 1024}Ki tokens", "service.first_token": "10000 ms",
        "limits.power": "90000 W", "limits.budget": "USD 9000k",
    }  # fmt: skip
    assert bill_of(solved(scenario(world | one))) == bill_of(solved(scenario(world | other)))


@STABLE
@given(worlds())
def test_solving_twice_gives_the_same_plan(world: dict[str, str]) -> None:
    asked = scenario(world)
    first = solved(asked)
    assume(first is not None)
    again = solve_scenario(asked, shelf())
    assert (again.outcome.counts, again.outcome.value) == (first.outcome.counts, first.outcome.value)


def test_pools_that_just_hold_all_in_flight_are_enough() -> None:
    # Nine sessions in flight fit three groups of three slots however many are open: floored to whole
    # sessions per group, 11 open sessions once took a fourth group that 12 did not.
    world = {
        "fleet.gpus": "[h200-sxm]",
        "serving.layouts": "[tp8]",
        "serving.kv_formats": "[bf16]",
        "fleet.spare_groups": "0",
        "workload.active_per_user": "1",
        "workload.sessions_per_user": "1",
        "workload.in_flight": "7",
        "workload.duty": "null",
        "tiers.dram": "none",
        "tiers.nvme": "none",
        "workload.rates": "null",
        "service": "null",
    }
    costs = [cost(scenario(world | {"workload.users": str(users)})) for users in (10, 11, 12, 13)]
    assert costs == sorted(costs)
    assert costs[1] == costs[2]


def test_more_layouts_never_cost_more() -> None:
    # "any" is everything legal, and a name beside it adds to it: tp8-dcp2 was not offered once, and
    # [any, tp8] meant [tp8].
    world = {"workload.users": "60", "workload.duty": "100 %"}
    free = cost(scenario(world | {"serving.layouts": "[any]"}))
    assert free == cost(scenario(world | {"serving.layouts": "[any, tp8]"}))
    assert free <= cost(scenario(world | {"serving.layouts": "[tp8, tp8-dcp2, dp8-ep8]"}))
