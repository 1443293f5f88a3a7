"""Handover: any decode group of a service takes from any prefill group of it, in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from planner.build import Build
from planner.constraints.base import Check, apart, fleet_rule
from planner.constraints.first_token import FirstToken
from planner.problem import Problem, Share, Situation
from planner.program import Program
from planner.roles import BOTH, DECODE, PREFILL


@fleet_rule
class Handover:
    """One KV format, cut and engine over a service's groups of one role; slowest pair within the target."""

    kind = "handover"
    label = "handover"
    formula = "groups <= upper * chosen[format]; sum(chosen) <= 1; decode ms + prefill ms <= target, for each pair"

    def active(self, at: Situation) -> bool:
        """Return whether any service may have groups of one role."""
        return any(one.scenario.splits for one in at.services)

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return role and format, by which alone builds compare, and its part of the first token's time."""
        role = build.core.role
        own = "" if role == BOTH else f" {build.core.pair_key}"
        return (*apart(f"{role}{own}"), 0 if role == BOTH else _milliseconds(build, at))

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add for each service that splits its formats and its pairs in time."""
        for share in _splitting(problem):
            _add_formats(program, problem, share)
            if FirstToken().active(share.at):
                _add_times(program, problem, share)

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Count the formats in use, and add the times of the slowest pair."""
        for share in _splitting(problem):
            used = [problem.builds[i] for i in share.places if counts.get(i) and problem.builds[i].core.role != BOTH]
            if not used:
                continue
            formats = len({build.core.pair_key for build in used})
            label, whose = f"{self.label}, KV format and engine", share.at.label
            yield Check(self.kind, label, formats, 1, "kinds", self.formula, service=whose)
            if FirstToken().active(share.at):
                label = f"{self.label}, first token of the slowest pair"
                need, target = slowest_ms(used, share.at), _target(share.at)
                yield Check(self.kind, label, need, target, "ms", self.formula, service=whose)


def slowest_ms(builds: Iterable[Build], at: Situation) -> int:
    """Return the milliseconds to the first token of the slowest build, or of the slowest pair of one role each."""
    slowest = dict.fromkeys((BOTH, DECODE, PREFILL), 0)
    for build in builds:
        slowest[build.core.role] = max(slowest[build.core.role], FirstToken().milliseconds(build, at))
    return max(slowest[BOTH], slowest[DECODE] + slowest[PREFILL])


def _splitting(problem: Problem) -> Iterator[Share]:
    return (share for share in problem.shares() if share.at.scenario.splits)


def _milliseconds(build: Build, at: Situation) -> int:
    return FirstToken().milliseconds(build, at) if FirstToken().active(at) else 0


def _target(at: Situation) -> int:
    assert at.scenario.service is not None
    return int(at.scenario.service.first_token_s * 1000)


def _of_role(problem: Problem, share: Share, role: str) -> list[int]:
    return [i for i in share.places if problem.builds[i].core.role == role]


def _add_formats(program: Program, problem: Problem, share: Share) -> None:
    """Add a binary per format and one row over them."""
    decode, prefill = (_of_role(problem, share, role) for role in (DECODE, PREFILL))
    keys = [{problem.builds[i].core.pair_key for i in places} for places in (decode, prefill)]
    every = enumerate(sorted(set.union(*keys)))
    chosen = {key: program.add_variable(share.named(f"format_{number}"), 1) for number, key in every}
    for i in (*decode, *prefill):
        _add_big(program, f"{Handover.kind}_{i}", i, {chosen[problem.builds[i].core.pair_key]: -1}, 0)
    program.add_row(share.named(Handover.kind), dict.fromkeys(chosen.values(), 1), "<=", 1)


def _add_times(program: Program, problem: Problem, share: Share) -> None:
    """Add for each least time that some decode group cannot wait whether any prefill group takes so long.

    Such binaries fall with the time, so that each build needs one row.
    """
    target = _target(share.at)
    prefill = {i: _milliseconds(problem.builds[i], share.at) for i in _of_role(problem, share, PREFILL)}
    late: dict[int, int] = {}
    for i in _of_role(problem, share, DECODE):
        left = target - _milliseconds(problem.builds[i], share.at)
        beyond = [each for each in prefill.values() if each > left]
        if beyond:
            late[i] = min(beyond)
    steps = sorted(set(late.values()))
    slow = {step: program.add_variable(share.named(f"slow_{step}"), 1) for step in steps}
    for below, above in pairwise(steps):
        program.add_row(share.named(f"slower_{above}"), {slow[below]: 1, slow[above]: -1}, ">=", 0)
    for i, each in prefill.items():
        reached = [step for step in steps if step <= each]
        if reached:
            _add_big(program, f"slow_{i}", i, {slow[reached[-1]]: -1}, 0)
    for i, step in late.items():
        _add_big(program, f"late_{i}", i, {slow[step]: 1}, 1)


def _add_big(program: Program, name: str, build: int, terms: Mapping[int, int], most: int) -> None:
    """Add groups + upper * terms <= upper * most."""
    group = program.groups[build]
    upper = program.variables[group].upper
    program.add_row(name, {group: 1} | {var: upper * value for var, value in terms.items()}, "<=", upper * most)
