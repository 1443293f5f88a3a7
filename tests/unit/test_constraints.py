"""Every limit and rule on a build that can be computed by hand.

20 open sessions, 10 active, 5 in flight, 5 warm, 5 cold; 4 MiB each; 0.1 turns per second, so
0.005 per open session. Links: 2 x 16 GB/s behind one uplink of 20 GB/s, half of it reached, half
of that planned. See `tests.unit.tiny`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from random import Random

import pytest

from planner.candidates import racks_per
from planner.constraints import FLEET_RULES, GROUP_LIMITS, reach
from planner.constraints.sessions import Tier, add_covering_rows, surviving, surviving_nested
from planner.hardware import Quantity, System
from planner.layout import Layout
from planner.problem import Problem, Situation
from planner.program import Program, Row
from planner.scenario import Fleet, Limits, Owned, Scenario, Service, Serving, Tiers
from planner.units import Money, ceil
from planner.workload import SharedPrefix
from tests.oracle.brute_force import contents_of_racks
from tests.unit import tiny
from tests.unit.tiny import GB, GIB, MIB, PERCENT

POOLED = Tiers(cache="cache", placement="pooled")

SPLIT = Serving(engines=("engine",), weights=("bf16",), kv_formats=("bf16",), roles=("both", "split"))
OF_ROLE = {"transfer": "decode", "prompt_slots": "prefill", "staging": "prefill"}
# A chunk of 512, as below: layers, products, attention, rows.
STEP_S = Fraction(10, 1000) + Fraction(512 * (2 * 17_834_496 + 16_777_216), 50 * 10**12)
STEP_S += Fraction(512 * 2 * 10 * 512 * 8, 500 * GB)
# 4 MiB and 640 tokens at 10 GB/s between cards and at 8 GB/s over a GPU's own link; 640 tokens are prefilled.
STAY_S = STEP_S * Fraction(640, 512) + (4 * MIB + 640 * 4096) * (Fraction(1, 10 * GB) + Fraction(1, 8 * GB))

# kind: what a group has, what an open session needs, how many fifths of an open session a group hosts: 5 are in flight.
BY_HAND = {
    "hbm": (6, Fraction(5, 20), 120),
    # step(n) = 2 + 8 x 1 ms + n x (36,692,992 FLOP / 50 TFLOP/s + (4 MiB + 81,920 B of rows) / 500 GB/s) above n = 100,
    # where products outlast 73 us of reading weights; 12.8 prompt tokens/s come with each session, so
    # step(n) / 20 ms + n x 12.8 / 48,206.7 <= 90 % up to n = 548; two replicas.
    "decode": (2 * 548, Fraction(5, 20), 21920),
    # 2 x 64 GiB x 75 % = 96 GiB, less 2 staged sessions (1 GiB); half of it usable; 15 of 20 sessions in it.
    "dram": (95 * GIB // 2, Fraction(15, 20) * 4 * MIB, 81066),
    # 2 TB x 80 % = 1,600 GB, half usable; all 20 sessions in it.
    "nvme": (800 * GB, Fraction(4 * MIB), 953674),
    "host_link": (5 * GB, Fraction(4 * MIB, 200), 1192092),
    # 2 x 4 GB/s x 50 % x 50 %; every tenth turn.
    "nvme_read": (2 * GB, Fraction(4 * MIB, 2000), 4768371),
    # 2 x 2 GB/s x 25 % x 50 %; 768 tokens of 4,096 B a turn.
    "nvme_write": (GB // 2, Fraction(768 * 4096, 200), 158945),
    # 2 GPU links of 10 GB/s, half of it, half planned; 768 tokens of 4,096 B a turn, and with the loads both ways.
    "host_store": (5 * GB, Fraction(768 * 4096, 200), 1589457),
    "host_both": (8_340_000_000, Fraction(4 * MIB + 768 * 4096, 200), 1136234),
    # 2 channels of 44.8 GB/s, 80 %, half planned; loads, a tenth staged from drives, stores in and out.
    "dram_bandwidth": (35_840_000_000, Fraction(11 * 4 * MIB, 2000) + Fraction(2 * 768 * 4096, 200), 3286508),
    # 2 x 1 TB x 1 DWPD x 5 years over 2 x 80 %; 432 turns a day of 768 x 4,096 B x 1.25.
    "nvme_endurance": (4 * 10**12, Fraction(432 * 768 * 4096 * 5, 4), 11773),
    # A chunk of 512 takes 2 + 8 x 1 ms, 0.365 ms for 2 x 17,834,496 FLOP per token at 50 TFLOP/s, 0.172 ms for
    # 16,777,216 in attention, 0.084 ms to move 10 rows per layer: 48,206.7 tokens/s on each of two, half planned.
    "prefill": (48_206, Fraction(640, 200), 75321),
    # 1.05 ms from drives, 0.84 ms over a GPU's half of the links, 10.62 ms for a chunk of 512: 13 of 1,000 ms.
    "first_token": (987, Fraction(0), None),
    # 1,024 tokens at 48,206.7 a second: 21.24 ms; 1.05 ms from drives, 0.52 ms over a GPU's link.
    "worth": (19, Fraction(0), None),
    # 2 cards of 10 GB/s, half planned.
    "fabric": (10 * GB, Fraction(4 * MIB, 200), 2384185),
    # The same cards: 4 MiB go, 640 tokens of 4,096 B come back in the other direction.
    "transfer": (10 * GB, Fraction(4 * MIB, 200), 2384185),
    # Six slots; a turn stays 14.81 ms, of which 13.28 ms are spent on its tokens.
    "prompt_slots": (6, STAY_S / 200, 405139),
    # 96 GiB in sessions of 4 MiB.
    "staging": (24 * 1024, STAY_S / 200, 1659451641),
}


def scenario_of(kind: str) -> Scenario:
    if kind in OF_ROLE:
        return tiny.scenario(serving=SPLIT)
    return tiny.scenario(tiers=POOLED) if kind == "fabric" else tiny.scenario()


@pytest.mark.parametrize("kind", list(GROUP_LIMITS))
def test_group_limit_by_hand(kind: str) -> None:
    at = Situation.of(scenario_of(kind))
    core = tiny.core(fabric_nic=tiny.FABRIC, fabric_nics=2) if kind in ("fabric", *OF_ROLE) else tiny.core()
    limit, build = GROUP_LIMITS[kind], tiny.build(one=replace(core, role=OF_ROLE.get(kind, "both")))
    assert limit.active(at)
    assert (limit.have(build, at), limit.need(build, at), reach(limit, build, at)) == BY_HAND[kind]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("hbm", {"workload": tiny.workload(active_per_user=0)}),
        ("decode", {"service": None}),
        ("dram", {"tiers": Tiers(cache="cache", dram="none")}),
        ("nvme", {"tiers": Tiers(cache="cache", nvme="none")}),
        ("host_link", {"tiers": Tiers(cache="cache", dram="none", nvme="none")}),
        ("host_link", {"workload": tiny.workload(rates=None)}),
        ("host_store", {"workload": tiny.workload(rates=None)}),
        ("host_both", {"tiers": Tiers(cache="cache", dram="none", nvme="none")}),
        ("dram_bandwidth", {"tiers": Tiers(cache="cache", dram="none", nvme="none")}),
        ("nvme_read", {"tiers": Tiers(cache="cache", nvme="none")}),
        ("nvme_write", {"tiers": Tiers(cache="cache", nvme="none")}),
        ("nvme_endurance", {"tiers": Tiers(cache="cache", nvme="none")}),
        ("prefill", {"workload": tiny.workload(rates=None)}),
        ("first_token", {"service": None}),
        ("worth", {"tiers": Tiers(cache="cache", dram="none", nvme="none")}),
        ("worth", {"workload": tiny.workload(rates=None)}),
        ("fabric", {}),
        ("transfer", {}),
        ("prompt_slots", {"serving": SPLIT, "workload": tiny.workload(rates=None)}),
        ("staging", {}),
    ],
)
def test_group_limit_that_is_not_asked_for(kind: str, change: dict[str, object]) -> None:
    assert not GROUP_LIMITS[kind].active(Situation.of(tiny.scenario(**change)))


def test_two_nodes_have_twice_the_tiers_and_links() -> None:
    at = Situation.of(tiny.scenario())
    one, two = tiny.build(), tiny.build(one=tiny.core(n_nodes=2))
    for kind in ("nvme", "host_link", "nvme_read", "nvme_write"):
        assert GROUP_LIMITS[kind].have(two, at) == 2 * GROUP_LIMITS[kind].have(one, at)
    assert GROUP_LIMITS["dram"].have(two, at) == 95 * GIB


def test_every_node_stores_the_shared_prefix_once() -> None:
    scenario = tiny.scenario(workload=tiny.workload(shared_prefix=SharedPrefix(length_tokens=256, groups=3)))
    at, build = Situation.of(scenario), tiny.build(scenario)
    assert GROUP_LIMITS["nvme"].have(build, at) == 800 * GB - 3 * MIB
    assert GROUP_LIMITS["nvme"].need(build, at) == 3 * MIB


def test_copies_are_pulled_over_the_links_by_every_rank() -> None:
    at = Situation.of(tiny.scenario())
    assert GROUP_LIMITS["host_link"].need(tiny.build(one=tiny.core(layout=Layout(tp=4))), at) == Fraction(8 * MIB, 200)


def test_all_resumes_come_from_drives_without_host_memory() -> None:
    at = Situation.of(tiny.scenario(tiers=Tiers(cache="cache", dram="none")))
    assert GROUP_LIMITS["nvme_read"].need(tiny.build(), at) == Fraction(4 * MIB, 200)


def test_parts_of_a_session_are_shares_of_those_in_flight() -> None:
    at = Situation.of(tiny.scenario())
    assert (at.scale, at.open_parts) == (5, 100)
    idle = Situation.of(tiny.scenario(workload=tiny.workload(active_per_user=0)))
    assert (idle.scale, idle.open_parts) == (1, 20)


def test_parts_waste_no_slot() -> None:
    # 60 of 2,000 sessions in flight on three groups of 20 slots: whole sessions would be 666 + 666 + 666.
    at = Situation.of(tiny.scenario(workload=tiny.workload(users=1000, duty_fraction=6 * PERCENT)))
    one = tiny.core(replicas=4, pool=replace(tiny.core().pool, sessions=5))
    most = reach(GROUP_LIMITS["hbm"], tiny.build(one=one), at)
    assert (at.open, at.sessions.in_flight, most) == (2000, 60, 40_000)
    assert at.open_parts == 3 * 40_000


def test_first_token_later_than_promised_hosts_nothing() -> None:
    late = replace(tiny.scenario().service, first_token_s=Fraction(2, 1000))  # type: ignore[type-var]
    at = Situation.of(tiny.scenario(service=late))
    assert reach(GROUP_LIMITS["first_token"], tiny.build(), at) == 0


def test_staging_overrides_and_may_eat_the_tier() -> None:
    at = Situation.of(tiny.scenario(tiers=Tiers(cache="cache", staging_prefixes=10**6)))
    assert GROUP_LIMITS["dram"].have(tiny.build(), at) < 0
    assert reach(GROUP_LIMITS["dram"], tiny.build(), at) == 0


def checks(problem: Problem, kind: str, counts: dict[int, int]) -> list[tuple[int, int, str, bool]]:
    rule = FLEET_RULES[kind]
    assert rule.active(problem.at)
    return [(c.need, c.have, c.unit, c.met) for c in rule.check(problem, counts)]


def limits(**values: object) -> Problem:
    return tiny.problem(tiny.scenario(limits=Limits(**values)), (8, 12))  # type: ignore[arg-type]


def fleet(**values: object) -> Problem:
    return tiny.problem(tiny.scenario(fleet=Fleet(**values)), (8, 12))  # type: ignore[arg-type]


def test_sessions_rule() -> None:
    assert checks(fleet(), "sessions", {0: 1, 1: 1}) == [(20, 20, "sessions", True)]
    assert checks(fleet(), "sessions", {0: 2}) == [(20, 16, "sessions", False)]
    # The largest group in use is lost.
    assert checks(fleet(spare_groups=1), "sessions", {0: 1, 1: 2}) == [(20, 20, "sessions", True)]
    assert checks(fleet(spare_groups=1), "sessions", {0: 3}) == [(20, 16, "sessions", False)]


def split_problem(*roles: tuple[str, int], **changes: object) -> Problem:
    """A problem with a build per role and reach in whole sessions, with two fabric cards each."""
    problem = tiny.problem(tiny.scenario(serving=SPLIT, **changes), [most for _, most in roles])
    builds = tuple(
        replace(
            build, drive=None if role == "prefill" else build.drive,
            core=replace(build.core, role=role, fabric_nic=tiny.FABRIC, fabric_nics=2),
        )
        for (role, _), build in zip(roles, problem.builds, strict=True)
    )  # fmt: skip
    return replace(problem, builds=builds)


def test_prompts_rule() -> None:
    # Both roles host 8, decode groups 12; prefill groups serve 15.
    problem = split_problem(("both", 8), ("decode", 12), ("prefill", 15))
    assert checks(problem, "sessions", {0: 1, 1: 1}) == [(20, 20, "sessions", True)]
    assert checks(problem, "prompts", {0: 1, 1: 1}) == [(20, 8, "sessions", False)]
    assert checks(problem, "sessions", {0: 1, 1: 1, 2: 1}) == [(20, 20, "sessions", True)]
    assert checks(problem, "prompts", {0: 1, 1: 1, 2: 1}) == [(20, 23, "sessions", True)]
    # One group of any role is lost: sessions lose 12 of 24 here, prompts all there is.
    spare = split_problem(("both", 8), ("decode", 12), ("prefill", 30), fleet=Fleet(spare_groups=1))
    assert checks(spare, "sessions", {1: 3, 2: 1}) == [(20, 24, "sessions", True)]
    assert checks(spare, "prompts", {1: 3, 2: 1}) == [(20, 0, "sessions", False)]
    assert checks(spare, "prompts", {1: 3, 2: 2}) == [(20, 30, "sessions", True)]


def test_handover_rule() -> None:
    # Drives 1.05 ms; 4 MiB and 512 tokens over the cards 0.63 ms, 4 MiB and 512 tokens into the GPU 0.79 ms: 3 ms.
    # 4 MiB and 512 tokens over cards and link 1.42 ms, 10.62 ms for the chunk: 13 ms.
    promised = Service(decode_tokens_per_s=50, first_token_s=Fraction(16, 1000))
    problem = split_problem(("decode", 12), ("prefill", 15), service=promised)
    assert checks(problem, "handover", {0: 1, 1: 1}) == [(1, 1, "kinds", True), (16, 16, "ms", True)]
    late = split_problem(("decode", 12), ("prefill", 15), service=replace(promised, first_token_s=Fraction(15, 1000)))
    assert checks(late, "handover", {0: 1, 1: 1}) == [(1, 1, "kinds", True), (16, 15, "ms", False)]
    assert checks(late, "handover", {0: 2}) == [(1, 1, "kinds", True), (3, 15, "ms", True)]
    other = replace(problem.builds[1], core=replace(problem.builds[1].core, engine=tiny.engine(id="other")))
    mixed = replace(problem, builds=(problem.builds[0], other))
    assert checks(mixed, "handover", {0: 1, 1: 1})[0] == (2, 1, "kinds", False)
    assert checks(mixed, "handover", {}) == []


def test_lost_nodes_are_lost_groups_at_worst() -> None:
    assert checks(fleet(spare_nodes=1), "sessions", {0: 3}) == [(20, 16, "sessions", False)]
    assert fleet(spare_nodes=1, spare_groups=2).spares == fleet(spare_nodes=2).spares == 2


def test_spare_racks_rule() -> None:
    # Two nodes to a rack: one of each hosts 8 + 12, the largest two 24.
    assert checks(fleet(spare_racks=1), "spare_racks", {0: 2, 1: 2}) == [(20, 16, "sessions", False)]
    assert checks(fleet(spare_racks=1), "spare_racks", {0: 1, 1: 3}) == [(20, 20, "sessions", True)]
    # A node that has a rack to itself does not stand with another, which may stand in its rack all the same.
    problem = fleet(spare_racks=1)
    large = replace(problem.builds[0], reach=30 * problem.at.scale, racks_per=1)
    apart = replace(problem, builds=(large, problem.builds[1]))
    assert checks(apart, "spare_racks", {0: 1, 1: 2}) == [(20, 24, "sessions", True)]
    assert checks(apart, "spare_racks", {0: 1, 1: 1}) == [(20, 12, "sessions", False)]


def test_owned_rule() -> None:
    problem = fleet(owned=(Owned(name="old", count=2), Owned(name="older", count=1)))
    system = System(
        id="old", name="Old", vendor="any", chassis="chassis", gpu="gpu", cpu="cpu",
        dimms=Quantity(part="dimm", count=2), boot=Quantity(part="boot", count=1),
    )  # fmt: skip
    first = replace(problem.builds[0], core=replace(problem.builds[0].core, system=system))
    mixed = replace(problem, builds=(first, problem.builds[1]))
    assert checks(mixed, "owned", {0: 2, 1: 4}) == [(2, 2, "nodes", True), (0, 1, "nodes", True)]
    assert checks(mixed, "owned", {0: 3}) == [(3, 2, "nodes", False), (0, 1, "nodes", True)]


def test_stock_counts_what_is_added_to_an_owned_machine() -> None:
    from planner.build import bought_pieces
    from planner.hardware import OwnedMachine

    machine = OwnedMachine(
        id="old", name="Old", vendor="any", chassis="chassis", gpu="gpu", cpu="cpu", count=2,
        dimms=Quantity(part="dimm", count=2), boot=Quantity(part="boot", count=1),
    )  # fmt: skip
    build = tiny.build(one=tiny.core(system=machine, n_nodes=2), dimms=6)
    pieces = [bought_pieces(build, part) for part in ("old", "gpu", "dimm", "drive", "front", "boot")]
    assert pieces == [0, 0, 8, 4, 2, 0]
    assert bought_pieces(tiny.build(), "gpu") == 2


def test_two_racks_of_different_classes() -> None:
    # One node to a rack with 9, two to a rack with 7 each: a rack of each class loses 9 + 14.
    one, two = Tier(1, (True, False)), Tier(3, (False, True))
    assert surviving_nested((9, 7), {0: 2, 1: 3}, [one, two]) == 39 - 9 - 14
    assert surviving_nested((9, 7), {0: 2, 1: 3}, [Tier(4, (False, True))]) == 39 - 21


@pytest.mark.parametrize("seed", range(40))
def test_nested_losses_against_every_set(seed: int) -> None:
    rng = Random(seed)
    classes = [rng.randint(1, 3) for _ in range(5)]
    capacities = [rng.randint(1, 9) for _ in range(5)]
    racks = rng.randint(1, 3)
    worst = max(sum(capacities[i] for i in lost) for lost in contents_of_racks(tuple(classes), racks))
    left = []
    for chosen in combinations_with_replacement(sorted(set(classes)), racks):
        lows = sorted(set(chosen))
        tiers = [
            Tier(sum(c for c in chosen if c <= low), [low <= each < above for each in classes])
            for low, above in zip(lows, [*lows[1:], 99], strict=True)
        ]
        left.append(surviving_nested(capacities, dict.fromkeys(range(5), 1), tiers))
    assert min(left) == sum(capacities) - worst


@pytest.mark.parametrize("seed", range(12))
def test_spare_racks_of_roles(seed: int) -> None:
    # Whatever racks are lost, groups of both roles and pairs of the others hold what is left.
    rng = Random(f"racks of roles {seed}")
    racks, roles = rng.randint(1, 3), ("both", "decode", "prefill")
    made = split_problem(*((role, rng.randint(4, 12)) for role in roles), fleet=Fleet(spare_racks=racks))
    builds = tuple(replace(build, racks_per=rng.randint(1, 2)) for build in made.builds)
    problem, met = replace(made, builds=builds), set()
    for counts in product(range(4), repeat=3):
        groups = [build for build, n in zip(builds, counts, strict=True) for _ in range(n)]
        held = True
        for lost in contents_of_racks(tuple(build.racks_per for build in groups), racks):
            sums = dict.fromkeys(roles, 0)
            for i, build in enumerate(groups):
                sums[build.core.role] += 0 if i in lost else build.reach
            held &= sums["both"] + min(sums["decode"], sums["prefill"]) >= problem.at.open_parts
        found = checks(problem, "spare_racks", {i: n for i, n in enumerate(counts) if n})
        assert all(good for *_, good in found) is held, counts
        met.add(held)
    assert met == {True, False} or racks > 1


def test_spare_racks_of_a_pool() -> None:
    asked = tiny.scenario(tiers=POOLED, fleet=Fleet(spare_racks=1))
    found = checks(tiny.problem(asked, (8, 12)), "spare_racks", {0: 1, 1: 3})
    assert found == [(20, 20, "sessions", True), (GIB, 286 * GIB, "B", True), (GB, 3200 * GB, "B", True)]


def test_budget_rule() -> None:
    # Three nodes cost 29,326.12: see test_costs.
    for cents, met in ((2_932_612, True), (2_932_611, False)):
        assert checks(limits(budget=Money("USD", cents)), "budget", {0: 3}) == [(2_932_612, cents, "cents", met)]


def test_power_rule() -> None:
    for watts, met in ((3150, True), (3149, False)):
        assert checks(limits(power_w=watts), "power", {0: 3}) == [(3150, watts, "W", met)]


def test_rack_units_rule() -> None:
    assert checks(limits(rack_units=12), "rack_units", {0: 2, 1: 1}) == [(12, 12, "RU", True)]
    assert checks(limits(rack_units=11), "rack_units", {0: 2, 1: 1}) == [(12, 11, "RU", False)]


def test_nodes_rule() -> None:
    assert checks(fleet(max_nodes=3), "nodes", {0: 2, 1: 1}) == [(3, 3, "nodes", True)]
    assert checks(fleet(max_nodes=2), "nodes", {0: 2, 1: 1}) == [(3, 2, "nodes", False)]


def test_builds_rule() -> None:
    assert checks(fleet(max_builds=1), "builds", {0: 5}) == [(1, 1, "builds", True)]
    assert checks(fleet(max_builds=1), "builds", {0: 1, 1: 1}) == [(2, 1, "builds", False)]


def test_build_nodes_rule() -> None:
    assert checks(fleet(min_build_nodes=2), "build_nodes", {0: 2, 1: 3}) == [(2, 2, "nodes", True)]
    assert checks(fleet(min_build_nodes=2), "build_nodes", {0: 1, 1: 3}) == [(2, 1, "nodes", False)]
    assert checks(fleet(min_build_nodes=2), "build_nodes", {1: 2}) == [(2, 2, "nodes", True)]


def test_gpu_models_rule() -> None:
    one = fleet(one_gpu_model=True)
    other = replace(one.builds[1], core=replace(one.builds[1].core, gpu=tiny.gpu(id="other")))
    mixed = replace(one, builds=(one.builds[0], other))
    assert checks(one, "gpu_models", {0: 1, 1: 1}) == [(1, 1, "models", True)]
    assert checks(mixed, "gpu_models", {0: 1, 1: 1}) == [(2, 1, "models", False)]
    assert checks(mixed, "gpu_models", {1: 3}) == [(1, 1, "models", True)]


def test_minimum_rule_counts_machines_alone() -> None:
    problem = limits(minimum={"dimm": 8, "switch": 1})
    assert checks(problem, "minimum", {0: 2, 1: 1}) == [(8, 8, "pieces", True), (1, 0, "pieces", False)]


def test_maximum_rule_counts_cluster_lines_too() -> None:
    # Two cables a node.
    assert checks(limits(maximum={"cable": 5}), "maximum", {0: 2, 1: 1}) == [(6, 5, "pieces", False)]
    assert checks(limits(maximum={"cable": 6}), "maximum", {0: 2, 1: 1}) == [(6, 6, "pieces", True)]


def test_sustained_power_rule() -> None:
    # 3,150 W peak, see above; 75 % of it is 2,362.5 W.
    finance = replace(tiny.scenario().finance, average_load_fraction=75 * PERCENT)
    for watts, met in ((2363, True), (2362, False)):
        asked = tiny.scenario(limits=Limits(sustained_power_w=watts), finance=finance)
        assert checks(tiny.problem(asked, (8, 12)), "sustained", {0: 3}) == [(2363, watts, "W", met)]


def test_racks_rule() -> None:
    # 10 RU for nodes of 4: two to a rack.
    assert checks(limits(racks=2), "racks", {0: 3, 1: 1}) == [(2, 2, "racks", True)]
    assert checks(limits(racks=2), "racks", {0: 3, 1: 2}) == [(3, 2, "racks", False)]


def test_rack_of_the_site_in_place_of_the_catalogue() -> None:
    # A node of 4 RU and 850 W.
    build, parts = tiny.problem().builds[0], tiny.catalog()
    assert racks_per(build, parts, Limits()) == 2
    assert racks_per(build, parts, Limits(rack_height=40)) == 2
    assert racks_per(build, parts, Limits(rack_height=40, rack_power_w=8500)) == 10
    assert racks_per(build, parts, Limits(rack_height=3)) == 0


def test_stock_rule_counts_pieces() -> None:
    problem = limits(stock={"gpu": 6, "dimm": 7})
    # Build 0 has 2 DIMMs, build 1 has 4.
    assert checks(problem, "stock", {0: 2, 1: 1}) == [(6, 6, "pieces", True), (8, 7, "pieces", False)]


def test_stock_counts_a_system_and_what_is_in_it() -> None:
    from planner.build import group_pieces

    system = System(
        id="system",
        name="S",
        vendor="V",
        chassis="chassis",
        gpu="gpu",
        cpu="cpu",
        dimms=Quantity(part="dimm", count=2),
        boot=Quantity(part="boot", count=1),
    )
    build = tiny.build(one=tiny.core(system=system, n_nodes=2))
    assert [group_pieces(build, part) for part in ("system", "gpu", "dimm", "rack")] == [2, 4, 4, 0]


def pooled(spares: int = 0) -> Problem:
    scenario = tiny.scenario(tiers=POOLED, fleet=Fleet(spare_groups=spares))
    return tiny.problem(scenario, (8, 12))


def test_pool_of_host_memory() -> None:
    # 15 sessions of 4 MiB, half usable: 120 MiB, so 1 GiB; a group has 95 or 191 GiB.
    assert checks(pooled(), "dram_pool", {0: 1, 1: 1}) == [(GIB, 286 * GIB, "B", True)]
    assert checks(pooled(1), "dram_pool", {0: 1, 1: 1}) == [(GIB, 95 * GIB, "B", True)]
    assert checks(pooled(1), "dram_pool", {0: 1}) == [(GIB, 0, "B", False)]


def test_pool_of_drives() -> None:
    assert checks(pooled(), "nvme_pool", {0: 2}) == [(GB, 3200 * GB, "B", True)]
    assert checks(pooled(2), "nvme_pool", {0: 3}) == [(GB, 1600 * GB, "B", True)]


def test_rewarm_rule_loses_each_build_in_turn() -> None:
    # A group prefills 48,206 tokens/s, all prompts are 64; 12 sessions of 1,024 tokens within a tenth of a second.
    soon = Service(decode_tokens_per_s=50, first_token_s=Fraction(1), rewarm_s=Fraction(1, 10))
    problem = tiny.problem(tiny.scenario(service=soon), (8, 12))
    need = 64 + 12 * 1024 * 10
    assert checks(problem, "rewarm", {0: 1, 1: 3}) == [(need, 3 * 48_206, "tokens/s", True)]
    assert checks(problem, "rewarm", {0: 1, 1: 1}) == [(need, 48_206, "tokens/s", False)]
    # Of 8 sessions on each of two with 20 open and one spare, no group hosts more than 20 x 8 / 28.
    spare = tiny.scenario(service=soon, fleet=Fleet(spare_groups=1))
    assert checks(tiny.problem(spare, (8, 12)), "rewarm", {0: 3}) == [
        (64 + 10 * ceil(Fraction(20 * 8, 28) * 1024), 2 * 48_206, "tokens/s", True)
    ]


def test_every_rule_has_a_test_here() -> None:
    tested = {"sessions", "budget", "power", "rack_units", "nodes", "builds", "stock", "dram_pool", "nvme_pool"}
    tested |= {"build_nodes", "gpu_models", "minimum", "maximum", "sustained", "racks", "spare_racks", "owned"}
    tested |= {"rewarm", "prompts", "handover"}
    assert set(FLEET_RULES) == tested
    assert set(GROUP_LIMITS) == set(BY_HAND)


@pytest.mark.parametrize(
    ("counts", "spares", "left"),
    [({0: 2, 1: 3}, 0, 38), ({0: 2, 1: 3}, 1, 28), ({0: 2, 1: 3}, 2, 18), ({0: 2, 1: 3}, 3, 12), ({1: 3}, 1, 12),
     ({0: 1}, 2, 0), ({}, 1, 0)],
)  # fmt: skip
def test_surviving_the_worst_loss(counts: dict[int, int], spares: int, left: int) -> None:
    assert surviving([10, 6], counts, spares) == left


def row_holds(row: Row, values: Sequence[int]) -> bool:
    total = sum(c * values[i] for i, c in row.terms.items())
    return total >= row.rhs if row.sense == ">=" else total <= row.rhs


@pytest.mark.parametrize("spares", [0, 1, 2, 3])
@pytest.mark.parametrize("capacities", [(5, 3), (4, 4), (7, 0, 2)])
def test_covering_rows_allow_exactly_what_survives(capacities: tuple[int, ...], spares: int) -> None:
    upper, need = 3, 9
    program = Program()
    for i in range(len(capacities)):
        program.groups.append(program.add_variable(f"groups_{i}", upper))
    add_covering_rows(program, "x", capacities, need, spares)
    binaries = len(program.variables) - len(capacities)
    for counts in product(range(upper + 1), repeat=len(capacities)):
        allowed = any(
            all(row_holds(row, (*counts, *lost)) for row in program.rows) for lost in product((0, 1), repeat=binaries)
        )
        assert allowed is (surviving(capacities, dict(enumerate(counts)), spares) >= need)


def test_rows_are_divided_by_their_common_divisor_towards_the_strict_side() -> None:
    program = Program()
    a, b = program.add_variable("a", 9), program.add_variable("b", 9)
    program.add_row("cover", {a: 6, b: 9}, ">=", 10)
    program.add_row("pack", {a: 6, b: 9}, "<=", 10)
    assert [(dict(row.terms), row.rhs) for row in program.rows] == [({0: 2, 1: 3}, 4), ({0: 2, 1: 3}, 3)]
