"""Tiers that load slower than the GPUs recompute are not offered."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from planner.constraints import GROUP_LIMITS
from planner.errors import InfeasibleError
from planner.loading import Shelf
from planner.planning import solve_scenario
from planner.problem import Situation
from planner.rates import replica_prefill_tokens_per_s
from planner.scenario import Tiers
from planner.worth import worth_of
from tests.unit import tiny
from tests.unit.test_constraints import POOLED
from tests.unit.tiny import MIB, shelf, shipped

CACHE = "lmcache-mp-0.5.6"


def with_cache(**changes: Any) -> Shelf:
    engines = shelf().engines
    caches = {**engines.caches, CACHE: replace(engines.caches[CACHE], **changes)}
    return replace(shelf(), engines=replace(engines, caches=caches))


def test_tiers_by_hand() -> None:
    at, build = Situation.of(tiny.scenario()), tiny.build()
    host, drives = worth_of(build, at)
    # 4 MiB over half of one link of 16 GB/s; read before at half of two drives of 4 GB/s each.
    assert (host.tier, host.load_s, host.bytes_per_s) == ("host memory", Fraction(4 * MIB, 8 * 10**9), 8 * 10**9)
    assert (drives.tier, drives.load_s - host.load_s) == ("drives", Fraction(4 * MIB, 4 * 10**9))
    rate = replica_prefill_tokens_per_s(build.core, at.scenario)
    assert host.recompute_s == drives.recompute_s == 1024 / rate
    assert host.break_even_bytes_per_s == 4096 * rate
    assert host.times == host.bytes_per_s / host.break_even_bytes_per_s


def test_pooled_tiers_are_reached_over_the_fabric() -> None:
    at = Situation.of(tiny.scenario(tiers=POOLED))
    near, far = (worth_of(tiny.build(one=tiny.core(**cards)), at)[0]
                 for cards in ({}, {"fabric_nic": tiny.FABRIC, "fabric_nics": 2}))  # fmt: skip
    assert far.tier == "host memory, pooled"
    assert far.load_s - near.load_s == Fraction(4 * MIB, 10 * 10**9)


def test_no_tier_no_row() -> None:
    at = Situation.of(tiny.scenario(tiers=Tiers(cache="cache", dram="none", nvme="none")))
    assert worth_of(tiny.build(), at) == ()
    assert worth_of(tiny.build(), Situation.of(tiny.scenario(workload=tiny.workload(rates=None)))) == ()


def test_drives_that_nobody_resumes_from_may_be_slow() -> None:
    rates = replace(tiny.workload().rates, cold_fraction=Fraction(0))
    at = Situation.of(tiny.scenario(workload=tiny.workload(rates=rates)))
    slow = replace(tiny.build(), cache=replace(tiny.build().cache, drive_read_fraction=Fraction(1, 10**6)))
    assert GROUP_LIMITS["worth"].have(slow, at) == 20
    assert GROUP_LIMITS["worth"].have(slow, Situation.of(tiny.scenario())) < 0


def test_drives_that_lose_are_not_offered() -> None:
    solved = solve_scenario(shipped("report-real"), with_cache(drive_read_fraction=Fraction(15, 1000)))
    at = solved.problem.at
    assert all(tier.load_s <= tier.recompute_s for build in solved.fleet for tier in worth_of(build, at))
    assert any("load slower than its GPUs recompute" in reason for reason in solved.candidates.rejected.reasons)
    (known,) = {build.drives for build in solve_scenario(shipped("report-real"), shelf()).fleet}
    assert all(build.drives > known for build in solved.fleet)


def test_host_memory_that_loses_is_told() -> None:
    with pytest.raises(InfeasibleError, match="no build can host a session") as error:
        solve_scenario(shipped("report-real"), with_cache(host_link_fraction=Fraction(1, 1000)))
    assert "host memory loads slower than its GPUs recompute" in str(error.value)
