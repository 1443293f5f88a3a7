"""Host memory: warm sessions, and active ones where the cache is inclusive."""

from __future__ import annotations

from fractions import Fraction

from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit, per_open
from planner.constraints.terms import Factor, Term, Terms, fitting, nodes, of_profile, sessions_per_open
from planner.demand import dram_sessions
from planner.problem import Situation
from planner.spread import fitting_bytes
from planner.units import ceil_div

GIB = 2**30


def tier_gib(build: Build, at: Situation) -> int:
    """Return the GiB that the tier of one node has for stored sessions.

    Tiers are configured in whole GiB: the pinned share of memory rounded down, less the staged
    prefixes rounded up.
    """
    staging = at.scenario.tiers.staging_prefixes
    prefixes = build.cache.staging_prefixes if staging is None else staging
    staged = ceil_div(prefixes * build.core.footprint.staged_bytes, GIB)
    return int(build.ram_bytes * build.cache.host_fraction) // GIB - staged


@group_limit
class Dram:
    """Bytes of the host tier of a group."""

    kind = "dram"
    label = "host memory (KV tier)"
    unit: Unit = "B"
    formula = "h * dram_sessions / open * stored <= nodes * (GiB(ram * host) - GiB(staging)) * usable - prefixes"
    depends: Depends = "host"

    def active(self, at: Situation) -> bool:
        """Return whether host memory holds KV caches."""
        return at.scenario.tiers.dram != "none"

    def have(self, build: Build, at: Situation) -> int:
        """Return usable bytes of all nodes of the group; in a pool, prefixes are the fleet's."""
        prefixes = 0 if at.pooled else build.n_nodes * build.core.footprint.prefix_bytes
        size = build.n_nodes * tier_gib(build, at) * GIB
        one = build.core.footprint
        return fitting_bytes(int(size * build.cache.usable_fraction) - prefixes, one.stored_bytes, one.spread_bytes)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return stored bytes per open session."""
        return per_open(dram_sessions(at.scenario, at.sessions), at) * build.core.footprint.stored_bytes

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cache, size = build.cache, build.core.footprint
        tier = Factor(f"tier in {build.dimms} x {build.dimm.id}, staging taken off", tier_gib(build, at) * GIB, "B")
        have = [Term((nodes(build), tier, of_profile(cache, "usable", cache.usable_fraction)), "own contexts")]
        if not at.pooled:
            prefixes = Factor("shared prefixes", size.prefix_bytes, "B")
            have.append(Term((nodes(build), prefixes), "shared prefixes", minus=True))
        if size.spread_bytes:
            have = [fitting(self.have(build, at), size)]
        held = sessions_per_open("in host memory", dram_sessions(at.scenario, at.sessions), at)
        need = Term((held, Factor("what a session takes", size.stored_bytes, "B")))
        return Terms(tuple(have), (need,), (of_profile(cache, "host", cache.host_fraction),))
