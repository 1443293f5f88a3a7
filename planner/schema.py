"""JSON Schemas of the files, for editors: the records' own types, told in the file's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

from planner.errors import UsageError, nearest
from planner.loading import KINDS
from planner.prices import PriceBook
from planner.reading import INTERNAL, adapter
from planner.scenario import Scenario
from planner.scenario_services import OWN
from planner.split_scenario import SplitScenario

NAMES = ("scenario", "catalog", "prices")
_EVIDENCE = {
    "source": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "derived": {"type": "string"},
    "assumed": {"type": "string"},
    "low": {"type": ["string", "number"]},
    "high": {"type": ["string", "number"]},
    "note": {"type": "string"},
}


def schema_text(name: str) -> str:
    """Return the schema of ``scenario``, ``catalog`` or ``prices`` files as JSON.

    Raises
    ------
    UsageError
        If there is no such kind.
    """
    if name not in NAMES:
        raise UsageError(f"schema {name}: unknown; {nearest(name, NAMES)}")
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "scenario": _scenario, "catalog": _catalog, "prices": lambda: _record(PriceBook),
    }  # fmt: skip
    made = {**_shared(makers[name]())}
    made.pop("title", None)
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"planner {name}", **made}
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _scenario() -> dict[str, Any]:
    """Return all kinds: sessions on machines, several services, and requests split over rented instances."""
    kinds = {
        "sessions": _scenario_of(Scenario), "services": _services_of(), "split": _scenario_of(SplitScenario),
    }  # fmt: skip
    defs: dict[str, Any] = {}
    for made in kinds.values():
        defs |= made.pop("$defs", {})
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds], "$defs": defs | kinds}


def _services_of() -> dict[str, Any]:
    """Return what is common to several services, with what each may say for itself."""
    made = _scenario_of(Scenario)
    own = {key: made["properties"][key] for key in (*OWN, "extends")}
    service = {"type": "object", "properties": own, "additionalProperties": False}
    words = "The services of the plan by name, each with its own settings over those beside 'services'."
    made["properties"]["services"] = {"type": "object", "additionalProperties": service, "description": words}
    made["required"] = [*made["required"], "services"]
    return made


def _scenario_of(record: type) -> dict[str, Any]:
    made = _record(record)
    made["properties"]["extends"] = {"type": "string", "description": "A scenario that this one changes."}
    made["properties"]["variants"] = {
        "type": "object",
        "description": "Named changes, chosen with --variant.",
    }
    # A scenario that extends another may leave out whatever its parent says.
    made["required"] = ["kind", "name"]
    for definition in made.get("$defs", {}).values():
        definition.pop("required", None)
    return made


def _catalog() -> dict[str, Any]:
    defs: dict[str, Any] = {}
    kinds = []
    for kind, record in KINDS.items():
        made = _record(record)
        defs |= made.pop("$defs", {})
        defs[f"kind-{kind}"] = made
        kinds.append({"$ref": f"#/$defs/kind-{kind}"})
    source = {"type": "object", "additionalProperties": {"type": "object"}}
    lists = {
        "type": "object",
        "properties": {"parts": {"type": "array", "items": {"anyOf": kinds}}},
        "required": ["parts"],
    }
    sources = {"type": "object", "properties": {"sources": source}, "required": ["sources"]}
    return {"anyOf": [*kinds, lists, sources], "$defs": defs}


def _record(record: type) -> dict[str, Any]:
    made: dict[str, Any] = adapter(record).json_schema(by_alias=True)
    _finish(made, record)
    for name, definition in made.get("$defs", {}).items():
        _finish(definition, _class_named(name))
    return made


def _class_named(name: str) -> type | None:
    from planner import engines, gaps, hardware, models, prices, profiles, scenario, split_scenario, wiring, workload
    from planner.attention import FAMILIES
    from planner.paging import PagingRules

    families = {FAMILIES[word].__name__: FAMILIES[word] for word in FAMILIES}
    if name in families or name == PagingRules.__name__:
        return families.get(name, PagingRules)
    for module in (gaps, hardware, wiring, prices, models, engines, profiles, scenario, split_scenario, workload):
        found = getattr(module, name, None)
        if isinstance(found, type) and is_dataclass(found):
            return found
    return None


def _finish(made: dict[str, Any], record: type | None) -> None:
    """Drop internal keys, allow evidence beside values, and describe from the docstring."""
    properties = made.get("properties", {})
    for key in INTERNAL:
        properties.pop(key, None)
    words = descriptions(record.__doc__ or "") if record else {}
    for key, value in properties.items():
        text = words.get(key) or next((t for name, t in words.items() if name.startswith(key + "_")), "")
        if "default" in value and not isinstance(value["default"], str | bool | int | type(None)):
            value.pop("default")
        if key in ("source", "sources") and value.get("type") == "array":
            value = {"anyOf": [{"type": "string"}, value]}
        properties[key] = {"description": text, **_valued(value)} if text else _valued(value)
    if record and record.__doc__:
        made["description"] = record.__doc__.strip().splitlines()[0]


def _shared(made: dict[str, Any]) -> dict[str, Any]:
    """Move values that may carry evidence to shared definitions: each stands once."""
    names: dict[str, str] = {}
    shared: dict[str, Any] = {}

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "_valued" in node:
            text = json.dumps(node["_valued"], sort_keys=True)
            if text not in names:
                names[text] = f"value-{len(names) + 1}"
                shared[names[text]] = node["_valued"]
            rest = {key: value for key, value in node.items() if key != "_valued"}
            return {**rest, "$ref": f"#/$defs/{names[text]}"}
        return {key: walk(value) for key, value in node.items()}

    walked: dict[str, Any] = walk(made)
    walked.setdefault("$defs", {}).update(shared)
    return walked


def _valued(value: Mapping[str, Any]) -> dict[str, Any]:
    """Allow evidence beside a value, for optional values too."""
    if "anyOf" in value and {"type": "null"} in value["anyOf"]:
        rest = {key: item for key, item in value.items() if key != "anyOf"}
        return {**rest, "anyOf": [_valued(choice) for choice in value["anyOf"]]}
    items = value.get("items", {}).get("type") if value.get("type") == "array" else ""
    if items in ("integer", "number"):
        return {**value, "items": _valued(value["items"])}
    plain = value.get("type") in ("string", "integer", "number", "boolean")
    if (plain or items == "string") and "const" not in value:
        wrapped = {"type": "object", "properties": {"value": dict(value), **_EVIDENCE}, "required": ["value"]}
        return {"_valued": {"anyOf": [dict(value), wrapped | {"additionalProperties": False}]}}
    return dict(value)


def descriptions(docstring: str) -> dict[str, str]:
    """Return field to text from the Attributes section of a numpydoc docstring."""
    _, _, section = docstring.partition("Attributes\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines()[1:]:
        head = re.match(r"^    ([a-z_][\w, ]*?)(?: :.*)?$", line)
        if head:
            names = [name.strip() for name in head[1].split(",")]
        elif line.startswith("        ") and names:
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found
