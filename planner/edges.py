"""Knife edges: both node counts where a KV pool is close to another whole session, and what decides it."""

from __future__ import annotations

from dataclasses import replace

from planner.budget import default_batch, gpu_budget
from planner.build import Build, Core
from planner.doubts import deciding
from planner.engines import Engine
from planner.formulation.rows import most_groups, pools_of
from planner.plan import PoolEdge
from planner.pool import kv_pool
from planner.problem import Problem
from planner.units import ceil_div
from planner.verify import fresh_reach


def pool_edge(problem: Problem, build: Build) -> PoolEdge | None:
    """Return both node counts where a pool is within 5 % of another whole session."""
    pool = build.core.pool
    side = pool.knife_edge
    if side == 0:
        return None
    other = replace(pool, sessions=pool.sessions + side)
    moved = replace(build, core=replace(build.core, pool=other))
    distance = pool.missing_bytes if side > 0 else pool.spare_bytes
    tokens = ceil_div(distance * pool.tokens, pool.rank_bytes)
    alone = (_alone(problem, build), _alone(problem, moved))
    return PoolEdge(pool.sessions, other.sessions, distance, tokens, *alone, _decided_by(build.core))


def _decided_by(core: Core) -> tuple[str, ...]:
    """Return the constants that decide the whole sessions of a core whose budget is derived."""
    launch = core.launch
    if launch is None or core.budget.evidence not in ("derived", "assumed"):
        return ()

    def sessions_with(engine: Engine) -> int:
        budget = gpu_budget(core.model, core.gpu, engine, core.weights, core.layout, launch)
        step = launch.batched_tokens or default_batch(core.gpu, engine).batched_tokens
        kv, sizes = core.footprint.kv, core.footprint.sizes
        family, draft = core.model.family, launch.draft_tokens
        return kv_pool(budget.kv_bytes, kv, core.layout, engine, family, step, sizes, draft).sessions

    return tuple(map(str, deciding(core.engine, core.pool.sessions, sessions_with)))


def _alone(problem: Problem, build: Build) -> int:
    """Return the nodes of a fleet of this build alone, spare groups included."""
    moved = replace(build, reach=fresh_reach(problem, build))
    return most_groups(problem, moved, pools_of(problem)) * build.n_nodes if moved.reach else 0
