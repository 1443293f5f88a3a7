"""From people and a KV format to sessions and bytes per tier, each step shown.

Two ways of accounting: *flat* takes the shared prefix off every session and adds one surcharge,
as the capacity report does; *engine* counts blocks and chunks, stores a prefix once per pool and
node, and leaves the tiers' ceilings to the constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from planner.engines import Cache
from planner.kvcache import KvCache, custom_cache, kv_cache
from planner.models import Model
from planner.pool import Sizes
from planner.scenario import Scenario
from planner.spread import quantile, sum_bytes
from planner.units import ceil, format_bytes, format_share
from planner.workload import Sessions, count_sessions, mean_prefix_tokens, prefix_share, prefix_tokens


@dataclass(frozen=True)
class TierDemand:
    """What one tier must hold for the whole fleet.

    Attributes
    ----------
    sessions : int
        Whole sessions.
    bytes : int
        Rounded up; with engine accounting, without the copies of shared prefixes.
    """

    sessions: int
    bytes: int


@dataclass(frozen=True)
class Step:
    """One line of the arithmetic: a name, the formula with its numbers, the result as text."""

    name: str
    formula: str
    result: str


@dataclass(frozen=True)
class Footprint:
    """What one session takes in each place, and how much of it moves.

    Attributes
    ----------
    kv : KvCache
        The format.
    sizes : Sizes
        Tokens in HBM.
    copies : Fraction
        Copies of a session that a node's tier holds in this layout; all bytes below but
        `resume_bytes` include them.
    stored_bytes : int
        What one session takes of its own in host memory or on drives: as planned, or at the mean where the sum
        of contexts counts.
    spread_bytes : int
        Quantile times deviation of that, where the sum counts; else 0.
    prefix_bytes : int
        Shared prefixes, held once by each node's tier (or once in a pooled tier).
    resume_bytes : int
        One copy of what is loaded when a session comes back.
    staged_bytes : int
        A whole session with its prefix: what one load stages in host memory.
    """

    kv: KvCache
    sizes: Sizes
    copies: Fraction
    stored_bytes: int
    prefix_bytes: int
    resume_bytes: int
    staged_bytes: int
    spread_bytes: int = 0

    def held_bytes(self, sessions: int) -> int:
        """Return what so many sessions take of their own in a tier."""
        return sum_bytes(sessions, self.stored_bytes, self.spread_bytes)


@dataclass(frozen=True)
class Demand:
    """The demand in one KV format.

    Attributes
    ----------
    kv : KvCache
        The format.
    session_tokens, session_bytes : int
        A session at the planned context: one whole copy, rounded up.
    private_session_bytes : int
        The same after sharing and surcharge.
    sessions : Sessions
        By state.
    tiers : mapping of str to TierDemand
        ``hbm``, ``dram``, ``nvme``, and ``idle`` for comparison.
    steps : tuple of Step
        The arithmetic.
    """

    kv: KvCache
    session_tokens: int
    session_bytes: int
    private_session_bytes: int
    sessions: Sessions
    tiers: dict[str, TierDemand]
    steps: tuple[Step, ...]


def scenario_caches(scenario: Scenario, model: Model) -> tuple[KvCache, ...]:
    """Return the KV caches that the scenario allows, in its order.

    Raises
    ------
    InputError
        If the model has no rows in a named format.
    """
    custom = scenario.serving.custom_kv
    if custom is not None:
        return (custom_cache(model, custom.name, custom.token_bytes),)
    draft = scenario.serving.draft_layers
    return tuple(kv_cache(model, name, draft) for name in scenario.serving.kv_formats)


def dram_sessions(scenario: Scenario, sessions: Sessions) -> int:
    """Return the sessions that host memory holds."""
    held = {"inclusive": sessions.active + sessions.warm, "exclusive": sessions.warm, "none": 0}
    return held[scenario.tiers.dram]


def nvme_sessions(scenario: Scenario, sessions: Sessions) -> int:
    """Return the sessions that the drives hold."""
    spilled = sessions.retained - sessions.active - sessions.warm
    if scenario.tiers.dram == "none":
        spilled += sessions.warm
    return {"write-all": sessions.retained, "spill": spilled, "none": 0}[scenario.tiers.nvme]


def footprint(scenario: Scenario, kv: KvCache, cache: Cache, copies: Fraction = Fraction(1)) -> Footprint:
    """Return what one session takes in each place, with so many copies in a node's tier."""
    planned = scenario.workload.context.planned_tokens
    prefix = prefix_tokens(scenario.workload)
    shared = scenario.workload.shared_prefix
    groups = shared.groups if shared else 1
    chunk = cache.chunk_tokens
    if scenario.flat:
        overhead = 1 + (scenario.workload.overhead_fraction or Fraction(0))
        sizes = Sizes(planned, scale=overhead * (1 - prefix_share(scenario.workload)))
        own, head = kv.session_bytes(planned) * sizes.scale, Fraction(0)
    elif shared is not None and shared.stored == "deducted":
        sizes = Sizes(planned - prefix)
        own, head = kv.session_bytes((planned - prefix) // chunk * chunk), Fraction(0)
    else:
        sizes = Sizes(planned, prefix, groups)
        head = kv.rate * (prefix // chunk * chunk)
        own = kv.session_bytes(planned // chunk * chunk) - head
    stored, spread = _at_the_mean(scenario, kv, own, head, chunk)
    return Footprint(
        kv=kv,
        sizes=sizes,
        copies=copies,
        stored_bytes=ceil(stored * copies),
        spread_bytes=ceil(spread * copies),
        prefix_bytes=ceil(head * groups * copies),
        resume_bytes=ceil(own),
        staged_bytes=ceil((own + head) * copies),
    )


def _at_the_mean(
    scenario: Scenario, kv: KvCache, own: Fraction, head: Fraction, chunk: int
) -> tuple[Fraction, Fraction]:
    """Return a session's own bytes at the mean and its quantile of deviations; as planned and 0 without one.

    Whole chunks are not taken off the mean: what they leave out varies from session to session.
    """
    load = scenario.workload
    context = load.context
    if context.deviation_tokens is None or context.mean_tokens is None or scenario.flat:
        return own, Fraction(0)
    shared = mean_prefix_tokens(load)
    if load.shared_prefix is not None and load.shared_prefix.stored == "deducted":
        mean = kv.session_bytes(context.mean_tokens - shared)
    else:
        # As with the planned context only whole chunks are shared.
        mean = kv.session_bytes(context.mean_tokens) - min(head, kv.rate * (shared // chunk * chunk))
    return mean, quantile(context.quantile_fraction) * kv.deviation_bytes(context.deviation_tokens)


def demand(scenario: Scenario, kv: KvCache, cache: Cache) -> Demand:
    """Return sessions and bytes per tier in one KV format, with the arithmetic."""
    sessions = sessions_of(scenario)
    planned = scenario.workload.context.planned_tokens
    session_bytes = ceil(kv.session_bytes(planned))
    size = footprint(scenario, kv, cache)
    held = {
        "hbm": sessions.in_flight,
        "dram": dram_sessions(scenario, sessions),
        "nvme": nvme_sessions(scenario, sessions),
        "idle": sessions.open - sessions.active,
    }
    exact = _private_bytes(scenario, kv, size)
    tiers = {name: TierDemand(count, ceil(count * exact[name])) for name, count in held.items()}
    if size.spread_bytes:
        # Host memory and drives hold sums of contexts; what is idle is compared with them.
        tiers |= {name: TierDemand(held[name], size.held_bytes(held[name])) for name in ("dram", "nvme", "idle")}
    steps = _steps(scenario, kv, sessions, session_bytes, size, tiers)
    return Demand(kv, planned, session_bytes, ceil(exact["hbm"]), sessions, tiers, steps)


def _private_bytes(scenario: Scenario, kv: KvCache, size: Footprint) -> dict[str, Fraction]:
    planned = scenario.workload.context.planned_tokens
    if scenario.flat:
        return dict.fromkeys(("hbm", "dram", "nvme", "idle"), kv.session_bytes(planned) * size.sizes.scale)
    own = kv.session_bytes(size.sizes.session_tokens) - kv.rate * size.sizes.prefix_tokens
    stored = Fraction(size.stored_bytes)
    return {"hbm": own, "dram": stored, "nvme": stored, "idle": stored}


def _steps(
    scenario: Scenario, kv: KvCache, sessions: Sessions, session_bytes: int, size: Footprint,
    tiers: dict[str, TierDemand],
) -> tuple[Step, ...]:  # fmt: skip
    load = scenario.workload
    planned = load.context.planned_tokens
    prefix = prefix_tokens(load)
    idle = sessions.open - sessions.active
    steps = [
        Step("open sessions", f"{load.users:,} users x {load.sessions_per_user} sessions", f"{sessions.open:,}"),
        Step("active", f"{load.users:,} users x {load.active_per_user} in use", f"{sessions.active:,}"),
        Step("in flight", _in_flight_formula(scenario, sessions), f"{sessions.in_flight:,}"),
        Step("warm", f"{idle:,} idle x {_warm_text(scenario, sessions)}", f"{sessions.warm:,}"),
        Step("cold", f"{idle:,} idle - {sessions.warm:,} warm", f"{sessions.cold:,}"),
        Step("bytes per token", f"{kv.name}: {kv.formula()}", f"{kv.bytes_per_token:,} B"),
        Step("session", f"{planned:,} tokens x {kv.bytes_per_token:,} B", format_bytes(session_bytes)),
    ]
    if scenario.flat:
        overhead = format_share(load.overhead_fraction or Fraction(0))
        text = f"session x (1 - {format_share(prefix_share(load))} shared) x (1 + {overhead})"
        steps.append(Step("own bytes", text, format_bytes(size.stored_bytes)))
    else:
        groups = load.shared_prefix.groups if load.shared_prefix else 1
        text = f"session - {prefix:,} shared tokens (one copy per pool and node, {groups} group(s)); whole chunks"
        steps.append(Step("own bytes", text, format_bytes(size.stored_bytes)))
    steps += _spread_steps(scenario, size)
    tier_words = {
        "hbm": "GPU memory, in flight",
        "dram": f"host memory, {scenario.tiers.dram}",
        "nvme": f"drives, {scenario.tiers.nvme}",
    }
    for name, words in tier_words.items():
        tier = tiers[name]
        each = f"{tier.sessions:,} sessions x own bytes"
        if size.spread_bytes and name != "hbm":
            each += f" + spread x sqrt({tier.sessions:,})"
        steps.append(Step(name, f"{words}: {each}", format_bytes(tier.bytes)))
    return tuple(steps)


def _spread_steps(scenario: Scenario, size: Footprint) -> Iterator[Step]:
    context = scenario.workload.context
    if size.spread_bytes and context.mean_tokens is not None and context.deviation_tokens is not None:
        share, normal = format_share(context.quantile_fraction), float(quantile(context.quantile_fraction))
        words = f"{share} quantile {normal:.3f} x {context.deviation_tokens:,} tokens"
        words += f"; own bytes in tiers at the mean of {context.mean_tokens:,}"
        yield Step("spread", words, format_bytes(size.spread_bytes))


def _in_flight_formula(scenario: Scenario, sessions: Sessions) -> str:
    load = scenario.workload
    peak = f" x {float(load.peak_over_mean):g} peak over mean" if load.peak_over_mean != 1 else ""
    if load.in_flight is not None:
        return f"{load.in_flight:,} as given{peak}"
    seconds = turn_s(scenario)
    if load.duty_fraction is None and load.rates is not None and seconds is not None:
        turns = f"{float(load.rates.turns_per_hour):g} turns an hour x {float(seconds):g} s at the targets"
        return f"{sessions.active:,} active x {turns}{peak}"
    duty = format_share(load.duty_fraction) if load.duty_fraction is not None else "100 % (no duty given)"
    return f"{sessions.active:,} active x {duty} duty{peak}"


def _warm_text(scenario: Scenario, sessions: Sessions) -> str:
    load = scenario.workload
    if load.warm_fraction is not None:
        return f"{format_share(load.warm_fraction)} warm"
    share = Fraction(sessions.warm, max(1, sessions.open - sessions.active))
    return f"{format_share(share)} warm (TTL {float(load.ttl_s or 0) / 60:g} min)"


def sessions_of(scenario: Scenario) -> Sessions:
    """Return the sessions by state; in flight by Little's law where the scenario leaves their share open."""
    return count_sessions(scenario.workload, turn_s(scenario))


def turn_s(scenario: Scenario) -> Fraction | None:
    """Return the seconds of one turn at the service targets: first token, then the answer; None without them."""
    service, rates = scenario.service, scenario.workload.rates
    if service is None or rates is None:
        return None
    return service.first_token_s + Fraction(rates.answer_tokens, service.decode_tokens_per_s)


def turns_per_s(scenario: Scenario, sessions: Sessions) -> Fraction:
    """Return the fleet's requests per second in the busiest minute; 0 without rates."""
    rates = scenario.workload.rates
    if rates is None:
        return Fraction(0)
    return sessions.active * rates.turns_per_hour / 3600 * scenario.workload.peak_over_mean
