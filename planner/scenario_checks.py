"""What must hold between a scenario's settings, and between them and the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from planner.documents import Document, Key
from planner.eligibility import catalog_vendors, last_day
from planner.errors import InputError, Problem, nearest
from planner.evidence import SourceList
from planner.layering import look
from planner.loading import Shelf
from planner.owned import owned_faults
from planner.reading import read_record
from planner.scenario import Scenario, service_faults
from planner.split_scenario import SplitScenario
from planner.throughput_files import with_measurements
from planner.workload import faults

MOST_SPARE_RACKS = 3


def read_sessions(document: Document, applied: tuple[str, ...], shelf: Shelf | None) -> Scenario:
    """Return the scenario of a document whose layers lie on each other.

    Raises
    ------
    InputError
        With every problem found.
    """
    scenario, problems = read_record(document, document.data, Scenario)
    problems += document.problems
    if shelf is not None:
        problems += unknown_names(document, shelf)
    if scenario is None:
        raise InputError(problems)
    known = shelf if not problems else None
    problems += contradictions(document, scenario, known)
    if shelf is not None:
        problems += unknown_sources(document, scenario, shelf.catalog.sources)
    scenario = with_measurements(document, scenario, shelf, problems)
    if problems:
        raise InputError(problems)
    return replace(scenario, applied=applied, resolved=document.data)


def contradictions(document: Document, scenario: Scenario, shelf: Shelf | None) -> list[Problem]:
    """Return what cannot be together in a scenario, each at its place."""
    found = [(f"workload.{key}", message) for key, message in faults(scenario.workload)]
    found += [*_role_faults(scenario), *_serving_faults(scenario), *_launch_faults(scenario), *_money_faults(scenario)]
    found += service_faults(scenario)
    if scenario.service is not None and scenario.service.decode_tokens_per_s == 0:
        found.append(("service.decode", "a session without tokens per second is never served"))
    if scenario.service is not None and scenario.service.rewarm_s == 0:
        found.append(("service.rewarm", "nothing is prefilled in no time; expected a time above 0"))
    rates, service = scenario.workload.rates, scenario.service
    if rates is not None and service is not None and service.decode_tokens_per_s:
        busy = rates.turns_per_hour * rates.answer_tokens / service.decode_tokens_per_s
        if busy >= 3600:
            message = f"answers take {float(busy):,.0f} s of decoding per hour and session: more than an hour"
            found.append(("workload.rates.answer", message))
    if scenario.flat and scenario.workload.context.deviation_tokens is not None:
        found.append(("workload.context.deviation", "flat accounting takes every session as planned; leave one out"))
    if not scenario.fleet.cooling:
        found.append(("fleet.cooling", "is empty; name 'air', 'liquid' or both"))
    if not scenario.fleet.group_nodes:
        found.append(("fleet.group_nodes", "is empty; name at least 1, for groups of one node"))
    if scenario.limits.deliver_by is not None:
        try:
            last_day(scenario.limits.deliver_by)
        except ValueError:
            found.append(("limits.deliver_by", f"there is no day '{scenario.limits.deliver_by}'"))
    if scenario.fleet.spare_racks > MOST_SPARE_RACKS:
        words = f"expected at most {MOST_SPARE_RACKS}: programs grow with the ways to choose the racks that are lost"
        found.append(("fleet.spare_racks", words))
    if shelf is not None:
        found += _beyond(scenario, shelf)
    return [document.problem(tuple(key.split(".")), message) for key, message in found]


def _serving_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    serving = scenario.serving
    if bool(serving.kv_formats) == (serving.custom_kv is not None):
        yield "serving", "give either 'kv_formats' or 'custom_kv'"
    if serving.custom_kv is not None and serving.custom_kv.token_bytes == 0:
        yield "serving.custom_kv.token", "a KV cache takes at least one byte per token"
    for key in ("engines", "weights", "layouts"):
        if not getattr(serving, key):
            yield f"serving.{key}", f"'{key}' is empty; name at least one"


def _role_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    if not scenario.serving.roles:
        yield "serving.roles", "'roles' is empty; name at least one"
    if scenario.splits and scenario.workload.rates is None and not scenario.services:
        yield "serving.roles", "prefill and decode apart need 'workload.rates': without them no prompt is counted"
    if scenario.splits and scenario.tiers.placement == "pooled":
        yield "serving.roles", "prefill and decode apart is not modelled with pooled tiers; expected placement: local"
    if scenario.splits and scenario.service is not None and scenario.service.rewarm_s is not None:
        words = "'serving.roles' that split and 'service.rewarm' are not modelled together: drop 'service.rewarm',"
        yield "serving.roles", f"{words} or name only 'both' in 'serving.roles'"


def _launch_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    share = scenario.serving.utilisation_fraction
    if share is not None and not 0 < share <= 1:
        yield "serving.utilisation", "expected a share of memory above 0 and up to 100 %"
    if not 0 < scenario.serving.overflow_fraction <= 1:
        yield "serving.overflow", "expected a share of sessions above 0 and up to 100 %"
    if scenario.serving.batched_tokens == 0:
        yield "serving.batched", "a step needs at least one token"


def _money_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    finance = scenario.finance
    if finance.pue < 1:
        yield "finance.pue", "facility power cannot be below IT power; expected at least 1"
    if finance.average_load_fraction > 1:
        yield "finance.average_load", "a share of peak power cannot exceed 100 %"
    if finance.discount_rate_fraction > 1:
        yield "finance.discount_rate", "a yearly cost of capital above 100 % is no rate"
    rates = (
        ("energy", finance.energy_rate),
        ("colocation", finance.colocation_rate),
        ("colocation_per_ru", finance.colocation_per_ru_rate),
    )
    for key, rate in rates:
        if rate is not None and rate.cents < 0:
            yield f"finance.{key}", "a price cannot be below 0"
    if scenario.limits.budget is not None and scenario.limits.budget.cents <= 0:
        yield "limits.budget", "a budget must be above 0"


def _beyond(scenario: Scenario, shelf: Shelf) -> Iterator[tuple[str, str]]:
    """Yield what goes beyond the model, the price book or the catalogue."""
    model, book = shelf.models[scenario.model], shelf.catalog.books[scenario.finance.prices]
    yield from (("fleet.owned", fault) for fault in owned_faults(scenario, shelf))
    for key in ("planned", "mean", "max"):
        tokens = getattr(scenario.workload.context, f"{key}_tokens")
        if tokens is not None and tokens > model.max_context_tokens:
            yield f"workload.context.{key}", f"{model.name} takes {model.max_context_tokens:,} tokens at most"
    if scenario.serving.draft_layers > model.draft_layers:
        yield "serving.draft_layers", f"{model.name} has {model.draft_layers} draft layers"
    amounts = {
        "limits.budget": scenario.limits.budget,
        "finance.energy": scenario.finance.energy_rate,
        "finance.colocation": scenario.finance.colocation_rate,
        "finance.colocation_per_ru": scenario.finance.colocation_per_ru_rate,
    }
    for key, amount in amounts.items():
        if amount is not None and amount.currency != book.currency:
            yield key, f"is in {amount.currency}, price book '{book.id}' in {book.currency}; one plan has one currency"


def unknown_names(document: Document, shelf: Shelf) -> list[Problem]:
    """Return a problem for each name that the catalogue does not know, at its place."""
    catalog, engines = shelf.catalog, shelf.engines
    every = {part: None for by_id in catalog.parts.values() for part in by_id}
    inside = [part for kind, by_id in catalog.parts.items() if kind not in ("item", "switch") for part in by_id]
    known: list[tuple[str, str, Collection[str]]] = [
        ("model", "model", shelf.models),
        ("serving.engines", "engine", engines.engines),
        ("tiers.cache", "cache", engines.caches),
        ("fleet.gpus", "GPU", catalog.gpus()),
        ("fleet.chassis", "chassis or system", {**catalog.chassis(), **catalog.systems()}),
        ("fleet.vendors", "vendor", catalog_vendors(catalog)),
        ("fleet.without_vendors", "vendor", catalog_vendors(catalog)),
        ("fleet.region", "region", catalog.regions()),
        ("finance.prices", "price book", catalog.books),
        ("limits.stock", "part", every),
        ("limits.minimum", "part of a machine", inside),
        ("limits.maximum", "part", every),
    ]
    model = shelf.models.get(str(document.data.get("model")))
    if model is not None:
        known.append(("serving.kv_formats", f"KV format of {model.name}", model.attention[0].formats()))
        known.append(("serving.weights", f"weight format of {model.name}", [c.format for c in model.checkpoints]))
    problems = []
    for dotted, what, names in known:
        path: Key = tuple(dotted.split("."))
        found = look(document.data, path)
        for key, name in enumerate(found) if isinstance(found, list) else single(found):
            if isinstance(name, str) and name not in names:
                message = f"unknown {what} '{name}'"
                problems.append(document.problem((*path, key), message, nearest(name, names)))
    return problems


def single(found: Any) -> list[tuple[str, Any]]:
    """Return the names that a mapping or a single value holds, each with its key."""
    if isinstance(found, dict):
        return [(name, name) for name in found if name != "value"]
    return [("", found)]


def unknown_sources(document: Document, scenario: Scenario | SplitScenario, sources: SourceList) -> list[Problem]:
    """Return a problem for each source that the catalogue does not know."""
    known: Mapping[str, object] = sources.by_id
    return [
        document.problem(tuple(path.split(".")), f"unknown source '{name}'", nearest(name, known))
        for path, evidence in scenario.evidence.items()
        for name in evidence.sources
        if name not in known
    ]
