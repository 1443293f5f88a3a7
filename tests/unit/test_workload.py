"""Who is where: the census, the table of time-to-live against warm share, shared prefixes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner.gaps import MEASURED, GapPoint
from planner.workload import (
    Context,
    SharedPrefix,
    count_sessions,
    faults,
    prefix_share,
    prefix_tokens,
    warm_share,
)
from tests.unit.tiny import PERCENT, workload


def test_census_of_the_report() -> None:
    report = workload(
        users=200, sessions_per_user=10, active_per_user=2, duty_fraction=None, warm_fraction=30 * PERCENT
    )
    found = count_sessions(report)
    assert (found.open, found.active, found.in_flight) == (2000, 400, 400)
    assert (found.warm, found.cold, found.retained) == (480, 1120, 2000)


def test_every_share_is_rounded_up() -> None:
    # 7 users x 3 = 21 open, 7 active; 10 % of 7 in flight; 10 % of 14 warm; half of 12 cold retained.
    found = count_sessions(
        workload(users=7, sessions_per_user=3, duty_fraction=10 * PERCENT, warm_fraction=10 * PERCENT,
                 retained_fraction=50 * PERCENT)
    )  # fmt: skip
    assert (found.open, found.active, found.in_flight, found.warm, found.cold) == (21, 7, 1, 2, 12)
    assert found.retained == 7 + 2 + 6


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"duty_fraction": 12 * PERCENT, "peak_over_mean": Fraction("1.21")}, 59),  # 48 x 1.21 = 58.08
        ({"duty_fraction": None, "in_flight": 48}, 48),
        ({"duty_fraction": None, "in_flight": 48, "peak_over_mean": Fraction(2)}, 96),
        ({"duty_fraction": None, "in_flight": 0}, 0),
        ({"duty_fraction": 100 * PERCENT, "peak_over_mean": Fraction(3)}, 400),  # never more than are active
        ({"duty_fraction": None}, 400),
    ],
)
def test_in_flight(changes: dict[str, object], expected: int) -> None:
    assert count_sessions(workload(users=200, sessions_per_user=10, active_per_user=2, **changes)).in_flight == expected


@pytest.mark.parametrize("point", MEASURED["agentic-coding"].points, ids=lambda point: str(point.age_s))
def test_warm_share_at_the_measured_points(point: GapPoint) -> None:
    assert warm_share(workload(warm_fraction=None, ttl_s=point.age_s)) == point.idle_fraction


def test_warm_share_between_below_and_beyond_the_points() -> None:
    def at(seconds: int) -> Fraction:
        return warm_share(workload(warm_fraction=None, ttl_s=Fraction(seconds)))

    assert at(0) == 0
    assert at(30) == Fraction(105, 953) / 2
    assert at(600) == (Fraction(232, 953) + Fraction(361, 953)) / 2
    assert at(10**6) == Fraction(750, 953)
    shares = [at(s) for s in range(0, 20_000, 100)]
    assert shares == sorted(shares)


def test_warm_share_given_or_absent() -> None:
    assert warm_share(workload(warm_fraction=Fraction(1, 3))) == Fraction(1, 3)
    assert warm_share(workload(warm_fraction=None)) == 0


@pytest.mark.parametrize(
    ("prefix", "tokens", "share"),
    [
        (None, 0, Fraction(0)),
        (SharedPrefix(share_fraction=30 * PERCENT), 307, Fraction(3, 10)),  # 307.2 tokens
        (SharedPrefix(length_tokens=100), 100, Fraction(100, 1024)),
        (SharedPrefix(length_tokens=5000), 1024, Fraction(1)),
    ],
)
def test_shared_prefix(prefix: SharedPrefix | None, tokens: int, share: Fraction) -> None:
    load = workload(shared_prefix=prefix)
    assert (prefix_tokens(load), prefix_share(load)) == (tokens, share)


def test_sound_workload_has_no_fault() -> None:
    assert faults(workload()) == []


def test_each_contradiction_names_its_key() -> None:
    broken = workload(
        active_per_user=3, in_flight=1, ttl_s=Fraction(1), duty_fraction=Fraction(2), peak_over_mean=Fraction(1, 2),
        shared_prefix=SharedPrefix(), context=Context(planned_tokens=10, max_tokens=9),
    )  # fmt: skip
    keys = {"active_per_user", "in_flight", "ttl", "duty", "peak_over_mean", "shared_prefix", "context"}
    assert {key for key, _ in faults(broken)} == keys
