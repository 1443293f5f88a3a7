"""Folders of YAML files to a catalogue, models and engines; all problems told at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.assembly import gpu_fault, system_faults
from planner.datafiles import data_folder, shown_name
from planner.documents import Document, Key, read_document
from planner.engines import Cache, Engine, EngineShelf, Measured
from planner.errors import InputError, Problem, nearest
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
from planner.prices import PriceBook
from planner.reading import read_record, source_ids, split_evidence, uncovered

PART_KINDS: dict[str, type] = {
    "gpu": Gpu, "cpu": Cpu, "dimm": Dimm, "drive": Drive, "nic": Nic, "switch": Switch,
    "item": Item, "chassis": Chassis, "system": System,
}  # fmt: skip
KINDS: dict[str, type] = PART_KINDS | {
    "prices": PriceBook, "cluster": Cluster, "model": Model, "engine": Engine, "cache": Cache,
    "measured": Measured,
}  # fmt: skip
_COVERED = (*PART_KINDS, "engine", "cache")


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
    """

    catalog: Catalog
    models: Mapping[str, Model]
    engines: EngineShelf

    def model(self, name: str) -> Model:
        """Return the model `name`; InputError with the nearest name if there is none."""
        if name not in self.models:
            raise InputError(f"unknown model '{name}'; {nearest(name, self.models)}")
        return self.models[name]


@dataclass(frozen=True)
class _Entry:
    document: Document
    path: Key
    record: Any


def load_shelf(folders: Sequence[Path] = (), price_files: Sequence[Path] = ()) -> Shelf:
    """Load the shipped catalogue and lay `folders` and `price_files` over it, later ones winning.

    Raises
    ------
    InputError
        With every problem in every file.
    """
    problems: list[Problem] = []
    found: dict[tuple[str, str], _Entry] = {}
    sources: dict[str, Source] = {}
    digest = hashlib.sha256()
    for layer in _layers(folders, price_files):
        seen: dict[tuple[str, str], _Entry] = {}
        for file in layer:
            digest.update(file.read_bytes() if file.is_file() else b"")
            for entry in _read_file(file, sources, problems):
                key = (entry.record.kind, entry.record.id)
                if key in seen:
                    problems.append(_twice(entry, seen[key]))
                seen[key] = entry
        found |= seen
    problems += _check_sources(found.values(), sources)
    problems += _check_references(found)
    if not problems:
        problems += _check_machines(found)
    if problems:
        raise InputError(problems)
    return _shelf(found, sources, digest.hexdigest()[:12])


def _layers(folders: Sequence[Path], price_files: Sequence[Path]) -> Iterator[list[Path]]:
    for folder in (data_folder("catalog"), *folders):
        if not folder.is_dir():
            raise InputError([Problem(str(folder), 0, 0, "is no folder", "--catalog takes a folder of YAML files")])
        yield sorted(p for p in folder.rglob("*") if p.suffix in (".yaml", ".yml"))
    for file in price_files:
        yield [file]


def _read_file(file: Path, sources: dict[str, Source], problems: list[Problem]) -> Iterator[_Entry]:
    try:
        document = read_document(file, shown_name(file))
    except InputError as fault:
        problems.extend(fault.problems)
        return
    problems.extend(document.problems)
    data = document.data
    if not isinstance(data, dict):
        problems.append(document.problem((), "expected keys and values", "a file starts with 'kind: ...'"))
    elif "sources" in data and "kind" not in data:
        _read_sources(document, sources, problems)
    elif "parts" in data and "kind" not in data:
        for i, item in enumerate(data["parts"] if isinstance(data["parts"], list) else []):
            yield from _read_entry(document, item, ("parts", i), problems)
    else:
        yield from _read_entry(document, data, (), problems)


