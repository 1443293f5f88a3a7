"""One golden program per fleet rule, one golden line per group limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from planner.constraints import FLEET_RULES, GROUP_LIMITS, reach
from planner.formulation.builder import to_lp_text
from planner.formulation.rows import make_program
from planner.hardware import Quantity, System
from planner.problem import Problem, Situation
from planner.scenario import Fleet, Limits, Owned, Service, Serving, Tiers
from planner.units import Money
from tests.unit import tiny

Golden = Callable[[str, str], None]
LP = Path(__file__).parent / "files" / "lp"
SPLIT = Serving(engines=("engine",), weights=("bf16",), kv_formats=("bf16",), roles=("both", "split"))
OF_ROLE = {"transfer": "decode", "prompt_slots": "prefill", "staging": "prefill"}
POOLED = Tiers(cache="cache", placement="pooled")
ALL_LINES = ("budget", "power", "sustained", "maximum")
"""Rules that count cluster lines: their programs hold lots and racks, the others racks only."""

SCENARIOS = {
    "sessions": tiny.scenario(fleet=Fleet(spare_groups=2)),
    "budget": tiny.scenario(limits=Limits(budget=Money("USD", 3_000_000))),
    "power": tiny.scenario(limits=Limits(power_w=3500)),
    "rack_units": tiny.scenario(limits=Limits(rack_units=12)),
    "nodes": tiny.scenario(fleet=Fleet(max_nodes=3)),
    "builds": tiny.scenario(fleet=Fleet(max_builds=1)),
    "stock": tiny.scenario(limits=Limits(stock={"gpu": 7, "dimm": 9})),
    "build_nodes": tiny.scenario(fleet=Fleet(min_build_nodes=2)),
    "gpu_models": tiny.scenario(fleet=Fleet(one_gpu_model=True)),
    "minimum": tiny.scenario(limits=Limits(minimum={"dimm": 9})),
    "maximum": tiny.scenario(limits=Limits(maximum={"cable": 7})),
    "sustained": tiny.scenario(limits=Limits(sustained_power_w=3500)),
    "spare_racks": tiny.scenario(fleet=Fleet(spare_racks=1)),
    "rewarm": tiny.scenario(
        service=Service(decode_tokens_per_s=50, first_token_s=Fraction(1), rewarm_s=Fraction(1, 10))
    ),
    "owned": tiny.scenario(fleet=Fleet(owned=(Owned(name="old", count=3),))),
    "racks": tiny.scenario(limits=Limits(racks=2)),
    "dram_pool": tiny.scenario(tiers=POOLED, fleet=Fleet(spare_groups=1)),
    "nvme_pool": tiny.scenario(tiers=POOLED),
    "prompts": tiny.scenario(serving=SPLIT, fleet=Fleet(spare_groups=1), service=None),
    "handover": tiny.scenario(serving=SPLIT, service=Service(decode_tokens_per_s=50, first_token_s=Fraction(15, 1000))),
}


def problem_of(kind: str) -> Problem:
    lines = tiny.LINES if kind in ALL_LINES else ()
    problem = tiny.problem(SCENARIOS[kind], (8, 12), tiny.catalog(lines))
    if kind in ("prompts", "handover"):
        problem = tiny.problem(SCENARIOS[kind], (8, 12, 15, 9), tiny.catalog(lines))
        fabric = {"fabric_nic": tiny.FABRIC, "fabric_nics": 2}
        roles = zip(problem.builds, ("both", "decode", "prefill", "prefill"), strict=True)
        builds = [replace(build, core=replace(build.core, role=role, **fabric)) for build, role in roles]
        other = replace(builds[3].core, engine=tiny.engine(id="other"))
        return replace(problem, builds=(*builds[:3], replace(builds[3], core=other)))
    if kind != "owned":
        return problem
    system = System(
        id="old", name="Old", vendor="any", chassis="chassis", gpu="gpu", cpu="cpu",
        dimms=Quantity(part="dimm", count=2), boot=Quantity(part="boot", count=1),
    )  # fmt: skip
    first, second = problem.builds
    return replace(problem, builds=(replace(first, core=replace(first.core, system=system), cost_cents=0), second))


def two_services(shared: bool) -> Problem:
    """Return the problem of two services with their own sessions and one pool each, or one for both."""
    at = tiny.scenario(tiers=replace(POOLED, shared=shared), fleet=Fleet(spare_groups=1))
    services = (replace(at, label="a"), replace(at, label="b", workload=tiny.workload(users=4)))
    problem = tiny.problem(at, (8, 12))
    builds = tuple(
        replace(build, core=replace(build.core, service=label))
        for build, label in zip(problem.builds, "ab", strict=True)
    )
    whole = replace(at, services=services, limits=Limits(power_w=3500))
    return Problem(Situation.of(whole), builds, problem.pricing)


@pytest.mark.parametrize("shared", [False, True])
def test_two_services_have_a_golden_program(shared: bool, golden: Golden) -> None:
    name = "shared" if shared else "own"
    problem = two_services(shared)
    program = make_program(problem)
    golden(f"services/{name}_tiers.lp", to_lp_text(program, problem.capex_terms_of(program)))


@pytest.mark.parametrize("kind", list(FLEET_RULES))
def test_program_of_a_rule(kind: str, golden: Golden) -> None:
    problem = problem_of(kind)
    assert FLEET_RULES[kind].active(problem.at)
    program = make_program(problem)
    text = to_lp_text(program, problem.capex_terms_of(program))
    assert any(row.name.partition("_")[2].startswith(kind) for row in program.rows)
    golden(f"lp/{kind}.lp", text)


def test_two_racks_lost_have_a_golden_program(golden: Golden) -> None:
    problem = tiny.problem(tiny.scenario(fleet=Fleet(spare_racks=2)), (8, 12))
    low, high = problem.builds
    program = make_program(replace(problem, builds=(replace(low, racks_per=1), high)))
    golden("racks/two_lost.lp", to_lp_text(program, problem.capex_terms_of(program)))


def test_every_rule_has_a_program_and_every_program_a_rule(update_golden: bool) -> None:
    assert set(SCENARIOS) == set(FLEET_RULES)
    if not update_golden:
        assert {path.stem for path in LP.glob("*.lp")} == set(FLEET_RULES)


def test_programs_are_in_small_whole_numbers() -> None:
    for kind in FLEET_RULES:
        for row in make_program(problem_of(kind)).rows:
            assert all(isinstance(value, int) for value in (*row.terms.values(), row.rhs))
            assert max(map(abs, row.terms.values()), default=0) < 10**7


def limit_line(kind: str) -> str:
    scenario = tiny.scenario(tiers=POOLED) if kind == "fabric" else tiny.scenario()
    scenario = replace(scenario, serving=SPLIT) if kind in OF_ROLE else scenario
    core = tiny.core(fabric_nic=tiny.FABRIC, fabric_nics=2) if kind in ("fabric", *OF_ROLE) else tiny.core()
    core = replace(core, role=OF_ROLE.get(kind, "both"))
    limit, build, at = GROUP_LIMITS[kind], tiny.build(one=core), Situation.of(scenario)
    hosts = reach(limit, build, at)
    return f"{kind}: need {limit.need(build, at)} {limit.unit} per open session, have {limit.have(build, at)}, " + (
        f"hosts {hosts}/{at.scale}\n" if hosts is not None else "hosts any number\n"
    )


def test_every_group_limit(golden: Golden) -> None:
    # All of them come out of the registry: a new one changes the file.
    golden(
        "group_limits.txt", "".join(f"{limit_line(kind)}    {GROUP_LIMITS[kind].formula}\n" for kind in GROUP_LIMITS)
    )
