"""Folders of YAML files to a catalogue, models and engines; all problems told at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from planner.catalog_checks import Entry, Found, check_all
from planner.datafiles import data_folder, shown_name
from planner.documents import Document, Key, read_document
from planner.efficiencies import Efficiency, with_efficiencies
from planner.engines import Cache, Engine, EngineShelf, Measured
from planner.errors import InputError, Problem, nearest
from planner.estimates import with_estimates
from planner.evidence import Source, SourceList
from planner.hardware import (
    Catalog,
    Chassis,
    Cluster,
    Cpu,
    Dimm,
    Drive,
    Gpu,
    Item,
    Nic,
    Switch,
    System,
)
from planner.models import Model
from planner.prices import Exchange, PriceBook
from planner.profiles import Profile
from planner.reading import read_record
from planner.wiring import Topology

PART_KINDS: dict[str, type] = {
    "gpu": Gpu, "cpu": Cpu, "dimm": Dimm, "drive": Drive, "nic": Nic, "switch": Switch,
    "item": Item, "chassis": Chassis, "system": System,
}  # fmt: skip
KINDS: dict[str, type] = PART_KINDS | {
    "prices": PriceBook, "cluster": Cluster, "model": Model, "engine": Engine, "cache": Cache,
    "measured": Measured, "efficiency": Efficiency, "profile": Profile, "topology": Topology,
    "exchange": Exchange,
}  # fmt: skip
_COVERED = (*PART_KINDS, "engine", "cache", "efficiency", "profile", "topology", "exchange")


@dataclass(frozen=True)
class Shelf:
    """Everything that the catalogue folders hold.

    Attributes
    ----------
    catalog : Catalog
        Parts, prices, cluster rules.
    models : mapping of str to Model
        By id and by alias.
    engines : EngineShelf
        Engines, offload products, measurements.
    profiles : mapping of str to Profile
        Throughput profiles of rented instances, by id.
    """

    catalog: Catalog
    models: Mapping[str, Model]
    engines: EngineShelf
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    def model(self, name: str) -> Model:
        """Return the model `name`; InputError with the nearest name if there is none."""
        if name not in self.models:
            raise InputError(f"unknown model '{name}'; {nearest(name, self.models)}")
        return self.models[name]


@dataclass(frozen=True)
class Loaded:
    """A shelf with the places that its entries were read from.

    Attributes
    ----------
    entries : mapping
        Kind and id to the entry; of price books the one of the last layer.
    sources : mapping of str to Entry
        Source id to its entry.
    """

    shelf: Shelf
    entries: Found
    sources: Mapping[str, Entry]


def load_shelf(folders: Sequence[Path] = (), price_files: Sequence[Path] = ()) -> Shelf:
    """Load the shipped catalogue and lay `folders` and `price_files` over it, later ones winning.

    Raises
    ------
    InputError
        With every problem in every file.
    """
    return load_entries(folders, price_files).shelf


def load_entries(folders: Sequence[Path] = (), price_files: Sequence[Path] = ()) -> Loaded:
    """Load as `load_shelf` does, and keep the place of each entry.

    Raises
    ------
    InputError
        With every problem in every file.
    """
    problems: list[Problem] = []
    found: dict[tuple[str, str], Entry] = {}
    sources: dict[str, Entry] = {}
    cluster = ""
    digest = hashlib.sha256()
    for layer in _layers(folders, price_files):
        seen: dict[tuple[str, str], Entry] = {}
        for file in layer:
            digest.update(file.read_bytes() if file.is_file() else b"")
            for entry in _read_file(file, sources, problems):
                for i, source in enumerate(getattr(entry.record, "documents", ())):
                    sources[source.id] = Entry(entry.document, (*entry.path, "documents", i), source)
                key = (entry.record.kind, entry.record.id)
                if key in seen:
                    problems.append(_twice(entry, seen[key]))
                seen[key] = _over(entry, found.get(key), problems)
        clusters = [name for kind, name in seen if kind == "cluster"]
        cluster = clusters[-1] if clusters else cluster
        found |= seen
    by_id = {name: entry.record for name, entry in sources.items()}
    problems += check_all(found, by_id, PART_KINDS)
    if not cluster and not problems:
        problems.append(Problem("catalog", 0, 0, "no entry of kind 'cluster'"))
    if problems:
        raise InputError(problems)
    return Loaded(_shelf(found, by_id, cluster, digest.hexdigest()[:12]), found, sources)


def _over(entry: Entry, below: Entry | None, problems: list[Problem]) -> Entry:
    """Return what a later layer's entry makes of an earlier one: price books merge, the rest replaces."""
    record = entry.record
    if below is None or not isinstance(record, PriceBook):
        return entry
    for key in ("currency", "tax"):
        if getattr(record, key) != getattr(below.record, key):
            message = f"'{key}' is {getattr(record, key)}, in the book it is laid over {getattr(below.record, key)}"
            problems.append(entry.problem((key,), message, "give the book an id of its own, or the same basis"))
            return entry
    # The book below was checked with its own file; this one's prices come first for places.
    own = {price.part for price in record.prices}
    rest = tuple(price for price in below.record.prices if price.part not in own)
    rules = record.estimates or below.record.estimates
    merged = replace(record, prices=(*record.prices, *rest), estimates=rules)
    return replace(entry, record=merged, below=below)


