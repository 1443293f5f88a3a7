"""Who uses the model, and where their sessions are.

Census input: users, sessions and shares. The sessions of a workload are *open*; some are
*active* (their user is working), of these some are *in flight* (their KV cache must be in GPU
memory now); the *idle* ones are *warm* for a while and then *cold*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner.fields import Count, Number, Seconds, Share, Tokens, Whole, record
from planner.units import ceil

WARM_SHARE_BY_TTL: tuple[tuple[Fraction, Fraction], ...] = (
    (Fraction(60), Fraction(105, 953)),
    (Fraction(300), Fraction(232, 953)),
    (Fraction(900), Fraction(361, 953)),
    (Fraction(3600), Fraction(570, 953)),
    (Fraction(14400), Fraction(750, 953)),
)
"""Seconds since the last turn to the warm share of idle KV-time, measured on 739 agentic coding
sessions (kv-cache-tester, WEKA, 2026): warm / (warm + cold) of the KV-time of open sessions."""


@record
class Context:
    """Tokens per session.

    Attributes
    ----------
    planned_tokens : int
        What every session is sized at: the headline.
    mean_tokens, max_tokens : int or None
        For comparison beside it.
    """

    planned_tokens: Tokens
    mean_tokens: Tokens | None = None
    max_tokens: Tokens | None = None


@record
class SharedPrefix:
    """Leading tokens that sessions have in common.

    Attributes
    ----------
    share_fraction : Fraction or None
        Of the planned context; or, instead,
    length_tokens : int or None
        Tokens of the prefix.
    groups : int
        How many different prefixes there are.
    stored : {'once-per-pool', 'deducted'}
        ``once-per-pool``: each KV pool and each node's tier holds one copy of each prefix, as
        engines do. ``deducted``: simply taken off every session, as spreadsheets do.
    """

    share_fraction: Share | None = None
    length_tokens: Tokens | None = None
    groups: Count = 1
    stored: Literal["once-per-pool", "deducted"] = "once-per-pool"


@record
class Rates:
    """Traffic of one active session.

    Attributes
    ----------
    turns : Fraction
        Requests per hour and active session.
    new_tokens, answer_tokens : int
        Prompt tokens per request that no cache holds, and generated tokens.
    cold_fraction : Fraction
        Share of requests whose session resumes from the drives, not from host memory.
    """

    turns_per_hour: Number
    new_tokens: Tokens
    answer_tokens: Tokens
    cold_fraction: Share


@record
class Workload:
    """The people and what they do.

    Attributes
    ----------
    users, sessions_per_user, active_per_user : int
        Sessions open per user, and how many of them the user works in.
    duty_fraction : Fraction or None
        Share of active sessions in flight at one moment; or, instead,
    in_flight : int or None
        Their count.
    peak_over_mean : Fraction
        Factor on the in-flight sessions and on all rates for the busiest minute.
    warm_fraction : Fraction or None
        Share of idle sessions that are warm; or, instead,
    ttl_s : Fraction or None
        How long an idle session stays warm; the share is read off a measured table.
    retained_fraction : Fraction
        Share of cold sessions within the retention age, whose copies are kept.
    overhead_fraction : Fraction or None
        Flat surcharge on all bytes instead of the engine's rounding and the tiers' ceilings.
    rates : Rates or None
        Without them nothing is checked but capacity.
    """

    users: Count
    sessions_per_user: Count
    active_per_user: Whole
    duty_fraction: Share | None = None
    in_flight: Whole | None = None
    peak_over_mean: Number = Fraction(1)
    context: Context
    shared_prefix: SharedPrefix | None = None
    overhead_fraction: Share | None = None
    warm_fraction: Share | None = None
    ttl_s: Seconds | None = None
    retained_fraction: Share = Fraction(1)
    rates: Rates | None = None


@dataclass(frozen=True)
class Sessions:
    """Whole sessions by where they are; warm, cold and in flight are rounded up."""

    open: int
    active: int
    in_flight: int
    warm: int
    cold: int
    retained: int


def count_sessions(workload: Workload) -> Sessions:
    """Return the sessions of `workload` by state."""
    total = workload.users * workload.sessions_per_user
    active = workload.users * workload.active_per_user
    mean = workload.in_flight if workload.in_flight is not None else active * _duty(workload)
    idle = total - active
    warm = ceil(idle * warm_share(workload))
    cold = idle - warm
    return Sessions(
        open=total,
        active=active,
        in_flight=min(active, ceil(mean * workload.peak_over_mean)),
        warm=warm,
        cold=cold,
        retained=active + warm + ceil(cold * workload.retained_fraction),
    )


def _duty(workload: Workload) -> Fraction:
    return Fraction(1) if workload.duty_fraction is None else workload.duty_fraction


def warm_share(workload: Workload) -> Fraction:
    """Return the warm share of idle sessions, from the share itself or from the TTL.

    Between the measured points of `WARM_SHARE_BY_TTL` the share is interpolated linearly, below
    the first it is scaled down to zero, beyond the last it stays.
    """
    if workload.warm_fraction is not None:
        return workload.warm_fraction
    if workload.ttl_s is None:
        return Fraction(0)
    earlier = (Fraction(0), Fraction(0))
    for seconds, share in WARM_SHARE_BY_TTL:
        if workload.ttl_s <= seconds:
            part = (workload.ttl_s - earlier[0]) / (seconds - earlier[0])
            return earlier[1] + part * (share - earlier[1])
        earlier = (seconds, share)
    return earlier[1]


def prefix_tokens(workload: Workload) -> int:
    """Return the tokens of one shared prefix, rounded down; 0 without one."""
    prefix = workload.shared_prefix
    if prefix is None:
        return 0
    if prefix.length_tokens is not None:
        return min(prefix.length_tokens, workload.context.planned_tokens)
    return int((prefix.share_fraction or Fraction(0)) * workload.context.planned_tokens)


def prefix_share(workload: Workload) -> Fraction:
    """Return the share of the planned context that sessions have in common, exactly."""
    prefix = workload.shared_prefix
    if prefix is not None and prefix.share_fraction is not None:
        return prefix.share_fraction
    planned = workload.context.planned_tokens
    return Fraction(prefix_tokens(workload), planned) if planned else Fraction(0)


MOST_SESSIONS = 10**7
"""Open sessions beyond which numbers leave the range that solvers are exact in."""


def faults(workload: Workload) -> list[tuple[str, str]]:
    """Return what contradicts itself, as pairs of dotted key and message."""
    found = []
    if workload.users * workload.sessions_per_user > MOST_SESSIONS:
        found.append(("users", f"more than {MOST_SESSIONS:,} open sessions; plan a part of them and multiply"))
    if workload.active_per_user > workload.sessions_per_user:
        found.append(("active_per_user", "more sessions are active than are open per user"))
    if workload.duty_fraction is not None and workload.in_flight is not None:
        found.append(("in_flight", "give either 'duty' or 'in_flight', not both"))
    if workload.warm_fraction is not None and workload.ttl_s is not None:
        found.append(("ttl", "give either 'warm' or 'ttl', not both"))
    for key in ("duty_fraction", "warm_fraction", "retained_fraction"):
        if (getattr(workload, key) or 0) > 1:
            found.append((key.removesuffix("_fraction"), "a share cannot exceed 100 %"))
    if workload.peak_over_mean < 1:
        found.append(("peak_over_mean", "the peak cannot be below the mean; expected at least 1"))
    prefix = workload.shared_prefix
    if prefix and (prefix.share_fraction is None) == (prefix.length_tokens is None):
        found.append(("shared_prefix", "give either 'share' or 'length'"))
    if prefix and (prefix.share_fraction or 0) > 1:
        found.append(("shared_prefix.share", "a share cannot exceed 100 %"))
    if prefix and prefix_share(workload) >= 1:
        found.append(("shared_prefix.share", "a prefix as long as the context leaves nothing of a session's own"))
    if workload.rates is not None and workload.rates.turns_per_hour == 0:
        found.append(("rates.turns_per_hour", "no turns at all: leave 'rates' out to check capacity only"))
    if workload.rates is not None and workload.rates.cold_fraction > 1:
        found.append(("rates.cold", "a share cannot exceed 100 %"))
    context = workload.context
    if context.planned_tokens == 0:
        found.append(("context.planned", "a session needs at least one token"))
    if context.mean_tokens == 0:
        found.append(("context.mean", "a session needs at least one token"))
    if context.max_tokens is not None and context.planned_tokens > context.max_tokens:
        found.append(("context", "the planned context is longer than the maximum"))
    return found
