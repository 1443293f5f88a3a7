"""What several services of one plan may be made of: each one's builds, side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product

from planner.build import Build
from planner.candidates import Candidates, Offers, find_candidates, keep_best
from planner.cores import Rejections
from planner.costs import Pricing
from planner.errors import InfeasibleError, PriceMissingError
from planner.hardware import Catalog, Gpu
from planner.lazy import Lazy
from planner.loading import Shelf
from planner.problem import Situation
from planner.scenario import Scenario, services_of


class JointOffers(Offers):
    """What is on offer for each service; a build is for one of them."""

    def __init__(self, services: Sequence[Offers]) -> None:
        super().__init__([way for one in services for way in one.ways], services[0].at, services[0].pricing)
        self.services = tuple(services)

    def __bool__(self) -> bool:
        """Return whether there is any way to run each of the services."""
        return all(self.services)

    def _all(self) -> Sequence[Build]:
        return [build for one in self.services for build in one]

    def without(self, gpus: Collection[Gpu]) -> JointOffers:
        """Return what is on offer without machines with these GPUs."""
        return JointOffers([one.without(gpus) for one in self.services])

    def pools(self) -> list[Offers]:
        """Return what is on offer by what the pools store: each content of one with each of another."""
        contents = [one.pools() if one.at.pooled else [one] for one in self.services]
        return [JointOffers(each) for each in product(*contents)]

    def best(self, at: Situation) -> tuple[Build, ...]:
        """Return the builds that no other for the same service dominates under the rules of `at`."""
        return tuple(build for one, own in zip(self.services, at.services, strict=True) for build in one.best(own))


def candidates_of(scenario: Scenario, shelf: Shelf, pricing: Pricing) -> Candidates:
    """Return the builds that a scenario allows, for each of its services, dominated ones left out.

    Raises
    ------
    InfeasibleError
        If no build can host a session of one of them; the message lists why, service by service.
    PriceMissingError
        If only missing prices stand in the way.
    """
    if not scenario.services:
        return find_candidates(scenario, shelf, pricing)
    found: list[Candidates] = []
    faults: list[InfeasibleError | PriceMissingError] = []
    for one in services_of(scenario):
        try:
            found.append(find_candidates(one, shelf, pricing))
        except (InfeasibleError, PriceMissingError) as fault:
            faults.append(fault)
    if faults:
        raise type(faults[0])("\n".join(map(str, faults)))
    return _together(found, scenario)


def _together(found: Sequence[Candidates], scenario: Scenario) -> Candidates:
    rejected = Rejections()
    for one in found:
        rejected.merge(one.rejected)
    offers = JointOffers([one.every for one in found if isinstance(one.every, Offers)])
    at = Situation.of(scenario)
    return Candidates(Lazy(lambda: offers.best(at)), offers, rejected, sum(one.considered for one in found))


def best_of(builds: Sequence[Build], at: Situation, catalog: Catalog) -> tuple[Build, ...]:
    """Return the builds that no other for the same service dominates in anything that the program counts."""
    if isinstance(builds, Offers) or not at.parts:
        return keep_best(builds, at, catalog)
    return tuple(build for one in at.parts for build in keep_best(_for(builds, one), one, catalog))


def by_content(builds: Sequence[Build], at: Situation) -> Iterator[Sequence[Build]]:
    """Yield builds that may stand in one plan together: of each pool one content, the leanest first.

    In a pool all nodes must read each other's caches, so they store the same.
    """
    if not at.pooled:
        yield builds
    elif isinstance(builds, Offers):
        yield from builds.pools()
    else:
        for parts in product(*(_contents(_for(builds, one), one) for one in at.services)):
            yield [build for part in parts for build in part]


def _contents(builds: Sequence[Build], at: Situation) -> list[list[Build]]:
    parts: dict[object, list[Build]] = {}
    for build in sorted(builds, key=lambda build: build.core.pool_key) if at.pooled else builds:
        parts.setdefault(build.core.pool_key if at.pooled else 0, []).append(build)
    return list(parts.values())


def _for(builds: Sequence[Build], at: Situation) -> list[Build]:
    return [build for build in builds if build.core.service == at.label]


def without_spares(scenario: Scenario) -> Scenario:
    """Return the scenario with nothing spare, in none of its services."""
    fleet = replace(scenario.fleet, spare_groups=0, spare_nodes=0, spare_racks=0)
    return replace(scenario, fleet=fleet, services=tuple(map(without_spares, scenario.services)))


def at_mean(scenario: Scenario) -> Scenario | None:
    """Return the scenario with each context at its mean; None where no other mean is known."""
    each = tuple(map(at_mean, scenario.services))
    if scenario.services:
        changed = tuple(new or old for new, old in zip(each, scenario.services, strict=True))
        return replace(scenario, services=changed) if any(each) else None
    load, context = scenario.workload, scenario.workload.context
    if context.mean_tokens is None or context.mean_tokens == context.planned_tokens:
        return None
    alike = replace(context, planned_tokens=context.mean_tokens, deviation_tokens=None)
    return replace(scenario, workload=replace(load, context=alike))
