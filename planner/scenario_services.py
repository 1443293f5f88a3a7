"""Scenarios of several services: what they share once, and each service's own settings over it.

A scenario with `services` is read once per service: its own settings are laid over those beside
`services`. Limits, finance, objective and the fleet's common rules are the whole's alone.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planner.documents import Document
from planner.errors import InputError, Problem, nearest
from planner.fields import file_key
from planner.layering import lay_over
from planner.loading import Shelf
from planner.scenario import OWN_FLEET, Fleet, Scenario
from planner.scenario_checks import read_sessions

OWN = ("model", "workload", "serving", "tiers", "service", "fleet")
"""What a service may set; the rest is the whole's."""
_OWN_FLEET = tuple(map(file_key, OWN_FLEET))


def has_services(data: Any) -> bool:
    """Return whether a scenario's document is of several services."""
    return isinstance(data, dict) and data.get("services") is not None


def own_settings(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a whole scenario says of one service, for a service that extends it."""
    own = {key: value for key, value in data.items() if key in OWN}
    if isinstance(own.get("fleet"), dict):
        own["fleet"] = {key: value for key, value in own["fleet"].items() if key in _OWN_FLEET}
    return own


def read_services(document: Document, applied: tuple[str, ...], shelf: Shelf | None) -> Scenario:
    """Return a scenario of several services, checked as each of them would be.

    Raises
    ------
    InputError
        With every problem of all services, each once.
    """
    problems = [*document.problems, *_faults(document)]
    made: list[Scenario] = []
    for name in document.data["services"] if isinstance(document.data["services"], dict) else ():
        try:
            found = read_sessions(_document_of(document, name), applied, shelf)
        except InputError as fault:
            problems += fault.problems
        else:
            made.append(replace(found, label=name, name=f"{found.name}#{name}", title=f"{found.title}: {name}"))
    if not problems:
        problems += _shared_faults(document, made)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return _whole(document, made)


def _whole(document: Document, services: list[Scenario]) -> Scenario:
    """Return the scenario that holds what is common; sessions and targets are its services' alone."""
    first = services[0]
    none = Fleet()
    evidence = {
        f"services.{one.label}.{path}" if path.partition(".")[0] in OWN else path: each
        for one in services
        for path, each in one.evidence.items()
    }
    return replace(
        first,
        name=first.name.removesuffix(f"#{first.label}"),
        title=first.title.removesuffix(f": {first.label}"),
        label="",
        workload=replace(first.workload, rates=None),
        service=None,
        fleet=replace(first.fleet, **{key: getattr(none, key) for key in OWN_FLEET}),
        evidence=evidence,
        resolved=document.data,
        services=tuple(services),
    )


def _document_of(document: Document, name: str) -> Document:
    """Return the document of one service: its settings over the common ones, places included."""
    common = {key: copy.deepcopy(value) for key, value in document.data.items() if key != "services"}
    made = Document(document.name, common, dict(document.marks), dict(document.key_marks))
    own = document.data["services"][name]
    if isinstance(own, dict):
        lay_over(made, copy.deepcopy(own_settings(own)), ("services", name), document, ())
    return made


def _faults(document: Document) -> Iterator[Problem]:
    services = document.data["services"]
    if not isinstance(services, dict) or not services:
        hint = "such as 'services: {chat: {model: glm-5}, code: {model: deepseek-v3.2}}'"
        yield document.problem(("services",), "expected a name for each service with its settings", hint)
        return
    for name, own in services.items():
        at = ("services", name)
        if not re.fullmatch(r"[A-Za-z0-9_-]+", str(name)):
            yield document.problem(at, f"'{name}': expected letters, digits, '-' and '_'", key=True)
        if not isinstance(own, dict):
            yield document.problem(at, "expected the settings of this service", f"one of {', '.join(OWN)}")
            continue
        for key in own:
            if key not in OWN:
                message = f"a service does not set '{key}': it is the whole's, or unknown"
                yield document.problem((*at, key), message, nearest(str(key), OWN), key=True)
        for key in own["fleet"] if isinstance(own.get("fleet"), dict) else ():
            if key not in _OWN_FLEET:
                message = f"a service does not set 'fleet.{key}': it is common to all, or unknown"
                yield document.problem((*at, "fleet", key), message, nearest(str(key), _OWN_FLEET), key=True)


def _shared_faults(document: Document, services: list[Scenario]) -> Iterator[Problem]:
    """Yield what is wrong with a pool that services share: it is one product over one fabric."""
    sharing = [one for one in services if one.tiers.shared]
    for one in sharing:
        if one.tiers.placement != "pooled":
            at = ("services", one.label, "tiers", "placement")
            yield document.problem(at, f"{one.label}: tiers are shared only where they are pooled", "placement: pooled")
        if one.tiers.cache != sharing[0].tiers.cache:
            message = f"{one.label}: services that share tiers run one product, '{sharing[0].tiers.cache}'"
            yield document.problem(("services", one.label, "tiers", "cache"), message)
    if len(sharing) == 1:
        at = ("services", sharing[0].label, "tiers", "shared")
        yield document.problem(at, f"{sharing[0].label}: no other service shares its tiers")
