"""What turns move, and how gaps decide where a session comes back from."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from planner.demand import sessions_of, turn_s, turns_per_s
from planner.flows import flows_of, written_per_day
from planner.gaps import MEASURED, GapPoint, faults
from planner.scenario import Scenario, Service, Tiers
from planner.workload import Context, Rates, cold_turns, lost_turns, retained_share
from planner.workload import faults as workload_faults
from tests.unit import tiny
from tests.unit.tiny import PERCENT

HOUR = Fraction(3600)
GLM_FP8 = 61_464
"""Bytes per token of GLM-5 in fp8_ds_mla."""


def scenario(tiers: Tiers | None = None, **changes: Any) -> Scenario:
    rates = {"turns_per_hour": Fraction(36), "new_tokens": 512, "answer_tokens": 256, "cold_fraction": 10 * PERCENT}
    given = {key: changes.pop(key) for key in list(changes) if key in Rates.__dataclass_fields__}
    load = tiny.workload(rates=Rates(**(rates | given)), **changes)  # type: ignore[arg-type]
    return tiny.scenario(workload=load, tiers=tiers or Tiers(cache="cache"))


def shares(found: Scenario) -> tuple[Fraction, ...]:
    flows = flows_of(found)
    return flows.from_gpu, flows.from_dram, flows.from_nvme, flows.lost


@pytest.mark.parametrize(
    ("dram", "nvme", "expected"),
    [
        ("inclusive", "write-all", (0, 90, 10, 0)),
        ("exclusive", "spill", (0, 90, 10, 0)),
        ("none", "write-all", (0, 0, 100, 0)),
        ("inclusive", "none", (0, 90, 0, 10)),
        ("none", "none", (0, 0, 0, 100)),
    ],
)
def test_where_sessions_come_back_from(dram: Any, nvme: Any, expected: tuple[int, ...]) -> None:
    assert shares(scenario(Tiers(cache="cache", dram=dram, nvme=nvme))) == tuple(each * PERCENT for each in expected)


def test_what_is_in_gpu_memory_is_loaded_from_nowhere() -> None:
    assert shares(scenario(in_gpu_fraction=60 * PERCENT)) == tuple(each * PERCENT for each in (60, 30, 10, 0))
    nothing = Tiers(cache="cache", dram="none", nvme="none")
    assert shares(scenario(nothing, in_gpu_fraction=60 * PERCENT)) == tuple(e * PERCENT for e in (60, 0, 0, 40))


def test_copies_that_are_not_kept_are_prefilled_and_written_again() -> None:
    # A quarter of the cold tenth: 1,024 tokens of context a turn in forty.
    found = scenario(retained_fraction=75 * PERCENT, context=Context(planned_tokens=1024))
    flows = flows_of(found)
    assert flows.lost == Fraction(1, 40)
    assert flows.again_tokens == Fraction(1024, 40)
    assert flows.stored_tokens == 512 + 256 + Fraction(1024, 40)


def test_without_rates_nothing_moves() -> None:
    quiet = tiny.scenario(workload=tiny.workload(rates=None))
    assert (flows_of(quiet).stored_tokens, written_per_day(quiet, Fraction(1))) == (0, 0)


def agentic(retention_s: Fraction | None, new_tokens: int = 4444) -> Scenario:
    """400 sessions whose requests bring 123,450 tokens, of which 4,444 no cache of any age holds."""
    rates = Rates(turns_per_hour=Fraction("19.26"), new_tokens=new_tokens, answer_tokens=0)
    load = tiny.workload(
        users=400, sessions_per_user=1, active_per_user=1, rates=rates, ttl_s=HOUR, retention_s=retention_s,
        warm_fraction=None, context=Context(planned_tokens=123_450 - new_tokens), shared_prefix=None,
    )  # fmt: skip
    return tiny.scenario(workload=load)


def bytes_per_day(found: Scenario) -> float:
    turns = turns_per_s(found, sessions_of(found))
    assert float(turns) == pytest.approx(2.14, abs=0.001)
    return float(written_per_day(found, turns) * GLM_FP8)


def test_writes_of_400_agents_with_everything_kept() -> None:
    # 4,444 x 2.14 x 61,464 B x 86,400 s: 50.5 TB, 1.64 writes a day of 4 x 7.68 TB.
    day = bytes_per_day(agentic(None))
    assert day == pytest.approx(50.5e12, rel=0.001)
    assert day / (4 * 7.68e12) == pytest.approx(1.64, abs=0.005)


def test_writes_of_400_agents_with_copies_kept_for_an_hour() -> None:
    # The trace itself wrote 57.6 TB, 1.87 a day; 0.6 % of turns come later and write their context anew.
    day = bytes_per_day(agentic(HOUR))
    assert day == pytest.approx(57.6e12, rel=0.025)
    assert day / (4 * 7.68e12) == pytest.approx(1.87, rel=0.025)


def test_writes_of_400_agents_at_the_hit_rate_that_was_measured() -> None:
    # Of the trace's tokens 95.9 % are found in a cache that keeps an hour: late turns have less context than most.
    missed = round(123_450 * (1 - 0.959))
    day = bytes_per_day(agentic(None, missed))
    assert missed == 5061
    assert day == pytest.approx(57.6e12, rel=0.002)
    assert day / (4 * 7.68e12) == pytest.approx(1.87, abs=0.005)


def test_littles_law_gives_the_duty() -> None:
    found = tiny.scenario(
        workload=tiny.workload(users=100, sessions_per_user=4, active_per_user=1, duty_fraction=None),
        service=Service(decode_tokens_per_s=32, first_token_s=Fraction(2)),
    )
    # 36 turns an hour, each 2 s and 256 tokens at 32/s: 10 s of every 100.
    assert turn_s(found) == 10
    assert sessions_of(found).in_flight == 10
    assert sessions_of(replace(found, service=None)).in_flight == 100
    busy = replace(found, service=Service(decode_tokens_per_s=1, first_token_s=Fraction(2)))
    assert sessions_of(busy).in_flight == 100


def test_ttl_and_retention_read_the_gaps() -> None:
    load = tiny.workload(
        warm_fraction=None, ttl_s=Fraction(900), retention_s=HOUR,
        rates=Rates(turns_per_hour=Fraction(1), new_tokens=1, answer_tokens=1),
    )  # fmt: skip
    assert cold_turns(load) == Fraction(3, 100)
    assert lost_turns(load) == Fraction(6, 1000)
    # Idle time from a quarter of an hour to an hour, of all beyond a quarter.
    assert retained_share(load) == Fraction(570 - 361, 953 - 361)
    assert retained_share(replace(load, retention_s=24 * HOUR)) == 1
    own = (GapPoint(age_s=Fraction(900), returned_fraction=50 * PERCENT, idle_fraction=20 * PERCENT),)
    assert cold_turns(replace(load, own_gaps=own)) == Fraction(1, 2)


@pytest.mark.parametrize("gaps", MEASURED.values(), ids=MEASURED)
def test_measured_gaps_are_in_order(gaps: Any) -> None:
    assert faults(gaps.points) == []
    ages = [Fraction(age) for age in range(0, 20_000, 50)]
    returned = [gaps.returned(age) for age in ages]
    assert returned == sorted(returned)
    assert returned[-1] < 1


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "both": ({"ttl_s": HOUR, "warm_fraction": None, "retention_s": HOUR, "retained_fraction": 1}, "retention"),
    "short": ({"ttl_s": HOUR, "warm_fraction": None, "retention_s": HOUR / 2}, "retention"),
    "no idle": ({"ttl_s": HOUR, "warm_fraction": None, "gaps": "conversation"}, "ttl"),
    "falling": ({"own_gaps": (GapPoint(age_s=HOUR, returned_fraction=1), GapPoint(age_s=1, returned_fraction=1))},
                "own_gaps"),
    "no cold": ({"rates": Rates(turns_per_hour=1, new_tokens=1, answer_tokens=1)}, "rates.cold"),
    "hours": (
        {"rates": Rates(turns_per_hour=1, new_tokens=1, answer_tokens=1, cold_fraction=0, hours_per_day=25)},
        "rates.hours_per_day",
    ),
    "over": (
        {"rates": Rates(turns_per_hour=1, new_tokens=1, answer_tokens=1, cold_fraction=60 * PERCENT,
                        in_gpu_fraction=60 * PERCENT)},
        "rates.in_gpu",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "key"), WRONG.values(), ids=WRONG)
def test_contradictions(changes: dict[str, Any], key: str) -> None:
    assert key in [path for path, _ in workload_faults(tiny.workload(**changes))]


def test_gaps_without_idle_time_take_both_share_and_age() -> None:
    load = tiny.workload(gaps="conversation", ttl_s=Fraction(900), warm_fraction=30 * PERCENT)
    assert workload_faults(load) == []
