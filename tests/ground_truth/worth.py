"""Load or recompute for GLM-5 on eight H200: a note's round figures against the planner's own arithmetic.

The note gives bandwidths and prefill rates; builds are bent to them, so that the paths, steps and
bytes are what is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.copies import copies_on_load
from planner.cores import Rejections, cores, offer
from planner.planning import solve_scenario
from planner.problem import Situation
from planner.rates import replica_prefill_tokens_per_s
from planner.scenario import Override
from planner.scenario_files import load_scenario
from planner.worth import TierWorth, worth_of
from tests.unit.tiny import shelf

CONTEXTS = (65_536, 131_072)
SETS = (
    "fleet.gpus=[h200-sxm]", "workload.shared_prefix=null", "workload.users=20", "service.first_token=30 s",
    "fleet.region=null", "finance.prices=us-2026-11",
)  # fmt: skip
# What is asked, GB/s from memory and from drives, seconds of the note at 64K and 128K.
LOADS = (
    ("memory at 50 GB/s", 50, None, ("0.08", "0.16")),
    ("memory at 12 GB/s", 12, None, ("0.34", "0.67")),
    ("one drive at 6.5 GB/s, then memory", 50, "6.5", ("0.70", "1.40")),
    ("four drives at 24 GB/s, then memory", 50, "24", ("0.25", "0.50")),
    ("drives at 1.2 GB/s, then memory", 50, "1.2", ("3.4", "6.7")),
)
# Prefilled tokens per second, seconds of the note, GB/s at which loading and recomputing meet.
RECOMPUTES = ((38_000, ("1.7", "3.4"), "2.4"), (17_000, ("3.9", "7.9"), "1.0"), (47_800, None, "2.9"))


@dataclass(frozen=True)
class Compared:
    """One figure of the note beside the planner's."""

    words: str
    context: int
    unit: str
    note: Fraction
    here: Fraction

    @property
    def off(self) -> Fraction:
        """Of the note's."""
        return self.here / self.note - 1


def glm_5(context: int) -> tuple[Build, Situation]:
    """Return a build of eight H200 with GLM-5 in FP8 whose sessions share nothing."""
    sets = [*SETS, f"workload.context.planned={context} tokens"]
    solved = solve_scenario(load_scenario("h20-or-h200", [Override.parse(one) for one in sets], None, shelf()), shelf())
    return next(iter(solved.fleet)), solved.problem.at


def bent(build: Build, memory: int, drives: str | None) -> Build:
    """Return a build whose product reaches so many GB/s of one session's path."""
    core = build.core
    links = topology.host_link(core.chassis, core.gpu, min(core.layout.tp, core.chassis.n_gpus)).bytes_per_s
    copies = copies_on_load(core.footprint.kv, core.layout, core.engine, core.footprint.sizes.session_tokens)
    cut = topology.drive_read(core.chassis, build.drive, build.drives).bytes_per_s
    read = Fraction(drives or 1) * core.footprint.copies * 10**9 / cut
    cache = replace(build.cache, host_link_fraction=memory * copies * 10**9 / links, drive_read_fraction=read)
    return replace(build, cache=cache)


def compared() -> list[Compared]:
    """Return every figure of the note beside the planner's."""
    found: list[Compared] = []
    for place, context in enumerate(CONTEXTS):
        build, at = glm_5(context)
        for words, memory, drives, seconds in LOADS:
            host, below = worth_of(bent(build, memory, drives), at)
            here = (below if drives else host).load_s
            found.append(Compared(words, context, "s", Fraction(seconds[place]), here))
        for rate, again, meet in RECOMPUTES:
            tier = TierWorth("", build.core.footprint.resume_bytes, Fraction(1), Fraction(context, rate))
            if again:
                words = f"recompute at {rate:,} tokens/s"
                found.append(Compared(words, context, "s", Fraction(again[place]), tier.recompute_s))
            if not place:
                even = tier.break_even_bytes_per_s / 10**9
                found.append(Compared(f"break-even at {rate:,} tokens/s", context, "GB/s", Fraction(meet), even))
    return found


def own_break_even() -> dict[str, Fraction]:
    """Return by layout, in GB/s, where loading and recomputing meet at the planner's own prefill rate."""
    sets = [*SETS, f"workload.context.planned={CONTEXTS[0]} tokens"]
    scenario = load_scenario("h20-or-h200", [Override.parse(one) for one in sets], None, shelf())
    return {
        core.layout.name: core.footprint.kv.rate * replica_prefill_tokens_per_s(core, scenario) / 10**9
        for core in cores(scenario, shelf(), offer(scenario, shelf()), Rejections())
        if core.n_nodes == 1
    }


def worth_table() -> str:
    """Return the figures as text."""
    lines = [f"{'what':<36} {'context':>8} {'note':>10} {'here':>10} {'off':>7}"]
    lines.append("-" * len(lines[0]))
    for one in compared():
        shown = [f"{float(value):.3g} {one.unit}" for value in (one.note, one.here)]
        lines.append(f"{one.words:<36} {one.context:>8,} {shown[0]:>10} {shown[1]:>10} {float(one.off):>+7.1%}")
    own = ", ".join(f"{name} {float(even):.2f} GB/s" for name, even in sorted(own_break_even().items()))
    return "\n".join([*lines, "", "break-even by the planner's own prefill rate:", own])
