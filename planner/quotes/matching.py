"""Which part a line means: by number, name or alias, or as the buyer settled it. Likeness only proposes."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from planner.errors import InputError, nearest
from planner.hardware import Catalog, Chassis
from planner.quotes.cells import CellProblem, Sheet, cell_name
from planner.quotes.lines import Line
from planner.quotes.numbers import wide

_LEAST_NUMBER = 5
"""Characters of a part number that stands for itself; feature codes of four mean other things in other quotes."""
_MOST_NEAREST = 3
_MOST_COMPARED = 12
_OPTION = re.compile(r"(#[0-9A-Za-z]{2,4}|[ _]0D1)$")
"""What vendors put behind a number for a language or for assembly at the factory: ``#ABA``, `` 0D1``."""


def key_of(text: str) -> str:
    """Return text as it is compared: without case, width, spaces and signs."""
    return re.sub(r"[\W_]+", "", wide(text).casefold().replace("+", "plus"))


def is_number(text: str) -> bool:
    """Return whether `text` is a part number that means the same in every quote of its seller."""
    key = key_of(text)
    return len(key) >= _LEAST_NUMBER and any(char.isdigit() for char in key) and " " not in wide(text)


def _bare(text: str) -> str:
    """Return a number without the option that a vendor puts behind it."""
    return _OPTION.sub("", text.strip())


@dataclass(frozen=True)
class Target:
    """A part, and how many of it one piece of the quote holds."""

    part: str
    pieces: int = 1


@dataclass(frozen=True)
class Match:
    """What a line was taken for.

    Attributes
    ----------
    target : Target or None
        None where nothing or more than one thing matches.
    how : str
        ``part id``, ``maker's number``, ``vendor's number``, ``name``, ``alias`` or ``--map``.
    candidates : tuple of str
        Parts between which nothing decides, or the nearest ones where nothing matches.
    numbers : tuple of str
        What the seller orders the part under: numbers of the line that are not its maker's.
    """

    line: Line
    target: Target | None
    how: str = ""
    candidates: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


@dataclass
class Settled:
    """What the buyer settled, and which of it was used.

    Attributes
    ----------
    maps : mapping of str to Target
        By the text of a cell.
    ignores : tuple of str
        Texts of cells, or places: ``12``, ``B12``, ``Sheet1!12``.
    strict : frozenset of str
        Those that must have an effect: of the command line, not of a file that serves several quotes.
    left_out : list of str
        Rows that were ignored, by place.
    """

    maps: Mapping[str, Target] = field(default_factory=dict)
    ignores: tuple[str, ...] = ()
    strict: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)

    def target(self, texts: Iterable[str]) -> Target | None:
        """Return what one of the texts is mapped to."""
        by_key = {key_of(text): text for text in self.maps}
        for text in texts:
            for word in (text, _bare(text)):
                written = by_key.get(key_of(word))
                if written is not None and key_of(word):
                    self.used.add(written)
                    return self.maps[written]
        return None

    def ignored(self, sheet: Sheet, row: int, texts: list[str]) -> bool:
        """Return whether a row is to be left out."""
        here = {str(row), f"{sheet.name}!{row}".casefold()}
        here |= {cell_name(row, c).casefold() for c in sheet.row(row)}
        here |= {f"{sheet.name}!{cell_name(row, c)}".casefold() for c in sheet.row(row)}
        keys = {key_of(text) for text in texts}
        for text in self.ignores:
            # A number alone is a row: as a text it would be any quantity.
            named = not text.strip().isdigit() and key_of(text) in keys - {""}
            if named or text.strip().casefold() in here:
                self.used.add(text)
                self.left_out.append(f"{sheet.name}!{row}" if sheet.name else str(row))
                return True
        return False

    def unused(self) -> list[str]:
        """Return what was given for this quote and is not in it."""
        return sorted(self.strict - self.used)


