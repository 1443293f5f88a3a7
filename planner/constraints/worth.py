"""Load against recompute: a tier from which sessions resume must be quicker than the GPUs that would prefill them."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from planner import rates
from planner.build import Build, Core
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.first_token import drive_seconds, fabric_seconds, link_seconds
from planner.constraints.terms import Factor, Term, Terms, of_profile
from planner.engines import Cache
from planner.problem import Situation
from planner.workload import prefix_tokens


@group_limit
class Worth:
    """Milliseconds by which one session is loaded from the slowest tier before it would be prefilled again."""

    kind = "worth"
    label = "load against recompute"
    unit: Unit = "ms"
    formula = "session / drives + copies * session / links (+ session / fabric) <= own tokens / prefill rate"
    depends: Depends = "drives"

    def active(self, at: Situation) -> bool:
        """Return whether tiers serve resumes at known rates."""
        return at.turns_per_s > 0 and at.flows.loaded > 0

    def have(self, build: Build, at: Situation) -> int:
        """Return recompute minus load; below zero the group cannot host anything."""
        load = _drives_s(build, at) + load_seconds(build.core, build.cache, at)
        return floor(1000 * (recompute_seconds(build.core, at) - load))

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return 0: the times do not grow with what is hosted."""
        return Fraction(0)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cache = build.cache
        parts = {
            "read from drives": _drives_s(build, at),
            "loaded into its GPUs": link_seconds(build.core, cache, at),
            "over the fabric": fabric_seconds(build.core, at),
        }
        have = [
            Term((Factor("own tokens prefilled again", 1000 * recompute_seconds(build.core, at), "ms"),), "recompute")
        ]
        have += [Term((Factor(what, 1000 * each, "ms"),), what, minus=True) for what, each in parts.items() if each]
        basis = (
            Factor("own tokens of a session", own_tokens(at), "tokens"),
            Factor("prefill of a replica", rates.replica_prefill_tokens_per_s(build.core, at.scenario), "tokens/s"),
            of_profile(cache, "drive_read", cache.drive_read_fraction),
            of_profile(cache, "host_link", cache.host_link_fraction),
        )
        return Terms(tuple(have), (), basis)


def own_tokens(at: Situation) -> int:
    """Return the tokens of a planned session without what it shares."""
    load = at.scenario.workload
    return load.context.planned_tokens - prefix_tokens(load)


def recompute_seconds(core: Core, at: Situation) -> Fraction:
    """Return the time to prefill one session's own tokens on a replica that does nothing else."""
    return own_tokens(at) / rates.replica_prefill_tokens_per_s(core, at.scenario)


def load_seconds(core: Core, cache: Cache, at: Situation) -> Fraction:
    """Return the time to load one session from host memory, another node's with pooled tiers."""
    return link_seconds(core, cache, at) + fabric_seconds(core, at)


def _drives_s(build: Build, at: Situation) -> Fraction:
    return drive_seconds(build, at) if at.flows.from_nvme else Fraction(0)
