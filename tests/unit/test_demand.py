"""Demand: the capacity report's table, its exact form, and engine accounting by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.demand import Demand, demand, footprint, scenario_caches, turns_per_s
from planner.flows import flows_of
from planner.scenario import Scenario, Tiers
from planner.workload import SharedPrefix, count_sessions
from tests.unit import tiny
from tests.unit.tiny import MIB, PERCENT, shelf, shipped


def demands(name: str, variant: str | None = None) -> Demand:
    scenario = shipped(name, variant)
    (kv,) = scenario_caches(scenario, shelf().model(scenario.model))
    return demand(scenario, kv, shelf().engines.caches[scenario.tiers.cache])


@pytest.mark.parametrize(("tier", "gb", "sessions"), [
    ("hbm", 1184, 400), ("dram", 1420, 480), ("nvme", 5918, 2000), ("idle", 4734, 1600),
])  # fmt: skip
def test_report_as_written(tier: str, gb: float, sessions: int) -> None:
    # The report rounds a session's 2.688 GB to 2.69 on the way: 0.11 % at most.
    found = demands("report-as-written").tiers[tier]
    assert found.sessions == sessions
    assert found.bytes == pytest.approx(gb * 1e9, rel=0.002)


def test_report_as_written_by_hand() -> None:
    found = demands("report-as-written")
    assert found.session_bytes == 128_000 * 30_000
    assert found.private_session_bytes == 128_000 * 30_000 * 70 * 110 // 10_000
    assert found.tiers["hbm"].bytes == 400 * 128_000 * 30_000 * 77 // 100


def test_report_in_bf16() -> None:
    four_bit, bf16 = demands("report-as-written"), demands("report-as-written", "bf16")
    assert bf16.kv.bytes_per_token == 97_800
    assert bf16.tiers["dram"].bytes == pytest.approx(4.63e12, rel=0.002)
    assert bf16.tiers["dram"].bytes / four_bit.tiers["dram"].bytes == pytest.approx(3.26, abs=0.0001)


@pytest.mark.parametrize(("tier", "gb"), [("hbm", 1240.656), ("dram", 1488.787), ("nvme", 6203.281)])
def test_report_exact(tier: str, gb: float) -> None:
    assert round(demands("report-exact").tiers[tier].bytes / 1e9, 3) == gb


def test_report_exact_by_hand() -> None:
    assert demands("report-exact").tiers["hbm"].bytes == -(-400 * 131_072 * 30_732 * 77 // 100)


def tiny_demand(scenario: Scenario) -> Demand:
    return demand(scenario, tiny.kv(), tiny.offload())


def test_tiers_hold_who_is_where() -> None:
    # 20 open, 10 active, 5 in flight, 5 warm, 5 cold; a session is 1,024 x 4,096 B = 4 MiB.
    found = tiny_demand(tiny.scenario())
    assert {name: tier.sessions for name, tier in found.tiers.items()} == {"hbm": 5, "dram": 15, "nvme": 20, "idle": 10}
    assert {name: tier.bytes for name, tier in found.tiers.items()} == {
        "hbm": 20 * MIB, "dram": 60 * MIB, "nvme": 80 * MIB, "idle": 40 * MIB,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dram", "nvme", "sessions"),
    [
        ("inclusive", "write-all", (15, 20)),
        ("exclusive", "write-all", (5, 20)),
        ("none", "write-all", (0, 20)),
        ("inclusive", "spill", (15, 5)),
        ("none", "spill", (0, 10)),
        ("inclusive", "none", (15, 0)),
    ],
)
def test_policy_decides_what_a_tier_holds(dram: str, nvme: str, sessions: tuple[int, int]) -> None:
    tiers = Tiers(cache="cache", dram=dram, nvme=nvme)  # type: ignore[arg-type]
    found = tiny_demand(tiny.scenario(tiers=tiers)).tiers
    assert (found["dram"].sessions, found["nvme"].sessions) == sessions


def test_retention_keeps_part_of_the_cold_sessions() -> None:
    found = tiny_demand(tiny.scenario(workload=tiny.workload(retained_fraction=50 * PERCENT))).tiers
    assert found["nvme"].sessions == 10 + 5 + 3


def test_only_whole_chunks_are_stored() -> None:
    # 1,000 tokens: the pool takes 1,008 in blocks, the tiers 768 in chunks of 256.
    load = tiny.workload(context=replace(tiny.workload().context, planned_tokens=1000))
    size = footprint(tiny.scenario(workload=load), tiny.kv(), tiny.offload())
    assert (size.stored_bytes, size.staged_bytes, size.prefix_bytes) == (768 * 4096, 768 * 4096, 0)
    assert size.sizes.session_tokens == 1000


def test_prefix_is_stored_once_by_each_tier() -> None:
    # 300 shared tokens: one whole chunk of 256 for each of 2 groups; 768 own tokens remain.
    load = tiny.workload(shared_prefix=SharedPrefix(length_tokens=300, groups=2))
    size = footprint(tiny.scenario(workload=load), tiny.kv(), tiny.offload())
    assert size.prefix_bytes == 2 * 256 * 4096
    assert (size.stored_bytes, size.resume_bytes, size.staged_bytes) == (768 * 4096, 768 * 4096, 1024 * 4096)
    assert (size.sizes.prefix_tokens, size.sizes.prefix_groups) == (300, 2)


def test_prefix_deducted_is_simply_gone() -> None:
    load = tiny.workload(shared_prefix=SharedPrefix(length_tokens=256, stored="deducted"))
    size = footprint(tiny.scenario(workload=load), tiny.kv(), tiny.offload())
    assert (size.prefix_bytes, size.stored_bytes, size.sizes.session_tokens) == (0, 768 * 4096, 768)


def test_flat_accounting_knows_no_chunks_and_no_prefix() -> None:
    load = tiny.workload(overhead_fraction=10 * PERCENT, shared_prefix=SharedPrefix(share_fraction=30 * PERCENT))
    size = footprint(tiny.scenario(workload=load), tiny.kv(), tiny.offload())
    assert size.sizes.scale == Fraction(77, 100)
    assert size.stored_bytes == -(-4 * MIB * 77 // 100)


def test_traffic() -> None:
    scenario = tiny.scenario(workload=tiny.workload(peak_over_mean=Fraction(2)))
    assert turns_per_s(scenario, count_sessions(scenario.workload)) == Fraction(10 * 36 * 2, 3600)
    assert flows_of(scenario).stored_tokens == 768
    quiet = tiny.scenario(workload=tiny.workload(rates=None))
    assert (turns_per_s(quiet, count_sessions(quiet.workload)), flows_of(quiet).stored_tokens) == (0, 0)


def test_arithmetic_is_shown_step_by_step() -> None:
    steps = {step.name: step for step in demands("report-as-written").steps}
    assert steps["open sessions"].formula == "200 users x 10 sessions"
    assert steps["open sessions"].result == "2,000"
    assert "100 % duty" in steps["in flight"].formula
    assert steps["session"].formula == "128,000 tokens x 30,000 B"
    assert steps["own bytes"].formula == "session x (1 - 30 % shared) x (1 + 10 %)"
    assert [name for name in ("warm", "cold", "bytes per token", "hbm", "dram", "nvme") if name not in steps] == []
