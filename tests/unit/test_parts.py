"""Programs over parts: exact bounds from any prices, slots of a few kinds, the deadline of a search."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from planner import separation
from planner.duality import Dual
from planner.errors import UnprovenError
from planner.formulation.pairing import add_fits, add_slots
from planner.planning import solve_scenario
from planner.program import Program
from planner.solve import Outcome, least, row_fault
from planner.solvers import Answer, row_prices
from tests.benchmarks.synthetic import make_instance


def small(rng: Random) -> tuple[Program, dict[int, int]]:
    program = Program()
    terms = {
        program.add_variable(f"x{i}", rng.randint(1, 4), rng.choice((0, 0, 1))): rng.randint(-3, 9) for i in range(3)
    }
    for _ in range(rng.randint(1, 3)):
        row = {i: rng.randint(-2, 6) for i in terms}
        program.add_row("row", row, rng.choice((">=", "<=")), rng.randint(0, 12))
    return program, terms


def values_of(program: Program) -> list[list[int]]:
    spans = [range(v.lower, v.upper + 1) for v in program.variables]
    return [list(some) for some in product(*spans) if not row_fault(program, list(some))]


def test_no_prices_give_a_bound_above_the_optimum() -> None:
    rng = Random(1)
    for _ in range(300):
        program, terms = small(rng)
        prices = [rng.uniform(-5, 5) for _ in program.rows]
        bound = Dual.of(program, terms, prices).bound
        assert all(sum(c * some[i] for i, c in terms.items()) >= bound for some in values_of(program))


def test_no_prices_leave_out_a_solution_that_is_as_good() -> None:
    rng, narrowed = Random(2), 0
    for _ in range(400):
        program, terms = small(rng)
        prices = row_prices(program, terms) if rng.random() < 0.7 else []
        dual = Dual.of(program, terms, prices or [rng.uniform(-2, 2) for _ in program.rows])
        known = dual.bound + rng.randint(0, 6)
        uppers = [dual.upper(i, known) for i in range(len(program.variables))]
        good = [some for some in values_of(program) if sum(c * some[i] for i, c in terms.items()) <= known]
        assert all(value <= upper for some in good for value, upper in zip(some, uppers, strict=True))
        narrowed += sum(upper < v.upper for upper, v in zip(uppers, program.variables, strict=True))
    assert narrowed > 100


def test_dual_prices_give_the_optimum_without_whole_numbers() -> None:
    # 3 x + 2 y with 2 x + y >= 7, x, y <= 3: x = 3, y = 1, and 11 at prices of 2 less the bound's.
    program = Program()
    terms = {program.add_variable("x", 3): 3, program.add_variable("y", 3): 2}
    program.add_row("cover", {0: 2, 1: 1}, ">=", 7)
    assert Dual.of(program, terms, row_prices(program, terms)).bound == 11
    # Half a unit short of whole numbers, the bound is rounded up: 5/2 at 3 each is 7.5.
    program = Program()
    terms = {program.add_variable("x", 9): 3}
    program.add_row("cover", {0: 2, program.add_variable("none", 0): 1}, ">=", 5)
    assert Dual.of(program, terms, row_prices(program, terms)).bound == 8


def counted(n: int, takes: tuple[frozenset[int], ...]) -> tuple[Program, list[list[int]]]:
    """Two cores, two memory and two drive populations, up to two groups of each, in `n` slots."""
    program = Program()
    parts = [[program.add_variable(f"{name}{i}", 2) for i in range(2)] for name in ("core", "host", "drives")]
    slots = add_slots(program, parts, n)
    host_of = {core: frozenset(parts[1][o] for o in some) for core, some in zip(parts[0], takes, strict=True)}
    add_fits(program, "host", host_of, slots)
    return program, parts


def fleets(n: int, takes: tuple[frozenset[int], ...]) -> set[tuple[int, ...]]:
    """Return the counts of parts of every fleet of at most `n` kinds of build."""
    kinds = [(c, h, d) for c, h, d in product(range(2), repeat=3) if h in takes[c]]
    found = set()
    for some in product(kinds, repeat=n):
        for numbers in product(range(3), repeat=n):
            total = [0] * 6
            for kind, number in zip(some, numbers, strict=True):
                for place, choice in enumerate(kind):
                    total[2 * place + choice] += number
            found.add(tuple(total))
    return {total for total in found if max(total) <= 2}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("takes", [(frozenset({0, 1}), frozenset({0, 1})), (frozenset({0}), frozenset({0, 1}))])
def test_slots_hold_the_fleets_of_so_many_kinds(n: int, takes: tuple[frozenset[int], ...]) -> None:
    allowed = set()
    for total in product(range(3), repeat=6):
        program, parts = counted(n, takes)
        for var, number in zip((var for some in parts for var in some), total, strict=True):
            program.variables[var] = replace(program.variables[var], lower=number, upper=number)
        if sum(total[:2]) == sum(total[2:4]) == sum(total[4:]) and least(program, {}) is not None:
            allowed.add(total)
    assert allowed == fleets(n, takes)


def test_a_search_ends_at_its_deadline_with_its_best_plan_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = make_instance("1e3", "pooled-kinds", 2)
    monkeypatch.setattr(separation, "PLAIN_UP_TO", -1)
    best = solve_scenario(instance.scenario, instance.shelf).outcome
    limits: list[float | None] = []

    def never(_program: Program, _terms: object, _solver: str, limit: float | None, _gap: int) -> Answer:
        # A solver that takes all the time it has and finds nothing.
        limits.append(limit)
        monkeypatch.setattr(separation.Search, "_is_over", lambda _: True)
        return Answer("nothing", [])

    monkeypatch.setattr(separation, "optimise", never)
    found = solve_scenario(instance.scenario, instance.shelf, time_limit_s=60).outcome
    assert len(limits) == 1
    assert limits[0] is not None
    assert limits[0] <= 60
    assert found.status == "feasible"
    assert 0 < found.bound <= best.value <= found.value
    assert found.goals[0].status == "feasible"


def test_a_search_without_any_plan_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = make_instance("1e3", "pooled-kinds", 2)
    monkeypatch.setattr(separation, "PLAIN_UP_TO", -1)

    def late(*_: object) -> Outcome:
        raise UnprovenError("late")

    monkeypatch.setattr(separation, "solve", late)
    with pytest.raises(UnprovenError):
        solve_scenario(instance.scenario, instance.shelf, time_limit_s=time.get_clock_info("monotonic").resolution)
