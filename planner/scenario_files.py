"""Scenario files: parents, variants and overrides laid over each other, then read strictly.

Precedence: ``--set`` over ``--variant`` over the scenario over its ``extends`` parent over
defaults. Mappings merge, lists replace, null removes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.datafiles import data_folder, shown_name
from planner.documents import Document, Key, Mark, parse_document, read_document
from planner.eligibility import catalog_vendors, last_day
from planner.errors import InputError, Problem, nearest
from planner.evidence import SourceList
from planner.fields import file_key
from planner.loading import Shelf
from planner.owned import owned_faults
from planner.reading import INTERNAL, field_type, read_record
from planner.scenario import Override, Scenario, service_faults
from planner.split_scenario import SplitScenario, is_split, split_faults
from planner.throughput_files import with_measurements
from planner.workload import faults

_LONGEST_NAME = 200
SHORT = {"kv_format": "serving.kv_formats", "kv_formats": "serving.kv_formats", "gpus": "fleet.gpus"}
_LISTS = (
    "serving.kv_formats",
    "serving.engines",
    "serving.weights",
    "serving.layouts",
    "fleet.gpus",
    "fleet.chassis",
    "fleet.instances",
    "fleet.vendors",
    "fleet.without_vendors",
)
_BESIDE_A_SPLIT = (
    "'{key}' is about sessions, and 'service.profile' sends each request to any instance: with both, sessions would be "
    "assigned to instances by class in whole numbers, which is not built in"
)


def shipped_scenarios() -> list[str]:
    """Return the names of the scenarios that come with the planner."""
    return sorted(path.stem for path in data_folder("scenarios").glob("*.yaml"))


def find_scenario(reference: str, beside: Path | None = None) -> Path:
    """Return the file of a scenario named by path or by shipped name.

    Raises
    ------
    InputError
        If there is neither.
    """
    path = Path(reference)
    candidates = [path] if path.suffix in (".yaml", ".yml") else []
    if beside is not None:
        candidates += [beside / path, beside / f"{reference}.yaml"]
    candidates.append(data_folder("scenarios") / f"{reference}.yaml")
    for candidate in candidates:
        # A name too long for a file is no file.
        with contextlib.suppress(OSError):
            if candidate.is_file():
                return candidate
    hint = nearest(reference, shipped_scenarios())
    what = (
        "is a folder, not a scenario"
        if len(reference) < _LONGEST_NAME and path.is_dir()
        else "no such scenario, neither a file nor a shipped one"
    )
    raise InputError([Problem(reference, 0, 0, what, hint)])


def load_scenario(
    reference: str,
    overrides: Sequence[Override] = (),
    variant: str | None = None,
    shelf: Shelf | None = None,
) -> Scenario:
    """Load a scenario with its parent, one variant and overrides.

    Parameters
    ----------
    shelf : Shelf or None
        The catalogue whose names (models, parts, engines, price books, sources) the scenario may
        use; None leaves names unchecked.

    Raises
    ------
    InputError
        With every problem found.
    """
    document, applied = _laid_over(reference, overrides, variant)
    if is_split(document.data):
        message = "splits requests over rented instances; this command is about sessions on machines"
        raise InputError([document.problem(("service", "profile"), message, "use 'planner plan' or 'planner check'")])
    return _sessions(document, applied, shelf)


def load_any(
    reference: str,
    overrides: Sequence[Override] = (),
    variant: str | None = None,
    shelf: Shelf | None = None,
) -> Scenario | SplitScenario:
    """Load a scenario of either kind, as `load_scenario` does those with sessions.

    Raises
    ------
    InputError
        With every problem found.
    """
    document, applied = _laid_over(reference, overrides, variant)
    read = _split if is_split(document.data) else _sessions
    return read(document, applied, shelf)


def _laid_over(reference: str, overrides: Sequence[Override], variant: str | None) -> tuple[Document, tuple[str, ...]]:
    """Return the document with its parent, variant and overrides in it, and what was applied."""
    document = _with_parents(find_scenario(reference), ())
    variants = _variants(document)
    applied = []
    if variant is not None:
        if variant not in variants:
            raise InputError([document.problem(("variants",), f"no variant '{variant}'", nearest(variant, variants))])
        _lay_over(document, variants[variant], ("variants", variant), document, ())
        applied.append(f"variant {variant}")
    for override in overrides:
        applied.append(_apply(document, override))
    return document, tuple(applied)


def _sessions(document: Document, applied: tuple[str, ...], shelf: Shelf | None) -> Scenario:
    scenario, problems = read_record(document, document.data, Scenario)
    problems += document.problems
    if shelf is not None:
        problems += _unknown_names(document, shelf)
    if scenario is None:
        raise InputError(problems)
    known = shelf if not problems else None
    problems += _contradictions(document, scenario, known)
    if shelf is not None:
        problems += _unknown_sources(document, scenario, shelf.catalog.sources)
    scenario = with_measurements(document, scenario, shelf, problems)
    if problems:
        raise InputError(problems)
    return replace(scenario, applied=applied, resolved=document.data)


def _split(document: Document, applied: tuple[str, ...], shelf: Shelf | None) -> SplitScenario:
    problems = [*document.problems, *_beside_a_split(document)]
    scenario, faults = read_record(document, document.data, SplitScenario)
    problems += faults
    if shelf is not None and scenario is not None:
        problems += _profile_faults(document, scenario, shelf)
        problems += _unknown_sources(document, scenario, shelf.catalog.sources)
    if scenario is None or problems:
        raise InputError(problems)
    return replace(scenario, applied=applied, resolved=document.data)


def _beside_a_split(document: Document) -> Iterator[Problem]:
    """Yield a problem for each setting of sessions, and take it out of the document."""
    own, sessions = ({*setting_paths(record)} for record in (SplitScenario, Scenario))
    for section in ("", "workload", "service", "fleet", "limits"):
        above = f"{section}." if section else ""
        data = _look(document.data, (section,) if section else ())
        for key in list(data) if isinstance(data, dict) else ():
            path = f"{above}{key}"
            known, mine = (any(f"{p}.".startswith(f"{path}.") for p in paths) for paths in (sessions, own))
            if known and not mine:
                at = tuple(path.split("."))
                hint = "remove it, or remove 'service.profile'"
                yield document.problem(at, _BESIDE_A_SPLIT.format(key=path), hint, key=True)
                del data[key]


def _profile_faults(document: Document, scenario: SplitScenario, shelf: Shelf) -> Iterator[Problem]:
    profile = shelf.profiles.get(scenario.service.profile)
    if profile is None:
        name = scenario.service.profile
        hint = nearest(name, shelf.profiles)
        yield document.problem(("service", "profile"), f"unknown throughput profile '{name}'", hint)
        return
    yield from (document.problem(path, message) for path, message in split_faults(scenario, profile))
    for path in (("fleet", "instances"), ("limits", "stock")):
        found = _look(document.data, path)
        for key, name in enumerate(found) if isinstance(found, list) else _single(found):
            if isinstance(name, str) and name not in profile.names():
                message = f"unknown instance '{name}' of profile '{profile.id}'"
                yield document.problem((*path, key), message, nearest(name, profile.names()))


def _variants(document: Document) -> dict[str, Any]:
    """Return the scenario's variants, taken out of the document; each must only name settings."""
    found = document.data.pop("variants", None) or {}
    if not isinstance(found, dict):
        document.problems.append(document.problem(("variants",), "expected names with the settings they change"))
        return {}
    known = {*setting_paths(_record_of(document))}
    for name, changes in found.items():
        if not isinstance(changes, dict):
            document.problems.append(document.problem(("variants", name), "expected the settings that it changes"))
        for path in _leaves(changes) if isinstance(changes, dict) else ():
            dotted = ".".join(map(str, path))
            if not any(p == dotted or p.startswith(dotted + ".") or dotted.startswith(p + ".") for p in known):
                message = f"no setting '{dotted}'"
                document.problems.append(
                    document.problem(("variants", name, *path), message, nearest(dotted, known), key=True)
                )
    return {name: changes for name, changes in found.items() if isinstance(changes, dict)}


