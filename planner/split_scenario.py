"""Scenarios of rented instances with traffic split freely: a measured profile instead of sessions.

A second kind of scenario file, told by `service.profile`. It has no memory tiers: a session's KV
cache is where the session is, and a free split sends each request anywhere. A fleet with both would
assign sessions to instances by class, in whole numbers; that is not built in, so both together are
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from typing import Any, Literal

from planner.evidence import Evidence
from planner.fields import Number, Text, record
from planner.profiles import Fault, Profile, table_faults
from planner.scenario import Stock

ROUNDING = Fraction(1, 10**6)
"""How far shares may be from 1 in all: published distributions are rounded."""


@record
class SplitWorkload:
    """What requests come in.

    Attributes
    ----------
    requests_per_s : Fraction
        Of all sizes together.
    mix : tuple of tuple of Fraction
        Share of each bucket, laid out as the profile's tables: a row per input size, a column per
        output size. They add up to 1.
    """

    requests_per_s: Number
    mix: tuple[tuple[Number, ...], ...]


@record
class SplitService:
    """What instances can do.

    Attributes
    ----------
    profile : str
        A throughput profile of the catalogue.
    """

    profile: Text


@record
class SplitFleet:
    """What may be rented.

    Attributes
    ----------
    instances : tuple of str
        Names in the profile, or empty for all.
    """

    instances: tuple[Text, ...] = ()


@record
class SplitLimits:
    """What the provider has.

    Attributes
    ----------
    stock : mapping
        Instance to how many can be had.
    """

    stock: Stock = field(default_factory=dict)


@record
class SplitScenario:
    """Rented instances of a measured profile for a rate of requests.

    Attributes
    ----------
    objective : {'cost_per_hour'}
        What is minimised.
    evidence : mapping
        Dotted path to where a value comes from, for those that say so.
    applied : tuple of str
        Overrides in the order they were applied.
    """

    kind: Literal["scenario"] = "scenario"
    name: Text
    title: Text
    workload: SplitWorkload
    service: SplitService
    fleet: SplitFleet = field(default_factory=SplitFleet)
    limits: SplitLimits = field(default_factory=SplitLimits)
    objective: Literal["cost_per_hour"] = "cost_per_hour"
    note: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    applied: tuple[str, ...] = ()
    resolved: Mapping[str, Any] = field(default_factory=dict)


def is_split(data: Any) -> bool:
    """Return whether a scenario's document asks for a measured profile."""
    service = data.get("service") if isinstance(data, dict) else None
    return isinstance(service, dict) and service.get("profile") is not None


def split_faults(scenario: SplitScenario, profile: Profile) -> Iterator[Fault]:
    """Yield what is wrong between a scenario and its profile, each with its path."""
    load = scenario.workload
    if load.requests_per_s == 0:
        yield ("workload", "requests_per_s"), "must be above 0"
    found = [(("workload", "mix", *path), message) for path, message in table_faults(load.mix, profile.shape)]
    yield from found
    total = sum((share for row in load.mix for share in row), Fraction(0))
    if not found and abs(total - 1) > ROUNDING:
        yield ("workload", "mix"), f"the shares add up to {float(total):.10g}, not to 1"
