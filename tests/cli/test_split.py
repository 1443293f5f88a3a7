"""Scenarios of rented instances on the command line, right and wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner import loading
from planner.documents import parse_document
from planner.errors import InputError
from planner.loading import Shelf
from planner.profiles import Profile
from planner.reading import read_record
from planner.scenario_files import load_any
from tests.cli.conftest import Command
from tests.unit.tiny import shelf

PROFILE = """kind: profile
id: mine
name: Mine
source: melange-release
input: [100 tokens, 1000 tokens]
output: [50 tokens, 500 tokens]
instances:
  - name: small
    gpu: l4
    price: USD 1/h
    requests_per_s: [[2, 1], [1, 0]]
  - name: large
    gpu: h100
    gpus: 8
    price: USD 7.5164/h
    requests_per_s: [[9, 8], [7, 6]]
"""
SCENARIO = """kind: scenario
name: mine
title: My requests
workload:
  requests_per_s: 6
  mix: [[0.5, 0.25], [0.25, 0]]
service:
  profile: mine
"""


def files(folder: Path, scenario: str = SCENARIO, profile: str = PROFILE) -> tuple[str, ...]:
    (folder / "profile.yaml").write_text(profile, encoding="utf-8")
    (folder / "mine.yaml").write_text(scenario, encoding="utf-8")
    return (str(folder / "mine.yaml"), "--catalog", str(folder / "profile.yaml"))


def test_own_profile_and_scenario(command: Command, tmp_path: Path) -> None:
    # 3 + 1.5 + 1.5 requests/s keep 1.5 + 1.5 + 1.5 small ones busy: 4 of them lack one half, 5 do. They cost 5.
    data = command("plan", *files(tmp_path), "-f", "json").data
    assert (data["status"], data["objective"]["value"], data["n_nodes"], data["n_gpus"]) == ("optimal", 5, 5, 5)
    assert data["nodes"] == [
        {"build": "small", "count": 5, "gpu": "l4", "gpus_per_node": 1, "unit_cost": 1, "busy": 0.9}
    ]
    assert data["demand"]["buckets"][1] == {
        "row": 1, "column": 2, "input_tokens": 100, "output_tokens": 500, "requests_per_s": 1.5,
        "shares": {"small": 1},
    }  # fmt: skip
    assert data["one_kind_alone"][1] == {"instance": "large", "count": 1, "per_hour": 7.5164}
    text = command("plan", *files(tmp_path), "--set", "fleet.instances=large").out
    assert "Rent 1 instances with 8 GPUs (1 x large) for USD 7.5164 per hour" in text
    assert "<= 1,000" in text


def test_settings_can_be_overridden(command: Command, tmp_path: Path) -> None:
    words = files(tmp_path, SCENARIO + "variants:\n  twice: {workload: {requests_per_s: 12}}\n")
    assert command("plan", *words, "--variant", "twice", "-f", "json").data["cost"]["per_hour"] == 9
    data = command("plan", *words, "--set", "requests_per_s=1", "-f", "json").data
    assert (data["cost"]["per_hour"], data["provenance"]["overrides"]) == (1, ["workload.requests_per_s=1"])
    short = command("plan", *words, "--set", "limits.stock={small: 2, large: 0}")
    assert short.code == 4
    assert "all instances that can be had serve 2.66667 requests/s of this mix" in short.err


def test_same_bytes_twice(command: Command) -> None:
    assert command("plan", "melange-m3", "-f", "json").out == command("plan", "melange-m3", "-f", "json").out


def test_check(command: Command) -> None:
    done = command("check", "melange-m4")
    assert (done.code, done.err) == (0, "")
    assert "profile melange-10x10: 4 instances, 10 x 10 buckets" in done.out


@pytest.mark.parametrize("words", [("demand",), ("bom",), ("nodes",), ("compare", "--over", "workload.users=1,2")])
def test_commands_about_sessions_say_so(command: Command, words: tuple[str, ...]) -> None:
    done = command(words[0], "melange-m1", *words[1:])
    assert done.code == 3
    assert "melange-m1.yaml:13:12: splits requests over rented instances" in done.err
    assert "use 'planner plan' or 'planner check'" in done.err


@pytest.fixture
def known() -> Shelf:
    """The shipped catalogue with the profile of this file."""
    profile, problems = read_record(parse_document(PROFILE, "profile.yaml"), parse_document(PROFILE, "").data, Profile)
    assert profile is not None and not problems
    return replace(shelf(), profiles={"mine": profile})


WRONG_SCENARIOS = {
    "unknown profile": ("profile: mine", "profile: mein", "8:12: unknown throughput profile 'mein'"),
    "row missing": (", [0.25, 0]]", "]", "6:8: expected 2 rows, one per input size, found 1"),
    "bucket missing": ("[0.25, 0]", "[0.25]", "6:22: expected 2 numbers, one per output size, found 1"),
    "negative share": ("[0.25, 0]", "[0.25, -0.1]", "6:29: '1': expected a plain number of at least 0, found -0.1"),
    "share in percent": ("[0.25, 0]", "[25 %, 0]", "6:23: '0': expected a plain number of at least 0, found '25 %'"),
    "shares short": ("[0.25, 0]", "[0.2, 0]", "6:8: the shares add up to 0.95, not to 1"),
    "no requests": ("requests_per_s: 6", "requests_per_s: 0", "5:19: must be above 0"),
    "rate left out": ("  requests_per_s: 6\n", "", "5:3: the key 'requests_per_s' is missing"),
    "sessions too": ("requests_per_s: 6", "requests_per_s: 6\n  users: 5", "6:3: 'workload.users' is about sessions"),
    "tiers too": ("service:", "tiers: {cache: flat}\nservice:", "7:1: 'tiers' is about sessions"),
    "model too": ("service:", "model: glm-5\nservice:", "assigned to instances by class in whole numbers"),
    "target too": ("profile: mine", "profile: mine\n  decode: 20 tokens/s", "9:3: 'service.decode' is about sessions"),
    "unknown key": ("service:", "sevice: {}\nservice:", "7:1: unknown key 'sevice'"),
    "other objective": ("service:", "objective: capex\nservice:", "found 'capex', expected cost_per_hour"),
    "unknown instance": (
        "service:", "fleet: {instances: [smal]}\nservice:", "7:21: unknown instance 'smal' of profile 'mine'",
    ),
    "unknown stock": ("service:", "limits: {stock: {l4: 3}}\nservice:", "unknown instance 'l4' of profile 'mine'"),
    "unknown source": (
        "requests_per_s: 6", "requests_per_s: {value: 6, source: nowhere}", "5:19: unknown source 'nowhere'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_SCENARIOS)
def test_wrong_scenario(tmp_path: Path, known: Shelf, name: str) -> None:
    old, new, wanted = WRONG_SCENARIOS[name]
    assert old in SCENARIO
    path, *_ = files(tmp_path, SCENARIO.replace(old, new, 1))
    with pytest.raises(InputError) as fault:
        load_any(path, (), None, known)
    assert wanted in str(fault.value)
    assert "mine.yaml:" in str(fault.value)


WRONG_PROFILES = {
    "negative throughput": ("[1, 0]]", "[1, -2]]", "11:34: '1': expected a plain number of at least 0, found -2"),
    "missing number": ("[7, 6]]", "[7]]", "16:30: expected 2 numbers, one per output size, found 1"),
    "missing row": (", [7, 6]]", "]", "16:21: expected 2 rows, one per input size, found 1"),
    "no table": ("[[2, 1], [1, 0]]", "[]", "11:21: is empty"),
    "no instances": (PROFILE[PROFILE.index("instances:") :], "instances: []\n", "7:12: is empty"),
    "price without unit": ("USD 1/h", "USD 1", "10:12: 'price': expected money per h, such as 'USD 0.08/h'"),
    "free": ("USD 1/h", "USD 0/h", "10:12: the price of 'small' must be above 0"),
    "two currencies": ("USD 7.5164/h", "EUR 7/h", "15:12: is in EUR, that of 'small' in USD"),
    "same name": ("name: large", "name: small", "12:11: 'small' stands twice"),
    "sizes missing": ("[100 tokens, 1000 tokens]", "[100 tokens]", "5:8: expected 2 sizes that grow, or none, found 1"),
    "sizes fall": ("[100 tokens, 1000 tokens]", "[9 tokens, 1 tokens]", "5:8: expected 2 sizes that grow"),
    "no source": ("source: melange-release\n", "", "has no source"),
    "unknown source": ("melange-release", "melange", "unknown source 'melange'"),
}


@pytest.mark.parametrize("name", WRONG_PROFILES)
def test_wrong_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    old, new, wanted = WRONG_PROFILES[name]
    assert old in PROFILE
    files(tmp_path, profile=PROFILE.replace(old, new, 1))
    (tmp_path / "mine.yaml").unlink()
    (tmp_path / "sources.yaml").write_text("sources: {melange-release: {title: Mélange}}", encoding="utf-8")
    # A catalogue of these two files alone: read at once, and wrong before anything is missed in it.
    monkeypatch.setattr(loading, "data_folder", lambda _: tmp_path)
    with pytest.raises(InputError) as fault:
        loading.load_shelf()
    assert wanted in str(fault.value)
    assert "profile.yaml:" in str(fault.value)


def test_all_problems_at_once(command: Command, tmp_path: Path) -> None:
    bad = SCENARIO.replace("[0.25, 0]", "[0.25, -1]").replace("service:", "tiers: {}\nservice:").replace("6\n", "no\n")
    done = command("plan", *files(tmp_path, bad))
    assert len([line for line in done.err.splitlines() if "mine.yaml:" in line]) == 3


def test_csv_is_the_fleet(command: Command) -> None:
    lines = command("plan", "melange-m1", "-f", "csv").out.splitlines()
    assert lines[0] == "item,category,qty,unit_price,extended_price,currency,per"
    assert lines[1] == "a10g,rent,1,1.01,1.01,USD,h"


def test_json_names_are_those_of_other_plans(command: Command) -> None:
    split = json.loads(command("plan", "melange-m1", "-f", "json").out)
    shared = {
        "schema_version", "scenario", "title", "status", "objective", "n_nodes", "n_gpus", "nodes", "bom",
        "constraints", "demand", "cost", "verified", "warnings", "provenance",
    }  # fmt: skip
    assert shared <= set(split)
