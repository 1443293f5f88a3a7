"""The pieces of the program against definitions that anyone can check by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from planner import solve as solving
from planner.budget import Launch, gpu_budget
from planner.constraints.sessions import add_covering_rows, surviving
from planner.copies import stored_copies
from planner.costs import least_racks
from planner.demand import footprint
from planner.dominance import undominated
from planner.errors import PlannerError
from planner.kvcache import kv_cache
from planner.layout import Layout
from planner.pool import kv_pool
from planner.problem import Problem
from planner.program import Program
from planner.solvers import SHIPPED
from planner.verify import verify
from tests.oracle.brute_force import fewest_racks
from tests.oracle.campaign import answered, solved
from tests.oracle.instances import make_instance
from tests.oracle.legal import LegalBuilds, rank_copies


def test_least_racks_is_the_fewest_of_all_ways() -> None:
    rng = Random(1)
    for _ in range(300):
        classes = {size: rng.randint(0, 5) for size in rng.sample(range(1, 6), rng.randint(1, 4))}
        assert least_racks(classes) == fewest_racks(tuple(sorted(classes.items()))), classes


def test_no_nodes_need_no_racks() -> None:
    assert least_racks({}) == least_racks({3: 0}) == 0


@pytest.mark.parametrize("size", [0, 1, 2, 10, 48, 49, 60, 150])
def test_undominated_is_its_definition(size: int) -> None:
    # Kept is what no other vector is at least as good as; of equal ones the first. 49 and more take numpy.
    for seed in range(12):
        rng = Random(1000 * size + seed)
        width, spread = rng.randint(1, 5), rng.choice((2, 4, 10, 10**15))
        vectors = [tuple(rng.randint(-spread, spread) for _ in range(width)) for _ in range(size)]
        kept = [
            i
            for i, mine in enumerate(vectors)
            if not any(
                all(a <= b for a, b in zip(other, mine, strict=True)) and (other != mine or j < i)
                for j, other in enumerate(vectors)
                if j != i
            )
        ]
        assert undominated(vectors) == kept


def test_surviving_is_the_worst_loss() -> None:
    # Against trying every set of groups that may be lost.
    rng = Random(2)
    for _ in range(300):
        capacities = [rng.randint(0, 9) for _ in range(rng.randint(1, 4))]
        counts = {i: rng.randint(0, 3) for i in range(len(capacities))}
        spares = rng.randint(0, 4)
        groups = [capacities[i] for i, n in counts.items() for _ in range(n)]
        lost = min(spares, len(groups))
        worst = min(sum(groups) - sum(gone) for gone in itertools.combinations(groups, lost))
        assert surviving(capacities, counts, spares) == worst, (capacities, counts, spares)


def _covering(rng: Random) -> tuple[Program, list[int], list[int], int, int]:
    program = Program()
    capacities = [rng.randint(0, 7) for _ in range(rng.randint(1, 3))]
    uppers = [rng.randint(0, 3) for _ in capacities]
    for i, upper in enumerate(uppers):
        program.groups.append(program.add_variable(f"groups_{i}", upper))
    need, spares = rng.randint(1, 16), rng.randint(0, 2)
    add_covering_rows(program, "cover", capacities, need, spares)
    return program, capacities, uppers, need, spares


def test_covering_rows_hold_where_the_survivors_suffice() -> None:
    # For each vector of counts some choice of binaries keeps all rows exactly where surviving >= need.
    rng = Random(3)
    for _ in range(150):
        program, capacities, uppers, need, spares = _covering(rng)
        free = len(program.variables) - len(uppers)
        for counts in itertools.product(*(range(upper + 1) for upper in uppers)):
            kept = any(
                not solving.row_fault(program, [*counts, *bits]) for bits in itertools.product((0, 1), repeat=free)
            )
            enough = surviving(capacities, dict(enumerate(counts)), spares) >= need
            assert kept == enough, (capacities, counts, need, spares)


@pytest.mark.parametrize("solver", SHIPPED)
def test_covering_rows_give_the_cheapest_cover(solver: str) -> None:
    rng = Random(4)
    for _ in range(40):
        program, capacities, uppers, need, spares = _covering(rng)
        costs = [rng.randint(1, 9) for _ in uppers]
        answer = solving._checked(program, dict(enumerate(costs)), solver, None)
        values = [
            sum(c * n for c, n in zip(costs, counts, strict=True))
            for counts in itertools.product(*(range(upper + 1) for upper in uppers))
            if surviving(capacities, dict(enumerate(counts)), spares) >= need
        ]
        if not values:
            assert answer.status == "infeasible"
        else:
            assert answer.status == "optimal"
            assert sum(c * answer.values[i] for i, c in enumerate(costs)) == min(values)


def test_row_division_loses_no_whole_solution() -> None:
    # Rows are divided by the gcd and rounded towards the stricter side.
    rng = Random(5)
    for _ in range(200):
        program = Program()
        for i in range(3):
            program.add_variable(f"x{i}", 4)
        factor = rng.choice((1, 2, 6))
        terms = {i: factor * rng.randint(-4, 4) for i in range(3)}
        sense, rhs = rng.choice((">=", "<=")), rng.randint(-20, 20)
        program.add_row("row", terms, sense, rhs)  # type: ignore[arg-type]
        for values in itertools.product(range(5), repeat=3):
            total = sum(c * values[i] for i, c in terms.items())
            assert (not solving.row_fault(program, list(values))) == (total >= rhs if sense == ">=" else total <= rhs)


def test_row_fault_names_the_broken_row_or_bound() -> None:
    program = Program()
    x, y = program.add_variable("x", 3), program.add_variable("y", 5, lower=1)
    program.add_row("cover", {x: 2, y: 3}, ">=", 7)
    program.add_row("most", {x: 1, y: 1}, "<=", 4)
    assert solving.row_fault(program, [2, 1]) == ""
    assert "x" in solving.row_fault(program, [4, 1]) and "bounds" in solving.row_fault(program, [-1, 3])
    assert "bounds" in solving.row_fault(program, [3, 0])
    assert "cover" in solving.row_fault(program, [1, 1])
    assert "most" in solving.row_fault(program, [3, 2])


def test_memory_of_every_way_counted_again() -> None:
    # Weights, what is usable, what is left for KV, copies in the tiers, and whole sessions: there and at the edge.
    seen: Counter[str] = Counter()
    for seed in range(250):
        oracle = LegalBuilds(make_instance(seed))
        scenario, model, engine = oracle.scenario, oracle.model, oracle.engine
        launch = Launch(scenario.workload.context.planned_tokens)
        for way in oracle.ways():
            layout, kv = Layout(tp=way.tp, pp=way.pp), kv_cache(model, way.kv)
            budget = gpu_budget(model, way.gpu, engine, way.weights, layout, launch)
            copies = stored_copies(kv, layout, engine, oracle.cache)
            found = budget.weights_bytes, budget.usable_bytes, budget.kv_bytes, copies
            counted = oracle.weight_bytes(way), oracle.usable_bytes(way), oracle.kv_bytes(way)
            assert found == (*counted, rank_copies(model, way.tp)), (seed, way)
            sizes = footprint(scenario, kv, oracle.cache, copies).sizes
            pool = kv_pool(budget.kv_bytes, kv, layout, engine, "gqa", oracle.step(way)[1], sizes)
            for memory, sessions in ((0, 0), (pool.missing_bytes - 1, 0), (pool.missing_bytes, 1)):
                assert oracle.pool_sessions(way, pool.rank_bytes + memory) == pool.sessions + sessions, (seed, way)
            seen["copied heads"] += way.tp > model.attention[0].kv_heads
            seen[f"null {engine.paging.null_blocks}"] += 1
    assert min(seen.values()) >= 20, seen


def _feasible(n: int) -> list[Problem]:
    found = []
    for seed in range(400):
        known = answered(seed)
        plan = known and solved(known[0], "highs")
        if plan:
            found.append(plan)
        if len(found) == n:
            break
    return found


def test_verify_refuses_a_reach_that_the_limits_do_not_give() -> None:
    # The candidate's own figure is not believed: with it ten times too large, half the groups seem enough.
    refused = 0
    for plan in _feasible(25):
        inflated = tuple(replace(build, reach=10 * build.reach) for build in plan.problem.builds)
        problem = Problem(plan.problem.at, inflated, plan.problem.pricing)
        counts = {i: n - 1 for i, n in plan.outcome.counts.items() if n > 1}
        if sum(counts.values()) > problem.spares and not _still_holds(plan.problem, counts):
            with pytest.raises(PlannerError):
                verify(problem, counts)
            refused += 1
    assert refused >= 3


def _still_holds(problem: Problem, counts: dict[int, int]) -> bool:
    try:
        verify(problem, counts)
    except PlannerError:
        return False
    return True


@pytest.mark.parametrize("solver", SHIPPED)
def test_program_whose_optimum_preprocessing_cut_off(solver: str) -> None:
    # The bundled CBC answers 19 with its integer preprocessing on.
    program = Program()
    program.groups.extend(program.add_variable(f"groups_{i}", upper) for i, upper in enumerate((3, 1, 1)))
    add_covering_rows(program, "cover", [5, 1, 5], 8, 1)
    answer = solving._checked(program, {0: 5, 1: 2, 2: 9}, solver, None)
    assert (answer.status, answer.values[:3]) == ("optimal", [3, 0, 0])
