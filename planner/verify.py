"""Every constraint again, on the counts alone, in exact arithmetic and without the solver.

Group limits are held against the sessions that each group really hosts when the fleet has lost
its spare groups and the rest share the load evenly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.bill import bill, capex_cents
from planner.build import Build
from planner.candidates import limiting_kind
from planner.constraints import FLEET_RULES, GROUP_LIMITS, Check, reach
from planner.constraints.base import GroupLimit
from planner.errors import PlannerError
from planner.problem import Problem, Share, Situation
from planner.roles import BOTH, DECODE, PREFILL, concerns
from planner.units import ceil

Groups = Sequence[tuple[int, Build]]
"""Each with its reach, in parts."""


@dataclass(frozen=True)
class Verification:
    """The result of checking a plan.

    Attributes
    ----------
    checks : tuple of Check
        Group limits first, then fleet rules.
    capex_cents : int
        The bill of materials added up.
    hosted : mapping of str to int
        Build to the open sessions that one of its groups hosts after the loss.
    """

    checks: tuple[Check, ...]
    capex_cents: int
    hosted: Mapping[str, int]


def verify(problem: Problem, counts: Mapping[int, int]) -> Verification:
    """Check `counts` against every active constraint.

    Raises
    ------
    PlannerError
        If a constraint does not hold: the solver's answer was wrong and must not be shown.
    """
    fleet = problem.fleet(counts)
    hosted = allocate(problem, fleet)
    checks = [
        _group_check(share, limit, of_limit)
        for share in problem.shares()
        for limit in GROUP_LIMITS.values()
        if _counts(share.at, limit) and (of_limit := _concerned(limit, share, hosted))
    ]
    for rule in FLEET_RULES.values():
        if rule.active(problem.at):
            checks += [_marked(check, problem, fleet) for check in rule.check(problem, counts)]
    broken = [check for check in checks if not check.met]
    if broken:
        rows = "; ".join(f"{c.words}: need {c.need}, have {c.have} {c.unit}" for c in broken)
        raise PlannerError(f"the plan fails its exact check and is not shown: {rows}")
    total = capex_cents(bill(problem.pricing, fleet), problem.pricing.case)
    per_group = {build.name: ceil(max(shares)) for build, shares in hosted.items()}
    return Verification(tuple(checks), total, per_group)


def _concerned(limit: GroupLimit, share: Share, hosted: Mapping[Build, list[Fraction]]) -> dict[Build, list[Fraction]]:
    """Return what groups of a service host that a limit concerns."""
    own = {build: shares for build, shares in hosted.items() if build.core.service == share.at.label}
    return {build: shares for build, shares in own.items() if concerns(limit.kind, build.core.role)}


def _counts(at: Situation, limit: GroupLimit) -> bool:
    pooled = at.pooled and limit.kind in ("dram", "nvme")
    return limit.active(at) and not pooled


def allocate(problem: Problem, fleet: Mapping[Build, int]) -> dict[Build, list[Fraction]]:
    """Return the open sessions on each surviving group, of its own service in proportion to its reach.

    The largest groups are lost first. The reach is computed anew from the limits. Shares are
    exact: where sessions are, and which of them are in flight, is an average. Of a group that only
    prefills it is the sessions whose turns it prefills when the largest of those that prefill are lost.

    Raises
    ------
    PlannerError
        If the survivors cannot host all sessions, or not prefill all their turns.
    """
    placed: dict[Build, list[Fraction]] = {}
    for at in problem.at.services:
        mine = {build: count for build, count in fleet.items() if build.core.service == at.label}
        owned = [(fresh_reach(problem, build), build) for build, count in mine.items() for _ in range(count)]
        owned.sort(key=lambda group: (-group[0], group[1].name))
        placed |= _placed(owned, PREFILL, at)
        if at.scenario.splits:
            of_prompts = _placed(owned, DECODE, at)
            placed |= {build: shares for build, shares in of_prompts.items() if build.core.role == PREFILL}
    return placed


def _placed(owned: Groups, safe: str, at: Situation) -> dict[Build, list[Fraction]]:
    """Return the sessions on each group where the largest are lost of all but those of the role `safe`.

    Groups of one role take their share of the whole, as far as those of the other can follow.
    """
    survivors = [group for group in owned if group[1].core.role != safe][at.spares :]
    follow = sum(most for most, build in owned if build.core.role == safe)
    able = {one: sum(most for most, build in survivors if (build.core.role != BOTH) == one) for one in (True, False)}
    total = able[False] + min(able[True], follow)
    if total < at.open_parts:
        whose = f" of {at.label}" if at.label else ""
        hosted = total // at.scale
        raise PlannerError(f"the plan hosts {hosted} of {at.open} open sessions{whose} and is not shown")
    even = Fraction(at.open_parts * able[True], able[True] + able[False])
    apart = max(Fraction(at.open_parts - able[False]), min(Fraction(follow), even))
    taken = {True: apart / at.scale, False: (at.open_parts - apart) / at.scale}
    placed: dict[Build, list[Fraction]] = {}
    for most, build in survivors:
        one = build.core.role != BOTH
        share = taken[one] * most / able[one] if able[one] else Fraction(0)
        placed.setdefault(build, []).append(share)
    return placed


def fresh_reach(problem: Problem, build: Build) -> int:
    """Return the reach of a build from its limits, not from the candidate's own figure."""
    at = problem.at_of(build)
    limits = (limit for limit in GROUP_LIMITS.values() if concerns(limit.kind, build.core.role))
    bounds = [reach(limit, build, at) for limit in limits if _counts(at, limit)]
    return min([at.open_parts, *(b for b in bounds if b is not None)])


