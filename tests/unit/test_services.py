"""Scenarios of several services: what is common, what is a service's own, and the faults of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.errors import InputError, Problem
from planner.planning import make_plan, solve_scenario
from planner.problem import Situation
from planner.scenario import Override, Scenario, services_of
from planner.scenario_files import load_scenario
from tests.unit.tiny import shelf

HEAD = "kind: scenario\nname: x\ntitle: Two\nfinance: {prices: us-2026-11}\n"
TWO = HEAD + "services:\n  chat: {extends: qwen3-235b}\n  code: {extends: report-real}\n"

Load = Callable[..., Scenario]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a scenario and load it; `service` names one of its services."""

    def load(text: str, *sets: str, variant: str | None = None, service: str = "") -> Scenario:
        path = tmp_path / "x.yaml"
        path.write_text(text, encoding="utf-8")
        overrides = [Override.parse(one) for one in sets]
        return load_scenario(f"{path}{service and '#'}{service}", overrides, variant, shelf())

    return load


def faults(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(InputError) as fault:
        call()
    return list(fault.value.problems)


def test_a_service_takes_its_own_part_of_what_it_extends(load: Load) -> None:
    found = load(TWO + "limits: {power: 50 kW}\nfleet: {max_builds: 5}\n")
    chat, code = services_of(found)
    alone = load_scenario("report-real")
    assert (chat.label, code.label, found.label) == ("chat", "code", "")
    assert (code.model, code.workload.users) == (alone.model, alone.workload.users)
    assert code.service is not None
    assert code.service.decode_tokens_per_s == 20
    assert code.fleet.spare_groups == alone.fleet.spare_groups == 1
    # Limits, finance and the fleet's common rules are the whole's, not the parent's.
    assert [one.limits.power_w for one in (found, chat, code)] == [50_000] * 3
    assert [one.fleet.max_builds for one in (found, chat, code)] == [5] * 3
    assert code.finance.energy_rate is None


def test_what_stands_beside_the_services_is_every_services_default(load: Load) -> None:
    text = TWO.replace("{extends: qwen3-235b}", "{extends: qwen3-235b, tiers: {nvme: spill}}")
    chat, code = services_of(load(text + "fleet: {gpus: [h200-sxm]}\n"))
    assert (chat.fleet.gpus, code.fleet.gpus) == (("h200-sxm",), ("h200-sxm",))
    assert (chat.tiers.nvme, code.tiers.nvme) == ("spill", "write-all")


def test_overrides_and_variants_reach_one_service(load: Load) -> None:
    text = TWO + "variants:\n  small: {services: {chat: {workload: {users: 7}}}}\n"
    assert services_of(load(text, variant="small"))[0].workload.users == 7
    found = load(text, "services.code.users=9", "limits.power=9 kW")
    assert (services_of(found)[1].workload.users, found.limits.power_w) == (9, 9000)
    assert found.applied == ("services.code.workload.users=9", "limits.power=9 kW")


def test_one_of_several_services_stands_alone(load: Load) -> None:
    one = load(TWO, service="chat")
    assert (one.services, one.label, one.model) == ((), "", "qwen3-235b-a22b")
    (fault,) = faults(lambda: load(TWO, service="chap"))
    assert (fault.message, fault.hint) == ("no service 'chap'", "did you mean 'chat'?")
    (fault,) = faults(lambda: load_scenario("report-real#chat"))
    assert fault.message == "has no services, so no 'chat'"


WRONG = {
    "no mapping": (HEAD + "services: [chat]\n", [(5, 11)], "expected a name for each service"),
    "none": (HEAD + "services: {}\n", [(5, 11)], "expected a name for each service"),
    "whole's": (TWO + "  more: {extends: report-real, limits: {power: 9 kW}}\n", [(8, 32)], "does not set 'limits'"),
    "common": (
        TWO + "  more: {extends: report-real, fleet: {max_nodes: 9}}\n", [(8, 40)], "does not set 'fleet.max_nodes'",
    ),
    "no name": (TWO + '  "a b": {extends: report-real}\n', [(8, 3)], "expected letters"),
    "no settings": (TWO + "  more: 7\n", [(8, 9)], "expected the settings of this service"),
    "no parent": (TWO + "  more: {extends: report-rael}\n", [(8, 19)], "no scenario 'report-rael'"),
    "parent of several": (TWO + "  more: {extends: two-services}\n", [(8, 19)], "is no scenario of one service"),
    "value": (TWO + "  more: {extends: report-real, workload: {users: many}}\n", [(8, 50)], "expected a whole number"),
    "unpooled": (TWO.replace("235b}", "235b, tiers: {shared: true}}"), None, "shared only where they are pooled"),
    "lonely": (
        TWO.replace("235b}", "235b, tiers: {shared: true, placement: pooled}}"), [(6, 47)], "no other service shares",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "places", "words"), WRONG.values(), ids=WRONG)
def test_faults_have_their_place(load: Load, text: str, places: list[tuple[int, int]] | None, words: str) -> None:
    found = faults(lambda: load(text))
    assert any(words in fault.message for fault in found), found
    if places is not None:
        assert {(fault.line, fault.column) for fault in found if words in fault.message} == set(places)


def test_faults_of_all_services_come_at_once_and_once(load: Load) -> None:
    text = TWO.replace("235b}", "235b, model: nothing}") + "limits: {power: 9 apples}\nfinancing: {}\n"
    found = [fault.message for fault in faults(lambda: load(text))]
    assert len(found) == len(set(found)) == 3, found


def test_an_override_that_a_service_hides_is_refused(load: Load) -> None:
    (fault,) = faults(lambda: load(TWO, "workload.users=9"))
    assert "services.chat.workload.users" in fault.hint
    (fault,) = faults(lambda: load(TWO, "services.chap.workload.users=9"))
    assert fault.hint == "did you mean 'chat'?"


def test_no_tiers_are_shared_with_nobody() -> None:
    sets = [Override.parse("tiers.placement=pooled"), Override.parse("tiers.shared=true")]
    (fault,) = faults(lambda: load_scenario("report-real", sets))
    assert fault.message == "there is no other service to share tiers with"


def test_one_service_costs_what_it_costs_alone(load: Load) -> None:
    text = "services:\n  only: {extends: report-real}\nfleet: {max_builds: 2}\n"
    alone = solve_scenario(load(HEAD + text, service="only"), shelf())
    whole = solve_scenario(load(HEAD + text), shelf())
    assert whole.capex == alone.capex
    assert [(b.core.gpu.id, b.dimms, n) for b, n in whole.fleet.items()] == [
        (b.core.gpu.id, b.dimms, n) for b, n in alone.fleet.items()
    ]


def test_together_never_costs_more_than_two_plans(load: Load) -> None:
    # Without limits two plans side by side are a plan of both; what is shared is saved.
    plan = make_plan(load(TWO), shelf())
    alone = [one.alone_cents for one in plan.services]
    assert None not in alone
    assert plan.cost.capex_total < sum(cents or 0 for cents in alone)
    assert {group.service for group in plan.groups} == {"chat", "code"}
    assert len({group.build for group in plan.groups}) == len(plan.groups)


def test_sessions_are_counted_by_service(load: Load) -> None:
    at = Situation.of(load(TWO))
    assert [(one.label, one.open) for one in at.services] == [("chat", 480), ("code", 2000)]