def _layers(folders: Sequence[Path], price_files: Sequence[Path]) -> Iterator[list[Path]]:
    for folder in (data_folder("catalog"), *folders):
        if folder.is_file():
            yield [folder]
            continue
        if not folder.is_dir():
            hint = "--catalog takes a YAML file or a folder of them"
            raise InputError([Problem(str(folder), 0, 0, "is no folder and no file", hint)])
        yield sorted(p for p in folder.rglob("*") if p.suffix in (".yaml", ".yml"))
    for file in price_files:
        yield [file]


def _read_file(file: Path, sources: dict[str, Entry], problems: list[Problem]) -> Iterator[Entry]:
    try:
        document = read_document(file, shown_name(file))
    except InputError as fault:
        problems.extend(fault.problems)
        return
    problems.extend(document.problems)
    data = document.data
    if not isinstance(data, dict):
        problems.append(document.problem((), "expected keys and values", "a file starts with 'kind: ...'"))
    elif "kind" in data:
        yield from _read_entry(document, data, (), problems)
    elif "sources" in data:
        _read_sources(document, sources, problems)
    elif "parts" in data:
        for i, item in enumerate(_only(document, "parts", list, problems) or []):
            yield from _read_entry(document, item, ("parts", i), problems)
    else:
        yield from _read_entry(document, data, (), problems)


def _only(document: Document, key: str, kind: type, problems: list[Problem]) -> Any:
    """Return the value of the one key that a file of lists or of sources has."""
    for other in document.data.keys() - {key}:
        problems.append(document.problem((other,), f"unknown key '{other}' beside '{key}'", key=True))
    value = document.data[key]
    if isinstance(value, kind):
        return value
    shape = "a list of entries" if kind is list else "ids with their documents"
    problems.append(document.problem((key,), f"'{key}': expected {shape}, found {value!r}"))
    return None


def _read_sources(document: Document, sources: dict[str, Entry], problems: list[Problem]) -> None:
    for name, entry in (_only(document, "sources", dict, problems) or {}).items():
        data = {"id": name, **entry} if isinstance(entry, dict) else entry
        made, faults = read_record(document, data, Source, ("sources", name))
        problems.extend(faults)
        if made:
            sources[name] = Entry(document, ("sources", name), made)


def _read_entry(document: Document, data: Any, at: Key, problems: list[Problem]) -> Iterator[Entry]:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        hint = nearest(str(kind), KINDS)
        where = (*at, "kind") if isinstance(data, dict) and "kind" in data else at
        problems.append(document.problem(where, f"'kind' is {kind!r}; expected one of {', '.join(KINDS)}", hint))
        return
    made: Any
    made, faults = read_record(document, data, KINDS[kind], at, covered=kind in _COVERED)
    problems.extend(faults)
    if made is not None:
        yield Entry(document, at, made)


def _twice(entry: Entry, first: Entry) -> Problem:
    where = first.document.mark((*first.path, "id"))
    message = f"{entry.record.kind} '{entry.record.id}' stands twice"
    hint = f"the first is at {where.file}:{where.line}; a layer of your own may replace a shipped entry"
    return entry.document.problem((*entry.path, "id"), message, hint)


def _shelf(found: Found, sources: Mapping[str, Source], cluster: str, digest: str) -> Shelf:
    by_kind: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for (kind, name), entry in sorted(found.items()):
        by_kind[kind][name] = entry.record
    models = dict(by_kind["model"])
    for model in by_kind["model"].values():
        models |= {alias: model for alias in model.aliases if alias not in models}
    inside = by_kind["topology"]
    by_kind["chassis"] = {
        name: replace(chassis, inside=inside[chassis.topology]) if chassis.topology else chassis
        for name, chassis in by_kind["chassis"].items()
    }
    parts = {kind: by_kind[kind] for kind in PART_KINDS}
    catalog = Catalog(
        parts=parts,
        books=with_estimates(by_kind["prices"], parts, by_kind["exchange"]),
        cluster=by_kind["cluster"][cluster],
        sources=SourceList(sources),
        digest=digest,
        topologies=inside,
    )
    # In the order of the layers: of two that measured the same, the later counts.
    shares = [entry.record for entry in found.values() if isinstance(entry.record, Efficiency)]
    caches = with_efficiencies(by_kind["cache"], shares)
    engines = EngineShelf(by_kind["engine"], caches, tuple(by_kind["measured"].values()))
    return Shelf(catalog, models, engines, by_kind["profile"])
