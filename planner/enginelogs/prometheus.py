"""Metrics in Prometheus' text form: samples with their labels and lines, and the histograms among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from planner.enginelogs.text import blocks_of_file, decoded, lines
from planner.errors import InputError, Problem

_NAME = r"[A-Za-z_:][A-Za-z0-9_:]*"
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_SAMPLE = re.compile(rf"(?P<name>{_NAME})(?:\{{(?P<labels>.*)\}})?\s+(?P<value>\S+)(?:\s+-?[\d.]+)?(?:\s+#.*)?\s*")
# Exponents are bounded: a number is written out in full.
_NUMBER = re.compile(r"\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,2})?")
_PARTS = ("_sum", "_count", "_bucket")
_MOST_FAULTS = 20


@dataclass(frozen=True)
class Sample:
    """One number of a metric, with its labels and its line counted from 1."""

    name: str
    labels: Mapping[str, str]
    value: Fraction
    line: int


@dataclass
class Histogram:
    """A histogram of one set of labels.

    Attributes
    ----------
    name : str
        Without ``_sum`` and the like.
    sum, count : Fraction
        Of all that was counted.
    bounds : list of (Fraction or None, Fraction)
        Upper bound, None for infinity, and how many lie at or below it.
    line : int
        Where its sum stands.
    """

    name: str
    labels: Mapping[str, str]
    sum: Fraction = Fraction(0)
    count: Fraction = Fraction(0)
    bounds: list[tuple[Fraction | None, Fraction]] = field(default_factory=list)
    line: int = 0

    @property
    def span(self) -> tuple[Fraction, Fraction | None]:
        """The bounds of the lowest and of the highest bucket that holds something; None where it has no end."""
        full: list[tuple[Fraction, Fraction | None]] = []
        below, before = Fraction(0), Fraction(0)
        for bound, upto in sorted(self.bounds, key=lambda pair: (pair[0] is None, pair[0] or 0)):
            if upto > before:
                full.append((below, bound))
            below, before = bound or below, upto
        return (full[0][0], full[-1][1]) if full else (Fraction(0), None)


def read_metrics(path: Path, prefixes: tuple[str, ...]) -> tuple[Sample, ...]:
    """Return the samples whose name starts with one of `prefixes`; what else a server tells is not looked at.

    Raises
    ------
    InputError
        If the file cannot be read, a line of such a metric cannot, or there is none; all lines at once.
    """
    found, problems = [], []
    try:
        for line in lines(decoded(blocks_of_file(path))):
            text = line.text.strip()
            if text.startswith(prefixes):
                try:
                    found.append(_sample(text, line.number))
                except ValueError as fault:
                    problems.append(
                        Problem(str(path), line.number, 1, str(fault), "expected 'name{label=\"…\"} number'")
                    )
    except OSError as fault:
        raise InputError([Problem(str(path), 0, 0, f"cannot be read: {fault.strerror}")]) from None
    if not found and not problems:
        hint = f"looked for {', '.join(f'{prefix}…' for prefix in prefixes)}"
        problems.append(Problem(str(path), 0, 0, "holds none of the metrics that say a speed", hint))
    if problems:
        raise InputError(problems[:_MOST_FAULTS])
    return tuple(found)


def _sample(text: str, number: int) -> Sample:
    match = _SAMPLE.fullmatch(text)
    if match is None:
        raise ValueError(f"found '{text[:80]}', which is no metric with a number")
    if not _NUMBER.fullmatch(match["value"]):
        raise ValueError(f"'{match['name']}' has the value '{match['value'][:40]}', expected a number of 0 or more")
    return Sample(match["name"], _labels(match["labels"] or ""), Fraction(match["value"]), number)


def _labels(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while text[at:].strip():
        match = _LABEL.match(text, at)
        if match is None:
            raise ValueError(f"found '{text[at : at + 40]}' among the labels, expected 'label=\"value\"'")
        found[match[1]] = match[2]
        at = match.end()
    return found


def histograms(samples: Iterable[Sample]) -> Iterator[Histogram]:
    """Yield the histograms that counted something, one for each set of labels."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Histogram] = {}
    for sample in samples:
        part = next((end for end in _PARTS if sample.name.endswith(end)), "")
        if not part:
            continue
        labels = {key: value for key, value in sample.labels.items() if key != "le"}
        name = sample.name.removesuffix(part)
        one = found.setdefault((name, tuple(sorted(labels.items()))), Histogram(name, labels))
        if part == "_bucket":
            bound = sample.labels.get("le", "")
            one.bounds.append((Fraction(bound) if _NUMBER.fullmatch(bound) else None, sample.value))
        elif part == "_sum":
            one.sum, one.line = sample.value, sample.line
        else:
            one.count = sample.value
    yield from (one for one in found.values() if one.count and one.sum)
