"""Why a build hosts what it hosts, on the command line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


def test_one_row_of_one_build(command: Command) -> None:
    done = command("explain", "report-real", "--build", "b", "--row", "host_link")
    said = ("Build B", "8 GPU links of 63 GB/s", "[12 % to 80 %]", "lmcache-logs", "What a turn moves")
    assert [text for text in said if text not in done.out] == []
    assert "nvme_write" not in done.out


def test_json_says_the_rows_of_each_build(command: Command) -> None:
    plan, data = command("plan", "report-real", "-f", "json").data, command("explain", "report-real", "-f", "json").data
    assert [build["name"] for build in data["builds"]] == [node["build"] for node in plan["nodes"]]
    for build, node in zip(data["builds"], plan["nodes"], strict=True):
        binding = [row["row"] for row in build["rows"] if row["binding"]]
        assert binding == [node["limited_by"]]
        assert min(row["allows"] for row in build["rows"] if row["allows"]) == node["hosts"]
        links = next(row for row in build["rows"] if row["row"] == "host_link")
        efficiency = next(f for f in links["have"][0]["factors"] if f["what"].endswith(": host_link"))
        assert (efficiency["value"], efficiency["evidence"], efficiency["high"]) == (0.27, "assumed", "80 %")


def test_each_build_is_explained_for_its_service(command: Command) -> None:
    data = command("explain", "two-services", "--set", "limits.power=62 kW", "-f", "json").data
    assert {build["service"] for build in data["builds"]} == {"agents", "chat"}
    assert [turn["service"] for turn in data["turns"]] == ["agents", "chat"]
    turns = {turn["service"]: turn["turns_per_s"] / turn["open_sessions"] for turn in data["turns"]}
    for build in data["builds"]:
        prefill = next(row for row in build["rows"] if row["row"] == "prefill")
        assert prefill["need"][0]["factors"][0]["value"] == pytest.approx(turns[build["service"]])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--build", "q"), "the plan has A"),
        (("--row", "host_lnk"), "did you mean 'host_link'?"),
        (("--row", "fabric"), "not checked in this plan"),
        (("--row", "power"), "no row within groups"),
    ],
)
def test_what_is_not_there(command: Command, words: tuple[str, ...], said: str) -> None:
    done = command("explain", "report-real", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_no_plan_is_told_as_elsewhere(command: Command) -> None:
    done = command("explain", "report-exact", "--set", "limits.power=4 kW", "--time-limit", "60")
    assert done.code == 4
    assert "Ways out" in done.out
