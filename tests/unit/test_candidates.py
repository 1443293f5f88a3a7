"""Candidates: dominance, populations, what is turned away and why."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from planner import dominance
from planner.candidates import find_candidates, populations
from planner.constraints import GROUP_LIMITS
from planner.cores import Rejections, cores, offer
from planner.dominance import undominated
from planner.eligibility import vendor_fault
from planner.errors import InfeasibleError, InputError, PriceMissingError
from planner.halves import SIZED, TIMES
from planner.planning import pricing_of, question_of
from planner.problem import Situation
from planner.scenario import Fleet, Scenario
from tests.oracle.instances import make_instance
from tests.unit import tiny
from tests.unit.tiny import GIB, shelf, shipped


def slow(vectors: list[tuple[int, ...]]) -> list[int]:
    """Keep what no other vector, or an earlier equal one, is at least as good as."""
    return [
        i for i, mine in enumerate(vectors)
        if not any(all(a <= b for a, b in zip(v, mine, strict=True)) and (v != mine or j < i)
                   for j, v in enumerate(vectors) if j != i)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("vectors", "kept"),
    [
        ([], []),
        ([(1, 2)], [0]),
        ([(1, 2), (1, 2)], [0]),
        ([(2, 2), (1, 2)], [1]),
        ([(1, 2), (2, 1), (2, 2)], [0, 1]),
        ([(3,), (1,), (2,)], [1]),
        ([(0, -5), (0, -6)], [1]),
    ],
)
def test_dominance_by_hand(vectors: list[tuple[int, ...]], kept: list[int]) -> None:
    assert undominated(vectors) == kept


@pytest.mark.parametrize("size", [dominance._SMALL - 1, dominance._SMALL + 1, 300])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_dominance_against_the_definition(size: int, width: int) -> None:
    rng = Random(f"{size} {width}")
    vectors = [tuple(rng.randint(-6, 6) for _ in range(width)) for _ in range(size)]
    assert undominated(vectors) == slow(vectors)


def test_dominance_compares_large_integers_exactly() -> None:
    vectors = [(2**53 + 1, 0), (2**53, 1)] + [(2**60, 2**60 - i) for i in range(60)]
    assert undominated(vectors)[:2] == [0, 1]


def test_populations_are_balanced() -> None:
    chassis, cpu = tiny.chassis(n_cpus=2, dimm_slots=32), replace(tiny.CPU, memory_channels=8, speed_2dpc=4400)
    assert populations(chassis, cpu, tiny.DIMM) == (16, 32)
    assert populations(replace(chassis, dimm_slots=24), cpu, tiny.DIMM) == (16,)
    assert populations(chassis, replace(cpu, speed_2dpc=0), tiny.DIMM) == (16,)
    assert populations(replace(chassis, max_dimm_bytes=32 * GIB), cpu, tiny.DIMM) == ()


def found(scenario: Scenario) -> set[str]:
    builds = find_candidates(scenario, shelf(), pricing_of(scenario, shelf())).builds
    return {build.name for build in builds}


def test_builds_fit_their_machines() -> None:
    scenario = shipped("report-real")
    candidates = find_candidates(scenario, shelf(), pricing_of(scenario, shelf()))
    for build in candidates.every:
        chassis = build.core.chassis
        assert build.dimms <= chassis.dimm_slots
        assert build.drives <= chassis.drive_bays
        assert build.dimm.capacity_bytes <= chassis.max_dimm_bytes
        assert build.core.front_nics + build.core.fabric_nics <= chassis.nic_slots
        assert build.node_power_w <= chassis.power_limit_w
        assert build.core.gpu.id in chassis.gpu_models
        assert build.cpu.platform in chassis.cpu_platforms
        assert build.reach > 0
        if build.core.system is None:
            assert build.dimms % (chassis.n_cpus * build.cpu.memory_channels) == 0
    assert set(candidates.builds) <= set(candidates.every)
    assert len({build.name for build in candidates.every}) == len(candidates.every)


def test_groups_over_nodes_and_pools_have_their_fabric() -> None:
    for name in ("report-real", "pooled-deepseek"):
        scenario = shipped(name)
        for core in cores(scenario, shelf(), offer(scenario, shelf()), Rejections()):
            wanted = core.n_nodes > 1 or scenario.tiers.placement == "pooled"
            assert bool(core.fabric_nics) is wanted
            assert core.replicas * core.layout.gpus == core.n_nodes * core.chassis.n_gpus


def limited_to(**changes: object) -> Scenario:
    scenario = shipped("report-real")
    fleet = {key: value for key, value in changes.items() if hasattr(scenario.fleet, key)}
    serving = {key: value for key, value in changes.items() if hasattr(scenario.serving, key)}
    return replace(scenario, fleet=replace(scenario.fleet, **fleet), serving=replace(scenario.serving, **serving))  # type: ignore[arg-type]


def test_only_named_gpus_and_chassis_are_offered() -> None:
    assert all("/ h200-sxm /" in name for name in found(limited_to(gpus=("h200-sxm",))))
    assert all(name.startswith("dgx-h200 ") for name in found(limited_to(chassis=("dgx-h200",))))


def test_only_allowed_vendors_are_offered() -> None:
    dell = found(limited_to(vendors=("Dell", "NVIDIA"), gpus=("h200-sxm",)))
    assert dell and all(name.startswith(("dell-", "dgx-")) for name in dell)
    assert not any(name.startswith("dgx-") for name in found(limited_to(without_vendors=("Dell",), gpus=("mi300x",))))


def test_vendor_that_is_not_allowed_is_told() -> None:
    with pytest.raises(InfeasibleError, match=r"h200-sxm: its vendor NVIDIA is not among 'fleet.vendors'"):
        found(limited_to(vendors=("Dell",), gpus=("h200-sxm",)))
    with pytest.raises(InfeasibleError, match=r"mi300x: its vendor AMD is among 'fleet.without_vendors'"):
        found(limited_to(without_vendors=("AMD",), gpus=("mi300x",)))
    with pytest.raises(InputError, match=r"unknown vendor in 'fleet.vendors' 'dell'.*Dell"):
        found(limited_to(vendors=("dell",)))


def test_machines_that_many_sell_have_no_vendor_of_their_own() -> None:
    shelf_of = shelf().catalog
    system = shelf_of.systems()["cn-h200-8"]
    chassis, gpu = shelf_of.chassis()[system.chassis], shelf_of.gpus()[system.gpu]
    assert vendor_fault(Fleet(vendors=("NVIDIA", "IEIT")), chassis, gpu, system) == ""
    assert "IEIT" in vendor_fault(Fleet(without_vendors=("IEIT",)), chassis, gpu, system)


def test_format_that_a_gpu_lacks_is_told() -> None:
    with pytest.raises(InfeasibleError, match=r"exists on sm100, sm103 only"):
        found(limited_to(gpus=("h200-sxm",), kv_formats=("nvfp4_ds_mla",)))


@pytest.mark.parametrize("gpu", ["h20-96", "h20-141"])
def test_gpu_without_a_price_is_told(gpu: str) -> None:
    with pytest.raises(PriceMissingError, match=gpu):
        found(limited_to(gpus=(gpu,)))


def test_gpu_and_chassis_that_do_not_go_together() -> None:
    with pytest.raises(InputError, match=r"no chassis that .fleet. allows carries mi300x; smc-821ge-tnhr takes"):
        found(limited_to(gpus=("mi300x",), chassis=("smc-821ge-tnhr",)))


def test_model_too_large_for_its_gpus_says_by_how_much() -> None:
    with pytest.raises(InfeasibleError, match=r"exceed the memory by \d+\.\d GiB per GPU"):
        found(limited_to(gpus=("rtx-pro-6000",), group_nodes=(1,)))


def test_reason_that_decides_is_told() -> None:
    scenario = shipped("report-real")
    assert scenario.service is not None
    late = replace(scenario, service=replace(scenario.service, first_token_s=0))
    with pytest.raises(InfeasibleError, match="first token later"):
        found(late)


@pytest.mark.parametrize("kind", [limit.kind for limit in GROUP_LIMITS.values() if limit.depends != "core"])
@pytest.mark.parametrize("name", ["report-real", "pooled-deepseek"])
def test_what_a_session_needs_is_asked_once_per_core(kind: str, name: str) -> None:
    # Halves ask it of a build without memory and drives, for all populations of a chassis.
    scenario, limit = shipped(name), GROUP_LIMITS[kind]
    at = Situation.of(scenario)
    if not limit.active(at):
        return
    for build in find_candidates(scenario, shelf(), pricing_of(scenario, shelf())).every:
        bare = replace(build, dimms=0, drive=None, drives=0)
        assert limit.need(bare, at) == limit.need(build, at), build.name


@pytest.mark.parametrize("name", ["report-real", "qwen3-235b", "pooled-deepseek"])
def test_a_name_is_one_builds(name: str) -> None:
    # Plans, bills and checks tell builds by their names; in a pool they may differ in fabric cards alone.
    at = shipped(name)
    offers = find_candidates(at, shelf(), pricing_of(at, shelf())).every
    assert len({build.name for build in offers}) == len(offers)


@pytest.mark.parametrize("block", range(4))
def test_a_name_is_one_builds_in_random_catalogues(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        instance = make_instance(seed)
        try:
            offers = find_candidates(
                instance.scenario, instance.shelf, pricing_of(instance.scenario, instance.shelf)
            ).every
        except (InfeasibleError, PriceMissingError):
            continue
        assert len({build.name for build in offers}) == len(offers), seed


@pytest.mark.parametrize("name", ["report-real", "pooled-deepseek"])
def test_what_memory_and_drives_offer_does_not_depend_on_what_is_stored(name: str) -> None:
    scenario = shipped(name)
    ways = question_of(scenario, shelf()).candidates.every.ways  # type: ignore[attr-defined]
    at = Situation.of(scenario)
    told: dict[tuple[object, ...], set[int]] = {}
    sizes: dict[tuple[object, ...], set[object]] = {}
    for way in ways:
        for halves in (way.halves.hosts, way.halves.drives):
            for half in halves[:3]:
                build = replace(half.build, core=way.core)
                for limit in GROUP_LIMITS.values():
                    if limit.active(at) and limit.depends != "core" and limit.kind not in SIZED | TIMES:
                        key = (limit.kind, id(half.build), way.core.role, way.core.n_nodes)
                        told.setdefault(key, set()).add(limit.have(build, at))
                        sizes.setdefault(key, set()).add(way.core.footprint)
    assert {len(offered) for offered in told.values()} == {1}
    assert max(map(len, sizes.values())) > 1
