"""CSV files of measured throughput: rows of our own columns, or what AIConfigurator writes.

Every fault is told at once with line and column. Of AIConfigurator's files only what a replica of ours
can be is read: aggregated serving, layouts and GPUs that the catalogue knows. The rest is left out
and said, since such files list whatever was searched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from planner.datafiles import data_folder, shown_name
from planner.documents import Document
from planner.errors import InputError, Problem, nearest
from planner.layout import Layout
from planner.loading import Shelf
from planner.scenario import Scenario
from planner.throughput import Row, Throughput

REQUIRED = ("gpu", "layout", "input", "output", "concurrency", "tokens_per_s")
OPTIONAL = ("model", "engine", "weights", "kv_format", "prefix", "ttft_ms", "tpot_ms", "note")
AICONFIGURATOR = ("model", "system", "isl", "osl", "concurrency", "tokens/s", "tp", "pp", "dp", "moe_tp", "moe_ep")
_APART = "(p)tp"
_LARGEST = 10**9
_SYSTEMS = {"b200-sxm": "b200", "b300-sxm": "b300", "rtx-pro-6000-server": "rtx-pro-6000"}
"""Systems that AIConfigurator calls otherwise than by our id with ``_`` for ``-``."""


@dataclass(frozen=True)
class Cell:
    """A field of a line, with the column at which it starts."""

    text: str
    column: int


def read_throughput(path: Path, model: str, shelf: Shelf | None) -> Throughput:
    """Read the measurements at `path`.

    Parameters
    ----------
    model : str
        Id of the model of rows that name none.
    shelf : Shelf or None
        Whose models, GPUs and engines rows may name; None leaves names unchecked.

    Raises
    ------
    InputError
        With every problem found.
    """
    name = shown_name(path)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as fault:
        raise InputError([Problem(name, 0, 0, f"cannot be read: {fault.strerror}")]) from None
    except UnicodeDecodeError as fault:
        raise InputError([Problem(name, 1, 1, f"is not UTF-8 text ({fault.reason})", "save it as UTF-8")]) from None
    reader = _Reader(name, model, shelf)
    rows, form = reader.read(text)
    if reader.problems:
        raise InputError(reader.problems)
    if not rows:
        why = "; ".join(reader.left_out) or "write one line per measurement below the names of the columns"
        raise InputError([Problem(name, 1, 1, "holds no measurement that can be used", why)])
    return Throughput(name, hashlib.sha256(data).hexdigest()[:12], form, tuple(rows), tuple(reader.left_out))


def with_measurements(document: Document, scenario: Scenario, shelf: Shelf | None, problems: list[Problem]) -> Scenario:
    """Return the scenario with what its file of measurements holds, if it names one; tell what is wrong in it."""
    name = scenario.service.measured if scenario.service else None
    if name is None:
        return scenario
    path = _beside(Path(name), document.mark(("service", "measured")).file)
    if not path.is_file():
        problems.append(document.problem(("service", "measured"), f"'measured': there is no file '{name}'"))
        return scenario
    model = shelf.models[scenario.model].id if shelf and scenario.model in shelf.models else scenario.model
    try:
        return replace(scenario, throughput=read_throughput(path, model, shelf))
    except InputError as fault:
        problems.extend(fault.problems)
        return scenario


def _beside(path: Path, file: str) -> Path:
    """Return a file that a scenario's names: beside it, shipped or not, else where the command was given."""
    name = Path(file)
    folders = [] if file.startswith("--") else [name.parent, data_folder("scenarios").parent / name.parent]
    return next((folder / path for folder in folders if (folder / path).is_file()), path)


def cells(line: str) -> list[Cell]:
    """Return the fields of a line; a field in quotes may hold commas, and quotes twice."""
    found, at = [], 0
    while at <= len(line):
        start, text = at, ""
        if line[at : at + 1] == '"':
            at += 1
            while at < len(line):
                if line[at] == '"' and line[at + 1 : at + 2] != '"':
                    break
                at += line[at] == '"'
                text += line[at]
                at += 1
            at += 1
        end = line.find(",", at)
        end = len(line) if end < 0 else end
        found.append(Cell((text + line[at:end]).strip(), start + 1))
        at = end + 1
    return found


