"""Lines to figures: each engine brings rules, this applies them and tells its starts apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, NamedTuple

from planner.enginelogs.base import EngineLog, EngineName, Seen, Value
from planner.enginelogs.figures import UNITS, Kind, UnreadableError, words
from planner.enginelogs.pairs import pairs
from planner.enginelogs.ranks import PROCESS, SERVICE, rank_of
from planner.enginelogs.rules import Rule
from planner.enginelogs.text import Line
from planner.registry import Registry
from planner.units import format_gib

READERS: Registry[type[Reader]] = Registry("engine with logs")

# A log of a serving day repeats itself; these many figures of a kind and rank are plenty.
MOST_OF_A_KIND = 1_000
_MOST_FAULTS = 50
_MOST_TEXT = 240
_NOTHING = ("None", "null")
_UNSET = ("auto", "-1")


@dataclass(eq=False)
class Start:
    """What one start of an engine said."""

    line: int
    opened: set[tuple[str, str]] = field(default_factory=set)
    seen: list[Seen] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)


class _Place(NamedTuple):
    """Where a figure stands."""

    start: Start
    line: Line
    rank: str


class Reader:
    """Reads the lines of one engine; one object reads one file.

    Attributes
    ----------
    engine : str
        Its name.
    rules : tuple of Rule
        All are tried on every line that holds a marker.
    kinds : mapping of str to callable
        How to read each figure.
    setting_names : mapping of str to (str, callable)
        The engine's word for a setting to ours and how to read it.
    complete : frozenset of str
        A start that said one of these got as far as its KV cache.
    """

    engine: ClassVar[EngineName]
    rules: ClassVar[tuple[Rule, ...]]
    kinds: ClassVar[Mapping[str, Kind]]
    setting_names: ClassVar[Mapping[str, tuple[str, Kind]]]
    complete: ClassVar[frozenset[str]]

    def __init__(self) -> None:
        self.starts: list[Start] = []
        self.services: set[str] = set()

    def read(self, line: Line) -> None:
        """Take in one line."""
        for rule in self.rules:
            if rule.marker in line.text:
                if service := SERVICE.match(line.text):
                    self.services.add(service[1])
                if match := rule.match(line.text):
                    self._take(rule, match, line)

    def _take(self, rule: Rule, match: re.Match[str], line: Line) -> None:
        rank = rank_of(line.text[: match.start()])
        start = self._start(rule, line) if rule.opens or not self.starts else self.starts[-1]
        if rule.fault:
            self._fault(start, match[0].strip()[:_MOST_TEXT], line.number)
        if self._plenty(rule, rank, start):
            return
        place = _Place(start, line, rank)
        found = [*self._figures(rule, match, place), *(self._settings(match, place) if rule.settings else ())]
        for seen in self.finish(found):
            key = (seen.what, seen.rank)
            start.counts[key] = start.counts.get(key, 0) + 1
            if start.counts[key] <= MOST_OF_A_KIND:
                start.seen.append(seen)

    def _plenty(self, rule: Rule, rank: str, start: Start) -> bool:
        """Count a line of which there are enough, unread."""
        keys = [(what, rank) for what in rule.expression.groupindex if what != "unit"]
        if not keys or any(start.counts.get(key, 0) < MOST_OF_A_KIND for key in keys):
            return False
        for key in keys:
            start.counts[key] += 1
        return True

    def _figures(self, rule: Rule, match: re.Match[str], place: _Place) -> Iterator[Seen]:
        groups = match.groupdict()
        unit = groups.pop("unit", None) or ""
        for what, text in groups.items():
            if text is None or (match.end(what) == len(place.line.text) and not place.line.whole):
                continue
            kind = rule.kinds.get(what) or self.kinds[what]
            yield from self._figure(what, kind, (text, unit), match[0], place)

    def _settings(self, match: re.Match[str], place: _Place) -> Iterator[Seen]:
        for key, text in pairs(place.line.text[match.end() :].lstrip(), whole=place.line.whole):
            what, kind = self.setting_names.get(key, ("", words))
            if what and (kind is words or text not in _UNSET) and text not in _NOTHING:
                yield from self._figure(what, kind, _with_unit(text, kind), f"{key}={text}", place)

    def _figure(self, what: str, kind: Kind, text: tuple[str, str], shown: str, place: _Place) -> Iterator[Seen]:
        try:
            value, low, high = kind(*text)
        except UnreadableError as fault:
            self._fault(place.start, f"{what} cannot be read: {fault}", place.line.number)
            return
        yield Seen(what, value, place.line.number, shown.strip()[:_MOST_TEXT], place.rank, low, high)

    def finish(self, found: list[Seen]) -> list[Seen]:
        """Return the figures of one line with what follows from them; engines may rename them."""
        return found

    def restart(self) -> None:
        """Forget what was kept of the start before."""

    def notes(self, start: Start) -> Iterator[str]:
        """Yield what to know about the figures of `start`."""
        return iter(())

    def _fault(self, start: Start, text: str, number: int) -> None:
        if len(start.faults) < _MOST_FAULTS:
            start.faults.setdefault(text, number)

    def _start(self, rule: Rule, line: Line) -> Start:
        """Return the start that an opening line belongs to: a word said twice by one process opens the next."""
        process = PROCESS.findall(line.text[: line.text.find(rule.marker)])
        key = (rule.marker, process[-1][0] if process else "")
        current = self.starts[-1] if self.starts else None
        if current is None or (rule.opens and self._renews(rule, key, current)):
            self.restart()
            current = Start(line.number)
            self.starts.append(current)
        if rule.opens:
            current.opened.add(key)
        return current

    def _renews(self, rule: Rule, key: tuple[str, str], current: Start) -> bool:
        order = [known.marker for known in self.rules if known.opens]
        later = {marker for marker, _ in current.opened if order.index(marker) > order.index(rule.marker)}
        return (
            key in current.opened
            or (not current.opened and bool(current.seen))
            or bool(later and rule.marker == order[0])
        )

    def log(self, path: str) -> EngineLog | None:
        """Return what was read: the last complete start, else the last; None without any figure."""
        told = [start for start in self.starts if start.seen or start.faults]
        if not told:
            return None
        whole = [start for start in told if any(seen.what in self.complete for seen in start.seen)]
        chosen = whole[-1] if whole else told[-1]
        versions = [seen.value for seen in chosen.seen if seen.what == "version"]
        return EngineLog(
            engine=self.engine,
            path=path,
            seen=tuple(chosen.seen),
            version=str(versions[-1]) if versions else "",
            starts=len(told),
            complete=bool(whole),
            faults=tuple(f"line {number}: {text}" for text, number in chosen.faults.items()),
            notes=(
                *self._start_notes(told, chosen, bool(whole)),
                *self.notes(chosen),
                *_repeats(chosen, self.complete),
                *_differences(chosen),
            ),
        )

    def _start_notes(self, told: list[Start], chosen: Start, complete: bool) -> Iterator[str]:
        if not complete:
            yield "no start in this log got as far as its KV cache"
        if len(self.services) > 1:
            mixed = ", ".join(sorted(self.services)[:4])
            yield f"lines of several services stand between each other ({mixed}): part them"
        if len(told) > 1:
            yield f"{len(told)} starts in this log; the figures are of the one from line {chosen.line}"
        for start in told[told.index(chosen) + 1 :]:
            why = next((f": line {number}: {text}" for text, number in start.faults.items()), "")
            yield f"the start from line {start.line} did not get as far as its KV cache{why}"
        for (what, rank), number in chosen.counts.items():
            if number > MOST_OF_A_KIND:
                yield f"{what}{f' of {rank}' if rank else ''}: the first {MOST_OF_A_KIND:,} of {number:,} were read"


def _with_unit(text: str, kind: Kind) -> tuple[str, str]:
    number, _, unit = text.partition(" ")
    return (number, unit) if unit and unit in UNITS and kind is not words else (text, "")


def _differences(start: Start) -> Iterator[str]:
    """Yield the figures whose ranks do not agree."""
    ranks: dict[str, dict[str, int | Fraction]] = {}
    for seen in start.seen:
        if seen.rank and not isinstance(seen.value, str):
            ranks.setdefault(seen.what, {})[seen.rank] = seen.value
    for what, values in ranks.items():
        if len(set(values.values())) > 1 and not what.startswith(("store_", "retrieve_")):
            least, most = min(values, key=lambda rank: values[rank]), max(values, key=lambda rank: values[rank])
            shown = format_gib if what.endswith("_bytes") else str
            yield f"{what} differs between ranks: {shown(values[least])} ({least}) to {shown(values[most])} ({most})"


def _repeats(start: Start, complete: frozenset[str]) -> Iterator[str]:
    """Yield what one process said twice in one start: the openings of further starts may be missing."""
    said: dict[tuple[str, str], set[Value]] = {}
    for seen in start.seen:
        if seen.what in complete:
            said.setdefault((seen.what, seen.rank), set()).add(seen.value)
    for (what, rank), values in said.items():
        if len(values) > 1 and not what.startswith(("store_", "retrieve_")):
            shown = ", ".join(sorted(map(str, values))[:4])
            yield f"{what}{f' of {rank}' if rank else ''} is said differently ({shown}): lines of several starts?"


def markers() -> tuple[str, ...]:
    """Return the markers of all engines' rules."""
    return tuple(dict.fromkeys(rule.marker for reader in READERS.values() for rule in reader.rules))
