"""Scenario files: parents, variants and overrides laid over each other, then read strictly.

Precedence: ``--set`` over ``--variant`` over the scenario over its ``extends`` parent over
defaults. Mappings merge, lists replace, null removes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.datafiles import data_folder, shown_name
from planner.documents import Document, Key, Mark, parse_document, read_document
from planner.errors import InputError, Problem, nearest
from planner.layering import lay_over, leaves, look, move_marks, parent_of
from planner.loading import Shelf
from planner.reading import read_record
from planner.scenario import Override, Scenario, services_of
from planner.scenario_checks import read_sessions, single, unknown_sources
from planner.scenario_services import has_services, own_settings, read_services
from planner.setting_paths import LISTS, full_path, of_service, setting_paths
from planner.split_scenario import SplitScenario, is_split, split_faults

_LONGEST_NAME = 200
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
    return _with_sessions(document, applied, shelf, _service_of(reference))


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
    if is_split(document.data):
        return _split(document, applied, shelf)
    return _with_sessions(document, applied, shelf, _service_of(reference))


def _with_sessions(document: Document, applied: tuple[str, ...], shelf: Shelf | None, name: str) -> Scenario:
    """Return a scenario of one service or several, or one of several where `name` says which."""
    if not has_services(document.data):
        if name:
            raise InputError([document.problem((), f"has no services, so no '{name}'", "leave out what follows '#'")])
        alone = read_sessions(document, applied, shelf)
        if alone.tiers.shared:
            message = "there is no other service to share tiers with"
            raise InputError([document.problem(("tiers", "shared"), message, "remove it, or name 'services'")])
        return alone
    whole = read_services(document, applied, shelf)
    chosen = {one.label: one for one in services_of(whole)}
    if name and name not in chosen:
        raise InputError([document.problem(("services",), f"no service '{name}'", nearest(name, chosen))])
    return replace(chosen[name], label="") if name else whole


def _service_of(reference: str) -> str:
    """Return the service that ``scenario#service`` names; empty where it names none."""
    return "" if "#" not in reference or Path(reference).exists() else reference.rpartition("#")[2]


def _laid_over(reference: str, overrides: Sequence[Override], variant: str | None) -> tuple[Document, tuple[str, ...]]:
    """Return the document with its parent, variant and overrides in it, and what was applied."""
    name = _service_of(reference)
    document = _with_parents(find_scenario(reference.removesuffix(f"#{name}") if name else reference), ())
    variants = _variants(document)
    applied = []
    if variant is not None:
        if variant not in variants:
            raise InputError([document.problem(("variants",), f"no variant '{variant}'", nearest(variant, variants))])
        lay_over(document, variants[variant], ("variants", variant), document, ())
        applied.append(f"variant {variant}")
    for override in overrides:
        applied.append(_apply(document, override))
    return document, tuple(applied)


def _split(document: Document, applied: tuple[str, ...], shelf: Shelf | None) -> SplitScenario:
    problems = [*document.problems, *_beside_a_split(document)]
    scenario, faults = read_record(document, document.data, SplitScenario)
    problems += faults
    if shelf is not None and scenario is not None:
        problems += _profile_faults(document, scenario, shelf)
        problems += unknown_sources(document, scenario, shelf.catalog.sources)
    if scenario is None or problems:
        raise InputError(problems)
    return replace(scenario, applied=applied, resolved=document.data)


def _beside_a_split(document: Document) -> Iterator[Problem]:
    """Yield a problem for each setting of sessions, and take it out of the document."""
    own, sessions = ({*setting_paths(record)} for record in (SplitScenario, Scenario))
    for section in ("", "workload", "service", "fleet", "limits"):
        above = f"{section}." if section else ""
        data = look(document.data, (section,) if section else ())
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
        found = look(document.data, path)
        for key, name in enumerate(found) if isinstance(found, list) else single(found):
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
        for path in leaves(changes) if isinstance(changes, dict) else ():
            dotted = of_service(".".join(map(str, path)))[1]
            if not any(p == dotted or p.startswith(dotted + ".") or dotted.startswith(p + ".") for p in known):
                message = f"no setting '{dotted}'"
                document.problems.append(
                    document.problem(("variants", name, *path), message, nearest(dotted, known), key=True)
                )
    return {name: changes for name, changes in found.items() if isinstance(changes, dict)}


