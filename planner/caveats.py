"""What a reader of a plan must know beside its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from planner.build import Build
from planner.cores import Rejections
from planner.costs import Pricing
from planner.plan import Plan
from planner.scenario import Scenario
from planner.units import format_gib, format_money, format_share
from planner.workload import prefix_share

_MEASURED_SHARING = Fraction(12, 100)
"""Sharing of resident bytes between sessions was 8 to 9 %, at most 11.7 % (kv-cache-tester and
Mooncake traces)."""


def plan_warnings(
    plan: Plan, scenario: Scenario, fleet: Mapping[Build, int], pricing: Pricing, rejected: Rejections
) -> tuple[str, ...]:
    """Return the warnings of a plan, the weightiest first."""
    return (
        *_capacity(plan, scenario),
        *_formats(fleet),
        *_format_notes(fleet),
        *_layouts(plan),
        *_edges(plan),
        *_workload(scenario),
        *_prices(plan, fleet, pricing),
        *_unpriced(rejected, pricing),
    )


def _capacity(plan: Plan, scenario: Scenario) -> Iterator[str]:
    if plan.capacity_only:
        yield (
            "CAPACITY ONLY: no request rates are given, so links, drive speed, prefill, decode and "
            "time to first token were not checked; add 'workload.rates' and 'service'"
        )
    elif scenario.service is None:
        yield "no service target is given: decode speed and time to first token were not checked"
    if plan.status != "optimal":
        yield f"stopped before proof: the best possible is within {plan.gap:.2%} of this plan"


def _formats(fleet: Mapping[Build, int]) -> Iterator[str]:
    for build in fleet:
        kv = build.core.footprint.kv
        if kv.custom:
            real = ", ".join(build.core.model.attention[0].formats())
            yield (
                f"no engine has the KV format '{kv.name}' ({kv.bytes_per_token:,} B/token); it is taken at "
                f"your word. Formats that exist for {build.core.model.name}: {real}"
            )
            return


def _format_notes(fleet: Mapping[Build, int]) -> Iterator[str]:
    told = set()
    for build in fleet:
        core = build.core
        engine, name, architecture = core.engine, core.footprint.kv.name, core.gpu.architecture
        note = engine.kv_format_note(name, core.model.family, architecture)
        if note and not core.footprint.kv.custom and (name, architecture) not in told:
            told.add((name, architecture))
            yield f"KV format {name} on {core.gpu.id} with {engine.name} {engine.version}: {note}"


def _layouts(plan: Plan) -> Iterator[str]:
    for evidence, words in (
        ("derived", "computed from the architecture and the engine's profile, not measured"),
        ("assumed", "assumed to run: its GPUs have no fabric and no such run is known"),
    ):
        names = sorted({f"{g.layout} on {g.gpu}" for g in plan.groups if g.layout_evidence == evidence})
        if names:
            yield f"layout {' and '.join(names)}: {words}; try it on one node before buying"


def _edges(plan: Plan) -> Iterator[str]:
    told = set()
    for group in plan.groups:
        edge = group.edge
        if edge is not None and (group.layout, group.gpu) not in told:
            told.add((group.layout, group.gpu))
            side = "short of" if edge.other_sessions > edge.sessions else "above losing"
            yield (
                f"knife edge, {group.layout} on {group.gpu}: a KV pool holds {edge.sessions} sessions and is "
                f"{format_gib(edge.distance_bytes)} per GPU ({edge.distance_tokens:,} tokens) {side} one; of this "
                f"build alone {edge.nodes} nodes with {edge.sessions} per pool, {edge.other_nodes} with "
                f"{edge.other_sessions}; decided by weights per GPU, activations and memory utilisation"
            )


def _workload(scenario: Scenario) -> Iterator[str]:
    share = prefix_share(scenario.workload)
    if share > _MEASURED_SHARING:
        yield (
            f"{format_share(share)} of each context is taken as shared; measured sharing between sessions is "
            f"8 to 12 %. See what it is worth with --set workload.shared_prefix.share='10 %'"
        )
    if scenario.workload.duty_fraction is None and scenario.workload.in_flight is None:
        yield "no duty is given: every active session counts as in flight (measured: 6 to 12 %)"


def _prices(plan: Plan, fleet: Mapping[Build, int], pricing: Pricing) -> Iterator[str]:
    if pricing.book.tax == "excluded" and not pricing.finance.tax_fraction:
        yield f"prices exclude {pricing.book.tax_name} and no 'finance.tax' is set: none is in the total"
    total = sum(line.qty * line.unit_cents[pricing.case] for line in plan.bill)
    assumed = [line for line in plan.bill if line.evidence.kind == "assumed"]
    share = Fraction(sum(line.qty * line.unit_cents[pricing.case] for line in assumed), max(1, total))
    if assumed:
        names = sorted({line.item for line in assumed})
        yield (
            f"{len(names)} of {len({line.item for line in plan.bill})} prices are assumed, "
            f"{format_share(share)} of the total: {', '.join(names)}"
        )
    for system in pricing.catalog.systems().values():
        price = pricing.book.find(system.id)
        for build in fleet:
            if price and build.core.system is None and system.gpu == build.core.gpu.id:
                node = pricing.node_cents(build)
                if node < price.low.cents:
                    yield (
                        f"{build.core.chassis.id} built from parts costs {format_money(node, pricing.book.currency)}, "
                        f"below the {price.low} of {system.name}: get a quote before you rely on it"
                    )


def _unpriced(rejected: Rejections, pricing: Pricing) -> Iterator[str]:
    parts = [part for part in rejected.unpriced if part not in pricing.catalog.systems()]
    if parts:
        names = ", ".join(parts)
        yield f"not offered for want of a price in '{pricing.book.id}': {names}"
