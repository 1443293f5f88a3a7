"""The names of settings: dotted paths, whole or as their ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields as dataclass_fields

from planner.errors import InputError, Problem, nearest
from planner.fields import file_key
from planner.reading import INTERNAL, field_type
from planner.scenario import Scenario

SHORT = {"kv_format": "serving.kv_formats", "kv_formats": "serving.kv_formats", "gpus": "fleet.gpus"}
LISTS = (
    "serving.kv_formats",
    "serving.engines",
    "serving.weights",
    "serving.layouts",
    "fleet.gpus",
    "fleet.chassis",
    "fleet.instances",
    "fleet.vendors",
    "fleet.without_vendors",
    "fleet.cooling",
)


def of_service(path: str) -> tuple[str, str]:
    """Return the prefix ``services.NAME.`` of a path and the rest; an empty prefix where it has none."""
    words = path.split(".", 2)
    if len(words) == 3 and words[0] == "services":
        return f"services.{words[1]}.", words[2]
    return "", path


def full_path(text: str, record: type = Scenario) -> str:
    """Return the dotted path that `text` means: itself, or the only one that ends with it.

    Raises
    ------
    InputError
        If no such setting exists; names the nearest.
    """
    above, text = of_service(text)
    if above:
        return above + full_path(text, record)
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
