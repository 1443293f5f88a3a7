"""Gaps between a session's turns: how many come back within an age, and how much idle time lies within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from planner.fields import Seconds, Share, record


@record
class GapPoint:
    """One age since a session's last turn.

    Attributes
    ----------
    age_s : Fraction
        Seconds.
    returned_fraction : Fraction
        Share of turns that come within it after the last one.
    idle_fraction : Fraction or None
        Share of the idle time of open sessions within it; None where it was not measured.
    """

    age_s: Seconds
    returned_fraction: Share
    idle_fraction: Share | None = None


@dataclass(frozen=True)
class Gaps:
    """A distribution of gaps.

    Attributes
    ----------
    points : sequence of GapPoint
        By age.
    coming_back : sequence of (age, share)
        Of sessions idle for so many seconds the share that ever comes back; empty where not measured.
    """

    points: Sequence[GapPoint]
    coming_back: Sequence[tuple[int, Fraction]] = ()

    def returned(self, age_s: Fraction) -> Fraction:
        """Return the share of turns within `age_s`: linear between points, beyond the last as there.

        Fewer return soon the longer the gap, so a straight line is below the curve: more turns
        count as late than do.
        """
        return _between([(point.age_s, point.returned_fraction) for point in self.points], age_s)

    def idle(self, age_s: Fraction) -> Fraction | None:
        """Return the share of idle time within `age_s`, linear between points; None where not measured."""
        known = [(point.age_s, point.idle_fraction) for point in self.points if point.idle_fraction is not None]
        return _between(known, age_s) if known else None

    def comes_back(self, idle_s: Fraction) -> Fraction:
        """Return the share of sessions idle so long that ever come back: as measured at the age before, else all."""
        shares = [share for age, share in self.coming_back if age <= idle_s]
        return shares[-1] if shares else Fraction(1)

    @property
    def last_age_s(self) -> Fraction:
        """The greatest age that was measured."""
        return self.points[-1].age_s


def _between(points: Sequence[tuple[Fraction, Fraction]], age_s: Fraction) -> Fraction:
    earlier = (Fraction(0), Fraction(0))
    for age, share in points:
        if age_s <= age:
            return earlier[1] + (age_s - earlier[0]) / (age - earlier[0]) * (share - earlier[1])
        earlier = (age, share)
    return earlier[1]


def _points(*rows: tuple[int, str, Fraction | None]) -> tuple[GapPoint, ...]:
    return tuple(
        GapPoint(age_s=Fraction(age), returned_fraction=Fraction(p), idle_fraction=idle) for age, p, idle in rows
    )


def _shares(percents: dict[int, int]) -> tuple[tuple[int, Fraction], ...]:
    return tuple((age, Fraction(percent, 100)) for age, percent in percents.items())


MEASURED = {
    "agentic-coding": Gaps(
        _points(
            (60, "0.808", Fraction(105, 953)),
            (300, "0.930", Fraction(232, 953)),
            (900, "0.970", Fraction(361, 953)),
            (3600, "0.994", Fraction(570, 953)),
            (14400, "0.998", Fraction(750, 953)),
        ),
        _shares({60: 93, 300: 83, 900: 67, 1800: 54, 3600: 28, 7200: 16, 14400: 10, 43200: 3, 86400: 0}),
    ),
    "conversation": Gaps(_points((60, "0.21", None), (300, "0.78", None), (900, "0.98", None), (1800, "0.99", None))),
}
"""``agentic-coding``: 710 sessions of kv-cache-tester (WEKA, 2026), whose 4.7 % in flight are left out
of the idle time. ``conversation``: Mooncake's conversation trace (FAST'25), turns linked by their
prefixes and censored after an hour, so that idle time cannot be read off it."""


def faults(points: Sequence[GapPoint]) -> list[str]:
    """Return what is wrong with a table of gaps."""
    found = []
    for earlier, later in pairwise(points):
        if later.age_s <= earlier.age_s:
            found.append("ages must grow from row to row")
        if later.returned_fraction < earlier.returned_fraction:
            found.append("more turns come within a greater age, not fewer")
        if (later.idle_fraction or 0) < (earlier.idle_fraction or 0) and later.idle_fraction is not None:
            found.append("more idle time lies within a greater age, not less")
    if points and points[0].age_s == 0:
        found.append("the first age must be above 0")
    if any(share > 1 for point in points for share in (point.returned_fraction, point.idle_fraction or 0)):
        found.append("a share cannot exceed 100 %")
    return list(dict.fromkeys(found))
