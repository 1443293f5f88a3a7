"""Solving: optima by hand, statuses, both solvers; and what is never believed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner import solve as solving
from planner.bill import bill, capex_cents
from planner.errors import PlannerError, UnprovenError, UsageError
from planner.formulation.objectives import stages
from planner.formulation.rows import make_program, most_groups, pools_of
from planner.problem import Problem
from planner.scenario import Finance, Fleet, Limits
from planner.solve import Outcome, row_fault, solve
from planner.solvers import SHIPPED as SOLVERS
from planner.units import parse_money_rate
from planner.verify import verify
from tests.unit import tiny
from tests.unit.tiny import PERCENT


def cost(problem: Problem, counts: dict[int, int]) -> int:
    return capex_cents(bill(problem.pricing, problem.fleet(counts)), "typical")


@pytest.fixture(params=SOLVERS)
def solver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_cheapest_fleet_by_hand(solver: str) -> None:
    # 20 sessions: 3 of build 0 (8 each), 2 of build 1 (12 each, 200 dearer a node) or one of each.
    problem = tiny.problem(reaches=(8, 12))
    every = {(3, 0), (0, 2), (1, 1)}
    best = min(every, key=lambda n: (cost(problem, {0: n[0], 1: n[1]}), sum(n)))
    outcome = solve(problem, solver)
    assert outcome.status == "optimal"
    assert (outcome.counts.get(0, 0), outcome.counts.get(1, 0)) == best == (1, 1)
    assert outcome.value == outcome.bound == cost(problem, dict(outcome.counts))


def test_spare_group_costs_one_more(solver: str) -> None:
    problem = tiny.problem(tiny.scenario(fleet=Fleet(spare_groups=1)), (10,))
    assert solve(problem, solver).counts == {0: 3}
    assert verify(problem, {0: 3}).hosted == {problem.builds[0].name: 10}


def test_at_most_one_build(solver: str) -> None:
    problem = tiny.problem(tiny.scenario(fleet=Fleet(max_builds=1)), (8, 12))
    assert solve(problem, solver).counts == {1: 2}


def test_fewest_nodes_then_cheapest() -> None:
    problem = tiny.problem(tiny.scenario(objective="nodes"), (8, 12))
    outcome = solve(problem)
    assert (outcome.counts, outcome.value, outcome.bound) == ({0: 1, 1: 1}, 2, 2)


def test_total_cost_of_ownership_counts_watts() -> None:
    # A dear kilowatt-hour: fewer nodes are better although they cost more to buy.
    rate = parse_money_rate("USD 50/kWh", "kWh")
    finance = Finance(prices="book", tax_fraction=10 * PERCENT, years=2, energy_rate=rate)
    problem = tiny.problem(tiny.scenario(objective="tco", finance=finance), (7, 20))
    assert solve(problem).counts == {1: 1}


def test_ties_break_by_canonical_order(solver: str) -> None:
    one = tiny.problem(reaches=(20,))
    twin = replace(one, builds=(one.builds[0], replace(one.builds[0])))
    assert solve(twin, solver).counts == {0: 1}


def stage_names(problem: Problem) -> list[str]:
    return [stage.kind for stage in stages(problem, solving.copy_of(make_program(problem)))]


def test_stages_are_the_objective_then_cost_then_nodes_then_order() -> None:
    names = {
        objective: stage_names(tiny.problem(tiny.scenario(objective=objective)))
        for objective in ("capex", "tco", "nodes")
    }
    assert names == {
        "capex": ["capex", "nodes", "canonical"],
        "tco": ["tco", "capex", "nodes", "canonical"],
        "nodes": ["nodes", "capex", "canonical"],
    }


def test_infeasible_is_a_status_not_an_error(solver: str) -> None:
    problem = tiny.problem(tiny.scenario(limits=Limits(rack_units=4)), (8,))
    outcome = solve(problem, solver)
    assert (outcome.status, outcome.counts) == ("infeasible", {})


def test_infeasible_within_the_time_limit() -> None:
    problem = tiny.problem(tiny.scenario(limits=Limits(rack_units=4)), (8,))
    assert solve(problem, "highs", 60).status == "infeasible"
    assert solve(problem, "cbc", 60).status == "infeasible"


def test_unknown_solver_names_those_that_exist() -> None:
    with pytest.raises(UsageError, match="highs, cbc"):
        solve(tiny.problem(), "nope")


def test_only_plans_below_a_value_are_of_interest() -> None:
    problem = tiny.problem(reaches=(8,))
    value = solve(problem).value
    assert solve(problem, below=value).status == "infeasible"
    assert solve(problem, below=value + 1).value == value


def answers(monkeypatch: pytest.MonkeyPatch, *found: solving.Answer) -> None:
    """Let the solvers give these answers in turn."""
    queue = list(found)
    monkeypatch.setattr(solving, "run", lambda *_: queue.pop(0))


def optimal_values(problem: Problem) -> list[int]:
    """Values of all variables for three groups: nodes, racks, leaves, head nodes."""
    program = make_program(problem)
    values = [v.lower for v in program.variables]
    values[program.groups[0]] = 3
    values[next(iter(program.racks.values()))] = 2
    values[program.lots["leaves"]] = 2
    return values


def test_time_limit_without_any_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, solving.Answer("nothing", [], None))
    with pytest.raises(UnprovenError, match=r"in time; allow more"):
        solve(tiny.problem(), time_limit_s=0.5)


def test_time_limit_with_a_plan_is_feasible_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = tiny.problem(reaches=(8,))
    answers(monkeypatch, solving.Answer("feasible", optimal_values(problem), 2_000_000.7))
    outcome = solve(problem, time_limit_s=0.5)
    assert (outcome.status, outcome.counts, outcome.bound) == ("feasible", {0: 3}, 2_000_000)
    assert outcome.value == cost(problem, {0: 3})


def test_answer_that_breaks_a_row_is_asked_of_the_other_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = tiny.problem(reaches=(8,))
    good = optimal_values(problem)
    wrong = [*good]
    wrong[0] = 2
    asked: list[str] = []

    def run(program: object, terms: object, name: str, *_: object) -> solving.Answer:
        asked.append(name)
        return solving.Answer("optimal", wrong if name == "highs" else good, None)

    monkeypatch.setattr(solving, "run", run)
    assert solve(problem).counts == {0: 3}
    assert asked[:2] == ["highs", "cbc"]


def test_answers_that_all_break_a_row_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "run", lambda *_: solving.Answer("optimal", [0] * 4, None))
    with pytest.raises(PlannerError):
        solve(tiny.problem(reaches=(8,)))


def test_row_fault_names_bound_and_row() -> None:
    problem = tiny.problem(reaches=(8,))
    program, values = make_program(problem), optimal_values(problem)
    assert row_fault(program, values) == ""
    assert "does not hold" in row_fault(program, [2, *values[1:]])
    assert "out of bounds" in row_fault(program, [99, *values[1:]])


def test_solver_writes_nothing_to_stdout(capfd: pytest.CaptureFixture[str], solver: str) -> None:
    solve(tiny.problem(), solver)
    assert capfd.readouterr() == ("", "")


def test_bound_on_groups() -> None:
    problem = tiny.problem(tiny.scenario(fleet=Fleet(spare_groups=2)), (8,))
    assert most_groups(problem, problem.builds[0], pools_of(problem)) == 5


def test_plan_that_fails_its_check_is_never_shown() -> None:
    with pytest.raises(PlannerError, match=r"is not shown"):
        verify(tiny.problem(reaches=(8,)), {0: 1})


def test_verification_recomputes_the_reach_from_the_limits() -> None:
    # The candidate claims 10**6 sessions; the KV pools of one group hold 24 open sessions.
    problem = tiny.problem(tiny.scenario(workload=tiny.workload(users=30)), (10**6,))
    with pytest.raises(PlannerError, match="hosts 24 of 60 open sessions"):
        verify(problem, {0: 1})


def test_verified_rows_add_up_over_groups() -> None:
    found = verify(tiny.problem(reaches=(10,)), {0: 2})
    rows = {check.kind: check for check in found.checks}
    assert (rows["hbm"].need, rows["hbm"].have) == (
        5,
        12,
    )  # 2.5 in flight on each: exact until added up
    assert (rows["sessions"].need, rows["sessions"].have) == (20, 20)
    assert rows["first_token"].have == 987
    assert all(check.met and check.slack >= 0 for check in found.checks)
    assert found.capex_cents == cost(tiny.problem(reaches=(10,)), {0: 2})


def test_outcome_is_a_plain_value() -> None:
    assert Outcome("infeasible", {}) == Outcome("infeasible", {})
    assert Fraction(1, 2) == PERCENT * 50
