"""Seeded synthetic catalogues shaped like real ones, up to two million machines built from parts.

Models, engines, offload products, network cards and cluster lines are the shipped ones; chassis, GPUs,
processors, modules, drives and prices are drawn. A machine is a chassis with one kind of GPU, one processor
and DIMM population and one drive population; the layouts that run on it come on top.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from random import Random

from planner.hardware import Chassis, Cpu, Dimm, Drive, FlopRates, Gpu, Part
from planner.loading import Shelf, load_shelf
from planner.prices import Price, PriceBook, VolumePrice
from planner.scenario import Fleet, Scenario
from planner.scenario_files import load_scenario
from planner.units import Money

GIB, GB = 2**30, 10**9
BOOK = "synthetic"
EXTRAS = ("", "-spare", "-kinds", "-tiers")
CASES = tuple(placement + extra for placement in ("pooled", "local") for extra in EXTRAS)
"""Placement of the tiers; with one spare group; with it and at most three kinds of build; with volume prices."""


@dataclass(frozen=True)
class Size:
    """How many of each; processors are per platform, of which every chassis takes two."""

    chassis: int
    gpus: int
    cpus: int
    dimms: int
    drives: int
    bays: tuple[int, ...]

    @property
    def machines(self) -> int:
        """About so many: bays differ between chassis."""
        populations = 2 * self.cpus * self.dimms * 2
        return self.chassis * self.gpus * populations * self.drives * sum(self.bays) // len(self.bays)


SIZES = {
    "1e3": Size(1, 2, 1, 2, 4, (16,)),
    "1e4": Size(2, 4, 1, 3, 6, (16, 24)),
    "1e5": Size(4, 8, 2, 3, 8, (16, 24)),
    "5e5": Size(8, 12, 2, 4, 10, (16, 24)),
    "2e6": Size(10, 20, 2, 5, 10, (24, 32, 16, 32, 24, 24)),
}


@dataclass(frozen=True)
class Instance:
    """One question and the catalogue it is asked of."""

    scenario: Scenario
    shelf: Shelf


@cache
def _shipped() -> Shelf:
    return load_shelf()


def make_instance(size: str, case: str, seed: int) -> Instance:
    """Return the instance of a seed; the same one every time."""
    return make_sized(SIZES[size], case, Random(f"{size} {seed}"))


def make_sized(size: Size, case: str, rng: Random) -> Instance:
    """Return an instance of any size, drawn from `rng`."""
    shelf = make_shelf(size, rng)
    scenario = _scenario(case, rng)
    return Instance(scenario, with_tiers(shelf, rng) if case.endswith("-tiers") else shelf)


def with_tiers(shelf: Shelf, rng: Random, share: float = 0.5, most: int = 120) -> Shelf:
    """Return the shelf with volume prices for some GPUs and drives: one or two tiers up to about `most` pieces."""
    catalog = shelf.catalog
    parts = {*catalog.gpus(), *(part for part, drive in catalog.drives().items() if drive.role == "data")}
    prices = []
    for price in catalog.books[BOOK].prices:
        tiers, begin, percent = [], 0, 100
        for _ in range(rng.randint(1, 2) if price.part in parts and rng.random() < share else 0):
            begin, percent = begin + rng.randint(2, max(2, most // 2)), percent - rng.randint(2, 9)
            cents = (money.cents * percent // 100 for money in (price.low, price.typical, price.high))
            low, typical, high = (Money("USD", each) for each in cents)
            tiers.append(VolumePrice(from_pieces=begin + 1, low=low, typical=typical, high=high))
        prices.append(replace(price, volume=tuple(tiers)))
    books = {**catalog.books, BOOK: replace(catalog.books[BOOK], prices=tuple(prices))}
    return replace(shelf, catalog=replace(catalog, books=books))


def make_shelf(size: Size, rng: Random) -> Shelf:
    """Return the shipped shelf with drawn parts and a price for each of them."""
    shipped = _shipped()
    gpus = [_gpu(rng, i) for i in range(size.gpus)]
    platforms = [f"platform-{i}" for i in range(max(2, size.chassis // 2))]
    cpus = [_cpu(rng, platform, i) for platform in platforms for i in range(size.cpus)]
    dimms = [
        Dimm(id=f"dimm-{g}", name="D", capacity_bytes=g * GIB, speed=6400, power_w=rng.randint(5, 12))
        for g in (32, 64, 96, 128, 48)[: size.dimms]
    ]
    drives = [_drive(rng, i) for i in range(size.drives)]
    names = tuple(gpu.id for gpu in gpus)
    chassis = [_chassis(rng, i, names, platforms, size.bays) for i in range(size.chassis)]
    old = shipped.catalog
    boot = {old.cluster.boot_drive: old.drives()[old.cluster.boot_drive]}
    new: dict[str, dict[str, Part]] = {
        "gpu": {p.id: p for p in gpus}, "cpu": {p.id: p for p in cpus}, "dimm": {p.id: p for p in dimms},
        "drive": {p.id: p for p in drives} | boot, "chassis": {p.id: p for p in chassis}, "system": {},
    }  # fmt: skip
    parts: dict[str, dict[str, Part]] = {kind: dict(by_id) for kind, by_id in old.parts.items()}
    book = _book(rng, old.book("us-2026-11"), new, set(boot))
    catalog = replace(old, parts=parts | new, books={BOOK: book}, digest="synthetic")
    return replace(shipped, catalog=catalog)


def _gpu(rng: Random, i: int) -> Gpu:
    flops = rng.randint(300, 2500) * 10**12
    return Gpu(
        id=f"gpu-{i:02d}", name="G", vendor="V", architecture=rng.choice(("sm90", "sm90", "sm100")),
        form_factor="socket", memory_bytes=rng.choice((80, 96, 128, 141, 180, 192, 268, 288)) * GIB,
        memory_bandwidth_bytes_per_s=rng.randint(2000, 8000) * GB,
        dense=FlopRates(bf16_flops=flops, fp8_flops=2 * flops, fp4_flops=4 * flops),
        power_w=rng.randrange(500, 1200, 25),
        host_link_bytes_per_s=63 * GB, fabric_bytes_per_s=rng.choice((450, 900)) * GB,
    )  # fmt: skip


def _cpu(rng: Random, platform: str, i: int) -> Cpu:
    channels = 8 if int(platform[-1]) % 2 else 12
    return Cpu(
        id=f"cpu-{platform}-{i}", name="C", vendor="V", platform=platform, memory_channels=channels, speed_1dpc=6400,
        speed_2dpc=5200, power_w=rng.randrange(300, 510, 10),
    )  # fmt: skip


def _drive(rng: Random, i: int) -> Drive:
    return Drive(
        id=f"drive-{i}", name="N", vendor="V", role="data", form_factors=("u2",),
        capacity_bytes=rng.choice((3840, 7680, 15360, 30720, 61440)) * GB,
        read_bytes_per_s=rng.choice((68, 70, 140, 145)) * GB // 10, write_bytes_per_s=rng.randint(30, 100) * GB // 10,
        dwpd=Fraction(1), power_w=rng.randint(13, 25),
    )  # fmt: skip


def _chassis(rng: Random, i: int, gpus: tuple[str, ...], platforms: list[str], bays: tuple[int, ...]) -> Chassis:
    return Chassis(
        id=f"chassis-{i}", name="H", vendor="V", rack_units=rng.choice((4, 5, 6, 8, 10)), gpu_form_factor="socket",
        n_gpus=rng.choice((4, 8, 8, 8)), gpu_models=gpus,
        cpu_platforms=(platforms[i % len(platforms)], platforms[(i + 1) % len(platforms)]), n_cpus=2,
        dimm_slots=48, max_dimm_bytes=128 * GIB, drive_bays=bays[i % len(bays)], drive_form_factors=("u2",),
        boot_drives=2, nic_slots=10, psus=6, psu_w=rng.choice((2800, 3000, 3300)), spare_psus=rng.choice((1, 2)),
        base_w=rng.randint(2600, 4600), uplinks=rng.choice((4, 8)), uplink_bytes_per_s=63 * GB,
    )  # fmt: skip


def _book(rng: Random, old: PriceBook, new: dict[str, dict[str, Part]], kept: set[str]) -> PriceBook:
    prices = [price for price in old.prices if price.part in kept or not _is_drawn(price.part, new)]
    for by_id in new.values():
        for part in by_id.values():
            if part.id not in kept:
                prices.append(_price(rng, part))
    return replace(old, id=BOOK, prices=tuple(prices))


def _is_drawn(part: str, new: dict[str, dict[str, Part]]) -> bool:
    return any(part in by_id for by_id in new.values())


def _price(rng: Random, part: Part) -> Price:
    """Prices follow what a part is worth, so that no part is plainly better, in whole dollars."""
    worth: float
    if isinstance(part, Gpu):
        worth = 60 * (part.memory_bytes / GIB) + 2 * part.memory_bandwidth_bytes_per_s / GB + 4000
        worth += part.dense.bf16_flops / 10**12 * 5
    elif isinstance(part, Dimm):
        worth = 15 * part.capacity_bytes / GIB
    elif isinstance(part, Drive):
        worth = 0.18 * part.capacity_bytes / GB + part.read_bytes_per_s / GB * 20 + part.write_bytes_per_s / GB * 15
    else:
        worth = 5000 if isinstance(part, Cpu) else 32_000
    typical = round(worth * rng.uniform(0.8, 1.25))
    money = [Money("USD", round(typical * share) * 100) for share in (0.8, 1, 1.3)]
    return Price(
        part=part.id, low=money[0], typical=money[1], high=money[2], as_of="2026-11-01", basis="indicative",
        assumed="drawn",
    )  # fmt: skip


def _scenario(case: str, rng: Random) -> Scenario:
    placement, _, extra = case.partition("-")
    base = load_scenario(rng.choice(("report-real", "qwen3-235b", "pooled-deepseek")), (), None, _shipped())
    load = base.workload
    users = round(load.users * 2 ** rng.uniform(0, 5))
    context = replace(load.context, mean_tokens=None)
    return replace(
        base,
        name=f"{case}-{base.name}",
        workload=replace(load, users=users, context=context),
        tiers=replace(base.tiers, placement=placement),  # type: ignore[arg-type]
        fleet=Fleet(spare_groups=1 if extra in ("spare", "kinds") else 0, max_builds=3 if extra == "kinds" else None),
        finance=replace(base.finance, prices=BOOK),
    )
