"""Open sessions: groups must host them all, even after losing the spare groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.build import Build
from planner.constraints.base import Check, fleet_rule
from planner.problem import Problem, Situation
from planner.program import Program
from planner.units import ceil_div

_SHARE = 10**6
"""The whole need in the row of shares: fine enough to lose little, small enough for solvers."""


@fleet_rule
class OpenSessions:
    """sum reach * x - (largest k reaches in use) >= open."""

    kind = "sessions"
    label = "open sessions"
    formula = "sum(reach * groups) - sum of the k largest reaches in use >= open"

    def active(self, at: Situation) -> bool:
        """Return True: every plan hosts its sessions."""
        return True

    def uses(self, build: Build, at: Situation) -> tuple[int, ...]:
        """Return what one group hosts; more is better."""
        return (-build.hosts,)

    def add_rows(self, program: Program, problem: Problem) -> None:
        """Add each service's covering row with the loss of spare groups."""
        for share in problem.shares():
            reaches = [problem.builds[i].hosts for i in share.places]
            groups = [program.groups[i] for i in share.places]
            add_covering_rows(
                program, share.named(self.kind), reaches, share.at.open_parts, share.at.spares, groups=groups
            )

    def check(self, problem: Problem, counts: Mapping[int, int]) -> Iterable[Check]:
        """Sum the reach of what survives the worst loss."""
        reaches = [build.hosts for build in problem.builds]
        for share in problem.shares():
            at, own = share.at, {i: counts[i] for i in share.places if counts.get(i)}
            have = surviving(reaches, own, at.spares) // at.scale
            label = f"{self.label}, {at.spares} group(s) lost" if at.spares else self.label
            yield Check(self.kind, label, at.open, have, "sessions", self.formula, service=at.label)


def surviving(
    capacities: Sequence[int], counts: Mapping[int, int], spares: int, at_risk: Sequence[bool] | None = None
) -> int:
    """Return the capacity left after losing the `spares` largest groups in use, of those `at_risk`."""
    risky = [i for i in counts if at_risk is None or at_risk[i]]
    owned = sorted((capacities[i] for i in risky for _ in range(min(counts[i], spares))), reverse=True)
    return sum(capacities[i] * n for i, n in counts.items()) - sum(owned[:spares])


@dataclass(frozen=True)
class Tier:
    """Of the groups in this and all earlier tiers no more than so many are lost.

    Attributes
    ----------
    inside : sequence of bool
        Which of the capacities are of this tier; those of none are never lost.
    """

    most: int
    inside: Sequence[bool]


def surviving_nested(capacities: Sequence[int], counts: Mapping[int, int], tiers: Sequence[Tier]) -> int:
    """Return the capacity left after the worst loss that tiers allow.

    Such losses are independent sets of a matroid, in which the greedy choice is the worst.
    """
    room = [tier.most for tier in tiers]
    left = sum(capacities[i] * n for i, n in counts.items())
    for i in sorted(counts, key=lambda i: -capacities[i]):
        first = next((t for t, tier in enumerate(tiers) if tier.inside[i]), None)
        if first is not None:
            taken = min(counts[i], *room[first:])
            room = [most - taken if t >= first else most for t, most in enumerate(room)]
            left -= taken * capacities[i]
    return left


def add_nested_covering_rows(
    program: Program, name: str, capacities: Sequence[int], need: int, tiers: Sequence[Tier], groups: Sequence[int]
) -> None:
    """Add sum c * x - loss >= need, where the loss is the worst that tiers allow.

    At each level of capacity the groups of that level or more that can be lost together are
    g_T, with g_0 = 0 and g_t = min(most_t, g_(t-1) + groups of tier t): the rank of a nested matroid. Binaries
    count each g_t from below, as in `add_covering_rows`; the loss is the sum of ranks by level.
    """
    terms = {groups[i]: c for i, c in enumerate(capacities)}
    below = 0
    at_risk = [c for i, c in enumerate(capacities) if c > 0 and any(tier.inside[i] for tier in tiers)]
    for number, level in enumerate(sorted(set(at_risk))):
        lost: list[int] = []
        for t, tier in enumerate(tiers):
            inside = [groups[i] for i, c in enumerate(capacities) if tier.inside[i] and c >= level]
            lost = _add_count(program, f"{name}_{number}_{t}", [*inside, *lost], tier.most)
        terms |= dict.fromkeys(lost, below - level)
        below = level
    program.add_row(name, terms, ">=", need)


