"""How long plans take on synthetic catalogues of a thousand to two million machines.

    python -m tests.benchmarks.scale [--sizes 1e4 2e6] [--cases pooled local] [--seeds 0-19] [--limit SECONDS] [--plain]

Every instance runs in a process of its own, so that nothing is cached from another. Seconds are of the wall and
of the processor: read the latter where other work shares the machine. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.synthetic import CASES, SIZES

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]
PHASES = ("candidates", "solve", "verify")

ONE = """
import json, sys, time
import highspy, numpy, pulp
from planner import dominance, planning, separation
from planner.errors import UnprovenError
from tests.benchmarks.synthetic import make_instance
size, case, seed, limit, beside, plain = sys.argv[1:]
limit = float(limit) or None
if plain == "1":
    # Every population on every core, all in one program for each content of the pools.
    separation.PLAIN_UP_TO = 10**12
    dominance.undominated = lambda vectors: list(range(len(vectors)))
    dominance.undominated_within = lambda classes, vectors: list(range(len(vectors)))
instance = make_instance(size, case, int(seed))
scenario, shelf = instance.scenario, instance.shelf
spent, own = {}, {}

def timed(name, call):
    def wrapper(*words, **more):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return call(*words, **more)
        finally:
            spent[name] = spent.get(name, 0) + time.perf_counter() - wall
            own[name] = own.get(name, 0) + time.process_time() - cpu
    return wrapper

planning.candidates_of = timed("candidates", planning.candidates_of)
status, cost, gap, sizes = "unproven", None, None, {}

def plan():
    global status, cost, gap, sizes
    try:
        found = planning.solve_scenario(scenario, shelf, time_limit_s=limit)
    except UnprovenError:
        return
    timed("verify", planning.verify)(found.problem, found.outcome.counts)
    status, cost, gap = found.outcome.status, found.outcome.value, found.outcome.value - found.outcome.bound
    sizes = {"builds": found.candidates.considered, "nodes": found.nodes, "kinds": len(found.fleet)}

timed("total", plan)()
if beside == "1":
    timed("with all beside", lambda: planning.make_plan(scenario, shelf, time_limit_s=limit))()
spent["solve"] = spent["total"] - spent["candidates"] - spent.get("verify", 0)
own["solve"] = own["total"] - own["candidates"] - own.get("verify", 0)
print(json.dumps({"wall": spent, "cpu": own, "status": status, "cost": cost, "gap": gap, **sizes}))
"""


def run_one(size: str, case: str, seed: int, limit: float, beside: bool = False, plain: bool = False) -> Row:
    """Return what one instance took, in a process of its own."""
    words = [sys.executable, "-c", ONE, size, case, str(seed), str(limit), "01"[beside], "01"[plain]]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        return {"status": done.stderr.strip().splitlines()[-1][:90], "wall": {}, "cpu": {}}
    found: Row = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["pooled", "local"])
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--limit", type=float, default=0, help="seconds for one plan; 0 for none")
    parser.add_argument("--beside", action="store_true", help="time what stands beside the plan too")
    parser.add_argument("--plain", action="store_true", help="the same with every build in the program; up to 1e4")
    parser.add_argument("--each", action="store_true", help="print every instance")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    rows = []
    print(f"{'size':<5}{'case':<13}{'proven':>8}{'median s':>10}{'worst s':>9}{'cpu':>8}{'worst':>8}   cpu by phase")
    for size in options.sizes:
        for case in options.cases:
            found = []
            for seed in range(int(first), int(last or first) + 1):
                one = run_one(size, case, seed, options.limit, options.beside)
                if options.plain:
                    one["plain"] = run_one(size, case, seed, options.limit, plain=True)
                found.append(one)
                rows.append({"size": size, "case": case, "seed": seed, **one})
                if options.each:
                    print("   ", json.dumps(rows[-1]), flush=True)
            print(line_of(size, case, found) + (ratio_of(found) if options.plain else ""), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def line_of(size: str, case: str, found: list[Row]) -> str:
    """Return median and worst of the instances that ended with a plan."""
    good = [one for one in found if one["wall"]]
    proven = sum(one["status"] == "optimal" for one in found)
    if not good:
        return f"{size:<5}{case:<13}{proven:>4}/{len(found):<3}  {found[0]['status']}"
    wall, cpu = ([one[kind]["total"] for one in good] for kind in ("wall", "cpu"))
    phases = {name: statistics.median(one["cpu"].get(name, 0) for one in good) for name in (*PHASES, "with all beside")}
    words = ", ".join(f"{name} {seconds:.2f}" for name, seconds in phases.items() if seconds)
    median, worst = statistics.median(wall), max(wall)
    return (
        f"{size:<5}{case:<13}{proven:>4}/{len(found):<3}{median:>10.2f}{worst:>9.2f}"
        f"{statistics.median(cpu):>8.2f}{max(cpu):>8.2f}   {words}"
    )


def ratio_of(found: list[Row]) -> str:
    """Return how much longer the program over all builds took, and whether its plans cost the same."""
    pairs = [(one, one["plain"]) for one in found if one["status"] == one["plain"]["status"] == "optimal"]
    if not pairs:
        return f"; all builds listed: {found[0]['plain']['status']}"
    ratios = [plain["cpu"]["total"] / one["cpu"]["total"] for one, plain in pairs]
    same = sum(one["cost"] == plain["cost"] for one, plain in pairs)
    seconds = statistics.median(plain["cpu"]["total"] for _, plain in pairs)
    words = f"all builds listed: {len(pairs)} proven, {same} at the same cost, cpu {seconds:.2f}"
    return f"; {words}, {statistics.median(ratios):.0f} times as long"


if __name__ == "__main__":
    main()
