"""What was measured on the paths of a machine, as a share of what they carry nominally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal

from planner import topology
from planner.assembly import gpu_fault
from planner.enginelogs import EngineLog, Seen
from planner.enginelogs.prometheus import Histogram, Sample, histograms
from planner.engines import Cache
from planner.errors import InputError, Problem
from planner.hardware import Chassis, Drive, Gpu
from planner.units import format_rate

PathName = Literal["host_link", "host_store", "drive_read", "drive_write"]
LABELS: dict[PathName, str] = {
    "host_link": "memory to GPUs", "host_store": "GPUs to memory",
    "drive_read": "drives to memory", "drive_write": "memory to drives",
}  # fmt: skip
OPTIONS: dict[PathName, str] = {path: f"--{path.replace('_', '-')}" for path in LABELS}
SHARES: dict[PathName, str] = {
    "host_link": "host_link", "host_store": "host_link", "drive_read": "drive_read", "drive_write": "drive_write",
}  # fmt: skip
"""The share of a profile that goes for a path; it has one for links, both ways."""
_METRICS: dict[str, tuple[PathName, str]] = {
    "l0_l1_load": ("host_link", "device"), "l0_l1_store": ("host_store", "device"),
    "l2_load": ("drive_read", ""), "l2_store": ("drive_write", ""),
}  # fmt: skip
# The unit that the histograms carry, "GB/s" of 10**9 bytes, as versions of the exporter spell it.
_UNITS = ("_GB_per_second", "_GBs", "_gbs", "")
# vLLM's own offloading counts bytes and seconds; the older names tell the way by a label.
_COUNTERS: dict[PathName, tuple[str, str]] = {
    "host_link": ("load", "CPU_to_GPU"),
    "host_store": ("store", "GPU_to_CPU"),
}
_OFFLOAD = "vllm:kv_offload_"
METRICS = (
    *(f"lmcache_mp_{key}_throughput" for key in _METRICS),
    *("lmcache:retrieve_speed", "lmcache:store_speed"),
    *(f"{_OFFLOAD}{way}_{what}" for way in ("load", "store", "total") for what in ("bytes", "time")),
)
"""How the names of the metrics begin that are read."""
_WAYS: tuple[tuple[str, PathName], ...] = (("retrieve", "host_link"), ("store", "host_store"))
_REMOTE = ("s3", "mooncake_store", "resp", "valkey", "aerospike", "bigtable", "hfbucket", "sagemaker-hyperpod", "hf3fs")
STEP = 10_000
"""Shares are kept to the hundredth of a percent, rounded down."""


@dataclass(frozen=True)
class Speed:
    """What one source says of one path.

    Attributes
    ----------
    each_bytes_per_s : Fraction
        Of one GPU, or of all drives of a node together.
    n_parts : int or None
        How many GPUs moved that much each; None where `each_bytes_per_s` is of the whole node.
    low, high : Fraction or None
        The slowest and the fastest that was seen of one, None where it is not known.
    where : str
        ``file:line``, or the option.
    n_samples : int
        How many transfers it is of.
    note : str
        What to know of it.
    """

    path: PathName
    each_bytes_per_s: Fraction
    where: str
    n_parts: int | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    n_samples: int = 1
    note: str = ""


@dataclass(frozen=True)
class Bench:
    """The machine that was measured.

    Attributes
    ----------
    gpu, drive : Gpu or Drive or None
        None where no path of theirs was measured.
    n_drives : int
        Data drives of the node.
    n_gpus : int or None
        How many GPUs moved at once, as the user says; None for as many as a source names.
    """

    chassis: Chassis
    cache: Cache
    gpu: Gpu | None = None
    drive: Drive | None = None
    n_drives: int = 0
    n_gpus: int | None = None


@dataclass(frozen=True)
class PathShare:
    """One source's speed as a share of the path.

    Attributes
    ----------
    total_bytes_per_s, nominal_bytes_per_s : Fraction, int
        Of all parts that moved at once.
    limit : str
        What makes the nominal figure.
    low, high : Fraction or None
        Range of the share.
    profile : Fraction
        The share that the product's profile has.
    counts : bool
        Whether it is the lowest of its share: that one is written.
    """

    speed: Speed
    total_bytes_per_s: Fraction
    nominal_bytes_per_s: int
    limit: str
    fraction: Fraction
    low: Fraction | None
    high: Fraction | None
    profile: Fraction
    counts: bool = False


def speeds_of_log(log: EngineLog, token_bytes: int | None) -> Iterator[Speed]:
    """Yield what an LMCache log says: the sums of its server where it prints them, else its transfers."""
    on_drives = log.one("local_disk_bytes")
    for way, path in _WAYS:
        note = "part may have come from drives" if path == "host_link" and on_drives and on_drives.number else ""
        last = {_device(seen): seen for seen in log.all(f"{way}_average_bytes_per_s") if seen.number}
        if last:
            rates = [Fraction(seen.number) for seen in last.values()]
            where = f"{log.path}:{max(seen.line for seen in last.values())}"
            yield _speed(path, rates, (min(rates), max(rates)), where, len(rates), note)
            continue
        yield from _transfers(log, way, path, token_bytes, note)


def _device(seen: Seen) -> str:
    return seen.text.partition("[")[2].partition("]")[0]


def _transfers(log: EngineLog, way: str, path: PathName, token_bytes: int | None, note: str) -> Iterator[Speed]:
    sizes = {seen.line: Fraction(seen.number) for seen in log.all(f"{way}_bytes")}
    if token_bytes is not None:
        sizes = {s.line: Fraction(s.number) * token_bytes for s in log.all(f"{way}_tokens")} | sizes
    ranks: dict[str, list[tuple[int, Fraction, Fraction]]] = {}
    for seen in log.all(f"{way}_s"):
        if seen.line in sizes and sizes[seen.line] and seen.number:
            ranks.setdefault(seen.rank, []).append((seen.line, sizes[seen.line], Fraction(seen.number)))
    if not ranks:
        return
    rates = [_sum(size for _, size, _ in moved) / _sum(time for *_, time in moved) for moved in ranks.values()]
    moves = [move for moved in ranks.values() for move in moved]
    single = [size / time for _, size, time in moves]
    where = f"{log.path}:{min(line for line, *_ in moves)}"
    yield _speed(path, rates, (min(single), max(single)), where, len(moves), note)


def _speed(
    path: PathName,
    rates: Sequence[Fraction],
    span: tuple[Fraction, Fraction | None],
    where: str,
    n_samples: int,
    note: str = "",
) -> Speed:
    """Return the mean over GPUs; each has one of the rates."""
    mean = _sum(rates) / len(rates)
    span = span if span[0] != span[1] else (Fraction(0), None)
    return Speed(path, mean, where, len(rates), span[0] or None, span[1], n_samples, note)


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def speeds_of_metrics(samples: Iterable[Sample], name: str, token_bytes: int | None) -> Iterator[Speed]:
    """Yield what LMCache's histograms of speed and vLLM's counters of its own offloading say."""
    samples = tuple(samples)
    yield from _of_counters(samples, name)
    kinds: dict[str, list[Histogram]] = {}
    for one in histograms(samples):
        kinds.setdefault(one.name, []).append(one)
    for key, (path, label) in _METRICS.items():
        named = (kinds.get(f"lmcache_mp_{key}_throughput{unit}", []) for unit in _UNITS)
        found = [one for group in named for one in group if one.labels.get("l2_name") not in _REMOTE]
        note = "" if label else "of single loads or stores, of which several run at once: a floor"
        yield from _of_histograms(path, found, label, (Fraction(10**9), name), note)
    if token_bytes is not None:
        for way, path in _WAYS:
            yield from _of_histograms(path, kinds.get(f"lmcache:{way}_speed", []), "worker_id",
                                      (Fraction(token_bytes), name), "mean of single requests")  # fmt: skip


def _of_counters(samples: Sequence[Sample], name: str) -> Iterator[Speed]:
    """Yield bytes over seconds; both are summed over ranks, so that their ratio is of one GPU."""
    for path, (way, label) in _COUNTERS.items():
        for base, labelled in ((way, ""), ("total", label)):
            sums, line = {"bytes": Fraction(0), "time": Fraction(0)}, 0
            for sample in samples:
                what = sample.name.removeprefix(f"{_OFFLOAD}{base}_").removesuffix("_total")
                if what in sums and (not labelled or sample.labels.get("transfer_type") == labelled):
                    sums[what] += sample.value
                    line = line or sample.line
            if sums["bytes"] and sums["time"]:
                yield Speed(path, sums["bytes"] / sums["time"], f"{name}:{line}", 1)
                break


def _of_histograms(
    path: PathName, found: Sequence[Histogram], label: str, basis: tuple[Fraction, str], note: str
) -> Iterator[Speed]:
    if not found:
        return
    scale, name = basis
    parts: dict[str, list[Histogram]] = {}
    for one in found:
        parts.setdefault(one.labels.get(label, ""), []).append(one)
    means = [_sum(one.sum for one in own) / _sum(one.count for one in own) * scale for own in parts.values()]
    spans = [one.span for one in found]
    highs = [high * scale for _, high in spans if high is not None]
    low, high = min(low for low, _ in spans) * scale, max(highs) if len(highs) == len(spans) else None
    n = int(sum(one.count for one in found))
    made = _speed(path, means, (low, high), f"{name}:{min(one.line for one in found)}", n, note)
    if path in ("drive_read", "drive_write"):
        made = Speed(path, made.each_bytes_per_s, made.where, None, made.low, made.high, n, note)
    yield made


def path_shares(speeds: Sequence[Speed], bench: Bench) -> tuple[PathShare, ...]:
    """Return the speeds as shares of the paths of a machine; the lowest of each share counts.

    Raises
    ------
    InputError
        If a speed is none, or more than its path carries; all of them at once.
    """
    problems = list(_bench_faults(bench))
    if not problems:
        problems = [fault for speed in speeds for fault in _speed_faults(speed, bench)]
    if problems:
        raise InputError(problems)
    found = [_share(speed, bench) for speed in speeds]
    lowest: dict[str, PathShare] = {}
    for one in found:
        key = SHARES[one.speed.path]
        lowest[key] = min(lowest.get(key, one), one, key=lambda share: share.fraction)
    return tuple(PathShare(**{**vars(one), "counts": one is lowest[SHARES[one.speed.path]]}) for one in found)


def _bench_faults(bench: Bench) -> Iterator[Problem]:
    chassis = bench.chassis
    if bench.gpu is not None and (fault := gpu_fault(chassis, bench.gpu)):
        yield Problem("--gpu", 0, 0, fault)
    if bench.n_gpus is not None and not 1 <= bench.n_gpus <= chassis.n_gpus:
        yield Problem("--gpus", 0, 0, f"{bench.n_gpus}: expected 1 to {chassis.n_gpus}, the GPUs of {chassis.id}")
    if bench.drive is not None and not 1 <= bench.n_drives <= chassis.drive_bays:
        bays = f"expected 1 to {chassis.drive_bays}, the bays of {chassis.id}"
        yield Problem("--drives", 0, 0, f"{bench.n_drives}: {bays}")


def _speed_faults(speed: Speed, bench: Bench) -> Iterator[Problem]:
    if not speed.each_bytes_per_s:
        yield Problem(speed.where, 0, 0, f"{LABELS[speed.path]}: 0 B/s is no measurement")
        return
    n = bench.n_gpus or speed.n_parts
    if n is not None and n > bench.chassis.n_gpus:
        message = f"{n} GPUs spoke, {bench.chassis.id} has {bench.chassis.n_gpus}"
        yield Problem(speed.where, 0, 0, message, "give the log of one node, or another --chassis")
        return
    one = _share(speed, bench)
    if one.fraction > 1:
        message = (
            f"{LABELS[speed.path]}: {format_rate(one.total_bytes_per_s)} is {float(one.fraction):.0%} of the nominal "
            f"{format_rate(one.nominal_bytes_per_s)} ({one.limit}): more than the path can carry"
        )
        yield Problem(speed.where, 0, 0, message, _ADVICE[speed.path[:4]])


_ADVICE = {
    "host": "GPUs that did not move at the same time must not be added up: say with --gpus how many did",
    "driv": "reads from the page cache are none from drives; or --drive and --drives are not what was measured",
}


def _share(speed: Speed, bench: Bench) -> PathShare:
    parts, times = speed.n_parts, 1
    if speed.path in ("host_link", "host_store"):
        parts = bench.n_gpus or speed.n_parts or bench.chassis.n_gpus
        times = parts if speed.n_parts is not None else 1
    nominal, limit = _nominal(speed.path, bench, parts or 0)
    shares: Mapping[str, Fraction | None] = {
        "mean": speed.each_bytes_per_s * times / nominal,
        "low": None if speed.low is None else speed.low * times / nominal,
        "high": None if speed.high is None else min(Fraction(1), speed.high * times / nominal),
    }
    profile = Fraction(getattr(bench.cache, f"{SHARES[speed.path]}_fraction"))
    mean = shares["mean"]
    assert mean is not None
    return PathShare(
        speed, speed.each_bytes_per_s * times, nominal, limit, mean, shares["low"], shares["high"], profile
    )


def _nominal(path: PathName, bench: Bench, n_gpus: int) -> tuple[int, str]:
    """Return what a path carries and why; of some GPUs what they carry where they share least, a careful share."""
    chassis = bench.chassis
    if path == "drive_read":
        cut = topology.drive_read(chassis, bench.drive, bench.n_drives)
        return cut.bytes_per_s, cut.text
    if path == "drive_write":
        cut = topology.drive_write(chassis, bench.drive, bench.n_drives)
        return cut.bytes_per_s, cut.text
    assert bench.gpu is not None
    whole = topology.host_link if path == "host_link" else topology.host_store
    cut = whole(chassis, bench.gpu)
    own = n_gpus * bench.gpu.host_link_bytes_per_s
    if own < cut.bytes_per_s:
        links = "GPU link" if n_gpus == 1 else "GPU links"
        return own, f"{n_gpus} {links} of {format_rate(bench.gpu.host_link_bytes_per_s)}"
    return cut.bytes_per_s, cut.text


def written_share(fraction: Fraction) -> Fraction:
    """Return a share as it is written: to the hundredth of a percent, rounded down, but not to 0."""
    return Fraction(max(1, floor(fraction * STEP)), STEP)