def _leaves(data: dict[str, Any], path: Key = ()) -> Iterator[Key]:
    for key, value in data.items():
        if isinstance(value, dict) and "value" not in value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)


def _with_parents(path: Path, seen: tuple[Path, ...]) -> Document:
    document = read_document(path, shown_name(path))
    if not isinstance(document.data, dict):
        raise InputError([document.problem((), "expected keys and values", "start with 'kind: scenario'")])
    parent = document.data.pop("extends", None)
    if parent is None:
        return document
    if path in seen:
        raise InputError([document.problem(("extends",), "a scenario extends itself")])
    try:
        base = _with_parents(find_scenario(str(parent), path.parent), (*seen, path))
    except InputError as fault:
        if fault.problems[0].file != str(parent):
            raise
        raise InputError([document.problem(("extends",), f"no scenario '{parent}'", fault.problems[0].hint)]) from None
    # Variants belong to the file that writes them; a parent's replace whole values of its own.
    base.data.pop("variants", None)
    base.problems += document.problems
    _lay_over(base, document.data, (), document, ())
    base.name = document.name
    return base


def _lay_over(target: Document, data: Any, at: Key, source: Document, to: Key) -> None:
    """Merge `data` (at path `at` of `source`) into `target` at path `to`, places included."""
    for key, value in data.items():
        path, where = (*to, key), (*at, key)
        target.key_marks[path] = source.mark(where, key=True)
        parent = _parent(target.data, path)
        if value is None:
            parent.pop(key, None)
            target.marks[to] = source.mark(where, key=True)
        elif (
            isinstance(value, dict)
            and isinstance(parent.get(key), dict)
            and "value" not in value
            and "value" not in parent[key]
        ):
            _lay_over(target, value, where, source, path)
        else:
            parent[key] = value
            _move_marks(target, source, where, path)


