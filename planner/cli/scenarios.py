"""Commands about the scenario itself: check and demand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from planner.cli.options import (
    CatalogDirs,
    Format,
    OutputFile,
    PriceFiles,
    ScenarioName,
    Sets,
    Variant,
    load,
    read_any,
    read_scenario,
    write,
)

if TYPE_CHECKING:
    from planner.loading import Shelf
    from planner.scenario import Scenario
    from planner.split_scenario import SplitScenario


def check(
    scenario: ScenarioName,
    sets: Sets = None,
    variant: Variant = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Check a scenario and the catalogue: every error at once, with its place."""
    from planner.split_scenario import SplitScenario

    shelf = load(catalog, prices)
    found = read_any(scenario, shelf, sets, variant)
    if isinstance(found, SplitScenario):
        _say_split(found, shelf)
    else:
        _say_sessions(found, shelf)
    for path, evidence in found.evidence.items():
        print(f"  {path}: {evidence}", file=sys.stderr)


def _say_sessions(found: Scenario, shelf: Shelf) -> None:
    from planner.cores import offer
    from planner.scenario import services_of

    parts = sum(len(by_id) for by_id in shelf.catalog.parts.values())
    print(f"{found.name}: good ({found.title})")
    for one in services_of(found):
        chosen = offer(one, shelf)
        whose = f"{one.label}: " if one.label else ""
        machines, formats = len(chosen.machines), len(chosen.caches)
        print(f"{whose}model {chosen.model.name}, {machines} machine-and-GPU pairs, {formats} KV format(s)")
    print(f"catalogue {shelf.catalog.digest}: {parts} parts, price book {found.finance.prices}")


def _say_split(found: SplitScenario, shelf: Shelf) -> None:
    profile = shelf.profiles[found.service.profile]
    rows, columns = profile.shape
    print(f"{found.name}: good ({found.title})")
    print(f"profile {profile.id}: {len(profile.instances)} instances, {rows} x {columns} buckets")
    print(f"catalogue {shelf.catalog.digest}")


def demand(
    scenario: ScenarioName,
    sets: Sets = None,
    variant: Variant = None,
    form: Format = None,
    output: OutputFile = None,
    catalog: CatalogDirs = None,
    prices: PriceFiles = None,
) -> None:
    """Show sessions and bytes per tier with the arithmetic, before any machine is chosen."""
    from planner.cores import offer
    from planner.demand import demand as compute
    from planner.scenario import services_of
    from planner.views.demand import demand_report, joint_demand_report

    shelf = load(catalog, prices)
    found = read_scenario(scenario, shelf, sets, variant)
    demands = []
    for one in services_of(found):
        chosen = offer(one, shelf)
        demands.append((one, [compute(one, kv, chosen.cache) for kv in chosen.caches]))
    report = joint_demand_report(found, demands) if found.services else demand_report(*demands[0])
    write(report, form, output)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("check")(check)
    app.command("demand")(demand)
