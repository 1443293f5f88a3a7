"""The programs of a split: the fleet with its shares, and the most even shares of a given fleet."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from planner.program import Program
from planner.split.problem import Counts, SplitProblem

ONE = Fraction(1)
Cell = tuple[int, int]


@dataclass(frozen=True)
class SplitProgram:
    """A program with the meaning of its variables.

    Attributes
    ----------
    groups : list of int
        Variable of each offer: how many of it; empty where that is given.
    shares : dict
        (offer, bucket) to the variable of the share that it serves.
    load : int or None
        Variable of the largest load, where that is minimised.
    """

    program: Program
    groups: list[int]
    shares: dict[Cell, int]
    load: int | None = None


def fleet_program(problem: SplitProblem) -> SplitProgram:
    """Return the choice of the fleet.

    serve_b: every bucket is served in full; load_g: no instance is busy for more than all its time.
    """
    program = Program()
    groups = [program.add_variable(f"count_{g}", most) for g, most in enumerate(problem.most)]
    program.groups.extend(groups)
    shares = _add_shares(program, problem, range(len(groups)))
    for g, loads in enumerate(problem.loads):
        terms = {shares[g, b]: load for b, load in loads.items()}
        program.add_mixed_row(f"load_{g}", terms | {groups[g]: -ONE}, "<=", Fraction(0))
    return SplitProgram(program, groups, shares)


def balance_program(problem: SplitProblem, counts: Counts) -> SplitProgram:
    """Return the choice of the shares of a given fleet whose largest load per instance is least."""
    program = Program()
    shares = _add_shares(program, problem, counts)
    everything = sum((load for g in counts for load in problem.loads[g].values()), ONE)
    load = program.add_variable("load", int(everything) + 1, kind="continuous")
    for g, count in counts.items():
        terms = {shares[g, b]: each / count for b, each in problem.loads[g].items()}
        program.add_mixed_row(f"load_{g}", terms | {load: -ONE}, "<=", Fraction(0))
    return SplitProgram(program, [], shares, load)


def _add_shares(program: Program, problem: SplitProblem, offers: Counts | range) -> dict[Cell, int]:
    shares = {
        (g, b): program.add_variable(f"share_{g}_{b}", 1, kind="continuous") for g in offers for b in problem.loads[g]
    }
    for b in range(len(problem.buckets)):
        terms = {shares[g, b]: ONE for g in offers if b in problem.loads[g]}
        program.add_mixed_row(f"serve_{b}", terms, ">=", ONE)
    return shares


def cut_off(split: SplitProgram, problem: SplitProblem, counts: Counts) -> None:
    """Forbid fleets that have of nothing more than `counts`: some offer must be above its count."""
    program, above = split.program, {}
    for g, most in enumerate(problem.most):
        held = counts.get(g, 0)
        if held < most:
            more = program.add_variable(f"above_{g}", 1)
            program.add_row(f"above_{g}", {split.groups[g]: 1, more: -(held + 1)}, ">=", 0)
            above[more] = 1
    program.add_row("above", above, ">=", 1)