class _Reader:
    """One file: its columns, then its rows."""

    def __init__(self, name: str, model: str, shelf: Shelf | None) -> None:
        self.name, self.model, self.shelf = name, model, shelf
        self.problems: list[Problem] = []
        self.left_out: list[str] = []

    def read(self, text: str) -> tuple[list[Row], str]:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and line[:1] != "#"]
        if not lines:
            self._tell(1, 1, "is empty", f"start with the columns {', '.join(REQUIRED)}")
            return [], ""
        first, header = lines[0][0], cells(lines[0][1])
        names = [cell.text for cell in header]
        theirs = {"isl", "osl"} <= set(names)
        if theirs and _APART in names:
            message = "prefill and decode run on GPUs of their own here, which is no replica of this planner"
            self._tell(first, header[names.index(_APART)].column, message, "export the rows of aggregated serving")
            return [], ""
        self._check_columns(first, header, theirs)
        if self.problems:
            return [], ""
        of_line = self._theirs if theirs else self._ours
        read = [row for n, line in lines[1:] if (row := self._line(n, cells(line), names, of_line)) is not None]
        return read, "AIConfigurator" if theirs else "rows"

    def _tell(self, line: int, column: int, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.name, line, column, message, hint))

    def _check_columns(self, line: int, header: Sequence[Cell], theirs: bool) -> None:
        wanted = AICONFIGURATOR if theirs else REQUIRED
        known = wanted if theirs else (*REQUIRED, *OPTIONAL)
        names = [cell.text for cell in header]
        for i, cell in enumerate(header):
            if cell.text in names[:i]:
                self._tell(line, cell.column, f"the column '{cell.text}' stands twice", "remove one of them")
            elif cell.text not in known and not theirs:
                self._tell(line, cell.column, f"unknown column '{cell.text}'", nearest(cell.text, known))
        for name in wanted:
            if name not in names:
                hint = nearest(name, names) if theirs else f"columns: {', '.join(REQUIRED)}; {', '.join(OPTIONAL)}"
                self._tell(line, 1, f"the column '{name}' is missing", hint)

    def _line(
        self, n: int, found: Sequence[Cell], names: Sequence[str], of_line: Callable[[_Line], Row | None]
    ) -> Row | None:
        if len(found) != len(names):
            at = found[min(len(found), len(names) + 1) - 1].column
            self._tell(n, at, f"found {len(found)} fields, expected {len(names)}, one per column", "check the commas")
            return None
        line = _Line(self, n, dict(zip(names, found, strict=True)))
        before = len(self.problems)
        row = of_line(line)
        return row if len(self.problems) == before else None

    # Our own columns

    def _ours(self, line: _Line) -> Row | None:
        shelf = self.shelf
        model = line.known("model", shelf.models if shelf else None, "model") or self.model
        engines = shelf.engines.engines if shelf else None
        words = {**engines, **{engine.name.lower(): engine for engine in engines.values()}} if engines else None
        return self._row(
            line, shelf.model(model).id if shelf and model in shelf.models else model,
            line.known("gpu", shelf.catalog.gpus() if shelf else None, "GPU"), line.layout("layout"),
            ("input", "output", "prefix", "concurrency", "tokens_per_s", "ttft_ms", "tpot_ms"),
            line.known("engine", words, "engine", lower=True), line.text("weights"), line.text("kv_format"),
        )  # fmt: skip

    # AIConfigurator's columns

    def _theirs(self, line: _Line) -> Row | None:
        shelf, name = self.shelf, line.text("model")
        models = {key.lower(): model.id for key, model in shelf.models.items()} if shelf else {}
        model = models.get(name.lower(), "" if shelf else name)
        if shelf and not model:
            self._leave(line, f"the catalogue has no model '{name}'")
            return None
        system = line.text("system").replace("_", "-")
        gpu = _SYSTEMS.get(system, system)
        if shelf and gpu not in shelf.catalog.gpus():
            self._leave(line, f"the catalogue has no GPU '{gpu}'")
            return None
        layout = self._their_layout(line)
        if layout is None:
            return None
        columns = ("isl", "osl", "prefix", "concurrency", "tokens/s", "ttft", "tpot")
        return self._row(line, model, gpu, layout, columns, line.text("backend"), "", "")

    def _their_layout(self, line: _Line) -> str | None:
        tensor, stages, data, split, spread = (
            int(line.number(key, whole=True, least=1) or 1) for key in ("tp", "pp", "dp", "moe_tp", "moe_ep")
        )
        if spread > 1 and (split > 1 or spread != tensor * data):
            self._leave(line, f"experts over {spread} x {split} of {tensor * data} ranks are no layout here")
            return None
        if data > 1 and spread == 1:
            self._leave(line, "data-parallel attention with experts that are split is no layout here")
            return None
        return Layout(tp=tensor, dp=data, pp=stages, ep=spread).name

    def _leave(self, line: _Line, why: str) -> None:
        self.left_out.append(f"line {line.n}: {why}")

    def _row(
        self, line: _Line, model: str, gpu: str, layout: str, columns: Sequence[str], engine: str, weights: str, kv: str
    ) -> Row:  # fmt: skip
        isl, osl, prefix, concurrency, rate, first, between = columns
        given, cached = line.number(isl, whole=True, least=1), line.number(prefix, whole=True, optional=True)
        if cached is not None and given is not None and cached > given:
            line.tell(prefix, f"found {int(cached)}, more than the {int(given)} tokens of '{isl}'")
        wait, gap = (line.number(key, optional=True) for key in (first, between))
        return Row(
            line.n, model, gpu, layout, int(given or 1), int(line.number(osl, whole=True, least=1) or 1),
            int(line.number(concurrency, whole=True, least=1) or 1), line.number(rate, above=True) or Fraction(1),
            int(cached or 0), wait / 1000 if wait else None, gap / 1000 if gap else None, engine, weights, kv,
        )  # fmt: skip


