"""Volume prices on a fleet that can be added up by hand.

A GPU in a node costs 2,000 + 10 % tax + two years of support at 10 % with tax: 2,640; at 1,500 it costs 1,980, so
each saves 660. A node has two.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from planner.bill import bill, capex_cents, fleet_tco_cents
from planner.build import Build
from planner.costs import Pricing
from planner.errors import InputError
from planner.loading import load_shelf
from planner.prices import VolumePrice
from planner.problem import Problem
from planner.scenario import Limits
from planner.solve import as_bought, solve
from planner.units import Money
from planner.verify import verify
from planner.volume import best_tiers, group_paid
from tests.unit import tiny

WHOLE, SAVED = 264_000, 66_000


def priced_from(begin: int, part: str = "gpu", cents: int = 150_000) -> Pricing:
    """Prices of one part with a tier."""
    prices = tiny.pricing()
    money = Money("USD", cents)
    tier = VolumePrice(from_pieces=begin, low=money, typical=money, high=money)
    some = (replace(price, volume=(tier,)) if price.part == part else price for price in prices.book.prices)
    return replace(prices, book=replace(prices.book, prices=tuple(some)), _pieces={}, notes={})


def capex(prices: Pricing, nodes: int) -> int:
    return capex_cents(bill(prices, {tiny.priced(tiny.build(), prices, 8): nodes}), "typical")


@pytest.mark.parametrize(
    ("begin", "nodes", "tier", "spare", "saved"),
    [
        (6, 3, 1, 0, 6 * SAVED),  # just reached
        (7, 3, 1, 1, 6 * SAVED - (WHOLE - SAVED)),  # one more is bought, and pays
        (8, 3, 0, 0, 0),  # two more would cost what six save: 2 * 1,980 = 6 * 660
        (8, 4, 1, 0, 8 * SAVED),
        (100, 4, 0, 0, 0),
    ],
)
def test_a_tier_is_bought_up_to_where_it_pays(begin: int, nodes: int, tier: int, spare: int, saved: int) -> None:
    prices = priced_from(begin)
    fleet = {tiny.priced(tiny.build(), prices, 8): nodes}
    (choice,) = best_tiers(prices, fleet).values()
    assert (choice.tier, choice.spare, choice.cents) == (tier, spare, -saved)
    assert capex(prices, nodes) == capex(tiny.pricing(), nodes) - saved
    lines = {line.item: line for line in bill(prices, fleet)}
    assert lines["gpu"].unit_cents["typical"] == (150_000 if tier else 200_000)
    assert lines["gpu"].rule == (f"price from {begin} pieces on" if tier else "")
    assert ("spare gpu" in lines) == bool(spare)


def test_a_cluster_line_has_tiers_too() -> None:
    # Four nodes have 8 front ports, two to a node, each with a cable of 10.01 and 1.01 tax; at 4.99 each with 0.50.
    prices = priced_from(8, "cable", 499)
    assert capex(prices, 4) == capex(tiny.pricing(), 4) - 8 * (1_001 + 101 - 499 - 50)


def test_a_spare_piece_costs_as_much_as_in_its_cheapest_use() -> None:
    # A cable of a cluster line has no support: two spare ones at 5.49 each. Were they dearer, ten would be laid.
    prices = priced_from(10, "cable", 499)
    assert capex(prices, 4) == capex(tiny.pricing(), 4) - 8 * (1_001 + 101 - 499 - 50) + 2 * (499 + 50)


def test_nothing_is_bought_beyond_the_stock() -> None:
    prices = replace(priced_from(7), stock={"gpu": 6}, notes={})
    assert capex(prices, 3) == capex(tiny.pricing(), 3)
    assert capex(replace(prices, stock={"gpu": 7}), 3) < capex(tiny.pricing(), 3)


def test_over_the_term_a_saving_is_an_annuity() -> None:
    prices = priced_from(8)
    finance = replace(prices.finance, discount_rate_fraction=Fraction(1, 10))
    money = replace(prices, finance=finance, _pieces={}, notes={})
    plain = replace(tiny.pricing(), finance=finance, _pieces={}, notes={})
    fleet = {tiny.priced(tiny.build(), money, 8): 4}
    # At once 500 + 50 of tax, times two years' annuity at 10 % (2 * 0.1 / (1 - 1.1^-2) = 1.152...); support 2 * 55.
    each = int(55_000 * Fraction(2, 10) / (1 - Fraction(100, 121))) + 2 * 5_500
    assert fleet_tco_cents(plain, fleet) - fleet_tco_cents(money, fleet) == 8 * each


def test_a_group_splits_into_what_volume_decides_and_the_rest() -> None:
    prices = priced_from(8)
    paid = group_paid(prices, tiny.build())
    assert paid.pieces == (2,)
    assert paid.cents - paid.rest_cents == 2 * WHOLE
    assert paid.cents - paid.least_cents == 2 * SAVED


def test_the_program_buys_at_tiers() -> None:
    # Two builds that host 8 and 10 sessions; the second has twice the DIMMs, which cost next to nothing from 8 on.
    plain = tiny.problem(reaches=(8, 10))
    prices = priced_from(8, "dimm", 1)
    builds = tuple(tiny.priced(build, prices, build.reach) for build in plain.builds)
    found = solve(Problem(plain.at, builds, prices))
    fleets = [{builds[0]: a, builds[1]: b} for a in range(5) for b in range(5)]
    enough = [fleet for fleet in fleets if sum(b.reach * n for b, n in fleet.items()) >= plain.at.open_parts]
    costs = [capex_cents(bill(prices, {b: n for b, n in fleet.items() if n}), "typical") for fleet in enough]
    assert found.status == "optimal"
    assert found.value == min(costs) < solve(plain).value


BOOK = """kind: prices
id: us-2026-11
name: "Quotes"
region: US
currency: USD
as_of: "2026-12-01"
tax: excluded
prices:
  - part: h200-sxm
    low: USD 30000
    typical: USD 31000
    high: USD 32000
    as_of: "2026-12-01"
    basis: contract
    assumed: "a quote"
    volume:
      - {from: 64, low: USD 29000, typical: USD 30000, high: USD 31000}
      - {from: FROM, low: USD 29000, typical: LAST, high: USD 31000}