class Names:
    """Every name that a part of the catalogue goes by.

    A chassis that is sold as a complete system only has no price of its own, so no line means it.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.by: dict[str, dict[str, set[str]]] = {
            how: {} for how in ("part id", "maker's number", "vendor's number", "name", "alias")
        }
        self.names: dict[str, str] = {}
        self.parts_with: dict[str, list[str]] = {}
        for part in self._parts(catalog):
            self.names[part.id] = part.name
            for word in set(_words(f"{part.name} {part.id}")):
                self.parts_with.setdefault(word, []).append(part.id)
            self._add("part id", part.id, part.id)
            for number in part.part_numbers:
                self._add("maker's number", number, part.id)
            for name in _short_names(part):
                self._add("name", name, part.id)
            for alias in part.aliases:
                self._add("alias", alias, part.id)
        for book in catalog.books.values():
            for price in book.prices:
                for number in filter(is_number, price.part_numbers):
                    self._add("vendor's number", number, price.part)

    @staticmethod
    def _parts(catalog: Catalog) -> Iterator[Any]:
        for by_id in catalog.parts.values():
            yield from (p for p in by_id.values() if not (isinstance(p, Chassis) and p.whole_system))

    def _add(self, how: str, text: str, part: str) -> None:
        if key_of(text):
            self.by[how].setdefault(key_of(text), set()).add(part)

    def find(self, line: Line) -> Match:
        """Return what a line means: the part that all cells which are known agree on, and no other."""
        told: list[dict[str, str]] = []
        for name, text in line.names:
            found = self._asked(name, text)
            if found and name == "part":
                told = [found]
                break
            told += [found] if found else []
        if not told:
            inside = {part: how for how, part in self._inside(line)}
            told = [inside] if inside else []
        if not told:
            return Match(line, None, "nothing", tuple(self.nearest(line)))
        agreed = set.intersection(*(set(one) for one in told))
        if len(agreed) == 1:
            (part,) = agreed
            return Match(line, Target(part), next(one[part] for one in told))
        every = dict.fromkeys(part for one in told for part in one)
        return Match(line, None, "ambiguous", tuple(every))

    def _asked(self, name: str, text: str) -> dict[str, str]:
        """Return the parts that a cell may mean, with how; sellers put numbers and names into each other's columns."""
        ways: tuple[tuple[str, str], ...] = (("part id", text),)
        if name != "part":
            numbers = [(how, word) for word in (text, _bare(text)) for how in ("maker's number", "vendor's number")]
            ways = (*numbers, ("name", text), ("part id", text), ("alias", text))
        found: dict[str, str] = {}
        for how, word in ways:
            for part in sorted(self.by[how].get(key_of(word), ())):
                found.setdefault(part, how)
        return found

    def _inside(self, line: Line) -> Iterator[tuple[str, str]]:
        """Yield parts whose number is a word in the middle of a text."""
        for _, text in line.names:
            for word in re.findall(r"[0-9A-Za-z][0-9A-Za-z\-./#]+", wide(text)):
                if not is_number(word):
                    continue
                for how in ("maker's number", "vendor's number"):
                    yield from ((how, part) for part in sorted(self.by[how].get(key_of(word), ())))

    def sellers(self, match: Match) -> Iterator[str]:
        """Yield the numbers of a line that are its seller's own."""
        part = match.target.part if match.target else ""
        known = [by.get for how, by in self.by.items() if how != "vendor's number"]
        for name, text in match.line.names:
            if name == "number" and is_number(text) and not any(part in get(key_of(text), ()) for get in known):
                yield text

    def nearest(self, line: Line) -> list[str]:
        """Return the parts that look most like a line, the likest first: by words in common, then by letters."""
        shared: Counter[str] = Counter()
        for word in set(_words(line.text)):
            weight = len(word) + 3 * any(char.isdigit() for char in word)
            shared.update(dict.fromkeys(self.parts_with.get(word, ()), weight))
        text = key_of(line.text)[:80]
        scores = [
            (-count, -difflib.SequenceMatcher(None, text, key_of(self.names[part])[:80]).ratio(), part)
            for part, count in sorted(shared.items(), key=lambda one: (-one[1], one[0]))[:_MOST_COMPARED]
        ]
        return [part for *_, part in sorted(scores)[:_MOST_NEAREST]]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+\d[a-z0-9.]*|\d+(?:\.\d+)?|[a-z]{2,}", wide(text).casefold())


def _short_names(part: Any) -> Iterator[str]:
    """Yield a part's name, without its maker, and without what stands in brackets at its end."""
    name, vendor = part.name, getattr(part, "vendor", "")
    for text in dict.fromkeys((name, re.sub(r"\s*\([^()]*\)$", "", name))):
        yield text
        if vendor and text.casefold().startswith(f"{vendor.casefold()} "):
            yield text[len(vendor) + 1 :]


def match_lines(lines: Iterable[Line], catalog: Catalog, settled: Settled) -> list[Match]:
    """Return what each line means; what the buyer settled goes before all else."""
    names = Names(catalog)
    found = []
    for line in lines:
        target = settled.target(text for _, text in line.names)
        match = Match(line, target, "--map") if target else names.find(line)
        found.append(replace(match, numbers=tuple(names.sellers(match))))
    return found


def match_problems(matches: Iterable[Match]) -> list[CellProblem]:
    """Return the priced lines of which it is not clear what they are."""
    problems = []
    for match in matches:
        if match.target is not None or not match.line.priced:
            continue
        text = match.line.text
        # Of several the reader chooses: the likest may well be another thing.
        example = match.candidates[0] if len(match.candidates) == 1 else "PART"
        cell = next((text for _, text in match.line.names), "")
        hint = f'settle it with --map "{cell[:60]}={example}", or leave it out with --ignore "{cell[:60]}"'
        if match.how == "ambiguous":
            message = f"'{text[:80]}' may be {' or '.join(match.candidates)}"
        else:
            near = f"; nearest: {', '.join(match.candidates)}" if match.candidates else ""
            message = f"'{text[:80]}' is no part of the catalogue by number, name or alias{near}"
        column = _name_column(match.line)
        problems.append(match.line.problem(message, hint, column))
    return problems


def _name_column(line: Line) -> int:
    cells = line.sheet.row(line.row)
    first = line.names[0][1]
    return next((column for column, cell in cells.items() if cell.text == first), line.price_column)


def parse_target(text: str, catalog: Catalog) -> Target:
    """Read ``h200-sxm`` or ``8 x h200-sxm``: one piece of the quote holds eight.

    Raises
    ------
    InputError
        If there is no such part.
    """
    match = re.fullmatch(r"\s*(?:(\d{1,5})\s*[x×*]\s+)?(\S+)\s*", text)
    name, pieces = (match[2], int(match[1] or 1)) if match else (text, 1)
    if match is None or pieces < 1 or catalog.find(name) is None:
        every = [part for by_id in catalog.parts.values() for part in by_id]
        raise InputError(f"unknown part '{name}'; {nearest(name, every)}")
    return Target(name, pieces)
