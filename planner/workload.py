"""Who uses the model, and where their sessions are.

Census input: users, sessions and shares. The sessions of a workload are *open*; some are
*active* (their user is working), of these some are *in flight* (their KV cache must be in GPU
memory now); the *idle* ones are *warm* for a while and then *cold*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner import gaps as gap
from planner.fields import Count, Number, Seconds, Share, Tokens, Whole, record
from planner.units import ceil


@record
class Context:
    """Tokens per session.

    Attributes
    ----------
    planned_tokens : int
        What every session is sized at: the headline.
    mean_tokens, max_tokens : int or None
        For comparison beside it.
    deviation_tokens : int or None
        Standard deviation around the mean: host memory and drives then hold the sum of so many contexts, not
        all of them as planned.
    quantile_fraction : Fraction
        In how many cases that sum is not exceeded.
    """

    planned_tokens: Tokens
    mean_tokens: Tokens | None = None
    max_tokens: Tokens | None = None
    deviation_tokens: Tokens | None = None
    quantile_fraction: Share = Fraction(99, 100)


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
    cold_fraction : Fraction or None
        Share of requests that come after the session has left host memory. None for what the gaps
        say of the workload's `ttl`.
    in_gpu_fraction : Fraction
        Share of requests whose session is still in GPU memory and is loaded from nowhere.
    hours_per_day : Fraction
        How long a day goes on at the mean rate: what drives are written in a day.
    """

    turns_per_hour: Number
    new_tokens: Tokens
    answer_tokens: Tokens
    cold_fraction: Share | None = None
    in_gpu_fraction: Share = Fraction(0)
    hours_per_day: Number = Fraction(24)


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
        Their count. Neither: turns per hour times the time that each takes at the service targets
        (Little's law); without rates or targets every active session.
    peak_over_mean : Fraction
        Factor on the in-flight sessions and on all rates for the busiest minute.
    warm_fraction : Fraction or None
        Share of idle sessions that are warm; or, instead,
    ttl_s : Fraction or None
        How long an idle session stays warm; the share is read off the gaps.
    retained_fraction : Fraction or None
        Share of cold sessions whose copies are kept; all if neither is given; or, instead,
    retention_s : Fraction or None
        How long copies are kept; the share is read off the gaps.
    gaps : {'agentic-coding', 'conversation'}
        Measured gaps between the turns of a session; or, instead,
    own_gaps : tuple of GapPoint
        Your own, by age.
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
    retained_fraction: Share | None = None
    retention_s: Seconds | None = None
    gaps: Literal["agentic-coding", "conversation"] = "agentic-coding"
    own_gaps: tuple[gap.GapPoint, ...] = ()
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


def count_sessions(workload: Workload, turn_s: Fraction | None = None) -> Sessions:
    """Return the sessions of `workload` by state.

    Parameters
    ----------
    turn_s : Fraction or None
        Seconds that one turn takes at the service targets; None where none are set.
    """
    total = workload.users * workload.sessions_per_user
    active = workload.users * workload.active_per_user
    mean = workload.in_flight if workload.in_flight is not None else active * duty(workload, turn_s)
    idle = total - active
    warm = ceil(idle * warm_share(workload))
    cold = idle - warm
    return Sessions(
        open=total,
        active=active,
        in_flight=min(active, ceil(mean * workload.peak_over_mean)),
        warm=warm,
        cold=cold,
        retained=active + warm + ceil(cold * retained_share(workload)),
    )


def duty(workload: Workload, turn_s: Fraction | None) -> Fraction:
    """Return the share of active sessions in flight: as given, or by Little's law, or all."""
    if workload.duty_fraction is not None:
        return workload.duty_fraction
    if workload.rates is None or turn_s is None:
        return Fraction(1)
    return min(Fraction(1), workload.rates.turns_per_hour / 3600 * turn_s)


def gaps_of(workload: Workload) -> gap.Gaps:
    """Return the gaps between turns: the workload's own, or those it names."""
    return gap.Gaps(workload.own_gaps) if workload.own_gaps else gap.MEASURED[workload.gaps]


def retained_share(workload: Workload) -> Fraction:
    """Return the share of cold sessions whose copies are kept.

    Of the idle time beyond the TTL, what lies within the retention. Beyond the last measured age
    all count as kept.
    """
    if workload.retained_fraction is not None:
        return workload.retained_fraction
    gaps, kept_s = gaps_of(workload), workload.retention_s
    if kept_s is None or kept_s > gaps.last_age_s:
        return Fraction(1)
    warm, within = warm_share(workload), gaps.idle(kept_s) or Fraction(0)
    return max(Fraction(0), (within - warm) / (1 - warm)) if warm < 1 else Fraction(1)


def cold_turns(workload: Workload) -> Fraction:
    """Return the share of turns that come after the session has left host memory; 0 without rates."""
    rates = workload.rates
    if rates is None:
        return Fraction(0)
    if rates.cold_fraction is not None:
        return rates.cold_fraction
    return 1 - gaps_of(workload).returned(workload.ttl_s or Fraction(0))


def lost_turns(workload: Workload) -> Fraction:
    """Return the share of turns that come after even the last copy is gone.

    With a retention it is read off the gaps. With a share of cold sessions kept, as many cold
    turns count as lost: those that come are rather younger, so fewer are.
    """
    cold = cold_turns(workload)
    if workload.retention_s is not None:
        return min(cold, 1 - gaps_of(workload).returned(workload.retention_s))
    return cold * (1 - retained_share(workload))


def warm_share(workload: Workload) -> Fraction:
    """Return the warm share of idle sessions, from the share itself or, by the gaps, from the TTL."""
    if workload.warm_fraction is not None:
        return workload.warm_fraction
    if workload.ttl_s is None:
        return Fraction(0)
    return gaps_of(workload).idle(workload.ttl_s) or Fraction(0)


def returning_share(workload: Workload, sessions: Sessions) -> Fraction:
    """Return the share of open sessions that will want their context again.

    All that are active and, at most, warm; of cold ones as many as come back after the TTL by the
    gaps, and all where no TTL says how old they are.
    """
    back = gaps_of(workload).comes_back(workload.ttl_s) if workload.ttl_s is not None else Fraction(1)
    return (sessions.active + sessions.warm + sessions.cold * back) / sessions.open


def prefix_tokens(workload: Workload) -> int:
    """Return the tokens of one shared prefix, rounded down; 0 without one."""
    prefix = workload.shared_prefix
    if prefix is None:
        return 0
    if prefix.length_tokens is not None:
        return min(prefix.length_tokens, workload.context.planned_tokens)
    return int((prefix.share_fraction or Fraction(0)) * workload.context.planned_tokens)


def mean_prefix_tokens(workload: Workload) -> int:
    """Return the tokens that a session of mean length shares: of a share as much of the mean."""
    prefix, mean = workload.shared_prefix, workload.context.mean_tokens
    if prefix is None or mean is None or prefix.share_fraction is None:
        return prefix_tokens(workload)
    return int(prefix.share_fraction * mean)


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
    found += _time_faults(workload)
    context = workload.context
    if context.planned_tokens == 0:
        found.append(("context.planned", "a session needs at least one token"))
    if context.mean_tokens == 0:
        found.append(("context.mean", "a session needs at least one token"))
    found += _spread_faults(workload)
    if context.max_tokens is not None and context.planned_tokens > context.max_tokens:
        found.append(("context", "the planned context is longer than the maximum"))
    return found


def _time_faults(workload: Workload) -> list[tuple[str, str]]:
    """Return what contradicts itself in gaps, time to live, retention and rates."""
    rates, kept_s, ttl_s = workload.rates, workload.retention_s, workload.ttl_s
    found = [("own_gaps", fault) for fault in gap.faults(workload.own_gaps)]
    if found:
        return found
    known = gaps_of(workload).idle(Fraction(1)) is not None
    for age, share in (("ttl", "warm"), ("retention", "retained")):
        both = getattr(workload, f"{age}_s") is not None, getattr(workload, f"{share}_fraction") is not None
        if all(both) and known:
            found.append((age, f"give either '{share}' or '{age}', not both: the gaps say the one of the other"))
        elif both == (True, False) and not known:
            found.append((age, f"these gaps say nothing of idle time: give '{share}' beside '{age}'"))
    if kept_s is not None and ttl_s is not None and kept_s < ttl_s:
        found.append(("retention", "copies are kept at least as long as sessions stay warm: expected 'ttl' or more"))
    if rates is None:
        return found
    if rates.cold_fraction is None and ttl_s is None:
        found.append(("rates.cold", "is missing; give it, or 'ttl', for which it is read off the gaps"))
    for key in ("cold", "in_gpu"):
        if (getattr(rates, f"{key}_fraction") or 0) > 1:
            found.append((f"rates.{key}", "a share cannot exceed 100 %"))
    if (rates.cold_fraction or 0) + rates.in_gpu_fraction > 1:
        found.append(("rates.in_gpu", "turns that are cold are not in GPU memory: together they exceed 100 %"))
    if not 0 < rates.hours_per_day <= 24:
        found.append(("rates.hours_per_day", "expected hours above 0 and up to 24"))
    return found


def _spread_faults(workload: Workload) -> list[tuple[str, str]]:
    """Return what keeps contexts from being summed up by mean and deviation."""
    context = workload.context
    found: list[tuple[str, str]] = []
    if context.deviation_tokens is None:
        return found
    if context.mean_tokens is None:
        found.append(("context.deviation", "needs 'context.mean', around which contexts deviate"))
    elif context.mean_tokens > context.planned_tokens:
        found.append(("context.mean", f"is above the planned {context.planned_tokens:,} tokens; plan for the longest"))
    elif context.mean_tokens <= mean_prefix_tokens(workload):
        found.append(("context.mean", f"is within the {mean_prefix_tokens(workload):,} tokens that sessions share"))
    if not Fraction(1, 2) < context.quantile_fraction < 1:
        found.append(("context.quantile", "expected a share above 50 % and below 100 %, such as 99 %"))
    return found