def _add_count(program: Program, name: str, counted: Sequence[int], most: int) -> list[int]:
    """Return binaries of which at least min(`most`, sum of `counted`) are 1."""
    upper = sum(program.variables[var].upper for var in counted)
    found = []
    for j in range(1, min(most, upper) + 1):
        lost = program.add_variable(f"lost_{name}_{j}", 1)
        row = dict.fromkeys(counted, 1) | {lost: -(upper - j + 1)}
        program.add_row(f"lost_{name}_{j}", row, "<=", j - 1)
        found.append(lost)
    return found


def add_covering_rows(
    program: Program, name: str, capacities: Sequence[int], need: int, spares: int,
    at_risk: Sequence[bool] | None = None, groups: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """Add sum c * x - loss >= need, where the loss is that of the `spares` largest in use, of those `at_risk`.

    With levels c_1 < ... < c_T, N_t the groups of capacity c_t or more and binaries u_tj,
    loss = sum_t sum_j (c_t - c_(t-1)) u_tj, where N_t <= (j - 1) + (U_t - j + 1) u_tj makes
    u_tj 1 as soon as at least j groups reach level t: the k largest capacities, summed by level.
    For j = 1 the rows x_b <= U_b u_t1 of each build at its own level, with u_t1 falling in t, say
    the same and bound the relaxation more tightly. `groups` are the variables of the groups by
    capacity, those of the builds if not given.
    """
    groups = program.groups if groups is None else groups
    terms = {groups[i]: c for i, c in enumerate(capacities)}
    losses = [c if at_risk is None or at_risk[i] else 0 for i, c in enumerate(capacities)]
    below, above = 0, -1
    for t, level in enumerate(sorted({c for c in losses if c > 0}) if spares else ()):
        first = program.add_variable(f"lost_{name}_{t}_1", 1)
        terms[first] = below - level
        for i, c in enumerate(losses):
            if c == level:
                group = groups[i]
                row = {group: 1, first: -program.variables[group].upper}
                program.add_row(f"lost_{name}_{t}_{i}", row, "<=", 0)
        if above >= 0:
            program.add_row(f"fall_{name}_{t}", {above: 1, first: -1}, ">=", 0)
        at_least = [groups[i] for i, c in enumerate(losses) if c >= level]
        _add_further_losses(program, name, at_least, (t, level, below), spares, terms)
        below, above = level, first
    program.add_row(name, terms, ">=", need)
    if spares:
        of_groups, lost = (dict(zip(groups, some, strict=True)) for some in (capacities, losses))
        add_share_row(program, name, of_groups, lost, need, spares)


def add_share_row(
    program: Program, name: str, capacities: Mapping[int, int], losses: Mapping[int, int], need: int, spares: int
) -> None:
    """Add sum x * c / (need + k * lost) >= 1, which holds in every fleet that survives the loss of k groups.

    Without whole numbers a loss is hardly felt, since binaries are then as small as x / U. This row
    feels it. In whole numbers it adds nothing; shares are rounded up to millionths. See docs/math.
    """
    if need > 0:
        shares = {group: ceil_div(c * _SHARE, need + spares * losses[group]) for group, c in capacities.items()}
        program.add_row(f"share_{name}", shares, ">=", _SHARE)


def _add_further_losses(
    program: Program,
    name: str,
    at_least: Sequence[int],
    step: tuple[int, int, int],
    spares: int,
    terms: dict[int, int],
) -> None:
    """Add u_tj for j = 2 ... k at one level; `step` is the level's number, value and the one below."""
    t, level, below = step
    most = sum(program.variables[g].upper for g in at_least)
    for j in range(2, spares + 1):
        lost = program.add_variable(f"lost_{name}_{t}_{j}", 1)
        terms[lost] = below - level
        row = dict.fromkeys(at_least, 1) | {lost: -max(most - j + 1, 0)}
        program.add_row(f"lost_{name}_{t}_{j}", row, "<=", j - 1)
