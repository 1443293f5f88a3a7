"""Wrong inputs: each with its exit code and a message that a stranger can act on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Done

ROOT = Path(__file__).parents[2]

FIT = ("fit", "--model", "glm-5", "--kv", "fp8_ds_mla", "--gpu", "h200-sxm")
PLAN = ("plan", "report-real")

# Name: words, exit code, what the message must say.
CASES: dict[str, tuple[tuple[str, ...], int, tuple[str, ...]]] = {
    "unknown command": (("bogus",), 2, ("No such command",)),
    "no scenario": (("plan",), 2, ("SCENARIO",)),
    "unknown option": ((*PLAN, "--nope"), 2, ("--nope",)),
    "unknown format": ((*PLAN, "-f", "nope"), 2, ("unknown format", "json")),
    "unknown solver": ((*PLAN, "--solver", "nope"), 2, ("highs, cbc",)),
    "unknown schema": (("schema", "nope"), 2, ("scenario",)),
    "unknown kind of part": (("catalog", "list", "gpus"), 2, ("did you mean 'gpu'",)),
    "compare nothing": (("compare", "report-real"), 2, ("--over", "--variants")),
    "compare twice": (("compare", "report-real", "--over", "users=1,2", "--variants", "no-spare"), 2, ("--over",)),
    "over without values": (("nodes", "report-real", "--over", "users"), 2, ("from..to:step",)),
    "over backwards": (("nodes", "report-real", "--over", "users=9..1"), 2, ("0 values",)),
    "over without step": (("nodes", "report-real", "--over", "users=1..9:0"), 2, ("from..to:step",)),
    "over too much": (("nodes", "report-real", "--over", "users=1..9999"), 2, ("9999 values",)),
    "over an empty value": (("nodes", "report-real", "--over", "users=1,,2"), 2, ("commas between",)),
    "over a wrong value": (("nodes", "report-exact", "--over", "users=200,abc"), 3, ("users=abc", "whole number")),
    "over nobody": (("nodes", "report-exact", "--over", "users=0,200"), 3, ("users=0", "at least 1")),
    "over an unknown format": (
        ("compare", "report-real", "--over", "kv_format=fp8,nope"), 3, ("kv_format=nope", "fp8_ds_mla"),
    ),
    "over unknown": (("nodes", "report-real", "--over", "usres=1,2"), 3, ("no setting 'usres'",)),
    "set nonsense": ((*PLAN, "--set", "nonsense"), 3, ("PATH=VALUE",)),
    "set unknown key": ((*PLAN, "--set", "workload.usres=5"), 3, ("did you mean 'workload.users'",)),
    "missing unit": ((*PLAN, "--set", "limits.power=60"), 3, ("'60' has no unit", "kW")),
    "unknown GPU": ((*PLAN, "--set", "gpus=h200"), 3, ("unknown GPU 'h200'", "did you mean", "'h200-sxm'")),
    "unknown GPU of fit": (("fit", "--model", "glm-5", "--gpu", "h200"), 3, ("did you mean", "'h200-sxm'")),
    "unknown model": ((*PLAN, "--set", "model=glm-5x"), 3, ("did you mean 'glm-5'",)),
    "unknown scenario": (("plan", "report-rael"), 3, ("did you mean 'report-real'",)),
    "unknown variant": ((*PLAN, "--variant", "no-spares"), 3, ("did you mean 'no-spare'",)),
    "unknown price book": (("catalog", "list", "--book", "us"), 3, ("did you mean 'us-2026-11'",)),
    "unknown part": (("catalog", "show", "h200"), 3, ("did you mean", "'h200-sxm'")),
    "unknown weights": (("fit", "--model", "glm-5", "--gpu", "h200-sxm", "--weights", "int4"), 3, ("bf16, fp8",)),
    "unknown layout": ((*FIT, "--layout", "zp8"), 3, ("tp8-dcp8",)),
    "unknown engine": ((*FIT, "--engine", "vllm"), 3, ("did you mean 'vllm-0.",)),
    "ambiguous tokens": ((*FIT, "--context", "128K"), 2, ("128Ki tokens",)),
    "negative tokens": ((*FIT, "--context", "-5"), 2, ("--context",)),
    "memory that is no number": ((*FIT, "--kv-gib", "nan"), 2, ("--kv-gib",)),
    "no GPUs": ((*FIT, "--gpus", "0"), 2, ("--gpus",)),
    "KV format that a GPU lacks": (
        ("fit", "--model", "glm-5", "--kv", "nvfp4_ds_mla", "--gpu", "h200-sxm"), 3,
        ("exists on sm100, sm103 only", "fp8_ds_mla"),
    ),
    "no price": ((*PLAN, "--set", "gpus=h20-96"), 5, ("h20-96", "us-2026-11", "--prices")),
    "missing catalogue": ((*PLAN, "--catalog", "/none"), 3, ("/none", "is no folder")),
    "missing price file": ((*PLAN, "--prices", "/none.yaml"), 3, ("/none.yaml", "No such file")),
    "too many sessions": ((*PLAN, "--set", "users=5000001"), 3, ("more than 10,000,000 open sessions",)),
    "output without a name": ((*PLAN, "-o", "", "-f", "csv"), 2, ("is no file name",)),
    "output into a folder": ((*PLAN, "-o", "/", "-f", "csv"), 2, ("is no file name",)),
    "no time": ((*PLAN, "--time-limit", "0"), 2, ("--time-limit", "above 0")),
    "no suffix": ((*PLAN, "-o", "plan.xyz"), 2, (".json", "-f")),
}  # fmt: skip


@pytest.mark.parametrize(("words", "code", "says"), CASES.values(), ids=CASES)
def test_wrong_words(command: Command, words: tuple[str, ...], code: int, says: tuple[str, ...]) -> None:
    done = command(*words)
    assert (done.code, done.out) == (code, "")
    assert [text for text in says if text not in done.err] == []


FILES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", (":1:1:", "empty")),
    "binary": (b"\x00\xff\xfe\x80", ("UTF-8",)),
    "list": (b"- a\n", ("keys and values",)),
    "text": (b"hello\n", ("keys and values",)),
    "broken": (b"kind: scenario\nname: [a\n", ("is not YAML",)),
    "two documents": (b"a: 1\n---\nb: 2\n", (":2:1:",)),
    "tab": (b"a:\n\tb: 1\n", (":2:1:",)),
    "not a scenario": (b"kind: gpu\nid: x\n", ("expected scenario",)),
    "unknown keys": (
        b"kind: scenario\nextends: report-real\nname: x\nworkload: {usres: 5, warm: 30}\n",
        (":4:12: unknown key 'usres'", "did you mean 'users'", ":4:28: 'warm': '30' has no unit"),
    ),
}


@pytest.mark.parametrize(("content", "says"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("name", ["check", "plan"])
def test_wrong_files(command: Command, tmp_path: Path, name: str, content: bytes, says: tuple[str, ...]) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    done = command(name, str(path))
    assert (done.code, done.out) == (3, "")
    assert [text for text in (str(path), *says) if text not in done.err] == []


def test_folder_and_missing_file(command: Command, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.yaml"):
        done = command("plan", str(path))
        assert (done.code, done.out) == (3, "")
        assert str(path) in done.err


def test_catalogue_of_a_machine_that_does_not_fit(command: Command, tmp_path: Path) -> None:
    text = (ROOT / "catalog/systems/dgx-h200.yaml").read_text(encoding="utf-8")
    (tmp_path / "x.yaml").write_text(text.replace("count: {value: 32", "count: {value: 99", 1), encoding="utf-8")
    done = command("plan", "report-real", "--catalog", str(tmp_path))
    assert (done.code, done.out) == (3, "")
    assert "99 DIMMs do not fit 32 slots" in done.err


def test_chassis_with_gpus_of_another_form(command: Command, tmp_path: Path) -> None:
    text = (ROOT / "catalog/chassis/smc-821ge-tnhr.yaml").read_text(encoding="utf-8")
    assert "gpu_models: [" in text
    (tmp_path / "x.yaml").write_text(text.replace("gpu_models: [", "gpu_models: [l40s, ", 1), encoding="utf-8")
    done = command("check", "report-real", "--catalog", str(tmp_path))
    assert done.code == 3
    assert "'l40s' is" in done.err


def test_all_errors_of_scenario_and_overrides_at_once(command: Command) -> None:
    done = command("plan", "report-real", "--set", "workload.users=0", "--set", "gpus=h200", "--set", "model=nope")
    assert done.code == 3
    assert [text for text in ("'users'", "'h200'", "'nope'") if text not in done.err] == []


EDGES = {
    "no tokens": (*FIT, "--context", "0 tokens"),
    "no decode": (*PLAN, "--set", "service.decode=0 tokens/s"),
    "all shared": (*PLAN, "--set", "workload.shared_prefix.share=100 %"),
    "no context": (*PLAN, "--set", "workload.context={planned: 0 tokens}"),
    "endless users": (*PLAN, "--set", "users=" + "9" * 23),
}


@pytest.mark.parametrize("words", EDGES.values(), ids=EDGES)
def test_no_traceback(command: Command, words: tuple[str, ...]) -> None:
    assert command(*words).code in (2, 3, 4)


SENSELESS = {
    "context of nothing": (*FIT, "--context", "0"),
    "KV memory beyond the GPU": (*FIT, "--layout", "tp8", "--kv-gib", "500"),
    "time that is past": ("plan", "report-exact", "--time-limit", "-1"),
    "time that is no number": ("plan", "report-exact", "--time-limit", "nan"),
    "nothing to sweep": ("nodes", "report-exact", "--over", "users=,"),
    "nothing to compare": ("compare", "report-exact", "--variants", ""),
}


@pytest.mark.parametrize("words", SENSELESS.values(), ids=SENSELESS)
def test_senseless_words_are_refused(command: Command, words: tuple[str, ...]) -> None:
    assert command(*words).code in (2, 3)


def test_stopped_before_any_plan(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner import solve

    monkeypatch.setattr(solve, "run", lambda *_: solve.Answer("nothing", [], None))
    done = command("plan", "report-exact", "--time-limit", "0.001")
    assert (done.code, done.out) == (6, "")
    assert "no plan was found in time" in done.err


def stopped(run: Callable[..., object]) -> Callable[..., object]:
    from dataclasses import replace

    def stop(*arguments: object) -> object:
        return replace(run(*arguments), status="feasible", bound=1_000_000.0)  # type: ignore[type-var]

    return stop


def test_stopped_before_proof(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner import solve

    monkeypatch.setattr(solve, "run", stopped(solve.run))
    done: Done = command("plan", "report-exact", "-f", "json")
    assert done.code == 6
    assert done.data["status"] == "feasible"
    assert done.data["objective"]["gap"] > 0
    assert "stopped before proof" in done.err


@pytest.mark.parametrize("words", [("nodes", "report-exact"), ("compare", "report-exact", "--over", "users=100,200")])
def test_every_command_ends_so(command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    from planner import solve

    monkeypatch.setattr(solve, "run", stopped(solve.run))
    assert command(*words).code == 6
