"""Tiny random planning problems: a catalogue, a price book and a scenario from one seed.

Sizes are chosen so that a group hosts a handful of sessions and a plan has a handful of groups;
then every fleet can be enumerated. Running costs are whole cents per watt and year, so that the
total cost of ownership does not depend on where it is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from planner.attention.gqa import Gqa
from planner.engines import (
    Activations,
    Batch,
    Cache,
    Engine,
    EngineShelf,
    FormatRule,
    Reserve,
    Runtime,
    ServiceRates,
    Workspace,
)  # fmt: skip
from planner.evidence import SourceList
from planner.hardware import (
    Catalog,
    Chassis,
    Cluster,
    ClusterLine,
    Cpu,
    Dimm,
    Drive,
    FlopRates,
    Gpu,
    Item,
    Nic,
    Part,
    Quantity,
    Switch,
    System,
)
from planner.loading import Shelf
from planner.models import Checkpoint, FeedForward, Model
from planner.paging import PagingRules
from planner.prices import Price, PriceBook
from planner.scenario import Finance, Fleet, Limits, Scenario, Service, Serving, Tiers
from planner.units import Money, MoneyRate
from planner.workload import Context, Rates, SharedPrefix, Workload

GIB, GB, MIB = 2**30, 10**9, 2**20
DRIVERS = ("fleet", "nodes", "groups", "racks", "front_ports", "fabric_ports")


@dataclass(frozen=True)
class Instance:
    """One random question: what is asked (`scenario`) and of which catalogue (`shelf`)."""

    seed: int
    scenario: Scenario
    shelf: Shelf


def make_instance(seed: int) -> Instance:
    """Return the instance of `seed`; the same one every time."""
    rng = Random(seed)
    pooled = rng.random() < 0.35
    memory = Random(f"memory of {seed}")
    parts = _parts(rng, memory, pooled)
    cluster = _cluster(rng)
    book = _book(rng, parts, cluster)
    catalog = Catalog(parts, {"book": book}, cluster, SourceList())
    engines = EngineShelf({"engine": _engine(rng, memory, Random(f"speed of {seed}"))}, {"cache": _cache(rng)})
    shelf = Shelf(catalog, {"model": _model(rng)}, engines)
    return Instance(seed, scenario_of(rng, pooled, parts), shelf)


def _share(rng: Random, low: int, high: int) -> Fraction:
    return Fraction(rng.randint(low, high), 100)


def _maybe(rng: Random, chance: float) -> bool:
    return rng.random() < chance


def _model(rng: Random) -> Model:
    layers = rng.choice((8, 12, 16))
    attention = Gqa(layers=layers, heads=8, kv_heads=rng.choice((2, 4, 8)), key_dim=64, value_dim=rng.choice((64, 128)))
    feed_forward = FeedForward(dense_layers=layers, dense_size=rng.choice((1024, 4096)))
    checkpoints = (
        Checkpoint(format="bf16", experts="bf16", linear="bf16"),
        Checkpoint(format="fp8", experts="fp8", linear="fp8"),
    )
    return Model(
        id="model", name="Model", max_context_tokens=2**20, hidden=1024, vocabulary=32_000, attention=(attention,),
        feed_forward=feed_forward, checkpoints=checkpoints,
    )  # fmt: skip


def _runtime(rng: Random, memory: Random, reserved: bool) -> Runtime:
    run = Runtime(
        visible_fraction=_share(rng, 95, 100), base_single_bytes=GIB // 4, base_parallel_bytes=GIB // 2,
        base_bridged_bytes=GIB // 3,
        position_bytes=Fraction(memory.choice((0, 2, 4))), batches=_batches(memory),
        graphs_bytes=0 if reserved else GIB // 4, expert_buffer_bytes=GIB,
    )  # fmt: skip
    if reserved:
        return run
    activations = Activations(
        base_bytes=memory.randint(0, 64) * MIB, sampler=Fraction(memory.randint(0, 160), 8),
        vocabulary=Fraction(memory.choice((0, 528))), stream=Fraction(2), sampled=Fraction(4),
        streams=Fraction(memory.randint(0, 8)), widest=Fraction(memory.randint(0, 8)), scores_bytes=GIB,
        latent=Fraction(2**20),
    )  # fmt: skip
    workspace = Workspace(
        experts=Fraction(2), query=Fraction(2176), padded=Fraction(2176), factor=5, long_factor=2,
        long_from_tokens=2**18, row_bytes=1152, picked=Fraction(4),
    )  # fmt: skip
    return replace(run, activations=activations, workspace=workspace if _maybe(memory, 0.5) else None)


def _batches(memory: Random) -> tuple[Batch, ...]:
    """From the largest GPUs down; the last holds for all."""
    batches = []
    for gib in (12, 8, 0)[memory.randint(0, 2) :]:
        batches.append(
            Batch(
                from_memory_bytes=gib * GIB, not_on=("b",) if gib and _maybe(memory, 0.3) else (),
                max_sequences=memory.choice((8, 64, 256)),
                tensor_sequences=memory.choice((None, None, 16, 512)), batched_tokens=memory.choice((512, 2048, 8192)),
            )
        )  # fmt: skip
    return tuple(batches)


def _reserve(memory: Random) -> Reserve:
    return Reserve(
        base_bytes=memory.randint(64, 512) * MIB, chunk_bytes=memory.choice((0, 64, 128)) * 2**10,
        rank_bytes=memory.randint(0, 128) * MIB, sequence_bytes=memory.randint(0, 2) * MIB, group_bytes=GIB,
        many_bytes=GIB, many_sequences=300, graphs_bytes=memory.randint(0, 464) * MIB, latent_bytes=GIB,
        expert_bytes=GIB, floor_bytes=memory.choice((0, GIB)), floor_from_bytes=memory.choice((0, 10)) * GIB,
    )  # fmt: skip


def _paging(memory: Random) -> PagingRules:
    return PagingRules(
        style=memory.choice(("plain", "grouped")), prints="tokens", null_blocks=memory.choice((0, 1, 1, 3))
    )


def _engine(rng: Random, memory: Random, speed: Random) -> Engine:
    reserved = _maybe(memory, 0.35)
    runtime = _runtime(rng, memory, reserved)
    service = ServiceRates(
        compute_fraction=_share(rng, 30, 60), bandwidth_fraction=_share(rng, 40, 80),
        load_ceiling_fraction=_share(rng, 50, 100), step_floor_s=Fraction(rng.randint(0, 8), 1000),
        attention_fraction=_share(speed, 30, 70), fabric_fraction=_share(speed, 50, 90),
        decode_ceiling_fraction=_share(speed, 80, 100), layer_floor_s=Fraction(speed.randint(0, 100), 10**6),
        stream_passes=speed.randint(0, 20), latent_tile=64,
    )  # fmt: skip
    formats = tuple(FormatRule(format=name, families=("gqa",), architectures=("a", "b")) for name in ("fp8", "bf16"))
    weights = (
        FormatRule(format="bf16", architectures=("a", "b")),
        FormatRule(format="fp8", architectures=("a",)),
    )
    share = _share(rng, 85, 95)
    return Engine(
        id="engine", name="Engine", version="1", block_tokens=rng.choice((16, 64)), latent_block_tokens=64,
        paging=_paging(memory), context_parallel=False, shards_indexer=False, runtime=runtime, service=service,
        kv_formats=formats, weight_formats=weights, reserve=_reserve(memory) if reserved else None,
        utilisation_fraction=None if reserved else share,
    )  # fmt: skip


def _cache(rng: Random) -> Cache:
    return Cache(
        id="cache", name="Cache", version="1", latent="once", chunk_tokens=rng.choice((1, 256)),
        usable_fraction=_share(rng, 60, 100), space_fraction=_share(rng, 80, 100),
        host_fraction=_share(rng, 60, 95), staging_prefixes=rng.randint(0, 3),
        host_link_fraction=_share(rng, 20, 90), drive_read_fraction=_share(rng, 30, 90),
        drive_write_fraction=_share(rng, 30, 90), load_ceiling_fraction=_share(rng, 50, 100),
        write_amplification=Fraction(rng.randint(100, 150), 100),
    )  # fmt: skip


def _parts(rng: Random, memory: Random, pooled: bool) -> dict[str, dict[str, Part]]:
    gpus = [_gpu(rng, memory, f"gpu-{i}") for i in range(rng.choice((1, 1, 2)))]
    cpus = [
        Cpu(
            id=f"cpu-{i}", name="C", vendor="V", platform=rng.choice(("p0", "p1")) if i else "p0",
            memory_channels=rng.choice((1, 2)), speed_1dpc=5600, speed_2dpc=rng.choice((0, 4400)),
            power_w=rng.randint(100, 400),
        )
        for i in range(rng.choice((1, 1, 2)))
    ]  # fmt: skip
    dimms = [
        Dimm(
            id=f"dimm-{i}", name="D", capacity_bytes=rng.choice((8, 12, 16, 24, 32)) * GIB, speed=5600,
            power_w=rng.randint(4, 12),
        )
        for i in range(rng.choice((1, 2)))
    ]  # fmt: skip
    drives = [_drive(rng, f"drive-{i}", "data") for i in range(rng.choice((1, 1, 2)))]
    boot = [_drive(rng, name, "boot") for name in ("boot", "boot-other")]
    nics = [_nic(rng, name) for name in ("nic-front", "nic-fabric")]
    switch = Switch(
        id="switch", name="S", vendor="V", ports=8, usable_ports=6, port_bytes_per_s=GB, rack_units=1,
        power_w=rng.choice((0, 300)),
    )  # fmt: skip
    items = [
        Item(id=f"item-{i}", name="I", category=rng.choice(("rack", "service")), power_w=rng.choice((0, 0, 150)))
        for i in range(5)
    ]
    chassis = [_chassis(rng, f"chassis-{i}", [g.id for g in gpus], pooled) for i in range(rng.choice((1, 2, 2)))]
    systems: list[System] = []
    if _maybe(rng, 0.25):
        systems.append(_system(rng, chassis[0], gpus[0], cpus[0], dimms[0], drives[0]))
        if len(chassis) > 1 and _maybe(rng, 0.3):
            chassis[0] = _chassis(rng, "chassis-0", [g.id for g in gpus], pooled, whole=True)
    kinds = {
        "gpu": gpus, "cpu": cpus, "dimm": dimms, "drive": drives + boot, "nic": nics, "switch": [switch],
        "item": items, "chassis": chassis, "system": systems,
    }  # fmt: skip
    return {kind: {part.id: part for part in found} for kind, found in kinds.items()}  # type: ignore[attr-defined]


def _gpu(rng: Random, memory: Random, name: str) -> Gpu:
    fp8 = rng.choice((None, rng.randint(100, 900) * 10**12))
    gpu = Gpu(
        id=name, name="G", vendor="V", architecture=rng.choice(("a", "a", "a", "b")), form_factor="socket",
        memory_bytes=rng.randint(5, 14) * GIB, memory_bandwidth_bytes_per_s=rng.randint(100, 1500) * GB,
        dense=FlopRates(bf16_flops=rng.randint(5, 400) * 10**12, fp8_flops=fp8), power_w=rng.randint(200, 900),
        host_link_bytes_per_s=rng.randint(4, 32) * GB, fabric_bytes_per_s=rng.choice((0, 100 * GB)),
    )  # fmt: skip
    # No log shows what engines see, or one does: a little less than the driver.
    return replace(gpu, visible_bytes=memory.choice((None, gpu.memory_bytes * memory.randint(940, 999) // 1000)))


def _drive(rng: Random, name: str, role: str) -> Drive:
    return Drive(
        id=name, name="N", vendor="V", role=role, form_factors=("u2",), capacity_bytes=rng.randint(16, 60) * GB,  # type: ignore[arg-type]
        read_bytes_per_s=rng.randint(2, 14) * GB // 2, write_bytes_per_s=rng.randint(2, 20) * GB // 10,
        dwpd=Fraction(rng.randint(1, 30), 10), power_w=rng.randint(5, 25),
    )  # fmt: skip


def _nic(rng: Random, name: str) -> Nic:
    return Nic(
        id=name, name="N", vendor="V", ports=rng.choice((1, 2)), port_bytes_per_s=rng.randint(1, 20) * GB // 4,
        cable="item-0", power_w=rng.randint(10, 30),
    )  # fmt: skip


def _chassis(rng: Random, name: str, gpus: list[str], pooled: bool, whole: bool = False) -> Chassis:
    n_gpus = rng.choice((1, 2, 4))
    return Chassis(
        id=name, name="H", vendor="V", rack_units=rng.randint(2, 8), gpu_form_factor="socket", n_gpus=n_gpus,
        gpu_models=tuple(gpus), cpu_platforms=rng.choice((("p0",), ("p0", "p1"))), n_cpus=rng.choice((1, 2)),
        dimm_slots=rng.choice((4, 8)), max_dimm_bytes=rng.choice((24, 64, 64)) * GIB, drive_bays=rng.choice((1, 2)),
        drive_form_factors=("u2",), boot_drives=rng.choice((1, 2)), nic_slots=rng.choice((4, 6, 6, 8)),
        psus=4, psu_w=rng.choice((1000, 2000, 3000)), spare_psus=rng.choice((0, 1)), base_w=rng.randint(100, 600),
        uplinks=rng.choice((1, 2)), uplink_bytes_per_s=rng.randint(2, 64) * GB, whole_system=whole,
    )  # fmt: skip


def _system(rng: Random, chassis: Chassis, gpu: Gpu, cpu: Cpu, dimm: Dimm, drive: Drive) -> System:
    drives = (Quantity(part=drive.id, count=rng.randint(1, 3)),) if _maybe(rng, 0.8) else ()
    nics = (Quantity(part="nic-front", count=1),) if _maybe(rng, 0.5) else ()
    return System(
        id="system", name="Y", vendor="V", chassis=chassis.id, gpu=gpu.id, cpu=cpu.id,
        dimms=Quantity(part=dimm.id, count=rng.choice((2, 4, 8))), drives=drives,
        boot=Quantity(part="boot-other", count=2), nics=nics,
    )  # fmt: skip


def _cluster(rng: Random) -> Cluster:
    return Cluster(
        id="cluster", name="K", rack_units=rng.choice((8, 12, 20)), rack_w=rng.choice((4000, 8000, 12000)),
        front_nic="nic-front", front_nics=rng.choice((1, 2)), fabric_nic="nic-fabric", front_switch="switch",
        fabric_switch="switch", boot_drive="boot", not_included=(),
        lines=tuple(_line(rng, i) for i in range(rng.randint(0, 6))),
    )  # fmt: skip


def _line(rng: Random, i: int) -> ClusterLine:
    driver = rng.choice(DRIVERS)
    if _maybe(rng, 0.25):
        percent = _share(rng, 1, 20)
        low = _share(rng, 0, 1) if _maybe(rng, 0.5) else None
        high = _share(rng, 20, 30) if _maybe(rng, 0.5) else None
        return ClusterLine(
            id=f"line-{i}", name="L", driver="nodes", percent=percent, percent_low=low, percent_high=high,
            per_year=_maybe(rng, 0.5), assumed="test",
        )  # fmt: skip
    item = rng.choice(("switch", *(f"item-{n}" for n in range(5))))
    if _maybe(rng, 0.3):
        return ClusterLine(id=f"line-{i}", name="L", item=item, driver=driver, pieces=rng.randint(1, 3))
    return ClusterLine(
        id=f"line-{i}", name="L", item=item, driver=driver, per=rng.randint(1, 5), pieces=rng.randint(1, 3),
        minimum=rng.choice((0, 0, 1, 3, 5)), per_year=_maybe(rng, 0.2),
    )  # fmt: skip


def _book(rng: Random, parts: dict[str, dict[str, Part]], cluster: Cluster) -> PriceBook:
    fine = _maybe(rng, 0.5)
    typical = {"chassis": 800_000, "gpu": 1_000_000, "cpu": 200_000, "dimm": 60_000, "drive": 50_000, "nic": 80_000}
    droppable = [p for kind in ("cpu", "dimm", "drive", "gpu", "chassis", "system") for p in parts[kind]]
    dropped = set(rng.sample(droppable, 1)) if _maybe(rng, 0.12) else set()
    prices = []
    for kind, by_id in parts.items():
        for name in by_id:
            cents = int(typical.get(kind, 100_000) * rng.uniform(0.3, 2.0))
            if kind == "system":
                cents = rng.randint(1_500_000, 6_000_000)
            cents = cents if fine else max(1, cents // 10_000) * 10_000
            low, high = int(cents * rng.uniform(0.5, 1)), int(cents * rng.uniform(1, 2))
            if name not in dropped:
                prices.append(_price(name, low, cents, high))
    return PriceBook(
        id="book", name="B", region="R", currency="USD", as_of="2026-11-01",
        tax=rng.choice(("excluded", "included")), prices=tuple(prices),
    )  # fmt: skip


def _price(part: str, low: int, typical: int, high: int) -> Price:
    low, typical, high = (Money("USD", cents) for cents in (max(1, low), typical, high))  # type: ignore[assignment]
    return Price(
        part=part, low=low, typical=typical, high=high, as_of="2026-11-01", basis="indicative", assumed="test"  # type: ignore[arg-type]
    )  # fmt: skip


def scenario_of(rng: Random, pooled: bool, parts: dict[str, dict[str, Part]]) -> Scenario:
    """Return a random scenario over these parts."""
    formats = rng.choice((("fp8",), ("bf16",), ("fp8", "bf16")))
    tiers = Tiers(
        cache="cache", placement="pooled" if pooled else "local",
        dram=rng.choice(("inclusive", "exclusive", "none")), nvme=rng.choice(("write-all", "spill", "none")),
        staging_prefixes=rng.choice((None, None, 0, 1)),
    )  # fmt: skip
    workload = _workload(rng)
    service = None
    if _maybe(rng, 0.5):
        service = Service(decode_tokens_per_s=rng.randint(5, 40), first_token_s=Fraction(rng.randint(5, 100), 10))
    layouts = rng.choice(
        (("any",), ("any",), ("any",), ("tp1", "tp2", "tp4"), ("tp1", "tp2", "tp1-pp2", "tp4-pp2", "tp2-pp2"))
    )
    return Scenario(
        name="random", title="Random", model="model", workload=workload,
        serving=Serving(
            engines=("engine",), weights=rng.choice((("bf16",), ("fp8",), ("bf16", "fp8"))), kv_formats=formats,
            layouts=layouts, placement="sticky" if _maybe(rng, 0.1) else "balanced",
            overflow_fraction=_share(rng, 1, 30),
        ),
        tiers=tiers, service=service,
        fleet=Fleet(
            gpus=("gpu-0",) if _maybe(rng, 0.2) else (),
            chassis=("chassis-0",) if _maybe(rng, 0.1) else (),
            max_builds=rng.choice((None, None, None, 1, 2)), spare_groups=rng.choice((0, 0, 1, 2)),
            max_nodes=rng.choice((None, None, None, 2, 3, 5)),
            group_nodes=rng.choice(((1,), (1, 2), (1, 2), (1, 2), (2,))),
        ),
        limits=_limits(rng, parts), finance=_finance(rng), objective=rng.choice(("capex", "tco", "nodes")),
    )  # fmt: skip


def _workload(rng: Random) -> Workload:
    per_user = rng.randint(1, 3)
    in_flight = rng.randint(0, 6) if _maybe(rng, 0.2) else None
    planned = rng.choice((5_000, 12 * 1024, 16 * 1024, 30_000))
    prefix = None
    if _maybe(rng, 0.4):
        share = _share(rng, 5, 50) if _maybe(rng, 0.5) else None
        length = rng.randint(100, 4_500) if share is None else None
        stored = rng.choice(("once-per-pool", "deducted"))
        prefix = SharedPrefix(share_fraction=share, length_tokens=length, groups=rng.randint(1, 3), stored=stored)
    rates = None
    if _maybe(rng, 0.6):
        rates = Rates(
            turns_per_hour=Fraction(rng.randint(10, 400)), new_tokens=rng.randint(100, 2_000),
            answer_tokens=rng.randint(50, 500), cold_fraction=_share(rng, 0, 60),
            in_gpu_fraction=_share(rng, 0, 40) if _maybe(rng, 0.3) else Fraction(0),
            hours_per_day=Fraction(rng.randint(1, 24)),
        )  # fmt: skip
    return Workload(
        users=rng.randint(2, 24), sessions_per_user=per_user, active_per_user=rng.randint(0, per_user),
        duty_fraction=_share(rng, 10, 100) if in_flight is None and _maybe(rng, 0.8) else None, in_flight=in_flight,
        peak_over_mean=Fraction(rng.choice((100, 121, 150)), 100), context=Context(planned_tokens=planned),
        shared_prefix=prefix, overhead_fraction=_share(rng, 0, 20) if _maybe(rng, 0.2) else None,
        warm_fraction=_share(rng, 0, 100) if _maybe(rng, 0.8) else None, retained_fraction=_share(rng, 0, 100),
        rates=rates,
    )  # fmt: skip


def _limits(rng: Random, parts: dict[str, dict[str, Part]]) -> Limits:
    stock = {}
    if _maybe(rng, 0.3):
        kinds = ("gpu", "dimm", "drive", "cpu", "chassis", "nic", "system", "item")
        names = [name for kind in kinds for name in parts[kind]]
        for name in rng.sample(names, min(len(names), rng.randint(1, 2))):
            stock[name] = rng.randint(0, 12)
    return Limits(
        budget=Money("USD", rng.randint(2_000_000, 20_000_000)) if _maybe(rng, 0.2) else None,
        power_w=rng.randint(1_500, 12_000) if _maybe(rng, 0.2) else None,
        rack_units=rng.randint(4, 30) if _maybe(rng, 0.2) else None, stock=stock,
    )  # fmt: skip


def _finance(rng: Random) -> Finance:
    load, pue = _share(rng, 40, 100), _share(rng, 100, 160)
    # So many whole cents per watt and year, whatever the load and the PUE.
    energy = Fraction(1000 * rng.randint(1, 60), 8760) / (load * pue)
    return Finance(
        prices="book", price_case=rng.choice(("low", "typical", "typical", "high")), tax_fraction=_share(rng, 0, 20),
        years=rng.randint(1, 5), pue=pue, average_load_fraction=load,
        energy_rate=MoneyRate("USD", energy, "kWh") if _maybe(rng, 0.6) else None,
        colocation_rate=MoneyRate("USD", Fraction(250 * rng.randint(1, 40)), "kW/month") if _maybe(rng, 0.5) else None,
    )  # fmt: skip
