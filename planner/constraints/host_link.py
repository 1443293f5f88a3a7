"""Links between host memory and GPUs: every turn's session is loaded back over them."""

from __future__ import annotations

from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import Factor, Term, Terms, ceiling, loaded_copies, nodes, of_profile, resumed, turns
from planner.copies import copies_on_load
from planner.problem import Situation


@group_limit
class HostLink:
    """Bytes per second from host memory into the GPUs of a group."""

    kind = "host_link"
    label = "host links (resume)"
    unit: Unit = "B/s"
    formula = "h * turns / open * loaded share * resumed bytes * copies <= nodes * link flow * efficiency * ceiling"
    depends: Depends = "core"

    def active(self, at: Situation) -> bool:
        """Return whether sessions come back from below GPU memory at known rates."""
        tiers = at.scenario.tiers
        return at.turns_per_s > 0 and (tiers.dram, tiers.nvme) != ("none", "none")

    def have(self, build: Build, at: Situation) -> int:
        """Return what the links really move, at the planned load."""
        cut = topology.host_link(build.core.chassis, build.core.gpu)
        effective = cut.bytes_per_s * build.cache.host_link_fraction * build.cache.load_ceiling_fraction
        return int(build.n_nodes * effective)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session; copies are pulled by each rank."""
        core = build.core
        copies = copies_on_load(core.footprint.kv, core.layout, core.engine, core.footprint.sizes.session_tokens)
        return at.turns_per_open * at.flows.loaded * core.footprint.resume_bytes * copies

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        cut, cache = topology.host_link(build.core.chassis, build.core.gpu), build.cache
        links = Factor("memory to GPUs", cut.bytes_per_s, "B/s", cut.text)
        efficiency = of_profile(cache, "host_link", cache.host_link_fraction)
        need = (turns(at), Factor("loaded", at.flows.loaded, "share"), resumed(build), loaded_copies(build))
        return Terms((Term((nodes(build), links, efficiency, ceiling(build))),), (Term(need),))
