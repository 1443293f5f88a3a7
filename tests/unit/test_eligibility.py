"""Vendors, regions, export rules and delivery: what may be bought at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from planner.candidates import find_candidates
from planner.eligibility import cooling_fault, last_day, late_fault, region_fault, vendor_fault
from planner.errors import InfeasibleError
from planner.planning import make_plan, pricing_of
from planner.prices import LeadTime, PriceBook
from planner.relax import diagnose
from planner.scenario import Fleet, Limits, Scenario
from tests.unit import tiny
from tests.unit.tiny import shelf, shipped


def book(**days: int) -> PriceBook:
    """The tiny book with lead times."""
    plain = tiny.book()
    prices = [
        replace(p, lead_time=LeadTime(time_days=days[p.part], assumed="by hand")) if p.part in days else p
        for p in plain.prices
    ]
    return replace(plain, prices=tuple(prices))


def test_vendors() -> None:
    chassis, gpu = tiny.chassis(vendor="C"), tiny.gpu(vendor="G")
    assert vendor_fault(Fleet(), chassis, gpu, None) == ""
    assert vendor_fault(Fleet(vendors=("C", "G")), chassis, gpu, None) == ""
    assert vendor_fault(Fleet(vendors=("C",)), chassis, gpu, None) == "gpu: its vendor G is not among 'fleet.vendors'"
    assert "C is among" in vendor_fault(Fleet(without_vendors=("C",)), chassis, gpu, None)


def test_regions_and_export_rules() -> None:
    sold_in_x, closed = tiny.gpu(regions=("X", "Y")), tiny.gpu(export_barred=("X",))
    assert region_fault(None, (sold_in_x, closed)) == ""
    assert region_fault("X", (sold_in_x, None, tiny.CPU)) == ""
    assert region_fault("Z", (sold_in_x,)) == "gpu: is sold in X, Y only, not in Z"
    assert region_fault("X", (tiny.CPU, closed)) == "gpu: export rules close X to it"
    assert region_fault("Y", (closed,)) == ""


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2027", date(2027, 12, 31)),
        ("2028-02", date(2028, 2, 29)),
        ("2027-03-15", date(2027, 3, 15)),
    ],
)
def test_last_day(text: str, day: date) -> None:
    assert last_day(text) == day


def test_delivery_counts_from_the_date_of_the_book() -> None:
    # Ordered on 2026-11-30, ten days later it is December 10.
    ten = book(gpu=10)
    assert late_fault(Limits(), ten, ("cpu",)) == ""
    assert late_fault(Limits(deliver_by="2026-12-10"), ten, ("gpu",)) == ""
    assert late_fault(Limits(deliver_by="2026-12"), ten, ("gpu",)) == ""
    late = late_fault(Limits(deliver_by="2026-12-09"), ten, ("gpu",))
    assert late == "gpu: ordered on 2026-11-30 it comes after 10 days, later than 2026-12-09"


def test_part_without_a_lead_time_is_not_taken_for_one_in_stock() -> None:
    assert "no lead time for it" in late_fault(Limits(deliver_by="2027-12-01"), book(), ("gpu",))
    assert late_fault(Limits(deliver_by="2027-12-01", lead_time_days=30), book(), ("gpu",)) == ""
    assert "after 30 days" in late_fault(Limits(deliver_by="2026-12-01", lead_time_days=30), book(), ("gpu",))
    # The price's own counts where it has one.
    assert late_fault(Limits(deliver_by="2026-12-01", lead_time_days=30), book(gpu=1), ("gpu",)) == ""


def asked(**limits: object) -> Scenario:
    scenario = shipped("report-real")
    return replace(scenario, limits=replace(scenario.limits, **limits))  # type: ignore[arg-type]


def offered(scenario: Scenario) -> set[str]:
    builds = find_candidates(scenario, shelf(), pricing_of(scenario, shelf())).every
    return {part for build in builds for _, part, _ in pricing_of(scenario, shelf()).bought(build)}


def test_what_comes_too_late_is_not_offered() -> None:
    every = offered(asked())
    soon = offered(asked(deliver_by="2027-06-01", lead_time_days=60))
    # 26 and 16 weeks are 2027-05-31 and earlier, 36 and 70 weeks are later.
    assert {"h200-sxm", "b200"} <= soon
    assert {"rdimm-96", "rdimm-128"} <= every - soon and not any(part.startswith("dgx") for part in soon)
    with pytest.raises(InfeasibleError, match=r"no lead time for it; add one, or set 'limits.lead_time'"):
        offered(asked(deliver_by="2027-06-01"))


def test_region_of_the_machines() -> None:
    scenario = shipped("report-real")
    china = replace(scenario, fleet=replace(scenario.fleet, region="CN"))
    assert {"b200", "b300", "mi355x"} & offered(scenario) and not {"b200", "b300", "mi355x"} & offered(china)
    alone = replace(china, fleet=replace(china.fleet, gpus=("b200",)))
    with pytest.raises(InfeasibleError, match="b200: export rules close CN to it"):
        offered(alone)


def test_plan_says_which_lead_times_it_took_at_your_word() -> None:
    plan = make_plan(asked(deliver_by="2027-08-01", lead_time_days=140), shelf(), compare=False)
    assert any(warning.startswith("no lead time is known, 140 days are counted, for ") for warning in plan.warnings)
    late = make_plan(asked(deliver_by="2027-06-01", lead_time_days=180), shelf(), compare=False)
    assert not any("may come after" in warning for warning in late.warnings)


def test_machines_that_the_site_cannot_cool_are_not_offered() -> None:
    air, liquid = tiny.chassis(), tiny.chassis(cooling="liquid")
    assert cooling_fault(Fleet(), air) == cooling_fault(Fleet(cooling=("air", "liquid")), liquid) == ""
    told = "chassis: is cooled by liquid, which 'fleet.cooling' does not allow"
    assert cooling_fault(Fleet(), liquid) == told
    assert cooling_fault(Fleet(cooling=("liquid",)), air).endswith("'fleet.cooling' does not allow")


def test_a_way_out_is_to_cool_by_liquid() -> None:
    catalog = shelf().catalog
    wet = {name: replace(each, cooling="liquid") for name, each in catalog.chassis().items()}
    all_wet = replace(shelf(), catalog=replace(catalog, parts={**catalog.parts, "chassis": wet}))
    scenario = shipped("report-real")
    with pytest.raises(InfeasibleError, match="is cooled by liquid, which"):
        make_plan(scenario, all_wet, compare=False)
    found = diagnose(scenario, all_wet, pricing_of(scenario, all_wet))
    assert [rule.path for rule in found.conflict] == ["fleet.cooling"]
    assert any("allow cooling by liquid" in str(way) for way in found.ways_out)
    dry = make_plan(scenario, shelf(), compare=False)
    open_site = replace(scenario, fleet=replace(scenario.fleet, cooling=("air", "liquid")))
    assert make_plan(open_site, all_wet, compare=False).cost == dry.cost
