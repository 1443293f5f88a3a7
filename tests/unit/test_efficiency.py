"""Speeds of logs, metrics and options as shares of a machine's paths, and the layer that is written of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from planner.enginelogs import read_log, read_logs
from planner.enginelogs.prometheus import histograms, read_metrics
from planner.errors import InputError
from planner.loading import load_shelf
from planner.questions.efficiency import METRICS, Bench, PathShare, Speed, path_shares, speeds_of_log, speeds_of_metrics
from planner.views.efficiency import efficiency_report, efficiency_text
from tests.unit.tiny import GB, GIB, shelf

LOGS = Path(__file__).parent / "logs"
CACHE = "lmcache-mp-0.5.6"
LOAD = "lmcache_mp_l0_l1_load_throughput_GB_per_second"
READ = "lmcache_mp_l2_load_throughput_GB_per_second"


def bench(n_drives: int = 4, n_gpus: int | None = None) -> Bench:
    """A chassis with four uplinks of 63 GB/s for eight GPUs, and drives that read 14 GB/s and write 6 GB/s."""
    catalog = shelf().catalog
    return Bench(
        catalog.chassis()["smc-821ge-tnhr"], shelf().engines.caches[CACHE], catalog.gpus()["h200-sxm"],
        catalog.drives()["micron-9550-pro-3.84tb"], n_drives, n_gpus,
    )  # fmt: skip


def one(speed: Speed, n_gpus: int | None = None) -> PathShare:
    return path_shares([speed], bench(n_gpus=n_gpus))[0]


def metrics(tmp_path: Path, text: str) -> list[Speed]:
    file = tmp_path / "m.prom"
    file.write_text(text, encoding="utf-8")
    return list(speeds_of_metrics(read_metrics(file, METRICS), "m.prom", None))


def test_transfers_of_a_log_weigh_by_their_time() -> None:
    log = next(log for log in read_logs(LOGS / "lmcache-in-vllm.log") if log.engine == "lmcache")
    speeds = {speed.path: speed for speed in speeds_of_log(log, None)}
    load, store = speeds["host_link"], speeds["host_store"]
    assert load.each_bytes_per_s == pytest.approx(0.875 * GIB / 0.07012, rel=1e-6)
    assert (load.n_parts, load.n_samples, load.where.rpartition(":")[2]) == (1, 1, "9")
    assert store.each_bytes_per_s == pytest.approx((0.2188 + 2.1875) * GIB / (0.0147797 + 0.18), rel=1e-6)
    assert store.low == pytest.approx(2.1875 * GIB / 0.18) and store.high == pytest.approx(0.2188 * GIB / 0.0147797)


def test_sums_of_the_server_count_before_its_transfers() -> None:
    speeds = {speed.path: speed for speed in speeds_of_log(read_log(LOGS / "lmcache-server.log"), 61464)}
    assert (speeds["host_store"].each_bytes_per_s, speeds["host_link"].each_bytes_per_s) == (
        Fraction("12.34") * GB,
        Fraction("14.01") * GB,
    )


def test_last_sum_of_each_gpu_counts_and_intervals_do_not() -> None:
    line = (
        "[2026-06-07 19:52:0{}] LMCache INFO: L0<->L1 stats [cuda:{}] {}: store ops=0 tokens=0 size=0.00GB "
        "avg_copy=n/a | retrieve ops=2 tokens=4 size=2.00GB avg_copy={}GB/s (extra_stats.py:150:lmcache.v1)\n"
    )
    said = (0, "cumulative", "9.00"), (0, "cumulative", "10.00"), (0, "last 10s", "30.00"), (1, "cumulative", "14.00")
    log = read_log("".join(line.format(i, *words) for i, words in enumerate(said)))
    (speed,) = speeds_of_log(log, None)
    assert (speed.path, speed.n_parts, speed.each_bytes_per_s) == ("host_link", 2, 12 * GB)
    assert (speed.low, speed.high) == (10 * GB, 14 * GB)


def test_tokens_without_bytes_take_the_bytes_of_a_token() -> None:
    text = "[2026-06-07 19:51:17,100] LMCache INFO: Retrieved 768 tokens in 0.013 seconds (x.py:1:lmcache.v1)\n"
    assert list(speeds_of_log(read_log(text), None)) == []
    (speed,) = speeds_of_log(read_log(text), 61464)
    assert speed.each_bytes_per_s == Fraction(768 * 61464 * 1000, 13)


def test_histograms_of_two_gpus_add_up(tmp_path: Path) -> None:
    (speed,) = metrics(
        tmp_path,
        f'# TYPE {LOAD} histogram\n{LOAD}_bucket{{device="cuda:0",le="5.0"}} 0\n'
        f'{LOAD}_bucket{{device="cuda:0",le="10"}} 1\n'
        f'{LOAD}_bucket{{device="cuda:0",le="25"}} 4.0\n{LOAD}_bucket{{device="cuda:0",le="+Inf"}} 4\n'
        f'{LOAD}_sum{{device="cuda:0"}} 48.0\n{LOAD}_count{{device="cuda:0"}} 4\n'
        f'{LOAD}_bucket{{device="cuda:1",le="25"}} 1\n{LOAD}_bucket{{device="cuda:1",le="+Inf"}} 1\n'
        f'{LOAD}_sum{{device="cuda:1"}} 1.4e1 1764547200000\n{LOAD}_count{{device="cuda:1"}} 1\n',
    )
    assert (speed.path, speed.n_parts, speed.each_bytes_per_s, speed.n_samples) == ("host_link", 2, 13 * GB, 5)
    found = one(speed)
    assert (found.total_bytes_per_s, found.nominal_bytes_per_s) == (26 * GB, 126 * GB)
    assert found.high == Fraction(50, 126)


def test_drives_behind_other_machines_are_left_out(tmp_path: Path) -> None:
    (speed,) = metrics(
        tmp_path,
        f'{READ}_sum{{l2_name="fs_native"}} 12\n{READ}_count{{l2_name="fs_native"}} 2\n'
        f'{READ}_sum{{l2_name="s3"}} 1\n{READ}_count{{l2_name="s3"}} 1\n',
    )
    assert (speed.path, speed.n_parts, speed.each_bytes_per_s) == ("drive_read", None, 6 * GB)
    assert one(speed).fraction == Fraction(6, 56)


def test_speeds_in_tokens_take_the_bytes_of_a_token(tmp_path: Path) -> None:
    file = tmp_path / "m.prom"
    file.write_text('lmcache:retrieve_speed_sum{worker_id="0"} 6e5\nlmcache:retrieve_speed_count{worker_id="0"} 3\n')
    (speed,) = speeds_of_metrics(read_metrics(file, METRICS), "m.prom", 61464)
    assert (speed.path, speed.each_bytes_per_s) == ("host_link", 200_000 * 61464)


def test_counters_of_vllm_are_of_one_gpu_and_the_newer_names_count_once(tmp_path: Path) -> None:
    old = (
        'vllm:kv_offload_total_bytes_total{engine="0",transfer_type="CPU_to_GPU"} 6e+10\n'
        'vllm:kv_offload_total_bytes_total{engine="0",transfer_type="GPU_to_CPU"} 9e+10\n'
        'vllm:kv_offload_total_bytes_created{engine="0",transfer_type="CPU_to_GPU"} 1.7e+09\n'
        'vllm:kv_offload_total_time_total{engine="0",transfer_type="CPU_to_GPU"} 3.0\n'
        'vllm:kv_offload_total_time_total{engine="0",transfer_type="GPU_to_CPU"} 6.0\n'
    )
    load, store = metrics(tmp_path, old)
    assert (load.path, load.each_bytes_per_s, load.n_parts) == ("host_link", 20 * GB, 1)
    assert (store.path, store.each_bytes_per_s) == ("host_store", 15 * GB)
    new = "vllm:kv_offload_load_bytes_total 5e10\nvllm:kv_offload_load_time_total 2\n"
    assert [speed.each_bytes_per_s for speed in metrics(tmp_path, old + new)] == [25 * GB, 15 * GB]
    assert one(load).fraction == Fraction(20, 63)


def test_every_bad_line_of_metrics_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError) as fault:
        torn = f'{LOAD}_sum{{device="cuda:0}} 5\n'
        metrics(tmp_path, f"{torn}{LOAD}_count abc\n{LOAD}_sum NaN\nother{{ broken\nlmcache:ping NaN\n{LOAD}_sum 1\n")
    told = [(problem.line, problem.message) for problem in fault.value.problems]
    assert [line for line, _ in told] == [1, 2, 3]
    assert "'abc', expected a number" in told[1][1]
    for text, words in (("", "holds none of the metrics"), ("vllm:x 1\n", "holds none of the metrics")):
        with pytest.raises(InputError, match=words):
            metrics(tmp_path, text)
    with pytest.raises(InputError, match="cannot be read"):
        read_metrics(tmp_path / "none", METRICS)


def test_histogram_that_counted_nothing_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "m.prom"
    file.write_text(f"{LOAD}_sum 0\n{LOAD}_count 0\n", encoding="utf-8")
    assert list(histograms(read_metrics(file, METRICS))) == []


def test_plain_numbers_are_of_the_whole_node() -> None:
    found = one(Speed("host_link", Fraction(63 * GB), "--host-link"))
    assert (found.nominal_bytes_per_s, found.fraction) == (252 * GB, Fraction(1, 4))
    assert found.limit == "4 uplinks of 63 GB/s shared by 8 GPUs"
    # One GPU alone has its own link; what it reached is a share of that.
    alone = one(Speed("host_link", Fraction(63 * GB, 2), "--host-link"), n_gpus=1)
    assert (alone.nominal_bytes_per_s, alone.fraction) == (63 * GB, Fraction(1, 2))
    assert alone.limit == "1 GPU link of 63 GB/s"


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        (Speed("host_link", Fraction(253 * GB), "--host-link"), "100% of the nominal 252 GB/s"),
        (Speed("drive_read", Fraction(60 * GB), "--drive-read"), "107% of the nominal 56 GB/s"),
        (Speed("drive_write", Fraction(0), "--drive-write"), "0 B/s is no measurement"),
        (Speed("host_link", Fraction(GB), "a.log:3", 9), "9 GPUs spoke, smc-821ge-tnhr has 8"),
    ],
)
def test_speeds_that_cannot_be_are_refused(speed: Speed, words: str) -> None:
    with pytest.raises(InputError, match=words):
        path_shares([speed], bench())


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = [Speed("host_link", Fraction(300 * GB), "--host-link"), Speed("drive_read", Fraction(0), "--drive-read")]
    with pytest.raises(InputError) as fault:
        path_shares(wrong, bench())
    assert [problem.file for problem in fault.value.problems] == ["--drive-read", "--host-link"]
    with pytest.raises(InputError) as fault:
        path_shares(wrong, replace(bench(n_drives=99, n_gpus=9), gpu=shelf().catalog.gpus()["l40s"]))
    assert [problem.file for problem in fault.value.problems] == ["--drives", "--gpu", "--gpus"]


def test_of_several_the_lowest_is_written() -> None:
    speeds = [Speed("host_link", Fraction(126 * GB), "a"), Speed("host_store", Fraction(63 * GB), "b")]
    assert [found.counts for found in path_shares(speeds, bench())] == [False, True]


def test_what_is_written_is_read_back_and_counts(tmp_path: Path) -> None:
    speeds = [
        Speed("host_link", Fraction(10 * GB), 'odd "name".log:3', 1, Fraction(8 * GB), Fraction(70 * GB), 12),
        Speed("drive_read", Fraction(7 * GB), "--drive-read"),
    ]
    found = path_shares(speeds, bench())
    file = tmp_path / "ours.yaml"
    file.write_text(efficiency_text(found, bench(), "ours", date(2026, 11, 30)), encoding="utf-8")
    before, after = (one.engines.caches[CACHE] for one in (shelf(), load_shelf((file,))))
    assert after.host_link_fraction == Fraction(1587, 10_000) <= Fraction(10, 63)
    assert after.drive_read_fraction == Fraction(1, 8)
    assert after.drive_write_fraction == before.drive_write_fraction
    why = after.evidence["host_link"]
    assert why.text == (
        "measured 10 GB/s of 63 GB/s (1 GPU link of 63 GB/s) in smc-821ge-tnhr; "
        'odd "name".log:3, 12 transfers; 2026-11-30'
    )
    assert (why.low, why.high, why.sources) == ("12.69 %", "100.00 %", ("own-log",))
    assert after.evidence["drive_write"] == before.evidence["drive_write"]
    # Whatever else the profile says stays.
    shares = {"host_link_fraction", "drive_read_fraction", "evidence"}
    assert {k: v for k, v in vars(before).items() if k not in shares} == {
        k: v for k, v in vars(after).items() if k not in shares
    }
    assert load_shelf((file,)).catalog.digest != shelf().catalog.digest


def test_report_tells_share_and_difference() -> None:
    found = path_shares([Speed("host_link", Fraction(63 * GB), "--host-link")], bench())
    report = efficiency_report(found, bench())
    assert report.main is not None
    assert report.main.rows[0][:8] == (
        "memory to GPUs", "63 GB/s", "252 GB/s", "4 uplinks of 63 GB/s shared by 8 GPUs",
        "25.0 %", "", "27.0 %", "-7.4%",
    )  # fmt: skip
    assert report.data["paths"][0]["share"] == 0.25  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cache: lmcache\nhost_link: {value: 5 %, source: own-log}", "unknown cache 'lmcache'"),
        (f"cache: {CACHE}", "no share was measured"),
        (f"cache: {CACHE}\nhost_link: {{value: 0 %, source: own-log}}", "nothing would move"),
        (f"cache: {CACHE}\nhost_link: 5 %", "'host_link' has no source"),
        (f"cache: {CACHE}\nhost_link: {{value: 101 %, source: own-log}}", "is more than 100 %"),
        (f"cache: {CACHE}\ndrive: {{value: 5 %, source: own-log}}", "unknown key 'drive'"),
    ],
)
def test_faulty_layers_are_refused_with_their_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(f"kind: efficiency\nid: e\n{text}\n", encoding="utf-8")
    with pytest.raises(InputError, match=words) as fault:
        load_shelf((file,))
    assert all(problem.file == str(file) and problem.line for problem in fault.value.problems)


def test_later_layer_wins(tmp_path: Path) -> None:
    files = [tmp_path / "z.yaml", tmp_path / "a.yaml"]
    for file, share in zip(files, (5, 7), strict=True):
        file.write_text(
            f"kind: efficiency\nid: {file.stem}\ncache: {CACHE}\nhost_link: {{value: {share} %, source: own-log}}\n"
        )
    assert load_shelf(files).engines.caches[CACHE].host_link_fraction == Fraction(7, 100)
