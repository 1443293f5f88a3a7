"""The sum of many contexts: the measured factor, exact bounds, and tiers that hold sums."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import pytest

from planner.attention import CachePart
from planner.constraints import GROUP_LIMITS, reach
from planner.constraints.pools import PooledDram
from planner.demand import footprint
from planner.kvcache import KvCache, kv_cache
from planner.planning import solve_scenario
from planner.problem import Situation
from planner.scenario import Tiers
from planner.spread import fitting_bytes, most_sessions, quantile, sum_bytes
from planner.units import ceil
from planner.workload import Context, faults
from tests.unit import tiny
from tests.unit.tiny import shelf

P99 = Fraction(99, 100)


def spread(mean: int = 512, deviation: int | None = 128) -> Context:
    return Context(planned_tokens=1024, mean_tokens=mean, deviation_tokens=deviation)


def test_four_hundred_contexts_take_four_percent_more_than_their_mean_at_p99() -> None:
    # The deviation is 34.4 % of the mean: 2.3264 * 0.344 / sqrt(400) = 0.0400.
    assert quantile(P99) == Fraction(23264, 10_000)
    extra = int(quantile(P99) * 344_000)
    assert sum_bytes(400, 10**6, extra) == 416_005_620
    assert sum_bytes(400, 10**6, 0) == 400 * 10**6


def test_what_fits_is_the_most_that_fits() -> None:
    for have in range(0, 4000, 37):
        most = most_sessions(have, 100, 130)
        assert sum_bytes(most, 100, 130) <= max(have, 0) < sum_bytes(most + 1, 100, 130)
        assert fitting_bytes(have, 100, 130) == 100 * most
        assert fitting_bytes(have, 100, 0) == have
    assert most_sessions(-5, 100, 130) == 0


def test_a_group_hosts_what_fits_together() -> None:
    at = tiny.scenario(workload=tiny.workload(context=spread()))
    situation, build = Situation.of(at), tiny.build(at)
    size = build.core.footprint
    # Tokens are 4,096 B, as 1,024 of them are 4 MiB.
    assert size.stored_bytes == 512 * 4096
    assert size.spread_bytes == -(-23264 * 128 * 4096 // 10_000)
    plain = tiny.build()
    raw = GROUP_LIMITS["dram"].have(plain, Situation.of(tiny.scenario()))
    fit = most_sessions(raw, size.stored_bytes, size.spread_bytes)
    assert GROUP_LIMITS["dram"].have(build, situation) == fit * size.stored_bytes
    # 15 of 20 open sessions are in host memory: so many more are hosted.
    assert reach(GROUP_LIMITS["dram"], build, situation) == fit * 20 * situation.scale // 15
    assert sum_bytes(fit, size.stored_bytes, size.spread_bytes) <= raw
    # What moves and what must be quick stays as planned.
    assert size.resume_bytes == plain.core.footprint.resume_bytes


def test_a_pool_holds_the_sum_over_the_fleet() -> None:
    at = tiny.scenario(workload=tiny.workload(context=spread()), tiers=Tiers(cache="cache", placement="pooled"))
    build, situation = tiny.build(at), Situation.of(at)
    size = build.core.footprint
    need = PooledDram().need_units(build, situation)
    taken = Fraction(sum_bytes(15, size.stored_bytes, size.spread_bytes) + size.prefix_bytes, 2**30)
    assert need == -(-taken // build.cache.usable_fraction)


@pytest.mark.parametrize(
    ("context", "key"),
    [
        (Context(planned_tokens=1024, deviation_tokens=10), "context.deviation"),
        (Context(planned_tokens=1024, mean_tokens=2048, deviation_tokens=10), "context.mean"),
        (replace(spread(), quantile_fraction=Fraction(1, 2)), "context.quantile"),
        (replace(spread(), quantile_fraction=Fraction(1)), "context.quantile"),
    ],
)
def test_contexts_that_cannot_be_summed_up_are_refused(context: Context, key: str) -> None:
    assert [found for found, _ in faults(tiny.workload(context=context))] == [key]
    assert faults(tiny.workload(context=spread())) == faults(tiny.workload())


def test_a_plan_for_the_sum_lies_between_the_mean_and_the_longest() -> None:
    plans = {}
    base = tiny.shipped("report-real")
    mean = base.workload.context.mean_tokens
    for name, context in (
        ("longest", base.workload.context),
        ("sum", replace(base.workload.context, deviation_tokens=22_000)),
        ("mean", replace(base.workload.context, planned_tokens=mean, mean_tokens=None)),
    ):
        scenario = replace(base, workload=replace(base.workload, context=context))
        plans[name] = solve_scenario(scenario, shelf()).capex
        bare = replace(scenario.workload, context=context)
        assert faults(bare) == []
    assert plans["mean"] <= plans["sum"] < plans["longest"]


def test_the_footprint_without_a_deviation_is_as_planned() -> None:
    at = tiny.scenario(workload=tiny.workload(context=spread(deviation=None)))
    found, planned = (footprint(one, tiny.kv(), tiny.offload()) for one in (at, tiny.scenario()))
    assert (found.stored_bytes, found.spread_bytes) == (planned.stored_bytes, 0)


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [("llama-4-scout", 4000, 1000), ("llama-4-scout", 4000, 2000), ("command-a", 2000, 600)],
)
def test_windows_that_are_not_full_deviate_too(name: str, mean: int, deviation: int) -> None:
    kv = kv_cache(shelf().models[name], "bf16")
    spread_bytes = ceil(quantile(P99) * kv.deviation_bytes(deviation))
    bound = sum_bytes(400, ceil(kv.session_bytes(mean)), spread_bytes)
    shape, scale = (mean / deviation) ** 2, deviation**2 / mean
    rng, known = Random(name), cache(lambda tokens: float(kv.session_bytes(tokens)))
    sums = [sum(known(int(rng.gammavariate(shape, scale))) for _ in range(400)) for _ in range(400)]
    # One in a hundred is allowed to; a bound that knows nothing of windows is exceeded by up to 26.
    assert sum(total > bound for total in sums) <= 400 * 3 // 100


def test_a_window_deviates_by_no_more_than_half_of_itself() -> None:
    full = CachePart(name="full", layers=2, row_bytes=Fraction(10))
    window = replace(full, name="window", window_tokens=100)
    kv = KvCache("x", (full, window))
    held = window.sequence_bytes(10**9)
    assert kv.deviation_bytes(5) == 2 * 10 * 5 + min(2 * 10 * 5, held / 2)
    assert kv.deviation_bytes(1000) == 2 * 10 * 1000 + held / 2
