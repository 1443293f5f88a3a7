"""What a reader of a plan must know beside its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.build import Build
from planner.cores import Rejections
from planner.costs import Pricing
from planner.demand import turn_s
from planner.eligibility import late_fault, region_fault
from planner.plan import Plan
from planner.rates import fastest_output, measured_rows
from planner.scenario import Scenario, services_of
from planner.units import format_gib, format_money, format_share
from planner.workload import prefix_share

_MEASURED_SHARING = Fraction(12, 100)
"""Sharing of resident bytes between sessions was 8 to 9 %, at most 11.7 % (kv-cache-tester and
Mooncake traces)."""


def plan_warnings(
    plan: Plan, scenario: Scenario, fleet: Mapping[Build, int], pricing: Pricing, rejected: Rejections
) -> tuple[str, ...]:
    """Return the warnings of a plan, the weightiest first; those of one of several services say which."""
    return (
        *_each(plan, scenario, fleet, _service),
        *_proof(plan),
        *_each(plan, scenario, fleet, _own),
        *_prices(plan, fleet, pricing),
        *_unpriced(rejected, pricing),
        *_to_be_had(plan, scenario, pricing),
    )


_Tell = Callable[[Plan, Scenario, Mapping[Build, int]], Iterable[str]]


def _each(plan: Plan, scenario: Scenario, fleet: Mapping[Build, int], tell: _Tell) -> Iterator[str]:
    """Yield what `tell` says of each service's own part of the plan."""
    for one, own in zip(services_of(scenario), plan.services, strict=True):
        builds = {build: n for build, n in fleet.items() if build.core.service == own.name}
        groups = tuple(group for group in plan.groups if group.service == own.name)
        for words in tell(replace(plan, services=(own,), groups=groups), one, builds):
            yield f"{own.name}: {words}" if own.name else words


def _own(plan: Plan, scenario: Scenario, fleet: Mapping[Build, int]) -> Iterator[str]:
    yield from _formats(fleet)
    yield from _format_notes(fleet)
    yield from _cache_support(fleet)
    yield from _layouts(plan)
    yield from _edges(plan)
    yield from _workload(scenario)
    yield from _busy(plan, scenario)
    yield from _speed(scenario, fleet)
    yield from _prefill(plan)


def _service(plan: Plan, scenario: Scenario, fleet: Mapping[Build, int]) -> Iterator[str]:
    if plan.capacity_only:
        yield (
            "CAPACITY ONLY: no request rates are given, so links, drive speed, prefill, decode and "
            "time to first token were not checked; add 'workload.rates' and 'service'"
        )
    elif scenario.service is None:
        yield "no service target is given: decode speed and time to first token were not checked"


def _proof(plan: Plan) -> Iterator[str]:
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


def _cache_support(fleet: Mapping[Build, int]) -> Iterator[str]:
    told: set[object] = set()
    for build in fleet:
        cache, core = build.cache, build.core
        known = cache.validated_architectures
        if known and core.gpu.architecture not in known and core.gpu.id not in told:
            told.add(core.gpu.id)
            yield (
                f"neither the documents nor public runs of {cache.name} {cache.version} that we know show it on "
                f"{core.gpu.id} ({core.gpu.architecture}); try it, or ask its maintainers, before buying"
            )
        if core.n_nodes > 1 and (core.layout.name, "nodes") not in told:
            told.add((core.layout.name, "nodes"))
            yield f"{cache.name} with {core.layout.name} over {core.n_nodes} nodes is not validated"


def _busy(plan: Plan, scenario: Scenario) -> Iterator[str]:
    """Little's law: sessions in flight are turns per second times the seconds each takes."""
    load, service, rates = scenario.workload, scenario.service, scenario.workload.rates
    if rates is None or service is None:
        return
    sessions = plan.demand.sessions
    seconds = Fraction(rates.answer_tokens, service.decode_tokens_per_s)
    least = sessions.active * rates.turns_per_hour / 3600 * seconds * load.peak_over_mean
    if least > sessions.in_flight:
        yield (
            f"{float(least):,.0f} sessions are in flight by the rates alone ({float(rates.turns_per_hour):g} turns an "
            f"hour of {float(seconds):g} s of decoding), the duty gives {sessions.in_flight}: raise 'workload.duty'"
        )


def _prefill(plan: Plan) -> Iterator[str]:
    if any(group.limiting == "prefill" for group in plan.groups):
        yield (
            "prefill decides the node count, and what an engine reaches of the peak FLOP/s is the weakest figure: "
            "public runs show 5 to 50 %; measure it and name the file in 'service.measured'"
        )


