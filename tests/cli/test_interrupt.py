"""Ctrl-C or SIGTERM: the best plan so far and its gap, or a clean end; nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARD = """
import random, sys
from planner import solvers
from planner.interrupts import held, interrupted, session
from planner.program import Program
rng, program = random.Random(1), Program()
for i in range(300):
    program.add_variable(f"x{i}", 1)
for j in range(60):
    row = {i: rng.randint(1, 99) for i in range(300)}
    program.add_row(f"r{j}", row, ">=", sum(row.values()) // 2)
terms = {i: rng.randint(1, 99) for i in range(300)}
with session(), held():
    print("ready", file=sys.stderr, flush=True)
    answer = solvers.run(program, terms, sys.argv[1], None)
    value = sum(terms[i] * x for i, x in enumerate(answer.values))
    print(answer.status, interrupted(), value >= answer.bound > 0.9 * value)
"""
PLAN = """
import os, signal, sys
from planner import solve
from planner.cli import main
real, turns = solve.run, []
def run(*asked):
    turns.append(asked)
    if len(turns) == int(sys.argv[1]):
        answer = real(*asked)
        os.kill(os.getpid(), signal.SIGINT)
        known = {
            "all": answer, "some": solve.Answer("feasible", answer.values, 100_000_000.0),
            "none": solve.Answer("nothing", []),
        }
        return known[sys.argv[2]]
    return real(*asked)
solve.run = run
main(["plan", "report-real", "-f", "json"])
"""


def start(script: str, *words: str, folder: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    # What is started in the background of a shell ignores the signal, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", script, *words], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_a_solver_ends_with_its_best(solver: str, number: signal.Signals, tmp_path: Path) -> None:
    process = start(HARD, solver, folder=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    time.sleep(3)
    assert process.poll() is None
    assert [each.name[:8] for each in tmp_path.iterdir()] == ["planner-"]
    stopped = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "feasible True True\n", "")
    assert time.monotonic() - stopped < 5
    assert list(tmp_path.iterdir()) == []


def ended(turn: int, how: str, folder: Path) -> tuple[int, str, str]:
    process = start(PLAN, str(turn), how, folder=folder)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert list(folder.iterdir()) == []
    return process.returncode, out, err


def test_sigterm_leaves_nothing_behind(tmp_path: Path) -> None:
    # Whatever it meets, at work or before it: no folder is left, and no traceback.
    for wait_s in (0.3, 1.5, 2.5):
        process = start("from planner.cli import main; main(['plan', 'pooled-deepseek'])", folder=tmp_path)
        time.sleep(wait_s)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        assert list(tmp_path.iterdir()) == []


def test_before_any_plan(tmp_path: Path) -> None:
    assert ended(1, "none", tmp_path) == (130, "", "planner: interrupted before a plan was found\n")


def test_with_a_plan_that_is_not_proven(tmp_path: Path) -> None:
    code, out, err = ended(1, "some", tmp_path)
    plan = json.loads(out)
    assert (code, plan["status"], plan["verified"]) == (6, "feasible", True)
    assert 0.2 < plan["objective"]["gap"] < 0.4
    assert "stopped before proof, gap up to 28" in err


def test_between_two_objectives_the_first_stays_proven(tmp_path: Path) -> None:
    code, out, err = ended(2, "none", tmp_path)
    plan = json.loads(out)
    assert (code, plan["status"], plan["objective"]["gap"], plan["runner_up"]) == (130, "optimal", 0, None)
    assert err == "planner: interrupted; what stands beside is left out\n"


def test_beside_a_proven_plan(tmp_path: Path) -> None:
    code, out, _ = ended(4, "all", tmp_path)
    assert (code, json.loads(out)["status"]) == (130, "optimal")
