"""A problem as an integer program: groups, racks, lots of cluster lines, and every rule's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from planner.build import Build, group_pieces
from planner.constraints import FLEET_RULES
from planner.constraints.pools import POOLS, Pool, Pooled
from planner.constraints.rewarm import groups_that_rewarm
from planner.costs import group_drivers
from planner.formulation.caps import add_caps, most_within_caps
from planner.formulation.volume import add_volumes
from planner.hardware import ClusterLine
from planner.problem import Problem
from planner.program import Program
from planner.units import ceil_div

Pools = Sequence[tuple[Pool, Pooled]]


def pools_of(problem: Problem) -> Pools:
    """Return the pools of a problem, each with its kind."""
    return [(kind, pool) for kind in POOLS for pool in kind.pooled(problem)]


def most_groups(problem: Problem, build: Build, pools: Pools) -> int:
    """Return a bound on the groups of one build that an optimal plan can hold.

    All of it alone meets the session row with that many; in a pool, memory may ask for more.
    """
    at = problem.at_of(build)
    most = ceil_div(at.open_parts, build.reach) if build.reach else 1
    spares = at.spares
    for kind, pool in pools:
        have = kind.units(build, at) if at.label in pool.services else 0
        if have > 0:
            most, spares = max(most, ceil_div(pool.need, have)), max(spares, pool.spares)
    # A rack that takes c nodes of this build, lost with all of them, takes at most c groups.
    in_racks = build.racks_per * at.scenario.fleet.spare_racks
    return most_within_caps(problem, build, most + max(spares, in_racks))


def _asked_groups(problem: Problem, build: Build) -> int:
    """Return the groups of one build that alone meet every rule that asks for a least number."""
    scenario = problem.at.scenario
    asked = [ceil_div(scenario.fleet.min_build_nodes or 0, build.n_nodes)]
    for part, least in scenario.limits.minimum.items():
        each = group_pieces(build, part)
        asked.append(ceil_div(least, each) if each else 0)
    return max(asked)


@lru_cache(maxsize=8)
def make_program(problem: Problem) -> Program:
    """Return all variables and rows of a problem; asked for often, made once."""
    program = Program()
    limit = problem.at.scenario.fleet.max_nodes
    pools, warming = pools_of(problem), groups_that_rewarm(problem)
    for i, build in enumerate(problem.builds):
        most = max(most_groups(problem, build, pools), _asked_groups(problem, build), warming.get(i, 0))
        if limit is not None:
            most = min(most, limit // build.n_nodes)
        program.groups.append(program.add_variable(f"groups_{i}", most))
    _add_racks(program, problem)
    for line in problem.pricing.catalog.cluster.lines:
        if not problem.pricing.is_linear(line) and not problem.pricing.is_per_rack(line):
            _add_lots(program, problem, line)
    add_volumes(program, problem.pricing, partial(problem.volume_pieces_of, program))
    for rule in FLEET_RULES.values():
        if rule.active(problem.at):
            rule.add_rows(program, problem)
    add_caps(program, problem)
    return program


def _add_racks(program: Program, problem: Problem) -> None:
    """Add racks by class: nodes of classes up to c fill racks of classes up to c."""
    classes = sorted({build.racks_per for build in problem.builds})
    most = sum(
        build.n_nodes * program.variables[group].upper
        for build, group in zip(problem.builds, program.groups, strict=True)
    )
    for size in classes:
        program.racks[size] = program.add_variable(f"racks_{size}", max(1, most))
    for size in classes:
        terms = {var: c for c, var in program.racks.items() if c <= size}
        for i, build in enumerate(problem.builds):
            if build.racks_per <= size:
                terms[program.groups[i]] = -build.n_nodes
        program.add_row(f"racks_{size}", terms, ">=", 0)


def _add_lots(program: Program, problem: Problem, line: ClusterLine) -> None:
    """Add the lots of a rounded line: lots * per >= driver, and at least the minimum."""
    least = ceil_div(line.minimum, line.pieces)
    if line.driver == "fleet":
        lots = max(1, least)
        program.lots[line.id] = program.add_variable(f"lots_{line.id}", lots, lots)
        return
    if line.driver == "racks":
        add_rack_lots(program, line, least)
        return
    drivers = [group_drivers(build, problem.pricing.catalog)[line.driver] for build in problem.builds]
    if line.beyond:
        add_lots_beyond(program, line, dict(zip(program.groups, drivers, strict=True)))
        return
    bounds = [program.variables[g].upper for g in program.groups]
    most = ceil_div(sum(d * u for d, u in zip(drivers, bounds, strict=True)), line.per)
    lots = program.add_variable(f"lots_{line.id}", max(most, least, 1))
    program.lots[line.id] = lots
    terms = {program.groups[i]: -d for i, d in enumerate(drivers)}
    program.add_row(f"lots_{line.id}", {lots: line.per, **terms}, ">=", 0)
    if least and all(drivers):
        program.add_row(f"least_{line.id}", {lots: 1}, ">=", least)
    elif least:
        for i, driver in enumerate(drivers):
            if driver:
                program.add_row(f"least_{line.id}_{i}", {lots: 1, program.mark_used(i): -least}, ">=", 0)


def add_lots_beyond(program: Program, line: ClusterLine, drivers: Mapping[int, int], known: int | None = None) -> None:
    """Add the lots of a line that is needed only by more than `beyond` of its driver, counted per variable.

    needed = 1 where the driver is above `beyond`; then lots * per >= driver, else nothing. No lots where the
    bounds of the variables, or `known` as one of the driver, keep it below.
    """
    most = sum(count * program.variables[var].upper for var, count in drivers.items())
    most = most if known is None else min(most, known)
    if most <= line.beyond:
        return
    terms = {var: -count for var, count in drivers.items()}
    key = (line.driver, line.beyond)
    if key not in program.beyond:
        program.beyond[key] = program.add_variable(f"beyond_{line.driver}", 1)
        above = {program.beyond[key]: most - line.beyond}
        program.add_row(f"beyond_{line.driver}", {**above, **terms}, ">=", -line.beyond)
    needed, least = program.beyond[key], max(1, ceil_div(line.minimum, line.pieces))
    lots = program.add_variable(f"lots_{line.id}", max(ceil_div(most, line.per), least))
    program.lots[line.id] = lots
    program.add_row(f"lots_{line.id}", {lots: line.per, needed: -line.beyond, **terms}, ">=", -line.beyond)
    program.add_row(f"least_{line.id}", {lots: 1, needed: -least}, ">=", 0)


def add_rack_lots(program: Program, line: ClusterLine, least: int) -> None:
    """Add the lots of a line that serves several racks, or has a minimum."""
    racks = program.racks.values()
    most = max(least, ceil_div(sum(program.variables[var].upper for var in racks), line.per), 1)
    lots = program.add_variable(f"lots_{line.id}", most, least)
    program.lots[line.id] = lots
    program.add_row(f"lots_{line.id}", {lots: line.per} | dict.fromkeys(racks, -1), ">=", 0)
