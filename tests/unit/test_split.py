"""Splits over rented instances, computed by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.errors import InfeasibleError, PlannerError, UnprovenError
from planner.formulation.builder import to_lp_text
from planner.loading import Shelf
from planner.solve import Outcome, minimise
from planner.split import planning
from planner.split.certificate import Split, balance, exact_split
from planner.split.planning import make_split_plan, solve_split
from planner.split.problem import SplitProblem
from planner.split.rows import cut_off, fleet_program
from tests.unit.rented import example, instance, problem
from tests.unit.tiny import shelf


def plan_of(asked: SplitProblem, solver: str = "highs") -> tuple[dict[int, int], Split]:
    solved = solve_split(asked, solver)
    return dict(solved.counts), solved.split


def test_loads_are_requests_over_throughput() -> None:
    loads = example().loads
    assert loads[0] == {0: 3, 1: 3, 2: 3, 3: 3}
    assert loads[1] == {0: Fraction(3, 10), 1: Fraction(3, 20), 2: Fraction(3, 8), 3: Fraction(3, 10)}
    assert example().most == (12, 2)
    assert (example().money_cents, example().price(0), example().price(1)) == (1, 101, 367)


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_example_fits_exactly(solver: str) -> None:
    # One A100 lacks 1/8 of itself. Bucket (2, 1) takes 3 A10G or 3/8 A100: a third of it fills one A10G.
    counts, split = plan_of(example(), solver)
    assert counts == {0: 1, 1: 1}
    assert split.load == 1
    assert split.shares == {(1, 0): 1, (1, 1): 1, (0, 2): Fraction(1, 3), (1, 2): Fraction(2, 3), (1, 3): 1}


def test_a_hair_more_needs_another_instance() -> None:
    # The solver's tolerance would let it pass; exact fractions do not.
    solved = solve_split(example("30.0000000001"))
    assert solved.n_cuts == 1
    assert dict(solved.counts) == {0: 2, 1: 1}
    assert solved.split.load is not None and solved.split.load < 1


def test_a_hair_less_needs_no_other() -> None:
    solved = solve_split(example("29.9999999999"))
    assert (dict(solved.counts), solved.n_cuts) == ({0: 1, 1: 1}, 0)


def test_split_of_a_fleet_that_is_too_small_is_refuted() -> None:
    split = balance(example("60"), {0: 1, 1: 1})
    assert split.load is not None and split.load > 1
    assert split.refuted and not split.proven


def test_equal_instances_on_buckets_of_their_own_are_refuted_together() -> None:
    # Neither tree alone refutes it: the other could take its bucket for nothing.
    asked = problem(instance("a", 100, [[1, 1]]), instance("b", 100, [[1, 1]]), rate=3, mix=[["0.5", "0.5"]])
    split = exact_split(asked, {0: 1, 1: 1}, {(0, 0): 1.0, (0, 1): 0.0, (1, 0): 0.0, (1, 1): 1.0})
    assert split.load == Fraction(3, 2)
    assert split.refuted


def test_bad_hint_proves_nothing() -> None:
    # All on the slow one: overloaded as hinted, but not refuted, since the other is idle.
    asked = problem(instance("slow", 100, [[1]]), instance("fast", 100, [[9]]), rate=3, mix=[[1]])
    split = exact_split(asked, {0: 1, 1: 1}, {(0, 0): 1.0, (1, 0): 0.0})
    assert not split.proven and not split.refuted


def test_ring_in_a_hint_is_opened() -> None:
    asked = problem(instance("a", 100, [[1, 2]]), instance("b", 100, [[2, 1]]), rate=2, mix=[["0.5", "0.5"]])
    split = exact_split(asked, {0: 1, 1: 1}, dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 0.5))
    assert split.proven
    assert {b: sum(s for (_, c), s in split.shares.items() if c == b) for b in (0, 1)} == {0: 1, 1: 1}


def test_pair_whose_exact_share_is_negative_is_dropped() -> None:
    # b is overloaded by bucket 1 alone; sharing bucket 0 to level the loads would take less than nothing.
    asked = problem(instance("a", 100, [[1, 0]]), instance("b", 100, [[1, 1]]), rate=4, mix=[["0.25", "0.75"]])
    split = exact_split(asked, {0: 1, 1: 1}, {(0, 0): 0.9, (1, 0): 0.1, (1, 1): 1.0})
    assert split.shares == {(0, 0): 1, (1, 1): 1}
    assert split.load == 3


def test_bucket_without_a_server_in_the_fleet() -> None:
    asked = problem(instance("a", 1, [[1, 0]]), instance("b", 1, [[1, 1]]), rate=1, mix=[["0.5", "0.5"]])
    assert balance(asked, {0: 5}) == Split({}, None, True)


def test_millionth_of_a_request_is_no_service() -> None:
    asked = problem(instance("a", 1, [["0.000001", 1]]), rate=1, mix=[["0.5", "0.5"]])
    assert [(b.row, b.column) for b in asked.unserved()] == [(0, 0)]
    with pytest.raises(InfeasibleError, match=r"no instance on offer serves 1 of the buckets: input 1, output 1"):
        solve_split(asked)
    assert not problem(instance("a", 1, [["0.0000011", 1]]), rate=1, mix=[["0.5", "0.5"]]).unserved()


def test_buckets_without_requests_ask_for_nothing() -> None:
    asked = problem(instance("a", 1, [[0, 1]]), rate=1, mix=[[0, 1]])
    assert plan_of(asked)[0] == {0: 1}


def test_rounded_mix_is_scaled_to_the_whole_rate() -> None:
    asked = problem(instance("a", 1, [[1, 1, 1]]), rate=3, mix=[["0.3333333", "0.3333333", "0.3333333"]])
    assert [bucket.requests_per_s for bucket in asked.buckets] == [1, 1, 1]


def test_prices_finer_than_a_cent_stay_exact() -> None:
    asked = problem(instance("a", "751.64", [[1]]), instance("b", "70", [["0.1"]]), rate=1, mix=[[1]])
    assert asked.money_cents == Fraction(4, 100)
    assert plan_of(asked)[0] == {1: 10}  # USD 7.00; one of a costs USD 7.5164


def test_stock_turns_the_fleet_to_others() -> None:
    cheap, dear = instance("cheap", 100, [[1]]), instance("dear", 300, [[1]])
    assert plan_of(problem(cheap, dear, rate=5, mix=[[1]]))[0] == {0: 5}
    assert plan_of(problem(cheap, dear, rate=5, mix=[[1]], stock={"cheap": 2}))[0] == {0: 2, 1: 3}
    assert plan_of(problem(cheap, dear, rate=5, mix=[[1]], stock={"cheap": 0}))[0] == {1: 5}


def test_too_small_a_stock_says_what_it_would_serve() -> None:
    cheap, dear = instance("cheap", 100, [[1]]), instance("dear", 300, [[2]])
    with pytest.raises(InfeasibleError, match="all instances that can be had serve 4 requests/s of this mix"):
        solve_split(problem(cheap, dear, rate=5, mix=[[1]], stock={"cheap": 2, "dear": 1}))


def test_stock_too_small_by_a_hair() -> None:
    with pytest.raises(InfeasibleError, match="serve 2 requests/s"):
        solve_split(problem(instance("a", 100, [[1]]), rate="2.0000000001", mix=[[1]], stock={"a": 2}))


def test_stock_that_leaves_a_bucket_alone() -> None:
    a, b = instance("a", 100, [[1, 1]]), instance("b", 100, [[1, 0]])
    with pytest.raises(InfeasibleError, match="leaves some buckets without any"):
        solve_split(problem(a, b, rate=1, mix=[["0.5", "0.5"]], stock={"a": 0}))


def test_equal_costs_take_the_fewest_then_the_first() -> None:
    small, large = instance("small", 100, [[1]]), instance("large", 200, [[2]])
    assert plan_of(problem(small, large, rate=4, mix=[[1]]))[0] == {1: 2}
    twin = instance("twin", 200, [[2]])
    assert plan_of(problem(small, large, twin, rate=4, mix=[[1]]))[0] == {1: 2}


def test_cut_forbids_the_fleet_and_those_within_it() -> None:
    asked = problem(instance("a", 100, [[1]]), instance("b", 300, [[2]]), rate=4, mix=[[1]])
    program = fleet_program(asked)
    cut_off(program, asked, {0: 4})
    cost = {var: asked.price(g) for g, var in enumerate(program.groups)}
    counts = minimise(program.program, cost).counts
    assert [counts.get(var, 0) for var in program.groups] == [2, 1]


def test_many_fleets_on_the_edge() -> None:
    # 20 of either kind lack a hair, in every mixture of the two; each is refuted until 21 stand there.
    asked = problem(instance("a", 100, [[1]]), instance("b", 101, [[1]]), rate="20.0000000001", mix=[[1]])
    solved = solve_split(asked)
    assert dict(solved.counts) == {0: 21}
    assert solved.n_cuts >= 1


def test_fleet_that_is_neither_proven_nor_refuted_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "balance", lambda *_: Split({}, Fraction(2), False))
    with pytest.raises(PlannerError, match="neither proven nor refuted"):
        solve_split(example())


def test_second_objective_stopped_by_time_keeps_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter([True, False])

    def once(*words: object) -> Outcome:
        if next(said):
            return minimise(*words)  # type: ignore[arg-type]
        raise UnprovenError("late")

    monkeypatch.setattr(planning, "minimise", once)
    assert dict(solve_split(example(), time_limit_s=60).counts) == {0: 1, 1: 1}


def test_mixed_rows_reach_the_solver_and_stay_out_of_the_whole_check() -> None:
    text = to_lp_text(fleet_program(example()).program, {0: 101, 1: 367})
    assert "m0000_serve_0: v00002_share_0_0 + v00006_share_1_0 >= 1" in text
    assert "Generals" in text and "share" not in text.split("Generals")[1]


def test_plan_says_what_each_instance_does() -> None:
    profile = example().profile
    known = Shelf(shelf().catalog, {}, shelf().engines, {"small": profile})
    plan = make_split_plan(example().scenario, known)
    assert (plan.value, plan.bound, plan.gap, plan.verified) == (468, 468, 0, True)
    assert [(row.instance.name, row.count, row.busy) for row in plan.rented] == [("a10g", 1, 1), ("a100", 1, 1)]
    assert [(alone.instance.name, alone.count) for alone in plan.alone] == [("a10g", 12), ("a100", 2)]
    assert dict(plan.served[2].shares) == {"a10g": Fraction(1, 3), "a100": Fraction(2, 3)}
    few = replace(example().scenario, fleet=replace(example().scenario.fleet, instances=("a100",)))
    assert make_split_plan(few, known).value == 734
