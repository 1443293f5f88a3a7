"""First token: the resume of one session from the slowest tier, then its new prompt."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from planner import rates, topology
from planner.build import Build, Core
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.fabric import PLANNED_SHARE
from planner.constraints.terms import Factor, Term, Terms, of_profile
from planner.copies import copies_on_load
from planner.engines import Cache
from planner.problem import Situation
from planner.roles import BOTH, PREFILL, has_tiers
from planner.units import ceil
from planner.work import Run


@group_limit
class FirstToken:
    """Milliseconds to the first token on an otherwise idle group; met or not, whatever h is."""

    kind = "first_token"
    label = "time to first token"
    unit: Unit = "ms"
    formula = "session / drives + copies * session / links (+ session / fabric) + new tokens / prefill rate <= target"
    depends: Depends = "drives"

    def active(self, at: Situation) -> bool:
        """Return whether a target is set and the new tokens are known."""
        return at.scenario.service is not None and at.turns_per_s > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return target minus estimate; below zero the group cannot host anything."""
        promised = at.scenario.service
        assert promised is not None
        return int(promised.first_token_s * 1000) - self.milliseconds(build, at)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return 0: the time does not grow with what is hosted."""
        return Fraction(0)

    def milliseconds(self, build: Build, at: Situation) -> int:
        """Return the estimate, rounded up."""
        return ceil((drive_seconds(build, at) + core_seconds(build.core, build.cache, at)) * 1000)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        promised, cache = at.scenario.service, build.cache
        target = promised.first_token_s if promised else Fraction(0)
        parts = {"read from drives": drive_seconds(build, at)} | steps(build.core, cache, at)
        have = [Term((Factor("service.first_token", int(1000 * target), "ms"),), "target")]
        have += [
            Term((Factor(what, 1000 * seconds, "ms"),), what, minus=True) for what, seconds in parts.items() if seconds
        ]
        basis = (
            of_profile(cache, "drive_read", cache.drive_read_fraction),
            of_profile(cache, "host_link", cache.host_link_fraction),
        )
        return Terms(tuple(have), (), basis)


def drive_seconds(build: Build, at: Situation) -> Fraction:
    """Return the time to read one session from the node's drives; 0 without a drive tier."""
    cut = topology.drive_read(build.core.chassis, build.drive, build.drives)
    return read_seconds(build.core, build, cut.bytes_per_s, at)


def read_seconds(core: Core, build: Build, bytes_per_s: int, at: Situation) -> Fraction:
    """Return the time to read one session of `core` from the drives of `build`, which read so many bytes per second."""
    if at.scenario.tiers.nvme == "none" or build.drive is None or core.role == PREFILL:
        return Fraction(0)
    share, moved = build.cache.drive_read_fraction, _moved(core)
    # One fraction instead of three: this is asked for every population of drives.
    return Fraction(moved.numerator * share.denominator, moved.denominator * bytes_per_s * share.numerator)


@lru_cache(maxsize=64)
def _moved(core: Core) -> Fraction:
    return core.footprint.resume_bytes * core.footprint.copies


def core_seconds(core: Core, cache: Cache, at: Situation) -> Fraction:
    """Return the time to load one session into its GPUs and to prefill its new prompt.

    Of groups of one role it is their own part, the transfer to and from the others included.
    """
    return sum(steps(core, cache, at).values(), Fraction(0))


def steps(core: Core, cache: Cache, at: Situation) -> dict[str, Fraction]:
    """Return the steps of a core one after another, by what they do; drives come before."""
    if core.role == PREFILL:
        return stay_steps(core, cache, at, Fraction(at.flows.new_tokens))
    found = {"loaded into its GPUs": link_seconds(core, cache, at), "over the fabric": fabric_seconds(core, at)}
    if core.role == BOTH:
        return found | {"its new prompt": rates.prompt_seconds(core, at.scenario)}
    size, new = core.footprint, at.flows.new_tokens * core.footprint.kv.rate
    away = size.resume_bytes if at.flows.lost < 1 else 0
    return found | {
        "context and new prompt over the fabric": (away + new) * size.copies / _cards(core),
        "new prompt into its GPUs": new * _pulled(core) / _links(core, cache),
    }


def prompt_stay_seconds(core: Core, cache: Cache, at: Situation, tokens: Fraction) -> Fraction:
    """Return how long a turn is on a prefill group: its context comes, so many tokens are prefilled and go."""
    return sum(stay_steps(core, cache, at, tokens).values(), Fraction(0))


def stay_steps(core: Core, cache: Cache, at: Situation, tokens: Fraction) -> dict[str, Fraction]:
    """Return the steps of a turn on a prefill group.

    What is prefilled beyond the new tokens passes the replica chunk by chunk, each through all stages.
    """
    size, run, links, cards = core.footprint, Run.of(core), _links(core, cache), _cards(core)
    come = size.resume_bytes if at.flows.lost < 1 else 0
    more = (tokens - at.flows.new_tokens) * run.layout.dp * run.layout.pp
    back = tokens * size.kv.rate * size.copies
    return {
        "context over the fabric": come * size.copies / cards,
        "context into its GPUs": come * _pulled(core) / links,
        "its new prompt": rates.prompt_seconds(core, at.scenario),
        "what else it prefills": more / rates.replica_prefill_tokens_per_s(core, at.scenario),
        "prefilled out of its GPUs": back / links,
        "prefilled over the fabric": back / cards,
    }


@lru_cache(maxsize=64)
def link_seconds(core: Core, cache: Cache, at: Situation) -> Fraction:
    """Return the time to load one session from host memory into its GPUs; 0 where no tier is below them."""
    return core.footprint.resume_bytes * _pulled(core) / _links(core, cache) if has_tiers(at) else Fraction(0)


@lru_cache(maxsize=64)
def fabric_seconds(core: Core, at: Situation) -> Fraction:
    """Return the time to fetch one session from another node; 0 where tiers are not pooled."""
    if not at.pooled or core.fabric_nic is None:
        return Fraction(0)
    # Any turn may find its session on another node.
    return core.footprint.resume_bytes * core.footprint.copies / _cards(core)


def _pulled(core: Core) -> Fraction:
    return copies_on_load(core.footprint.kv, core.layout, core.engine, core.footprint.sizes.session_tokens)


def _links(core: Core, cache: Cache) -> Fraction:
    """Return what one session has of the host links: those of its own attention group."""
    some = min(core.layout.tp, core.chassis.n_gpus)
    return topology.host_link(core.chassis, core.gpu, some).bytes_per_s * cache.host_link_fraction


def _cards(core: Core) -> Fraction:
    return topology.fabric(core.chassis, core.fabric_nic, core.fabric_nics).bytes_per_s * PLANNED_SHARE
