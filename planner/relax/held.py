"""How much of the load can be held under all rules: the most users with a plan, and what the rest would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.demand import demand
from planner.relax.world import Found, OutOfTimeError, World
from planner.scenario import Scenario
from planner.workload import count_sessions


@dataclass(frozen=True)
class Held:
    """What can be held with no rule bent.

    Attributes
    ----------
    users, sessions : int
        With so many users, and their open sessions, there is a plan.
    asked_users, asked_sessions : int
        What the scenario asks for.
    tier_bytes : mapping of str to (int, int)
        Tier (``hbm``, ``dram``, ``nvme``) to what all sessions take there, and what those do that can be held.
    sure : bool
        Whether there is no plan with one user more; False where the deadline left that open.
    """

    users: int
    sessions: int
    asked_users: int
    asked_sessions: int
    tier_bytes: Mapping[str, tuple[int, int]]
    sure: bool = True


def find_held(world: World) -> Held | None:
    """Return the most users with a plan, by bisection; None where the deadline struck before anything was known.

    There is a plan with that many and none with one more, whether or not fewer users always are
    easier. Where there is none with a single user it is none at all.
    """
    bad, good, sure = world.scenario.workload.users, 0, True
    try:
        found = world.any_plan(with_users(world.scenario, 1), frozenset()) if bad > 1 else None
    except OutOfTimeError:
        return None
    good = 1 if found else 0
    while found and bad - good > 1:
        middle = (good + bad) // 2
        world.tell(f"is there a plan for {middle} of {world.scenario.workload.users} users?")
        try:
            plan = world.any_plan(with_users(world.scenario, middle), frozenset())
        except OutOfTimeError:
            sure = False
            break
        found, good, bad = (plan, middle, bad) if plan else (found, good, middle)
    return _held(world, good, found, sure)


def with_users(scenario: Scenario, users: int) -> Scenario:
    """Return the scenario with other users."""
    return replace(scenario, workload=replace(scenario.workload, users=users))


def _held(world: World, users: int, found: Found | None, sure: bool) -> Held:
    asked = world.scenario.workload
    few = replace(asked, users=users)
    sessions = count_sessions(few).open if users else 0
    return Held(users, sessions, asked.users, count_sessions(asked).open, _tier_bytes(world, users, found), sure)


def _tier_bytes(world: World, users: int, found: Found | None) -> dict[str, tuple[int, int]]:
    """Return bytes by tier, in the KV format of the fleet that holds the sessions."""
    if found is None:
        return {}
    build = next(iter(found.fleet))
    every, some = (
        demand(scenario, build.core.footprint.kv, build.cache).tiers
        for scenario in (world.scenario, with_users(world.scenario, users))
    )
    return {name: (every[name].bytes, some[name].bytes) for name in ("hbm", "dram", "nvme") if every[name].bytes}