def _speed(scenario: Scenario, fleet: Mapping[Build, int]) -> Iterator[str]:
    """Yield where measured rates took the roofline's place, where not, and what cannot have been measured."""
    how = scenario.serving
    if scenario.service is not None and how.draft_tokens != 0 and how.draft_layers and how.accepted is None:
        yield "drafts are loaded, but 'serving.accepted' does not say what a step yields: none of their gain is counted"
    table = scenario.throughput
    if table is None:
        return
    for core in {(build.core.gpu.id, build.core.layout.name): build.core for build in fleet}.values():
        rows, where = measured_rows(core, scenario), f"{core.layout.name} on {core.gpu.id}"
        if not rows:
            yield f"{table.file} has no measurement of {where}: its rates are the roofline's"
            continue
        lines = ", ".join(str(row.line) for row in rows)
        yield f"rates of {where} are measured, where they apply: {table.file}, line(s) {lines}"
        for row in rows:
            most = fastest_output(core, row)
            if row.output_tokens_per_s > most:
                yield (
                    f"{table.file}, line {row.line}: {float(row.output_tokens_per_s):,.0f} tokens/s are more than "
                    f"{where} can do at its peaks, {float(most):,.0f}; check units and columns"
                )
    if table.left_out:
        yield f"{table.file}: {len(table.left_out)} line(s) left out, such as {table.left_out[0]}"


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
            by = "; ".join(edge.decided_by) or "the weights and the KV memory alone"
            side = "short of" if edge.other_sessions > edge.sessions else "above losing"
            yield (
                f"knife edge, {group.layout} on {group.gpu}: a KV pool holds {edge.sessions} sessions and is "
                f"{format_gib(edge.distance_bytes)} per GPU ({edge.distance_tokens:,} tokens) {side} one; of this "
                f"build alone {edge.nodes} nodes with {edge.sessions} per pool, {edge.other_nodes} with "
                f"{edge.other_sessions}; decided by {by}"
            )


def _workload(scenario: Scenario) -> Iterator[str]:
    share = prefix_share(scenario.workload)
    if share > _MEASURED_SHARING:
        yield (
            f"{format_share(share)} of each context is taken as shared; measured sharing between sessions is "
            f"8 to 12 %. See what it is worth with --set workload.shared_prefix.share='10 %'"
        )
    load = scenario.workload
    if load.duty_fraction is None and load.in_flight is None and turn_s(scenario) is None:
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
    bought = {line.part for line in plan.bill}
    ruled = [price for price in pricing.book.prices if price.estimate and price.part in bought]
    if ruled:
        made = ", ".join(f"{price.part} ({price.estimate})" for price in sorted(ruled, key=lambda price: price.part))
        yield f"{len(ruled)} prices are no quotes, rules of the price book made them: {made}"
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


_KIND_WORDS = {"gpu": "GPUs", "chassis": "chassis", "cpu": "processors", "dimm": "DIMMs", "drive": "drives"}
_MOST_NAMES = 6
"""So many parts are all named; of more the first few of each kind, or the list hides the other warnings."""


def unpriced_parts(rejected: Rejections, pricing: Pricing) -> tuple[str, ...]:
    """Return the parts that kept builds out for want of a price, in the order met."""
    return tuple(part for part in rejected.unpriced if part not in pricing.catalog.systems())


def unpriced_words(parts: Sequence[str], pricing: Pricing) -> str:
    """Return these parts in a line: all names where they are few, else how many of which kind and some of them."""
    if len(parts) <= _MOST_NAMES:
        return ", ".join(parts)
    kinds: dict[str, list[str]] = {}
    for part in parts:
        kind = str(getattr(pricing.catalog.find(part), "kind", "part"))
        kinds.setdefault(_KIND_WORDS.get(kind, f"{kind}s"), []).append(part)
    said = "; ".join(_some(kind, names) for kind, names in kinds.items())
    return f"{said}. All of them stand under 'unpriced' with --format json"


def _some(kind: str, names: Sequence[str]) -> str:
    few = ", ".join(names[:3])
    return f"{len(names)} {kind}, such as {few}" if len(names) > 3 else f"{kind} {few}"


def _unpriced(rejected: Rejections, pricing: Pricing) -> Iterator[str]:
    parts = unpriced_parts(rejected, pricing)
    if parts:
        yield f"not offered for want of a price in '{pricing.book.id}': {unpriced_words(parts, pricing)}"


def _to_be_had(plan: Plan, scenario: Scenario, pricing: Pricing) -> Iterator[str]:
    """Yield lead times taken at the user's word, and cluster parts that no filter holds back."""
    limits, region, book = scenario.limits, scenario.fleet.region, pricing.book
    bought = {line.part: line for line in plan.bill if line.scope != "service" and book.find(line.part)}
    if limits.deliver_by is not None:
        said = sorted(part for part in bought if (price := book.find(part)) and price.lead_time is None)
        if said and limits.lead_time_days is not None:
            yield f"no lead time is known, {limits.lead_time_days} days are counted, for {', '.join(said)}"
    beside = sorted(part for part, line in bought.items() if line.scope == "cluster")
    late = [part for part in beside if late_fault(limits, book, (part,))]
    if late:
        yield f"may come after {limits.deliver_by}; only parts of machines are left out for that: {', '.join(late)}"
    barred = [part for part in beside if region_fault(region, (pricing.catalog.find(part),))]
    if barred:
        yield f"not to be had in {region}; only parts of machines are left out for that: {', '.join(barred)}"
