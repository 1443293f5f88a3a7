"""Instances with a load of a few groups and with limits near what they take, so that rules bind."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from random import Random

from planner.scenario import Limits
from planner.units import Money
from tests.oracle.brute_force import Oracle, TooLargeError, parts_of
from tests.oracle.instances import Instance, make_instance


def sized_instance(seed: int) -> Instance:
    """Return the instance of `seed` with a load of a few groups and limits near what they take."""
    drawn, rng = make_instance(seed), Random(seed + 1)
    if rng.random() < 0.1:
        return drawn
    load = drawn.scenario.workload
    oracle = Oracle(_with_users(drawn, 400))
    reaches = sorted({Fraction(build.reach, max(1, oracle.people.in_flight)) for build in oracle.builds()})
    if reaches:
        hosted = Fraction(rng.randint(30, 350), 100) * rng.choice(reaches)
        drawn = _with_users(drawn, max(1, math.ceil(hosted / load.sessions_per_user)))
    return _with_tight_limits(drawn, rng)


def _with_users(instance: Instance, users: int) -> Instance:
    scenario = instance.scenario
    return replace(instance, scenario=replace(scenario, workload=replace(scenario.workload, users=users)))


def _with_tight_limits(instance: Instance, rng: Random) -> Instance:
    """Move each limit that the scenario has to somewhere near what the best fleet without limits takes."""
    scenario = instance.scenario
    rules, limits = scenario.fleet, scenario.limits
    free = replace(scenario, limits=Limits(), fleet=replace(rules, max_nodes=None))
    oracle = Oracle(replace(instance, scenario=free))
    try:
        fleet = oracle.solve().fleet
    except TooLargeError:
        return instance
    if not fleet:
        return instance
    totals, used = oracle.totals(fleet), parts_of(fleet)

    def near(value: int) -> int:
        return value * rng.randint(75, 140) // 100

    stock = {part: max(0, used.get(part, 0) + totals.items.get(part, 0) + rng.randint(-3, 2)) for part in limits.stock}
    near_limits = Limits(
        budget=limits.budget and Money("USD", near(totals.capex)), power_w=limits.power_w and near(totals.watts),
        rack_units=limits.rack_units and near(sum(b.rack_units for b in fleet)), stock=stock,
    )  # fmt: skip
    max_nodes = rules.max_nodes and max(1, totals.nodes + rng.randint(-1, 2))
    return replace(
        instance, scenario=replace(scenario, limits=near_limits, fleet=replace(rules, max_nodes=max_nodes))
    )  # fmt: skip
