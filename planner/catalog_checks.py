"""What must hold between the entries of a catalogue: sources, prices, names, and what fits where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.assembly import Machine, gpu_fault, system_faults, wiring_faults
from planner.documents import Document, Key
from planner.efficiencies import PATHS, Efficiency
from planner.engines import Measured
from planner.errors import InputError, Problem, nearest
from planner.estimates import estimate_faults
from planner.evidence import Source
from planner.hardware import Chassis, Cluster, Nic, System
from planner.layout import Layout
from planner.models import BYTES_PER_WEIGHT, Model
from planner.prices import PriceBook
from planner.profiles import Profile, profile_faults
from planner.reading import source_ids
from planner.units import format_money
from planner.wiring import Topology, topology_faults


@dataclass(frozen=True)
class Entry:
    """A record with the place it was read from.

    Attributes
    ----------
    below : Entry or None
        The price book of an earlier layer that this one was merged with.
    """

    document: Document
    path: Key
    record: Any
    below: Entry | None = None

    @property
    def data(self) -> Any:
        """What the file says, evidence included."""
        data = self.document.data
        for step in self.path:
            data = data[step]
        return data

    def problem(self, path: Key, message: str, hint: str = "") -> Problem:
        """Return a problem at `path` below the entry."""
        return self.document.problem((*self.path, *path), message, hint)


Found = Mapping[tuple[str, str], Entry]


def check_all(found: Found, sources: Mapping[str, Source], part_kinds: Iterable[str]) -> list[Problem]:
    """Return every problem; what fits where is looked at only if all names are known."""
    kinds = tuple(part_kinds)
    problems = [*_sources(found.values(), sources), *_prices(found.values()), *_models(found.values())]
    problems += [*_names(found, kinds), *_lines(found.values()), *_profiles(found.values())]
    problems += [*_topologies(found.values()), *_efficiencies(found.values()), *_estimates(found, kinds)]
    return problems or list(_machines(found, kinds))


def _sources(entries: Iterable[Entry], sources: Mapping[str, Source]) -> Iterator[Problem]:
    for entry in entries:
        for path, name in named_sources(entry.record):
            if name not in sources:
                yield entry.problem(path, f"unknown source '{name}'", nearest(name, sources))


def named_sources(record: Any) -> Iterator[tuple[Key, str]]:
    """Yield each source that a record names, with the path below the record that names it."""
    yield from ((("source",), name) for name in source_ids(list(getattr(record, "source", ()))))
    for dotted, evidence in getattr(record, "evidence", {}).items():
        yield from ((tuple(dotted.split(".")), name) for name in evidence.sources)
    lists = {"prices": "sources", "lines": "sources", "checkpoints": "source"}
    lists |= {"kv_formats": "source", "weight_formats": "source"}
    for key, field in lists.items():
        for i, item in enumerate(getattr(record, key, ())):
            yield from (((key, i, field), name) for name in getattr(item, field, ()))
            lead = getattr(item, "lead_time", None)
            yield from (((key, i, "lead_time", "sources"), name) for name in (lead.sources if lead else ()))


def _prices(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if not isinstance(entry.record, PriceBook):
            continue
        seen: set[str] = set()
        for i, price in enumerate(entry.record.prices):
            if price.part in seen:
                yield entry.problem(("prices", i, "part"), f"'{price.part}' is priced twice", "keep one of the prices")
            seen.add(price.part)
            yield from _price(entry, ("prices", i), price)


def _estimates(found: Found, kinds: Iterable[str]) -> Iterator[Problem]:
    """Yield rules for missing prices that cannot be followed."""
    by_kind = {
        kind: {name: each.record for (own, name), each in found.items() if own == kind}
        for kind in (*kinds, "prices", "exchange")
    }
    books, exchanges = by_kind.pop("prices"), by_kind.pop("exchange")
    for (kind, name), entry in found.items():
        if kind == "prices" and books[name].estimates:
            for i, key, words, hint in estimate_faults(books[name], books, by_kind, exchanges):
                yield entry.problem(("estimates", i, key), words, hint)


def _price(entry: Entry, at: Key, price: Any) -> Iterator[Problem]:
    currency = entry.record.currency
    if price.estimate:
        yield entry.problem((*at, "estimate"), "unknown key 'estimate'", "write rules under 'estimates' of the book")
    if not price.low.cents <= price.typical.cents <= price.high.cents:
        yield entry.problem(at, f"price of '{price.part}': low <= typical <= high does not hold")
    if price.low.cents <= 0:
        yield entry.problem(at, f"price of '{price.part}': must be above 0")
    for case in ("low", "typical", "high"):
        found = getattr(price, case).currency
        if found != currency:
            yield entry.problem((*at, case), f"price of '{price.part}' is in {found}, the book in {currency}")
    yield from _volume(entry, at, price)
    lead = price.lead_time
    if lead is not None and not (lead.sources or lead.derived or lead.assumed):
        hint = "add 'sources: [...]', 'derived: formula' or 'assumed: why'"
        yield entry.problem((*at, "lead_time"), f"lead time of '{price.part}' has no evidence", hint)
    if not (price.sources or price.derived or price.assumed):
        hint = "add 'sources: [...]', 'derived: formula' or 'assumed: why'"
        yield entry.problem(at, f"price of '{price.part}' has no evidence", hint)


def _volume(entry: Entry, at: Key, price: Any) -> Iterator[Problem]:
    """Yield tiers that do not begin later than the one before, or cost more."""
    least, before = 1, price
    for i, tier in enumerate(price.volume):
        place = (*at, "volume", i)
        if tier.from_pieces <= least:
            hint = f"let it begin above {least}, and write tiers from the fewest pieces on"
            yield entry.problem((*place, "from"), f"tier from {tier.from_pieces} pieces of '{price.part}'", hint)
        for case in ("low", "typical", "high"):
            amount, last = getattr(tier, case), getattr(before, case)
            if amount.currency != entry.record.currency:
                message = f"tier of '{price.part}' is in {amount.currency}, the book in {entry.record.currency}"
                yield entry.problem((*place, case), message)
            elif not 0 < amount.cents <= last.cents:
                most = format_money(last.cents, last.currency)
                message = f"'{price.part}' from {tier.from_pieces} pieces: expected a price up to the {most} before it"
                yield entry.problem((*place, case), message)
        if not tier.low.cents <= tier.typical.cents <= tier.high.cents:
            yield entry.problem(place, f"tier of '{price.part}': low <= typical <= high does not hold")
        least, before = tier.from_pieces, tier


def _models(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if not isinstance(entry.record, Model):
            continue
        for i, checkpoint in enumerate(entry.record.checkpoints):
            for key in ("experts", "linear", "other", "draft"):
                name = getattr(checkpoint, key)
                if name and name not in BYTES_PER_WEIGHT:
                    hint = nearest(name, BYTES_PER_WEIGHT)
                    yield entry.problem(("checkpoints", i, key), f"unknown element format '{name}'", hint)


def _profiles(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if isinstance(entry.record, Profile):
            yield from (entry.problem(path, message) for path, message in profile_faults(entry.record))


def _topologies(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if isinstance(entry.record, Topology):
            yield from (entry.problem(*fault) for fault in topology_faults(entry.record))


def _efficiencies(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if isinstance(entry.record, Efficiency):
            shares = {path: getattr(entry.record, f"{path}_fraction") for path in PATHS}
            if set(shares.values()) == {None}:
                yield entry.problem((), "no share was measured", f"give one of {', '.join(PATHS)}")
            for path, share in shares.items():
                if share is not None and not 0 < share <= 1:
                    what = "is 0 %: nothing would move" if not share else "is more than 100 % of what the path carries"
                    yield entry.problem((path,), f"'{path}' {what}", "leave it out, or measure again")


def _lines(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if not isinstance(entry.record, Cluster):
            continue
        seen: set[str] = set()
        for i, line in enumerate(entry.record.lines):
            if line.id in seen:
                yield entry.problem(("lines", i, "id"), f"the line '{line.id}' stands twice")
            seen.add(line.id)
            if line.beyond and (line.percent is not None or line.driver in ("fleet", "racks")):
                what = "a share of prices" if line.percent is not None else f"the driver '{line.driver}'"
                message = f"the line '{line.id}' has 'beyond', which {what} does not have"
                yield entry.problem(("lines", i, "beyond"), message, "use it with nodes, groups or ports")


def _names(found: Found, part_kinds: tuple[str, ...]) -> Iterator[Problem]:
    ids: dict[str, set[str]] = {}
    for kind, own in found:
        ids.setdefault(kind, set()).add(own)
        if kind in part_kinds:
            ids.setdefault("part", set()).add(own)
    ids["platform"] = {entry.record.platform for (kind, _), entry in found.items() if kind == "cpu"}
    aliases = (alias for (kind, _), entry in found.items() if kind == "model" for alias in entry.record.aliases)
    ids.setdefault("model", set()).update(aliases)
    for entry in found.values():
        for path, kind, name in _references(entry.record):
            known = ids.get(kind, set())
            if name is not None and name not in known:
                yield entry.problem(path, f"unknown {kind} '{name}'", nearest(name, known))
    yield from _shared_ids(found, part_kinds)


def _shared_ids(found: Found, part_kinds: tuple[str, ...]) -> Iterator[Problem]:
    """Yield parts of different kinds under one id: prices could not tell them apart."""
    first: dict[str, str] = {}
    for (kind, name), entry in found.items():
        if kind in part_kinds and first.setdefault(name, kind) != kind:
            message = f"the id '{name}' is a {first[name]} already; prices could not tell them apart"
            yield entry.problem(("id",), message, "give one of them another id")


def _references(record: Any) -> Iterator[tuple[Key, str, str | None]]:
    if isinstance(record, Chassis):
        yield from ((("gpu_models", i), "gpu", name) for i, name in enumerate(record.gpu_models))
        yield from ((("cpu_platforms", i), "platform", name) for i, name in enumerate(record.cpu_platforms))
        yield ("topology",), "topology", record.topology
    elif isinstance(record, System):
        yield from (((kind,), kind, getattr(record, kind)) for kind in ("chassis", "gpu", "cpu"))
        yield ("dimms", "part"), "dimm", record.dimms.part
        yield ("boot", "part"), "drive", record.boot.part
        yield from ((("drives", i, "part"), "drive", inside.part) for i, inside in enumerate(record.drives))
        yield from ((("nics", i, "part"), "nic", inside.part) for i, inside in enumerate(record.nics))
    elif isinstance(record, Nic):
        yield ("optic",), "item", record.optic
        yield ("cable",), "item", record.cable
    elif isinstance(record, Cluster):
        yield from (((key,), "nic", getattr(record, key)) for key in ("front_nic", "fabric_nic"))
        yield from (((key,), "switch", getattr(record, key)) for key in ("front_switch", "fabric_switch"))
        yield ("boot_drive",), "drive", record.boot_drive
        yield from ((("lines", i, "item"), "part", line.item) for i, line in enumerate(record.lines))
    elif isinstance(record, PriceBook):
        yield from ((("prices", i, "part"), "part", price.part) for i, price in enumerate(record.prices))
    elif isinstance(record, Measured):
        yield from (((kind,), kind, getattr(record, kind)) for kind in ("model", "engine", "gpu"))
    elif isinstance(record, Efficiency):
        yield ("cache",), "cache", record.cache


def _machines(found: Found, part_kinds: tuple[str, ...]) -> Iterator[Problem]:
    """Check that GPUs plug into their chassis, whole systems into theirs, and measured layouts exist."""
    records = {kind: {n: e.record for (k, n), e in found.items() if k == kind} for kind in part_kinds}
    for entry in found.values():
        record = entry.record
        if isinstance(record, Chassis):
            for i, name in enumerate(record.gpu_models):
                fault = gpu_fault(record, records["gpu"][name])
                if fault:
                    yield entry.problem(("gpu_models", i), fault)
            named = found.get(("topology", record.topology or ""))
            for key, fault, hint in wiring_faults(record, named.record if named else None):
                yield entry.problem((key,) if key else (), fault, hint)
        elif isinstance(record, System):
            machine = Machine(
                record, records["chassis"][record.chassis], records["gpu"][record.gpu],
                records["cpu"][record.cpu], records["dimm"][record.dimms.part], records["drive"], records["nic"],
            )  # fmt: skip
            for key, fault in system_faults(machine):
                yield entry.problem((key,), fault, "correct the system, or the chassis it stands in")
        elif isinstance(record, Measured):
            yield from _measured(entry, found)


def _measured(entry: Entry, found: Found) -> Iterator[Problem]:
    record = entry.record
    model = next(e.record for (k, n), e in found.items() if k == "model" and record.model in (n, *e.record.aliases))
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("layout", lambda: Layout.parse(record.layout)),
        ("weights", lambda: model.checkpoint(record.weights)),
    )
    for key, check in checks:
        try:
            check()
        except InputError as fault:
            yield entry.problem((key,), str(fault))
    gpu = found["gpu", record.gpu].record
    if record.weights_memory_bytes + record.kv_memory_bytes > gpu.memory_bytes:
        message = f"weights and KV memory exceed the {gpu.memory_bytes / 2**30:.2f} GiB of {gpu.name}"
        yield entry.problem(("kv_memory",), message, "give the figures of one GPU")
    if record.kv_format not in model.attention[0].formats():
        hint = nearest(record.kv_format, model.attention[0].formats())
        yield entry.problem(("kv_format",), f"unknown KV format '{record.kv_format}'", hint)
