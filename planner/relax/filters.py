"""Filters on what may be offered are opened by the values that a plan needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.build import Build
from planner.engines import Engine
from planner.hardware import OwnedMachine
from planner.loading import Shelf
from planner.relax.base import Filter, bought, rule, with_fleet, with_serving
from planner.scenario import Scenario

NO_PRODUCT = ("generic",)
"""Engine profiles that stand for no product that could be run instead."""
GROUP_NODES = (1, 2)
"""Sizes of groups that are offered unless a scenario says otherwise."""


@rule
class Engines(Filter):
    """serving.engines."""

    path = "serving.engines"
    label = "engine"
    covers = ("serving.engines",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return engine ids."""
        return scenario.serving.engines

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the newest of each product that the cache works with."""
        cache = shelf.engines.caches[scenario.tiers.cache]
        newest: dict[str, Engine] = {}
        for engine in shelf.engines.engines.values():
            if engine.id not in NO_PRODUCT and (not cache.engines or engine.id in cache.engines):
                newest[engine.name] = max(newest.get(engine.name, engine), engine, key=_version)
        return tuple(e.id for e in newest.values() if e.id not in self.own(scenario))

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these engines."""
        return with_serving(scenario, engines=values)

    def value(self, build: Build) -> Any:
        """Return the build's engine."""
        return build.core.engine.id


def _version(engine: Engine) -> tuple[int, ...]:
    return tuple(int(word) if word.isdigit() else 0 for word in engine.version.split("."))


@rule
class Layouts(Filter):
    """serving.layouts."""

    path = "serving.layouts"
    label = "layout"
    covers = ("serving.layouts",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return layouts by name."""
        return scenario.serving.layouts

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the word for all that are legal."""
        return () if "any" in scenario.serving.layouts else ("any",)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these layouts."""
        return with_serving(scenario, layouts=values)

    def value(self, build: Build) -> Any:
        """Return the build's layout."""
        return build.core.layout.name


@rule
class KvFormats(Filter):
    """serving.kv_formats."""

    path = "serving.kv_formats"
    label = "KV format"
    covers = ("serving.kv_formats",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return formats; none where the scenario takes one at its word."""
        return () if scenario.serving.custom_kv else scenario.serving.kv_formats

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the model's other formats."""
        formats = [set(group.formats()) for group in shelf.model(scenario.model).attention]
        return tuple(sorted(set.intersection(*formats) - set(self.own(scenario))))

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these formats."""
        return with_serving(scenario, kv_formats=values)

    def value(self, build: Build) -> Any:
        """Return the build's format."""
        return build.core.footprint.kv.name


@rule
class Weights(Filter):
    """serving.weights."""

    path = "serving.weights"
    label = "weights in"
    covers = ("serving.weights",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return weight formats."""
        return scenario.serving.weights

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the formats of the model's other checkpoints."""
        every = (checkpoint.format for checkpoint in shelf.model(scenario.model).checkpoints)
        return tuple(name for name in every if name not in self.own(scenario))

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these weights."""
        return with_serving(scenario, weights=values)

    def value(self, build: Build) -> Any:
        """Return the build's weights."""
        return build.core.weights


@rule
class GroupNodes(Filter):
    """fleet.group_nodes."""

    path = "fleet.group_nodes"
    label = "nodes per replica group:"
    covers = ("fleet.group_nodes",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return sizes of groups."""
        return scenario.fleet.group_nodes

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the usual sizes that are left out."""
        return tuple(n for n in GROUP_NODES if n not in scenario.fleet.group_nodes)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these sizes."""
        return with_fleet(scenario, group_nodes=values)

    def value(self, build: Build) -> Any:
        """Return the nodes of one group."""
        return build.n_nodes


@rule
class Machines(Filter):
    """fleet.chassis."""

    path = "fleet.chassis"
    label = "machine"
    covers = ("fleet.chassis",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return ids of chassis and systems."""
        return scenario.fleet.chassis

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return the ids of all others."""
        own, catalog = set(scenario.fleet.chassis), shelf.catalog
        every = (system for system in catalog.systems().values() if not isinstance(system, OwnedMachine))
        systems = (s.id for s in every if not own & {s.id, s.chassis})
        return (*(name for name in catalog.chassis() if name not in own), *systems)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these machines."""
        return with_fleet(scenario, chassis=values)

    def value(self, build: Build) -> Any:
        """Return the id that is bought."""
        return build.core.system.id if build.core.system else build.core.chassis.id

    def outside(self, scenario: Scenario, builds: Any) -> tuple[Any, ...]:
        """Return the machines that the scenario does not allow, by system or by chassis."""
        own = set(scenario.fleet.chassis)
        return tuple(sorted({self.value(b) for b in bought(builds) if not own & {self.value(b), b.core.chassis.id}}))


@rule
class Gpus(Filter):
    """fleet.gpus."""

    path = "fleet.gpus"
    label = "GPU"
    covers = ("fleet.gpus",)

    def own(self, scenario: Scenario) -> tuple[Any, ...]:
        """Return GPU ids."""
        return scenario.fleet.gpus

    def others(self, scenario: Scenario, shelf: Shelf) -> tuple[Any, ...]:
        """Return all other GPUs."""
        return tuple(name for name in shelf.catalog.gpus() if name not in scenario.fleet.gpus)

    def limited_to(self, scenario: Scenario, values: tuple[Any, ...]) -> Scenario:
        """Return the scenario with these GPUs."""
        return with_fleet(scenario, gpus=values)

    def value(self, build: Build) -> Any:
        """Return the build's GPU."""
        return build.core.gpu.id

    def outside(self, scenario: Scenario, builds: Sequence[Build]) -> tuple[Any, ...]:
        """Return the GPUs of what is bought that the scenario does not allow."""
        return super().outside(scenario, bought(builds))