def _move_marks(target: Document, source: Document, at: Key, to: Key) -> None:
    for marks, found in ((target.marks, source.marks), (target.key_marks, source.key_marks)):
        if target is not source:
            for path in [p for p in marks if p[: len(to)] == to]:
                del marks[path]
        for path, mark in list(found.items()):
            if path[: len(at)] == at:
                marks[to + path[len(at) :]] = mark


def _parent(data: Any, path: Key) -> dict[str, Any]:
    for step in path[:-1]:
        data = data.setdefault(step, {})
        if not isinstance(data, dict):
            raise InputError(f"'{'.'.join(map(str, path))}': '{step}' has no keys below it")
    assert isinstance(data, dict)
    return data


def _apply(document: Document, override: Override) -> str:
    """Lay one override over the document; its places are named after the option."""
    path = full_path(override.path, _record_of(document))
    name = f"--set {override.path}={override.text}"
    value = None
    if override.text:
        parsed = parse_document(override.text, name)
        document.problems += [replace(problem, line=0, column=0) for problem in parsed.problems]
        value = parsed.data
    if path in _LISTS and value is not None and not isinstance(value, list):
        value = [value]
    keys: Key = tuple(path.split("."))
    nested: Any = value
    for key in reversed(keys):
        nested = {key: nested}
    source = Document(name, nested)
    for length in range(len(keys) + 1):
        source.marks[keys[:length]] = source.key_marks[keys[:length]] = Mark(name, 0, 0)
    old = _look(document.data, keys)
    if isinstance(old, dict) and "value" in old:
        _parent(document.data, keys).pop(str(keys[-1]), None)
    _lay_over(document, nested, (), source, ())
    return f"{path}={override.text}"