def _group_check(share: Share, limit: GroupLimit, hosted: Mapping[Build, list[Fraction]]) -> Check:
    """Return need and have over all survivors; of one group alone where that one is short."""
    at, label = share.at, limit.label
    need, have, binding = Fraction(0), 0, False
    slowest: int | None = None
    for build, shares in hosted.items():
        each, offered = limit.need(build, at), limit.have(build, at)
        for sessions in shares:
            if each * sessions > offered:
                return Check(
                    limit.kind, label, ceil(each * sessions), offered, limit.unit, limit.formula, service=at.label
                )
            need, have = need + each * sessions, have + offered
        slowest = offered if slowest is None else min(slowest, offered)
        binding = binding or limiting_kind(build, at) == limit.kind
    if limit.unit == "ms":
        # Times do not add up over groups: the slowest group counts.
        have = slowest or 0
    return Check(limit.kind, label, ceil(need), have, limit.unit, limit.formula, binding, at.label)


def _marked(check: Check, problem: Problem, fleet: Mapping[Build, int]) -> Check:
    """Mark a fleet rule as binding where not even the smallest group in use would fit its slack."""
    if check.kind in ("sessions", "prompts"):
        at = next(at for at in problem.at.services if at.label == check.service)
        mine = (build for build in fleet if build.core.service == at.label)
        reaches = (build.hosts if check.kind == "sessions" else build.prefills for build in mine)
        least = min((most for most in reaches if most), default=0)
        return replace(check, binding=check.slack * at.scale < least)
    if check.kind in ("dram_pool", "nvme_pool", "spare_racks"):
        groups = sum(fleet.values())
        return replace(check, binding=check.slack * groups < check.have)
    if check.kind in ("builds", "gpu_models", "handover"):
        # At its limit says nothing: more kinds may save nothing.
        return check
    sizes = {
        "power": min((b.power_w for b in fleet), default=0),
        "sustained": int(min((b.power_w for b in fleet), default=0) * problem.pricing.finance.average_load_fraction),
        "rack_units": min((b.n_nodes * b.core.chassis.rack_units for b in fleet), default=0),
        "nodes": min((b.n_nodes for b in fleet), default=0),
        "budget": min((b.cost_cents for b in fleet), default=0),
    }
    return replace(check, binding=check.slack < sizes.get(check.kind, 1))
