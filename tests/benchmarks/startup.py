"""Where a cold `planner plan report-real` spends its time.

    python -m tests.benchmarks.startup [--scenario NAME] [--runs N]

Times are of this machine at this moment; read the ratios against the two baselines of the same
run, a bare `python -c pass` and an `import pulp`. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP = 15

STAGES = """
import json, sys, time
start = time.perf_counter()
marks = []

def mark(name):
    marks.append((name, time.perf_counter()))

import typer
import planner.cli.app
mark("import of the command line")
import planner.planning, planner.views.plan, planner.scenario_files, planner.loading, planner.render
import pulp, highspy, numpy
mark("import of the rest, solver included")
from planner.loading import load_shelf
shelf = load_shelf()
mark("loading of the catalogue")
from planner.scenario_files import load_scenario
scenario = load_scenario(sys.argv[1], (), None, shelf)
mark("loading of the scenario")
from planner.planning import make_plan, pricing_of
from planner.candidates import find_candidates
pricing = pricing_of(scenario, shelf)
found = find_candidates(scenario, shelf, pricing)
mark("candidates")
from planner.problem import Problem, Situation
from planner.formulation.rows import make_program
problem = Problem(Situation.of(scenario), found.builds, pricing)
program = make_program(problem)
mark("program")
from planner.solve import solve
outcome = solve(problem)
mark("solving, all objectives")
from planner.verify import verify
verify(problem, outcome.counts)
mark("verification")
from planner.render import OUTPUTS
from planner.views.plan import plan_report
plan = make_plan(scenario, shelf)
mark("the whole plan again, with runner-up, spare and mean context")
OUTPUTS["table"].render(plan_report(plan))
mark("rendering")
seconds = {}
for name, at in marks:
    seconds[name], start = at - start, at
sizes = {"builds": len(found.builds), "every": len(found.every), "rows": len(program.rows),
         "variables": len(program.variables), "modules": len(sys.modules)}
print(json.dumps({"seconds": seconds, "sizes": sizes}))
"""


def run(*words: str, script: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *(("-c", script) if script else ()), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)


def wall(*words: str, runs: int) -> float:
    """Return the median wall time in seconds of a Python process."""
    timer = (
        "import subprocess, sys, time; start = time.perf_counter(); "
        "subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL); "
        "print(time.perf_counter() - start)"
    )
    return statistics.median(float(run(*words, script=timer).stdout) for _ in range(runs))


def import_times(*words: str) -> list[tuple[int, int, str]]:
    """Return (own microseconds, with what it imports, module) of a run under -X importtime."""
    text = run("-X", "importtime", *words).stderr
    rows = re.findall(r"^import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)$", text, re.M)
    return [(int(own), int(total), name) for own, total, _, name in rows]


def by_package(rows: list[tuple[int, int, str]]) -> list[tuple[float, str]]:
    """Return milliseconds by package, the dearest first."""
    total: dict[str, int] = {}
    for own, _, name in rows:
        package = name.split(".")[0]
        total[package] = total.get(package, 0) + own
    return sorted(((us / 1000, name) for name, us in total.items()), reverse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="report-real")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    plan = ("-m", "planner", "plan", options.scenario)

    bare = wall("-c", "pass", runs=options.runs)
    pulp = wall("-c", "import pulp", runs=options.runs)
    print(f"{'process':<44}{'ms':>8}{'x bare':>8}{'x pulp':>8}")
    for name, words in (
        ("python -c pass", ("-c", "pass")),
        ("python -c 'import pulp'", ("-c", "import pulp")),
        ("planner --version", ("-m", "planner", "--version")),
        ("planner model list", ("-m", "planner", "model", "list")),
        (f"planner demand {options.scenario}", ("-m", "planner", "demand", options.scenario)),
        (f"planner plan {options.scenario}", plan),
    ):
        seconds = {"python -c pass": bare, "python -c 'import pulp'": pulp}.get(name) or wall(*words, runs=options.runs)
        print(f"{name:<44}{1000 * seconds:>8.0f}{seconds / bare:>8.1f}{seconds / pulp:>8.1f}")

    found = json.loads(run(options.scenario, script=STAGES).stdout)
    print(f"\n{'stage, in one process':<66}{'ms':>8}{'x bare':>8}")
    for name, seconds in found["seconds"].items():
        print(f"{name:<66}{1000 * seconds:>8.0f}{seconds / bare:>8.1f}")
    print("sizes: " + ", ".join(f"{size:,} {name}" for name, size in found["sizes"].items()))

    rows = import_times(*plan)
    print(
        f"\nimports of a plan: {len(rows)} modules, {sum(own for own, _, _ in rows) / 1000:.0f} ms under -X importtime"
    )
    for milliseconds, name in by_package(rows)[:TOP]:
        print(f"  {milliseconds:>8.1f} ms  {name}")


if __name__ == "__main__":
    main()
