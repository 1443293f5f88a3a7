"""Drive wear as money, by hand: what a term of writes uses up, and what takes the place of worn out drives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner import verify
from planner.answer import cost_summary
from planner.bill import fleet_tco_cents
from planner.errors import InfeasibleError, PriceMissingError
from planner.planning import solve_scenario
from planner.scenario import Tiers
from planner.units import ceil
from planner.wear import wear_of
from tests.oracle.sizing import sized_instance
from tests.unit.tiny import problem, scenario, workload

# 432 turns a day of an open session, 768 tokens of 4,096 bytes each, amplified by 5/4: 1,698,693,120 bytes.
A_DAY = 432 * 768 * 4096 * 5 // 4
TERM = 2 * 365


def test_writes_of_a_term_against_the_rating() -> None:
    asked = problem(reaches=(8, 12))
    one, two = wear_of(asked, {asked.builds[0]: 3, asked.builds[1]: 1})
    # 20 open sessions over reaches of 3 x 8 and 12: 40/3 and 20/3; two drives of 1 TB a node, rated for five years.
    assert one.written_bytes == A_DAY * TERM * 40 // 3
    assert one.pieces == 6 and one.used == Fraction(A_DAY * TERM * 40, 3) / (6 * 10**12 * 365 * 5)
    assert two.pieces == 2 and two.used == Fraction(A_DAY * TERM * 20, 3) / (2 * 10**12 * 365 * 5)
    # All that is written stays the same however many machines share it.
    alone = wear_of(asked, {asked.builds[1]: 1})[0]
    assert alone.used * alone.pieces == one.used * one.pieces + two.used * two.pieces


@pytest.mark.parametrize("counts", [(3, 0, 0), (1, 2, 1), (1, 2, 3), (0, 2, 2)])
def test_sessions_are_where_the_check_has_them(counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem(reaches=(8, 12, 16))
    roles = zip(asked.builds, ("both", "decode", "prefill"), strict=True)
    asked = replace(asked, builds=tuple(replace(one, core=replace(one.core, role=role)) for one, role in roles))
    fleet = asked.fleet(dict(enumerate(counts)))
    monkeypatch.setattr(verify, "fresh_reach", lambda problem, build: build.reach)
    placed = {build: sum(shares) for build, shares in verify.allocate(asked, fleet).items() if build.hosts}
    written = {build.name: A_DAY * TERM * sessions for build, sessions in placed.items()}
    found = wear_of(asked, fleet)
    assert {one.build: one.written_bytes for one in found} == {name: ceil(size) for name, size in written.items()}


def test_money_is_the_part_of_the_price_rounded_up() -> None:
    asked = problem(reaches=(20,))
    (wear,) = wear_of(asked, {asked.builds[0]: 1})
    each = asked.pricing.cents("drive") * 11 // 10
    assert wear.price_cents == 2 * each
    assert wear.used_cents == -(-wear.used.numerator * 2 * each // wear.used.denominator) > 0
    assert wear.replaced_cents == 0
    worn = replace(wear, used=Fraction(7, 3))
    assert (worn.used_cents, worn.replaced_cents) == (-(-14 * each // 3), -(-8 * each // 3))
    unpriced = replace(wear, price_cents=None)
    assert (unpriced.used_cents, unpriced.replaced_cents) == (None, None)


@pytest.mark.parametrize("changes", [{"workload": workload(rates=None)}, {"tiers": Tiers(cache="cache", nvme="none")}])
def test_nothing_is_said_without_rates_or_drives(changes: dict[str, object]) -> None:
    asked = problem(scenario(**changes))
    assert wear_of(asked, {asked.builds[0]: 2}) == ()
    assert wear_of(problem(), {}) == ()


def test_it_is_told_beside_a_total_that_stays_as_it_is() -> None:
    for goal, told in (("capex", False), ("tco", True), (("nodes", "tco"), True)):
        asked = problem(scenario(objective=goal))
        fleet = {asked.builds[0]: 3}
        cost = cost_summary(asked, fleet)
        assert cost.wear == (wear_of(asked, fleet) if told else ())
        assert cost.tco_total == fleet_tco_cents(asked.pricing, fleet)


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_wears_drives_beyond_what_its_limit_allows(seed: int) -> None:
    instance = sized_instance(seed)
    asked = replace(instance.scenario, objective="tco")
    try:
        found = solve_scenario(asked, instance.shelf)
    except (InfeasibleError, PriceMissingError):
        return
    assert all(0 < wear.used <= asked.limits.drive_wear_fraction for wear in wear_of(found.problem, found.fleet))
