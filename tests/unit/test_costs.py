"""The bill of a fleet that can be added up by hand.

A node: chassis 1,000 + 2 GPUs 4,000 + CPU 500 + 2 DIMMs 200 + 2 drives 400 + boot 50 + NIC 150 =
6,300. Tax is 10 %, rounded up to a cent for each piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.bill import CostLine, bill, capex_cents
from planner.build import Build
from planner.costs import (
    fleet_drivers,
    fleet_opex_cents,
    fleet_power_w,
    least_racks,
    line_quantity,
)  # fmt: skip
from planner.errors import PriceMissingError
from planner.hardware import Quantity, System
from planner.scenario import Finance
from planner.units import parse_money_rate
from tests.unit import tiny
from tests.unit.tiny import PERCENT


def fleet(count: int) -> tuple[dict[Build, int], dict[str, CostLine]]:
    prices = tiny.pricing()
    made = {tiny.priced(tiny.build(), prices, 8): count}
    return made, {line.item: line for line in bill(prices, made)}


def test_node() -> None:
    prices = tiny.pricing()
    assert prices.node_cents(tiny.build()) == 630_000
    assert [prices.node_cents(tiny.build(), case) for case in ("low", "high")] == [315_000, 1_260_000]


def test_every_line_of_three_nodes() -> None:
    _, lines = fleet(3)
    found = {item: (line.qty, line.unit_cents["typical"], line.tax_cents["typical"]) for item, line in lines.items()}
    assert found == {
        "chassis": (3, 100_000, 10_000),
        "gpu": (6, 200_000, 20_000),
        "cpu": (3, 50_000, 5_000),
        "dimm": (6, 10_000, 1_000),
        "boot": (3, 5_000, 500),
        "drive": (6, 20_000, 2_000),
        "front": (3, 15_000, 1_500),
        "cables": (6, 1_001, 101),  # 100.1 cents of tax are 101
        "leaves": (2, 90_000, 9_000),  # 6 ports, 4 to a switch
        "racks": (2, 30_000, 3_000),  # 2 nodes of 4 RU in 10 RU
        "heads": (2, 70_000, 7_000),
        "install": (3, 4_000, 400),
        "support": (3, 126_000, 12_600),  # 10 % of 6,300, two years
    }
    assert lines["gpu"].qty_per_node == 2
    assert lines["racks"].qty_per_node is None


def test_sum_of_three_nodes() -> None:
    made, lines = fleet(3)
    # 18,900 + 60.06 + 1,800 + 600 + 1,400 + 120 + 3,780 = 26,660.06, and 2,666.06 of tax.
    assert capex_cents(tuple(lines.values()), "typical") == 2_666_006 + 266_606
    assert {
        scope: sum(x.qty * x.unit_cents["typical"] for x in lines.values() if x.scope == scope)
        for scope in ("node", "cluster", "service")
    } == {"node": 1_890_000, "cluster": 386_006, "service": 390_000}
    assert fleet_drivers(made, tiny.catalog()) == {
        "fleet": 1, "nodes": 3, "groups": 3, "racks": 2, "front_ports": 6, "fabric_ports": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("nodes", "leaves", "racks"), [(1, 2, 1), (2, 2, 1), (4, 2, 2), (5, 3, 3), (9, 5, 5)])
def test_lots_are_rounded_up_and_have_a_minimum(nodes: int, leaves: int, racks: int) -> None:
    _, lines = fleet(nodes)
    assert (lines["leaves"].qty, lines["racks"].qty, lines["heads"].qty) == (leaves, racks, 2)


@pytest.mark.parametrize(("nodes", "spines", "uplinks"), [(1, 0, 0), (2, 0, 0), (3, 2, 12), (9, 4, 36), (10, 4, 40)])
def test_a_second_tier_comes_with_what_one_does_not_hold(nodes: int, spines: int, uplinks: int) -> None:
    rules = (
        tiny.line("spines", "front_ports", item="switch", per=5, minimum=2, beyond=4),
        tiny.line("uplinks", "front_ports", item="cable", pieces=2, beyond=4),
    )
    prices = tiny.pricing(parts=tiny.catalog(rules))
    drawn = {line.item: line for line in bill(prices, {tiny.priced(tiny.build(), prices, 8): nodes})}
    found = [drawn[name].qty if name in drawn else 0 for name in ("spines", "uplinks")]
    assert found == [spines, uplinks]
    if spines:
        assert drawn["spines"].rule == "1 per 5 front_ports, at least 2, beyond 4 front_ports"


def test_empty_fleet_costs_nothing() -> None:
    assert bill(tiny.pricing(), {}) == ()
    assert set(fleet_drivers({}, tiny.catalog()).values()) == {0}


def test_low_and_high_case() -> None:
    _, lines = fleet(1)
    assert lines["gpu"].unit_cents == {"low": 100_000, "typical": 200_000, "high": 400_000}
    # 5 % of 3,150 and 20 % of 12,600, two years.
    assert lines["support"].unit_cents == {"low": 2 * 15_750, "typical": 126_000, "high": 2 * 252_000}


def test_share_is_rounded_up_on_each_piece() -> None:
    # 10 % of 0.01 and of 0.29: the node pays 1 and 3 cents a piece, not 10 % of their sum; tax likewise.
    prices = tiny.pricing(parts=tiny.catalog())
    rule = tiny.line("support", "nodes", percent=10 * PERCENT)
    assert [prices.percent_cents(rule, cents, "typical") for cents in (1, 29, 30)] == [1, 3, 3]
    build = tiny.build()
    each = [(count, prices.percent_cents(rule, prices.cents(part), "typical")) for _, part, count in build.parts()]
    assert prices.percent_of(rule, build, "typical") == (
        sum(count * cents for count, cents in each),
        sum(count * prices.tax_on(cents) for count, cents in each),
    )


def test_share_of_nothing_is_nothing() -> None:
    rule = tiny.line("support", "nodes", percent=10 * PERCENT, percent_low=Fraction(0))
    assert tiny.pricing().percent_cents(rule, 630_000, "low") == 0


@pytest.mark.parametrize(("tax", "expected"), [("excluded", 100), ("included", 0)])
def test_tax_is_in_a_column_of_its_own_or_in_the_price(tax: str, expected: int) -> None:
    prices = replace(tiny.pricing(), book=tiny.book(tax=tax))
    assert prices.tax_on(1000) == expected
    assert replace(prices, book=tiny.book()).tax_on(1) == 1


def test_group_cost_is_all_that_one_more_group_adds_at_once() -> None:
    # Node with tax 6,930; 2 cables of 11.02; installation 44; support 1,260 + 126.
    assert tiny.pricing().group_cents(tiny.build()) == 693_000 + 2 * 1_102 + 4_400 + 138_600


def values_of(program_terms: Mapping[int, int], values: Mapping[int, int]) -> int:
    return sum(cents * values.get(var, 0) for var, cents in program_terms.items())


@pytest.mark.parametrize("count", range(1, 8))
def test_objective_and_bill_are_the_same_money(count: int) -> None:
    from planner.formulation.rows import make_program

    problem = tiny.problem(reaches=(1,))
    program = make_program(problem)
    made = problem.fleet({0: count})
    drivers = fleet_drivers(made, tiny.catalog())
    by_line = {line.id: line for line in tiny.LINES}
    values = {program.groups[0]: count}
    for name, var in program.lots.items():
        values[var] = line_quantity(by_line[name], drivers[by_line[name].driver]) // by_line[name].pieces
    (rack,) = program.racks.values()
    values[rack] = drivers["racks"]
    assert values_of(problem.capex_terms_of(program), values) == capex_cents(bill(problem.pricing, made), "typical")
    assert values_of(problem.power_terms_of(program), values) == fleet_power_w(problem.pricing, made)
    assert values_of(problem.opex_terms_of(program), values) == fleet_opex_cents(problem.pricing, made)


@pytest.mark.parametrize(
    ("classes", "racks"),
    [({}, 0), ({2: 1}, 1), ({2: 3}, 2), ({1: 1, 4: 3}, 2), ({2: 1, 4: 1}, 1), ({2: 1, 4: 2}, 2), ({3: 3, 5: 6}, 3)],
)
def test_racks_by_hand(classes: dict[int, int], racks: int) -> None:
    assert least_racks(classes) == racks


def test_power() -> None:
    made, _ = fleet(3)
    # 100 + 2 x 300 + 100 + 2 x 5 + 2 x 10 + 5 + 15 = 850 W a node; 2 switches of 100 W, 2 head nodes of 200 W.
    assert tiny.build().node_power_w == 850
    assert fleet_power_w(tiny.pricing(), made) == 3 * 850 + 2 * 100 + 2 * 200


def test_running_cost_is_rounded_up_per_piece() -> None:
    finance = Finance(
        prices="book", years=2, energy_rate=parse_money_rate("USD 0.10/kWh", "kWh"), pue=Fraction("1.5"),
        average_load_fraction=50 * PERCENT, colocation_rate=parse_money_rate("USD 100/kW/month", "kW/month"),
    )  # fmt: skip
    prices = tiny.pricing(tiny.scenario(finance=finance))
    # 0.85 kW x 8,760 h x 50 % x 1.5 x 0.10 = 558.45; 0.85 kW x 12 x 100 = 1,020.
    assert prices.opex_cents(850) == 55_845 + 102_000
    assert prices.opex_cents(0) == 0
    made = {tiny.priced(tiny.build(), prices, 8): 3}
    assert fleet_opex_cents(prices, made) == 3 * 157_845 + 2 * prices.opex_cents(100) + 2 * prices.opex_cents(200)


def test_whole_system_is_paid_at_its_own_price() -> None:
    system = System(
        id="system",
        name="S",
        vendor="V",
        chassis="chassis",
        gpu="gpu",
        cpu="cpu",
        dimms=Quantity(part="dimm", count=2),
        drives=(Quantity(part="drive", count=2),),
        boot=Quantity(part="boot", count=1),
    )
    prices = tiny.pricing()
    made = tiny.build(one=tiny.core(system=system))
    # Its NIC is not inside and is bought beside it.
    assert prices.bought(made) == (("system", "system", 1), ("nic", "front", 1))
    assert prices.node_cents(made) == 515_000
    inside = replace(system, nics=(Quantity(part="front", count=1),))
    assert prices.bought(tiny.build(one=tiny.core(system=inside))) == (("system", "system", 1),)


def test_groups_of_two_nodes_need_their_fabric() -> None:
    prices = tiny.pricing()
    made = tiny.build(one=tiny.core(n_nodes=2, fabric_nic=tiny.FABRIC, fabric_nics=2))
    drivers = fleet_drivers({tiny.priced(made, prices, 8): 3}, tiny.catalog())
    assert (drivers["nodes"], drivers["groups"], drivers["fabric_ports"], drivers["front_ports"]) == (6, 3, 12, 12)
    assert prices.node_cents(made) == 630_000 + 50_000


def test_missing_price_is_an_error_never_zero() -> None:
    prices = replace(tiny.pricing(), book=tiny.book({"gpu": "1"}))
    with pytest.raises(PriceMissingError, match="'chassis'"):
        prices.node_cents(tiny.build())
    assert prices.unpriced(iter(["gpu", "cpu", "boot"])) == ["boot", "cpu"]