def _read_sources(document: Document, sources: dict[str, Source], problems: list[Problem]) -> None:
    entries = document.data["sources"]
    for name, entry in (entries if isinstance(entries, dict) else {}).items():
        data = {"id": name, **entry} if isinstance(entry, dict) else entry
        made, faults = read_record(document, data, Source, ("sources", name))
        problems.extend(faults)
        if made:
            sources[name] = made


def _read_entry(document: Document, data: Any, at: Key, problems: list[Problem]) -> Iterator[_Entry]:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        hint = nearest(str(kind), KINDS)
        where = (*at, "kind") if isinstance(data, dict) and "kind" in data else at
        problems.append(document.problem(where, f"'kind' is {kind!r}; expected one of {', '.join(KINDS)}", hint))
        return
    made: Any
    made, faults = read_record(document, data, KINDS[kind], at)
    problems.extend(faults)
    if made is None:
        return
    if kind in _COVERED and not source_ids(data.get("source")):
        plain, evidence, _ = split_evidence(document, data)
        for path in uncovered(plain, evidence):
            hint = "write {value: ..., source: ...}, or 'assumed: why' instead of 'source'"
            shown = ".".join(map(str, path))
            problems.append(document.problem((*at, *path), f"'{shown}' has no source", hint))
    yield _Entry(document, at, made)


def _twice(entry: _Entry, first: _Entry) -> Problem:
    where = first.document.mark((*first.path, "id"))
    message = f"{entry.record.kind} '{entry.record.id}' stands twice"
    hint = f"the first is at {where.file}:{where.line}; a layer of your own may replace a shipped entry"
    return entry.document.problem((*entry.path, "id"), message, hint)


def _check_sources(entries: Iterable[_Entry], sources: Mapping[str, Source]) -> list[Problem]:
    problems = []
    for entry in entries:
        record = entry.record
        named: list[tuple[Key, str]] = [
            ((), name)
            for name in source_ids(
                list(getattr(record, "source", ()))
                if not isinstance(getattr(record, "source", ()), str)
                else record.source
            )
        ]
        for dotted, evidence in getattr(record, "evidence", {}).items():
            named += [(tuple(dotted.split(".")), name) for name in evidence.sources]
        if isinstance(record, PriceBook):
            named += [(("prices", i), n) for i, p in enumerate(record.prices) for n in p.sources]
            for i, price in enumerate(record.prices):
                problems += _check_price(entry, i, price, record)
        for path, name in named:
            if name not in sources:
                message = f"unknown source '{name}'"
                problems.append(entry.document.problem((*entry.path, *path), message, nearest(name, sources)))
    return problems


def _check_price(entry: _Entry, i: int, price: Any, book: PriceBook) -> list[Problem]:
    at = ("prices", i)
    problems = []
    if not price.low.cents <= price.typical.cents <= price.high.cents:
        problems.append(entry.document.problem(at, f"price of '{price.part}': low <= typical <= high does not hold"))
    if price.low.cents <= 0:
        problems.append(entry.document.problem(at, f"price of '{price.part}': must be above 0"))
    for case in ("low", "typical", "high"):
        if getattr(price, case).currency != book.currency:
            message = f"price of '{price.part}' is in {getattr(price, case).currency}, the book in {book.currency}"
            problems.append(entry.document.problem((*at, case), message))
    if not (price.sources or price.derived or price.assumed):
        hint = "add 'sources: [...]', 'derived: formula' or 'assumed: why'"
        problems.append(entry.document.problem(at, f"price of '{price.part}' has no evidence", hint))
    return problems


