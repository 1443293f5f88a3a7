"""A planning problem small enough to compute by hand, and the shipped catalogue loaded once.

One chassis with two GPUs, one processor, two memory modules and two drives. 10 users with 2
sessions of 1,024 tokens; the model stores 4,096 bytes per token, so a session takes 4 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from planner.attention.gqa import Gqa
from planner.budget import Budget
from planner.build import Build, Core
from planner.costs import Pricing
from planner.demand import footprint
from planner.engines import Batch, Cache, Engine, FormatRule, Runtime, ServiceRates
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
    Switch,
    System,
)  # fmt: skip
from planner.kvcache import KvCache, kv_cache
from planner.layout import Layout
from planner.loading import Shelf, load_shelf
from planner.models import Checkpoint, FeedForward, Model
from planner.paging import PagingRules
from planner.pool import Pool
from planner.prices import Price, PriceBook
from planner.problem import Problem, Situation
from planner.scenario import Finance, Fleet, Limits, Scenario, Service, Serving, Tiers
from planner.scenario_files import load_scenario
from planner.units import Money
from planner.volume import group_paid
from planner.workload import Context, Rates, Workload

GIB, GB, MIB = 2**30, 10**9, 2**20
PERCENT = Fraction(1, 100)


@cache
def shelf() -> Shelf:
    """The shipped catalogue."""
    return load_shelf()


@cache
def shipped(name: str, variant: str | None = None) -> Scenario:
    """A shipped scenario."""
    return load_scenario(name, (), variant, shelf())


def model(**changes: Any) -> Model:
    """8 layers of 2 KV heads with 64 + 64 elements: 8 x 2 x 128 x 2 B = 4,096 B per token in BF16."""
    attention = Gqa(layers=8, heads=8, kv_heads=2, key_dim=64, value_dim=64)
    values: dict[str, Any] = {
        "id": "tiny", "name": "Tiny", "max_context_tokens": 2**20, "hidden": 512, "vocabulary": 1000,
        "attention": (attention,), "feed_forward": FeedForward(dense_layers=8, dense_size=1024),
        "checkpoints": (Checkpoint(format="bf16", experts="bf16", linear="bf16"),),
    }  # fmt: skip
    return Model(**(values | changes))


def engine(**changes: Any) -> Engine:
    """Everything visible, everything usable, 1 GiB kept per GPU, bytes in blocks; half of all peaks is reached."""
    runtime = Runtime(
        visible_fraction=Fraction(1), base_single_bytes=GIB, base_parallel_bytes=GIB, base_bridged_bytes=GIB,
        position_bytes=Fraction(0),
        batches=(Batch(from_memory_bytes=0, max_sequences=1, batched_tokens=512),), graphs_bytes=0,
        expert_buffer_bytes=2 * GIB,
    )  # fmt: skip
    service = ServiceRates(
        compute_fraction=50 * PERCENT, attention_fraction=50 * PERCENT, bandwidth_fraction=50 * PERCENT,
        fabric_fraction=50 * PERCENT, load_ceiling_fraction=50 * PERCENT, decode_ceiling_fraction=90 * PERCENT,
        step_floor_s=Fraction(2, 1000), layer_floor_s=Fraction(1, 1000), stream_passes=10, latent_tile=64,
    )  # fmt: skip
    values: dict[str, Any] = {
        "id": "engine", "name": "Engine", "version": "1", "utilisation_fraction": Fraction(1), "block_tokens": 16,
        "latent_block_tokens": 64, "paging": PagingRules(style="plain", prints="tokens", null_blocks=0),
        "context_parallel": True, "shards_indexer": True, "runtime": runtime, "service": service,
        "kv_formats": (FormatRule(format="bf16", families=("gqa",), architectures=("a",)),),
        "weight_formats": (FormatRule(format="bf16", architectures=("a",)),),
    }  # fmt: skip
    return Engine(**(values | changes))


def offload(**changes: Any) -> Cache:
    """Chunks of 256; half of a tier is usable; 80 % of drives and 75 % of memory go to it."""
    values: dict[str, Any] = {
        "id": "cache", "name": "Cache", "version": "1", "latent": "per rank", "chunk_tokens": 256,
        "usable_fraction": 50 * PERCENT, "space_fraction": 80 * PERCENT, "host_fraction": 75 * PERCENT,
        "staging_prefixes": 2, "host_link_fraction": 50 * PERCENT, "drive_read_fraction": 50 * PERCENT,
        "drive_write_fraction": 25 * PERCENT, "load_ceiling_fraction": 50 * PERCENT,
        "write_amplification": Fraction(5, 4),
    }  # fmt: skip
    return Cache(**(values | changes))


def gpu(**changes: Any) -> Gpu:
    """16 GiB, 1 TB/s, 100 TFLOP/s in BF16 only, 300 W, a link of 16 GB/s."""
    values: dict[str, Any] = {
        "id": "gpu", "name": "Gpu", "vendor": "V", "architecture": "a", "form_factor": "socket",
        "memory_bytes": 16 * GIB, "memory_bandwidth_bytes_per_s": 1000 * GB,
        "dense": FlopRates(bf16_flops=100 * 10**12), "power_w": 300, "host_link_bytes_per_s": 16 * GB,
        "fabric_bytes_per_s": 100 * GB,
    }  # fmt: skip
    return Gpu(**(values | changes))


def chassis(**changes: Any) -> Chassis:
    """4 RU, two GPUs that share one uplink of 20 GB/s, 8 DIMM slots, 100 W of its own."""
    values: dict[str, Any] = {
        "id": "chassis", "name": "Chassis", "vendor": "V", "rack_units": 4, "gpu_form_factor": "socket", "n_gpus": 2,
        "gpu_models": ("gpu",), "cpu_platforms": ("p",), "n_cpus": 1, "dimm_slots": 8, "max_dimm_bytes": 64 * GIB,
        "drive_bays": 2, "drive_form_factors": ("u2",), "boot_drives": 1, "nic_slots": 4, "psus": 2, "psu_w": 1000,
        "spare_psus": 1, "base_w": 100, "uplinks": 1, "uplink_bytes_per_s": 20 * GB,
    }  # fmt: skip
    return Chassis(**(values | changes))


CPU = Cpu(id="cpu", name="Cpu", vendor="V", platform="p", memory_channels=2, speed_1dpc=5600, speed_2dpc=0, power_w=100)
DIMM = Dimm(id="dimm", name="Dimm", capacity_bytes=64 * GIB, speed=5600, power_w=5)
FRONT = Nic(id="front", name="Front", vendor="V", ports=2, port_bytes_per_s=10 * GB, cable="cable", power_w=15)
FABRIC = Nic(id="fabric", name="Fabric", vendor="V", ports=1, port_bytes_per_s=10 * GB, cable="cable", power_w=20)
SWITCH = Switch(
    id="switch", name="Switch", vendor="V", ports=8, usable_ports=4, port_bytes_per_s=10 * GB, rack_units=1, power_w=100
)


def drive(role: str = "data", **changes: Any) -> Drive:
    """1 TB, 4 GB/s to read, 2 GB/s to write."""
    values: dict[str, Any] = {
        "id": "drive" if role == "data" else "boot", "name": "Drive", "vendor": "V", "role": role,
        "form_factors": ("u2",), "capacity_bytes": 1000 * GB, "read_bytes_per_s": 4 * GB, "write_bytes_per_s": 2 * GB,
        "dwpd": Fraction(1), "power_w": 10 if role == "data" else 5,
    }  # fmt: skip
    return Drive(**(values | changes))


def item(name: str, category: str = "item", power_w: int = 0) -> Item:
    return Item(id=name, name=name.title(), category=category, power_w=power_w)


def line(name: str, driver: str, **changes: Any) -> ClusterLine:
    return ClusterLine(id=name, name=name.title(), driver=driver, **({"assumed": "by hand"} | changes))  # type: ignore[arg-type]


LINES = (
    line("cables", "nodes", item="cable", pieces=2),
    line("leaves", "front_ports", item="switch", per=4, minimum=2),
    line("racks", "racks", item="rack"),
    line("heads", "fleet", item="head", pieces=2),
    line("install", "nodes", item="install"),
    line("support", "nodes", percent=10 * PERCENT, percent_low=5 * PERCENT, percent_high=20 * PERCENT, per_year=True),
)
DOLLARS = {
    "chassis": "1000", "gpu": "2000", "cpu": "500", "dimm": "100", "drive": "200", "boot": "50", "front": "150",
    "fabric": "250", "cable": "10.01", "switch": "900", "rack": "300", "head": "700", "install": "40", "system": "5000",
}  # fmt: skip


def price(part: str, dollars: str, **changes: Any) -> Price:
    """Typical as given, low half of it, high twice as much."""
    typical = Money.parse(f"USD {dollars}")
    low, high = Money("USD", typical.cents // 2), Money("USD", 2 * typical.cents)
    values: dict[str, Any] = {"assumed": "by hand"}
    return Price(part=part, low=low, typical=typical, high=high, as_of="2026-11-01", basis="list", **(values | changes))


def book(dollars: Mapping[str, str] = DOLLARS, tax: str = "excluded") -> PriceBook:
    prices = tuple(price(part, amount) for part, amount in dollars.items())
    return PriceBook(
        id="book",
        name="Book",
        region="R",
        currency="USD",
        as_of="2026-11-30",
        tax=tax,
        prices=prices,  # type: ignore[arg-type]
    )


def cluster(lines: Sequence[ClusterLine] = LINES) -> Cluster:
    """Racks with 10 RU and 2 kW for nodes."""
    return Cluster(
        id="cluster", name="Cluster", rack_units=10, rack_w=2000, front_nic="front", front_nics=1, fabric_nic="fabric",
        front_switch="switch", fabric_switch="switch", boot_drive="boot", lines=tuple(lines), not_included=("Staff",),
    )  # fmt: skip


def catalog(lines: Sequence[ClusterLine] = LINES, systems: Sequence[System] = (), **changes: Any) -> Catalog:
    kinds: dict[str, Sequence[Part]] = {
        "gpu": [gpu()],
        "cpu": [CPU],
        "dimm": [DIMM],
        "drive": [drive(), drive("boot")],
        "nic": [FRONT, FABRIC],
        "switch": [SWITCH],
        "item": [item("cable"), item("rack"), item("head", power_w=200), item("install", "service")],
        "chassis": [chassis()],
        "system": systems,
    }
    parts = {kind: {part.id: part for part in found} for kind, found in (kinds | changes).items()}
    return Catalog(parts, {"book": book()}, cluster(lines), SourceList())


def workload(**changes: Any) -> Workload:
    """20 open sessions, 10 active, 5 in flight, 5 warm, 5 cold; 0.1 turns per second."""
    rates = Rates(turns_per_hour=Fraction(36), new_tokens=512, answer_tokens=256, cold_fraction=10 * PERCENT)
    values: dict[str, Any] = {
        "users": 10, "sessions_per_user": 2, "active_per_user": 1, "duty_fraction": 50 * PERCENT,
        "context": Context(planned_tokens=1024), "warm_fraction": 50 * PERCENT, "rates": rates,
    }  # fmt: skip
    return Workload(**(values | changes))


def scenario(**changes: Any) -> Scenario:
    values: dict[str, Any] = {
        "name": "tiny", "title": "Tiny", "model": "tiny", "workload": workload(),
        "serving": Serving(engines=("engine",), weights=("bf16",), kv_formats=("bf16",)),
        "tiers": Tiers(cache="cache"), "service": Service(decode_tokens_per_s=50, first_token_s=Fraction(1)),
        "fleet": Fleet(), "limits": Limits(),
        "finance": Finance(prices="book", tax_fraction=10 * PERCENT, years=2),
    }  # fmt: skip
    return Scenario(**(values | changes))


def kv(name: str = "bf16") -> KvCache:
    return kv_cache(model(), name)


def core(at: Scenario | None = None, **changes: Any) -> Core:
    """Two replicas of one GPU each with 1 GB of weights; a KV pool holds three sessions."""
    size = footprint(at or scenario(), kv(), offload())
    values: dict[str, Any] = {
        "chassis": chassis(), "gpu": gpu(), "model": model(), "engine": engine(), "weights": "bf16", "footprint": size,
        "layout": Layout(), "n_nodes": 1, "replicas": 2,
        "budget": Budget(16 * GIB, 16 * GIB, GB, (("base", GIB),), 14 * MIB, "derived"),
        "pool": Pool(14 * MIB, 3584, Fraction(4 * MIB), Fraction(0), 3),
        "layout_evidence": "derived", "front_nic": FRONT, "front_nics": 1,
    }  # fmt: skip
    return Core(**(values | changes))


def build(at: Scenario | None = None, one: Core | None = None, **changes: Any) -> Build:
    """A build without costs and reach."""
    values: dict[str, Any] = {
        "core": one or core(at), "cache": offload(), "cpu": CPU, "dimm": DIMM, "dimms": 2, "drive": drive(),
        "drives": 2, "boot": drive("boot"),
    }  # fmt: skip
    return Build(**(values | changes))


def priced(made: Build, prices: Pricing, reach: int) -> Build:
    """The build with its cost, its watts, its share of a rack, and a reach (in parts) of our choosing."""
    made = replace(made, power_w=made.n_nodes * made.node_power_w, reach=reach)
    per = min(
        prices.catalog.cluster.rack_units // made.core.chassis.rack_units,
        prices.catalog.cluster.rack_w * made.n_nodes // made.power_w,
    )
    paid = group_paid(prices, made)
    return replace(
        made, cost_cents=paid.cents, opex_cents=prices.opex_cents(made.power_w), tco_cents=paid.tco_cents,
        rest_cents=paid.rest_cents, rest_tco_cents=paid.rest_tco_cents, volume_pieces=paid.pieces, racks_per=per,
    )  # fmt: skip


def pricing(at: Scenario | None = None, parts: Catalog | None = None) -> Pricing:
    parts = parts or catalog()
    return Pricing(parts, parts.books["book"], (at or scenario()).finance)


def problem(at: Scenario | None = None, reaches: Sequence[int] = (8,), parts: Catalog | None = None) -> Problem:
    """A problem with one build per reach in whole sessions; memory grows from one build to the next."""
    at, parts = at or scenario(), parts or catalog()
    prices, situation = pricing(at, parts), Situation.of(at)
    builds = tuple(
        priced(build(at, dimms=2 * (i + 1)), prices, reach * situation.scale) for i, reach in enumerate(reaches)
    )
    return Problem(situation, builds, prices)