def _look(data: Any, keys: Key) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _record_of(document: Document) -> type:
    return SplitScenario if is_split(document.data) else Scenario


def full_path(text: str, record: type = Scenario) -> str:
    """Return the dotted path that `text` means: itself, or the only one that ends with it.

    Raises
    ------
    InputError
        If no such setting exists; names the nearest.
    """
    known = list(setting_paths(record))
    if text in known or any(path.startswith(text + ".") for path in known):
        return text
    if text in SHORT:
        return SHORT[text]
    ending = [path for path in known if path.endswith("." + text)]
    if len(ending) == 1:
        return ending[0]
    if text.startswith(("limits.stock.", "limits.minimum.", "limits.maximum.")):
        return text
    hint = nearest(text, ending or known)
    raise InputError([Problem(f"--set {text}", 0, 0, f"no setting '{text}'", hint)])


def setting_paths(record: type = Scenario, above: str = "") -> Iterator[str]:
    """Yield the dotted path of every setting of a scenario."""
    for item in dataclass_fields(record):
        if item.name in INTERNAL:
            continue
        key = file_key(item.name)
        inner = field_type(record, key)
        if isinstance(inner, type) and hasattr(inner, "__pydantic_config__"):
            yield from setting_paths(inner, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def _contradictions(document: Document, scenario: Scenario, shelf: Shelf | None) -> list[Problem]:
    found = [(f"workload.{key}", message) for key, message in faults(scenario.workload)]
    found += [*_serving_faults(scenario), *_launch_faults(scenario), *_money_faults(scenario)]
    if scenario.service is not None and scenario.service.decode_tokens_per_s == 0:
        found.append(("service.decode", "a session without tokens per second is never served"))
    rates, service = scenario.workload.rates, scenario.service
    found += service_faults(scenario)
    if rates is not None and service is not None and service.decode_tokens_per_s:
        busy = rates.turns_per_hour * rates.answer_tokens / service.decode_tokens_per_s
        if busy >= 3600:
            message = f"answers take {float(busy):,.0f} s of decoding per hour and session: more than an hour"
            found.append(("workload.rates.answer", message))
    if not scenario.fleet.group_nodes:
        found.append(("fleet.group_nodes", "is empty; name at least 1, for groups of one node"))
    if scenario.limits.deliver_by is not None:
        try:
            last_day(scenario.limits.deliver_by)
        except ValueError:
            found.append(("limits.deliver_by", f"there is no day '{scenario.limits.deliver_by}'"))
    if scenario.fleet.spare_racks > 1:
        found.append(("fleet.spare_racks", "the loss of several racks at once is not modelled; expected 0 or 1"))
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


def _launch_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    share = scenario.serving.utilisation_fraction
    if share is not None and not 0 < share <= 1:
        yield "serving.utilisation", "expected a share of memory above 0 and up to 100 %"
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


def _unknown_names(document: Document, shelf: Shelf) -> list[Problem]:
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
        found = _look(document.data, path)
        for key, name in enumerate(found) if isinstance(found, list) else _single(found):
            if isinstance(name, str) and name not in names:
                message = f"unknown {what} '{name}'"
                problems.append(document.problem((*path, key), message, nearest(name, names)))
    return problems


def _single(found: Any) -> list[tuple[str, Any]]:
    if isinstance(found, dict):
        return [(name, name) for name in found if name != "value"]
    return [("", found)]


def _unknown_sources(document: Document, scenario: Scenario | SplitScenario, sources: SourceList) -> list[Problem]:
    known: Mapping[str, object] = sources.by_id
    return [
        document.problem(tuple(path.split(".")), f"unknown source '{name}'", nearest(name, known))
        for path, evidence in scenario.evidence.items()
        for name in evidence.sources
        if name not in known
    ]