def _with_parents(path: Path, seen: tuple[Path, ...]) -> Document:
    document = read_document(path, shown_name(path))
    if not isinstance(document.data, dict):
        raise InputError([document.problem((), "expected keys and values", "start with 'kind: scenario'")])
    parent = document.data.pop("extends", None)
    if path in seen:
        raise InputError([document.problem(("extends",), "a scenario extends itself")])
    _extend_services(document, path, seen)
    if parent is None:
        return document
    base = _parent(document, ("extends",), str(parent), path, seen)
    base.problems += document.problems
    lay_over(base, document.data, (), document, ())
    base.name = document.name
    return base


def _parent(document: Document, at: Key, parent: str, path: Path, seen: tuple[Path, ...]) -> Document:
    """Return the document that `parent`, written at `at`, names."""
    try:
        base = _with_parents(find_scenario(parent, path.parent), (*seen, path))
    except InputError as fault:
        if fault.problems[0].file != parent:
            raise
        raise InputError([document.problem(at, f"no scenario '{parent}'", fault.problems[0].hint)]) from None
    # Variants belong to the file that writes them; a parent's replace whole values of its own.
    base.data.pop("variants", None)
    return base


def _extend_services(document: Document, path: Path, seen: tuple[Path, ...]) -> None:
    """Lay each service that extends a scenario over what that one says of a service."""
    services = document.data.get("services")
    for name, own in services.items() if isinstance(services, dict) else ():
        parent = own.pop("extends", None) if isinstance(own, dict) else None
        if parent is None:
            continue
        at = ("services", name)
        base = _parent(document, (*at, "extends"), str(parent), path, seen)
        if has_services(base.data) or is_split(base.data):
            message = f"'{parent}' is no scenario of one service with sessions"
            raise InputError([document.problem((*at, "extends"), message)])
        made = Document(document.name, {})
        lay_over(made, own_settings(base.data), (), base, at)
        lay_over(made, own, at, document, at)
        services[name] = made.data["services"][name]
        made.marks[at], made.key_marks[at] = document.mark(at), document.mark(at, key=True)
        move_marks(document, made, at, at)
        document.problems += base.problems


def _apply(document: Document, override: Override) -> str:
    """Lay one override over the document; its places are named after the option."""
    path = full_path(override.path, _record_of(document))
    name = f"--set {override.path}={override.text}"
    value = None
    if override.text:
        parsed = parse_document(override.text, name)
        document.problems += [replace(problem, line=0, column=0) for problem in parsed.problems]
        value = parsed.data
    if of_service(path)[1] in LISTS and value is not None and not isinstance(value, list):
        value = [value]
    keys: Key = tuple(path.split("."))
    _check_reaches(document, keys, override)
    nested: Any = value
    for key in reversed(keys):
        nested = {key: nested}
    source = Document(name, nested)
    for length in range(len(keys) + 1):
        source.marks[keys[:length]] = source.key_marks[keys[:length]] = Mark(name, 0, 0)
    old = look(document.data, keys)
    if isinstance(old, dict) and "value" in old:
        parent_of(document.data, keys).pop(str(keys[-1]), None)
    lay_over(document, nested, (), source, ())
    return f"{path}={override.text}"


def _check_reaches(document: Document, keys: Key, override: Override) -> None:
    """Refuse an override that a service's own value hides, or that names no service."""
    if not has_services(document.data) or not isinstance(document.data["services"], dict):
        return
    name, services = f"--set {override.path}", document.data["services"]
    if keys[0] == "services":
        if keys[1] not in services:
            raise InputError([Problem(name, 0, 0, f"no service '{keys[1]}'", nearest(str(keys[1]), services))])
        return
    hiding = [each for each, own in services.items() if look(own, keys) is not None]
    if hiding:
        words = " and ".join(f"'services.{each}.{'.'.join(map(str, keys))}'" for each in hiding)
        raise InputError([Problem(name, 0, 0, "is set by services themselves", f"name each service's own: {words}")])


def _record_of(document: Document) -> type:
    return SplitScenario if is_split(document.data) else Scenario