def _check_references(found: Mapping[tuple[str, str], _Entry]) -> list[Problem]:
    ids: dict[str, set[str]] = {}
    for kind, name in found:
        ids.setdefault(kind, set()).add(name)
    problems: list[Problem] = []

    def check(entry: _Entry, path: Key, kind: str, name: str | None) -> None:
        if name is not None and name not in ids.get(kind, set()):
            message = f"unknown {kind} '{name}'"
            problems.append(entry.document.problem((*entry.path, *path), message, nearest(name, ids.get(kind, ()))))

    every = {"any": {n for kind in PART_KINDS for n in ids.get(kind, ())}}
    ids |= every
    platforms = {e.record.platform for (k, _), e in found.items() if k == "cpu"}
    for entry in found.values():
        record = entry.record
        if isinstance(record, Chassis):
            for i, name in enumerate(record.gpu_models):
                check(entry, ("gpu_models", i), "gpu", name)
            for i, name in enumerate(record.cpu_platforms):
                if name not in platforms:
                    message = f"no processor of platform '{name}'"
                    place = (*entry.path, "cpu_platforms", i)
                    problems.append(entry.document.problem(place, message, nearest(name, platforms)))
        elif isinstance(record, System):
            for kind in ("chassis", "gpu", "cpu"):
                check(entry, (kind,), kind, getattr(record, kind))
            check(entry, ("dimms", "part"), "dimm", record.dimms.part)
            check(entry, ("boot", "part"), "drive", record.boot.part)
            for i, drive in enumerate(record.drives):
                check(entry, ("drives", i, "part"), "drive", drive.part)
            for i, nic in enumerate(record.nics):
                check(entry, ("nics", i, "part"), "nic", nic.part)
        elif isinstance(record, Nic):
            check(entry, ("optic",), "item", record.optic)
            check(entry, ("cable",), "item", record.cable)
        elif isinstance(record, Cluster):
            for key in ("front_nic", "fabric_nic"):
                check(entry, (key,), "nic", getattr(record, key))
            for key in ("front_switch", "fabric_switch"):
                check(entry, (key,), "switch", getattr(record, key))
            check(entry, ("boot_drive",), "drive", record.boot_drive)
            for i, line in enumerate(record.lines):
                check(entry, ("lines", i, "item"), "any", line.item)
        elif isinstance(record, PriceBook):
            for i, price in enumerate(record.prices):
                check(entry, ("prices", i, "part"), "any", price.part)
    return problems


def _check_machines(found: Mapping[tuple[str, str], _Entry]) -> list[Problem]:
    """Check that GPUs plug into their chassis and whole systems into theirs."""
    records = {kind: {n: e.record for (k, n), e in found.items() if k == kind} for kind in PART_KINDS}
    problems = []
    for entry in found.values():
        record = entry.record
        if isinstance(record, Chassis):
            for i, name in enumerate(record.gpu_models):
                fault = gpu_fault(record, records["gpu"][name])
                if fault:
                    problems.append(entry.document.problem((*entry.path, "gpu_models", i), fault))
        elif isinstance(record, System):
            machine = (records["chassis"][record.chassis], records["gpu"][record.gpu])
            inside = (records["cpu"][record.cpu], records["dimm"][record.dimms.part])
            for key, fault in system_faults(record, *machine, *inside, records["drive"], records["nic"]):
                hint = "correct the system, or the chassis it stands in"
                problems.append(entry.document.problem((*entry.path, key), fault, hint))
    return problems


def _shelf(found: Mapping[tuple[str, str], _Entry], sources: Mapping[str, Source], digest: str) -> Shelf:
    by_kind: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for (kind, name), entry in sorted(found.items()):
        by_kind[kind][name] = entry.record
    models = dict(by_kind["model"])
    for model in by_kind["model"].values():
        models |= {alias: model for alias in model.aliases if alias not in models}
    if not by_kind["cluster"]:
        raise InputError("the catalogue has no entry of kind 'cluster'")
    catalog = Catalog(
        parts={kind: by_kind[kind] for kind in PART_KINDS},
        books=by_kind["prices"],
        cluster=list(by_kind["cluster"].values())[-1],
        sources=SourceList(sources),
        digest=digest,
    )
    engines = EngineShelf(by_kind["engine"], by_kind["cache"], tuple(by_kind["measured"].values()))
    return Shelf(catalog, models, engines)
