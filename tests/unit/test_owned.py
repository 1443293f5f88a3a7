"""Machines that are there already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import InputError
from planner.owned import with_owned
from planner.plan import Plan
from planner.planning import make_plan
from planner.scenario import Owned, Scenario
from planner.views.plan import answer
from tests.unit.tiny import shelf, shipped


def owning(*machines: Owned, **fleet: object) -> Scenario:
    scenario = shipped("report-real")
    return replace(scenario, fleet=replace(scenario.fleet, owned=machines, **fleet))  # type: ignore[arg-type]


def plan_of(scenario: Scenario) -> Plan:
    return make_plan(scenario, shelf(), compare=False)


DGX = Owned(name="our-dgx", system="dgx-h200", count=2)


def test_owned_machines_cost_nothing_and_draw_power() -> None:
    before, plan = plan_of(owning()), plan_of(owning(DGX))
    kept = [group for group in plan.groups if group.owned]
    assert sum(group.nodes for group in kept) == 2 and {group.system for group in kept} == {"our-dgx"}
    assert plan.cost.capex_total < before.cost.capex_total
    line = next(line for line in plan.bill if line.part == "our-dgx")
    assert (line.category, line.qty, set(line.unit_cents.values())) == ("owned", 2, {0})
    assert (line.evidence.kind, line.evidence.text) == ("derived", "owned: nothing is paid")
    assert all(group.power_w > 0 for group in kept)
    assert any(check.kind == "owned" and (check.need, check.have) == (2, 2) for check in plan.checks)
    assert f"Buy {plan.n_nodes - 2} nodes and keep 2 of yours, with {plan.n_gpus} GPUs" in answer(plan)


def test_machines_of_the_catalogue_are_not_changed() -> None:
    assert with_owned(owning(), shelf()) is shelf()
    more = with_owned(owning(DGX), shelf()).catalog
    assert set(more.systems()) - set(shelf().catalog.systems()) == {"our-dgx"}
    assert more.books["us-2026-11"].cents("our-dgx") == 0 and shelf().catalog.find("our-dgx") is None


def test_owned_machines_are_upgraded_with_parts() -> None:
    own = Owned(
        name="old", chassis="ieit-nf5688m7", gpu="h200-sxm", cpu="xeon-8480-plus", dimm="rdimm-64", dimms=8,
        drive="samsung-pm9a3-3.84tb", drives=1, count=8,
    )  # fmt: skip
    plain, more = plan_of(owning(own)), plan_of(owning(replace(own, upgrade=True)))
    assert more.cost.capex_total < plain.cost.capex_total
    group = next(group for group in more.groups if group.owned and group.dimms > 8)
    added = next(line for line in more.bill if line.build == group.build and line.part == "rdimm-64")
    assert added.qty_per_node == group.dimms - 8 and added.unit_cents["typical"] > 0


def test_rules_on_what_may_be_bought_do_not_concern_what_is_owned() -> None:
    own = Owned(name="old", system="dgx-b200", count=9)
    plan = plan_of(owning(own, region="CN", without_vendors=("NVIDIA",), gpus=("mi300x",)))
    assert any(group.owned for group in plan.groups)


def test_content_needs_no_price() -> None:
    own = with_owned(owning(DGX), shelf()).catalog.systems()["our-dgx"]
    inside = {own.dimms.part, own.boot.part, own.cpu, own.gpu, *(quantity.part for quantity in own.drives)}
    book = shelf().catalog.books["us-2026-11"]
    bare = replace(book, prices=tuple(price for price in book.prices if price.part not in inside))
    poor = replace(shelf(), catalog=replace(shelf().catalog, books={**shelf().catalog.books, book.id: bare}))
    scenario = owning(replace(DGX, count=9), max_nodes=9)
    assert all(group.owned for group in make_plan(scenario, poor, compare=False).groups)


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (Owned(name="x", system="dgx-h2000", count=1), "unknown system 'dgx-h2000'"),
        (Owned(name="x", chassis="ieit-nf5688m7", count=1), "give its gpu, or its system"),
        (replace(DGX, cpu="xeon"), "unknown cpu 'xeon'"),
        (replace(DGX, gpu="mi300x"), "'mi300x' is not among the GPUs"),
        (replace(DGX, name="dgx-h200"), "the name is taken"),
        (replace(DGX, nics={"cx9": 1}), "unknown network card 'cx9'"),
        (replace(DGX, dimms=99), "99 DIMMs do not fit"),
    ],
)
def test_wrong_machine_is_told(own: Owned, told: str) -> None:
    with pytest.raises(InputError, match=told):
        with_owned(owning(own), shelf())


def test_two_machines_of_one_name() -> None:
    with pytest.raises(InputError, match="the name is taken"):
        with_owned(owning(DGX, DGX), shelf())
