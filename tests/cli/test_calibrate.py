"""``calibrate`` with speeds: the table, the layer that it writes, and what it says of bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

ON = ("--chassis", "smc-8125gs-tnmr2", "--gpu", "mi300x", "--cache", "lmcache-mp-0.5.6")
LOG = str(Path(__file__).parents[1] / "unit" / "logs" / "lmcache-in-vllm.log")


def test_written_layer_changes_the_plan(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("calibrate", *ON, "--host-link", "2 GB/s", "--as", "slow", "-f", "json")
    assert (done.code, done.err) == (0, "wrote slow.yaml\n")
    assert done.data["paths"][0]["path"] == "host_link"
    shipped = command("plan", "qwen3-235b", "-f", "json").data
    own = command("plan", "qwen3-235b", "--catalog", "slow.yaml", "-f", "json").data
    assert own["objective"]["value"] > shipped["objective"]["value"]


def test_log_and_metrics_without_drives(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "m.prom"
    name = "lmcache_mp_{}_throughput_GBs_{} {}\n"
    said = (("l0_l1_load", "sum", 30), ("l0_l1_load", "count", 3), ("l2_load", "sum", 9), ("l2_load", "count", 3))
    file.write_text("".join(name.format(*words) for words in said), encoding="utf-8")
    done = command("calibrate", LOG, *ON, "--metrics", str(file), "-f", "json")
    assert done.code == 0 and "drives are left out; --drive and --drives add them" in done.err
    paths = done.data["paths"]
    assert [one["path"] for one in paths] == ["host_link", "host_store", "host_link"]
    assert paths[2]["measured_bytes_per_s"] == 10e9 and paths[2]["counts"]


def test_every_fault_is_told_at_once(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "m.prom"
    file.write_text("lmcache_mp_l0_l1_load_throughput_GBs_sum many\n", encoding="utf-8")
    words = ("--chassis", "dgx", "--drive-read", "11 GBps", "--bytes-per-token", "0 B", "--metrics", str(file))
    done = command("calibrate", *words, str(tmp_path / "no.log"))
    assert done.code == 3
    for told in (
        "--chassis: unknown 'dgx'", "--cache: is missing", "--drive: is missing", "--drives: is missing",
        "--drive-read: '11 GBps': write '11 GB/s'", "--bytes-per-token: '0 B'", f"{file}:1:1:",
        "no.log: cannot be read",
    ):  # fmt: skip
        assert told in done.err


def test_more_than_a_path_carries_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("calibrate", *ON, "--host-link", "9 TB/s", "--as", "much")
    assert done.code == 3 and "more than the path can carry" in done.err and not list(tmp_path.iterdir())


def test_nothing_given_is_a_matter_of_usage(command: Command) -> None:
    assert command("calibrate").code == 2
    done = command("calibrate", *ON)
    assert done.code == 3 and "no speed was found" in done.err