@dataclass(frozen=True)
class _Line:
    """One line by column."""

    reader: _Reader
    n: int
    cells: Mapping[str, Cell]

    def tell(self, column: str, message: str, hint: str = "") -> None:
        self.reader._tell(self.n, self.cells[column].column, f"'{column}': {message}", hint)

    def text(self, column: str) -> str:
        return self.cells[column].text if column in self.cells else ""

    def known(self, column: str, names: Mapping[str, object] | None, what: str, lower: bool = False) -> str:
        text = self.text(column)
        if (not text and column in OPTIONAL) or names is None:
            return text
        if (text.lower() if lower else text) not in names:
            self.tell(column, f"unknown {what} '{text}'", nearest(text, names))
        return text

    def layout(self, column: str) -> str:
        try:
            return Layout.parse(self.text(column)).name
        except InputError as fault:
            self.tell(column, str(fault))
            return "tp1"

    def number(
        self, column: str, *, whole: bool = False, least: int = 0, above: bool = False, optional: bool = False
    ) -> Fraction | None:
        text = self.text(column)
        if optional and not text:
            return None
        kind = "a whole number" if whole else "a plain number"
        found = _plain(text)
        if found is None or (whole and found.denominator != 1):
            self.tell(column, f"found '{text}', expected {kind} such as {'1024' if whole else '812.5'}")
            return None
        if found < least or (above and not found) or found > _LARGEST:
            bound = "above 0" if above else f"of at least {least}"
            self.tell(column, f"found {text}, expected {kind} {bound} and at most {_LARGEST:,}")
            return None
        return found


def _plain(text: str) -> Fraction | None:
    digits = text.replace(".", "", 1)
    return Fraction(text) if digits.isascii() and digits.isdigit() and not text.endswith(".") else None