"""


def test_tiers_are_read_from_a_price_book(tmp_path: Path) -> None:
    file = tmp_path / "quotes.yaml"
    file.write_text(BOOK.replace("FROM", "128").replace("LAST", "USD 29500"), encoding="utf-8")
    book = load_shelf(price_files=[file]).catalog.book("us-2026-11")
    assert [price.part for price in book.tiered] == ["h200-sxm"]
    found = [book.at_pieces({"h200-sxm": n}).cents("h200-sxm") for n in (63, 64, 127, 128)]
    assert found == [3_100_000, 3_000_000, 3_000_000, 2_950_000]


@pytest.mark.parametrize(
    ("begin", "last", "words"),
    [
        ("64", "USD 29500", "18:16: tier from 64 pieces of 'h200-sxm'"),
        ("128", "USD 30500", "'h200-sxm' from 128 pieces: expected a price up to the USD 30,000 before it"),
        ("128", "EUR 29500", "tier of 'h200-sxm' is in EUR, the book in USD"),
        ("0", "USD 29500", "expected a whole number of at least 1, found 0"),
    ],
)
def test_tiers_that_cannot_be_are_refused_with_their_place(tmp_path: Path, begin: str, last: str, words: str) -> None:
    file = tmp_path / "quotes.yaml"
    file.write_text(BOOK.replace("FROM", begin).replace("LAST", last), encoding="utf-8")
    with pytest.raises(InputError) as told:
        load_shelf(price_files=[file])
    assert words in str(told.value)
    assert "quotes.yaml:18:" in str(told.value)


def shopping_lists(prices: Pricing, builds: tuple[Build, ...], parts: int) -> list[tuple[int, int, int]]:
    """Return (capex, tco, nodes) of every small fleet that hosts enough, at the ordinary price and at the tier."""
    found = []
    for counts in product(range(4), repeat=len(builds)):
        fleet = {build: n for build, n in zip(builds, counts, strict=True) if n}
        if fleet and sum(build.reach * n for build, n in fleet.items()) >= parts:
            for tier in (0, 1):
                at = replace(prices, tiers={"dimm": tier})
                cost = capex_cents(bill(at, fleet), "typical"), fleet_tco_cents(at, fleet)
                found.append((*cost, sum(counts)))
    return found


@pytest.mark.parametrize("begin", [6, 8, 9, 10, 12, 14])
@pytest.mark.parametrize("cents", [3_000, 5_000, 6_000, 7_000, 8_000])
def test_one_shopping_list_answers_all_kinds_of_money(begin: int, cents: int) -> None:
    # Memory is paid at once in machines and yearly as spares, so that a tier may pay at once and not over the term.
    lines = (tiny.line("spare memory", "nodes", item="dimm", pieces=2, per_year=True),)
    parts = tiny.catalog(lines)
    finance = replace(tiny.scenario().finance, discount_rate_fraction=Fraction(1, 2), years=3)
    money = Money("USD", cents)
    tier = VolumePrice(from_pieces=begin, low=money, typical=money, high=money)
    book = parts.books["book"]
    some = tuple(replace(price, volume=(tier,)) if price.part == "dimm" else price for price in book.prices)
    parts = replace(parts, books={"book": replace(book, prices=some)})

    def solved(order: tuple[str, ...], limits: Limits) -> tuple[tuple[int, int], tuple[int, int, int]] | None:
        at = tiny.scenario(finance=finance, limits=limits, objective=order)
        plain = tiny.problem(at, reaches=(8, 10), parts=parts)
        prices = replace(plain.pricing, by_term=order[0] == "tco")
        problem = replace(plain, pricing=prices)
        outcome = solve(problem)
        if outcome.status == "infeasible":
            return None
        bought = as_bought(problem, outcome)
        fleet = bought.fleet(outcome.counts)
        verify(bought, outcome.counts)
        cost = capex_cents(bill(bought.pricing, fleet), "typical"), fleet_tco_cents(bought.pricing, fleet)
        lists = shopping_lists(prices, plain.builds, plain.at.open_parts)
        index = {"capex": 0, "tco": 1}
        most = limits.budget.cents if limits.budget else 10**12
        best = min((each for each in lists if each[0] <= most), key=lambda each: [each[index[kind]] for kind in order])
        return cost, best

    for order in (("capex",), ("tco",), ("capex", "tco"), ("tco", "capex")):
        found = solved(order, Limits())
        assert found is not None
        (capex_of, tco_of), best = found
        values = {"capex": (capex_of, best[0]), "tco": (tco_of, best[1])}
        assert all(ours == theirs for ours, theirs in (values[kind] for kind in order)), (order, found)
    least, _ = solved(("capex",), Limits()) or ((0, 0), 0)
    # No money beyond the cheapest: the term is planned within it.
    tight = solved(("tco",), Limits(budget=Money("USD", least[0])))
    assert tight is not None
    assert tight[0][0] <= least[0]
    assert tight[0][1] == tight[1][1]


def test_kinds_of_money_do_disagree_on_tiers() -> None:
    lines = (tiny.line("spare memory", "nodes", item="dimm", pieces=2, per_year=True),)
    finance = replace(tiny.scenario().finance, discount_rate_fraction=Fraction(1, 2), years=3)
    base = tiny.pricing(tiny.scenario(finance=finance), tiny.catalog(lines))
    told = set()
    for begin, cents in product(range(5, 16), range(2_000, 10_000, 500)):
        money = Money("USD", cents)
        tier = VolumePrice(from_pieces=begin, low=money, typical=money, high=money)
        some = tuple(replace(p, volume=(tier,)) if p.part == "dimm" else p for p in base.book.prices)
        prices = replace(base, book=replace(base.book, prices=some), _pieces={}, notes={})
        fleet = {tiny.priced(tiny.build(), prices, 8): 1}
        (at_once,) = best_tiers(prices, fleet).values()
        (over_term,) = best_tiers(replace(prices, by_term=True), fleet).values()
        told.add((at_once.tier, over_term.tier))
    assert told > {(0, 0), (1, 1)}
