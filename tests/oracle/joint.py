"""Tiny plans of two services: random instances, and the enumeration of all their fleets together.

What each service's groups hold is asked of its own enumeration; what is common is added up over
both. Growth stays monotone (a further group never lowers what is held), so the first fleets that
hold both loads include an optimal one, as in `brute_force`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from random import Random

from planner.scenario import OWN_FLEET, Fleet, Limits, Scenario, services_of
from planner.units import Money
from tests.oracle.brute_force import Oracle, TooLargeError, Totals, parts_of
from tests.oracle.instances import Instance, make_instance, scenario_of
from tests.oracle.legal import Own

MOST_STEPS, MOST_GROUPS, MOST_BUILDS = 2_500, 9, 24
Fleets = Mapping[str, tuple[Own, ...]]
GIVES = ("reach", "dram_gib", "drive_gb")


def joint_instance(seed: int) -> Instance:
    """Return two services over one catalogue, with common limits near what they take."""
    rng = Random(f"joint {seed}")
    while True:
        made = _drawn(seed, rng)
        sizes = [len(builds) for builds in JointOracle(made[0]).builds.values()]
        # Few enough to be enumerated together; now and then none, or many.
        if all(0 < size <= MOST_BUILDS for size in sizes) or rng.random() < 0.01:
            return _tight(*made, rng)


def _drawn(seed: int, rng: Random) -> tuple[Instance, Limits]:
    """Return two services without common limits, and the limits that the first one had."""
    drawn = make_instance(rng.randrange(10**6))
    first = drawn.scenario
    pooled = first.tiers.placement == "pooled"
    second = scenario_of(rng, pooled and rng.random() < 0.9, drawn.shelf.catalog.parts)
    shared = first.tiers.placement == second.tiers.placement == "pooled" and rng.random() < 0.7
    services = tuple(
        replace(_sized(one, drawn, rng), label=label, tiers=replace(one.tiers, shared=shared))
        for label, one in (("a", first), ("b", second))
    )
    services = tuple(replace(one, fleet=_own_fleet(one.fleet, rng)) for one in services)
    none = Fleet()
    fleet = replace(
        first.fleet, **{key: getattr(none, key) for key in OWN_FLEET}, max_nodes=None,
        spare_racks=rng.choice((0, 0, 1)),
    )  # fmt: skip
    free = replace(first, fleet=fleet, limits=Limits(), workload=replace(first.workload, rates=None), service=None)
    whole = replace(drawn, seed=seed, scenario=replace(free, services=services))
    return whole, first.limits


def _own_fleet(fleet: Fleet, rng: Random) -> Fleet:
    return replace(
        fleet, spare_groups=rng.choice((0, 0, 1)), spare_nodes=rng.choice((0, 0, 0, 1)),
        one_gpu_model=rng.random() < 0.2,
    )  # fmt: skip


def _sized(scenario: Scenario, drawn: Instance, rng: Random) -> Scenario:
    """Give a service a load of one group or two."""
    many = replace(scenario, workload=replace(scenario.workload, users=400))
    oracle = Oracle(replace(drawn, scenario=many))
    reaches = sorted({Fraction(build.reach, max(1, oracle.people.in_flight)) for build in oracle.builds()})
    if not reaches:
        return scenario
    hosted = Fraction(rng.randint(30, 170), 100) * rng.choice(reaches)
    users = max(1, math.ceil(hosted / scenario.workload.sessions_per_user))
    return replace(scenario, workload=replace(scenario.workload, users=users))


def _tight(instance: Instance, limits: Limits, rng: Random) -> Instance:
    """Set limits near what the best fleets without any take together."""
    oracle = JointOracle(instance)
    try:
        best = oracle.solve()
    except TooLargeError:
        return instance
    if best is None:
        return instance
    fleet = oracle.together(oracle.best_fleets)
    totals = oracle.whole.totals(fleet)
    used = parts_of(fleet)

    def near(value: int) -> int:
        return max(1, value * rng.randint(80, 130) // 100)

    def drawn(value: int) -> int | None:
        return near(value) if rng.random() < 0.25 else None

    budget = drawn(totals.capex)
    stock = {part: max(0, used.get(part, 0) + totals.items.get(part, 0) + rng.randint(-2, 2)) for part in limits.stock}
    common = Limits(
        budget=None if budget is None else Money("USD", budget), power_w=drawn(totals.watts),
        rack_units=drawn(sum(build.rack_units for build in fleet)), racks=drawn(totals.racks), stock=stock,
    )  # fmt: skip
    most = drawn(totals.nodes)
    scenario = replace(instance.scenario, limits=common, fleet=replace(instance.scenario.fleet, max_nodes=most))
    return replace(instance, scenario=scenario)


@dataclass
class JointOracle:
    """Enumerates the fleets of two services together; `best_fleets` are those of the optimum."""

    instance: Instance
    steps: int = 0
    best: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.best_fleets: Fleets = {}
        scenario = self.instance.scenario
        self.services = {one.label: replace(one, label="") for one in services_of(scenario)}
        self.oracles = {label: Oracle(replace(self.instance, scenario=one)) for label, one in self.services.items()}
        spares = max(max(one.fleet.spare_groups, one.fleet.spare_nodes) for one in self.services.values())
        fleet = replace(scenario.fleet, spare_groups=spares)
        self.whole = Oracle(replace(self.instance, scenario=replace(scenario, services=(), fleet=fleet)))

    @cached_property
    def builds(self) -> dict[str, tuple[Own, ...]]:
        """Legal builds by service, with the service at the end of their keys."""
        return {
            label: tuple(replace(build, key=(*build.key, label)) for build in oracle.builds())
            for label, oracle in self.oracles.items()
        }

    @property
    def shared(self) -> bool:
        return all(one.tiers.shared for one in self.services.values())

    def together(self, fleets: Fleets) -> tuple[Own, ...]:
        return tuple(build for fleet in fleets.values() for build in fleet)

    def unmet(self, fleets: Fleets) -> set[tuple[str, str]]:
        """Return what is not held yet: the gift that lacks, and whose; pooled tiers by themselves or together."""
        needs = {
            label: oracle.needs(fleets[label][0].kv, fleets[label][0].tp) if fleets[label] else (1, 0, 0)
            for label, oracle in self.oracles.items()
        }
        found: set[tuple[str, str]] = set()
        for label, oracle in self.oracles.items():
            for give, need in zip(GIVES[:1] if self.shared else GIVES, needs[label], strict=False):
                if not _survives(oracle, fleets[label], give, need):
                    found.add((give, label))
        for place, give in enumerate(GIVES[1:], 1) if self.shared else ():
            if not _survives(self.whole, self.together(fleets), give, sum(need[place] for need in needs.values())):
                found |= {(give, label) for label in fleets}
        return found

    def holds(self, fleets: Fleets) -> bool:
        return not self.unmet(fleets)

    def allowed(self, fleets: Fleets, totals: Totals) -> bool:
        """Return whether common limits are kept, and one GPU model per service that asks for it."""
        for label, one in self.services.items():
            if one.fleet.one_gpu_model and len({build.key[2] for build in fleets[label]}) > 1:
                return False
        return self.whole.allowed(self.together(fleets), totals)

    def contents(self) -> Iterator[dict[str, tuple[Own, ...]]]:
        """Yield the builds that may stand together: in a pool one format and one cut over ranks."""
        each = []
        for label, oracle in self.oracles.items():
            builds = self.builds[label]
            pools = sorted({(build.kv, build.tp) for build in builds}) if oracle.pooled else [None]
            each.append([[b for b in builds if pool is None or (b.kv, b.tp) == pool] for pool in pools])
        for chosen in product(*each):
            yield {label: tuple(builds) for label, builds in zip(self.oracles, chosen, strict=True)}

    def solve(self) -> tuple[int, ...] | None:
        for offered in self.contents():
            if all(offered.values()) and self._can_hold(offered):
                line = [(label, build) for label, builds in offered.items() for build in builds]
                cents = {build.key: build.nodes * self.whole.least_node_cents(build) for _, build in line}
                line.sort(key=lambda pair: (pair[0], Fraction(cents[pair[1].key], pair[1].reach), repr(pair[1].key)))
                self._grow(dict.fromkeys(offered, ()), line, 0, cents)
        return self.best

    def _can_hold(self, offered: Fleets) -> bool:
        some: dict[str, tuple[int, ...]] = {}
        for label, builds in offered.items():
            some[label] = self.oracles[label].needs(builds[0].kv, builds[0].tp)
        for place, give in enumerate(GIVES):
            groups = [tuple(offered)] if self.shared and place else [(label,) for label in offered]
            for labels in groups:
                if sum(some[label][place] for label in labels) and not any(
                    getattr(build, give) for label in labels for build in offered[label]
                ):
                    return False
        return True

    def _grow(self, fleets: dict[str, tuple[Own, ...]], line: list[tuple[str, Own]], start: int, cents: dict) -> None:  # type: ignore[type-arg]
        self.steps += 1
        fleet = self.together(fleets)
        if self.steps > MOST_STEPS or len(fleet) > MOST_GROUPS:
            raise TooLargeError
        unmet = self.unmet(fleets)
        if not unmet:
            totals = self.whole.totals(fleet)
            value = self.whole.value(totals)
            if self.allowed(fleets, totals) and (self.best is None or value < self.best):
                self.best, self.best_fleets = value, dict(fleets)
            return
        for i in range(start, len(line)):
            label, build = line[i]
            # What gives nothing that lacks could be left out of whatever grows from here.
            if not any(getattr(build, give) for give, whose in unmet if whose == label):
                continue
            larger = {**fleets, label: (*fleets[label], build)}
            if self._worth(larger, cents):
                self._grow(larger, line, i, cents)

    def _worth(self, fleets: Fleets, cents: dict) -> bool:  # type: ignore[type-arg]
        fleet = self.together(fleets)
        watts, nodes = sum(b.watts for b in fleet), sum(b.nodes for b in fleet)
        opex = self.whole.opex(watts) if self.whole.scenario.objective == "tco" else 0
        least = Totals(sum(cents[b.key] for b in fleet), opex, watts, nodes, 0, {})
        if self.best is not None and self.whole.value(least) > self.best:
            return False
        return self.allowed(fleets, least)


def _survives(oracle: Oracle, fleet: tuple[Own, ...], give: str, need: int) -> bool:
    gives = [getattr(build, give) for build in fleet]
    return all(sum(gives) - sum(gives[i] for i in lost) >= need for lost in oracle.failures(fleet))
