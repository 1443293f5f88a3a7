"""Host memory's bandwidth: all that tiers move crosses it, some of it twice."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planner import topology
from planner.build import Build
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.terms import (
    Factor,
    Term,
    Terms,
    ceiling,
    loaded_copies,
    nodes,
    resumed,
    stored_copies,
    stored_tokens,
    token_bytes,
    turns,
)
from planner.copies import copies_on_load
from planner.evidence import Evidence
from planner.problem import Situation

REACHED = Fraction(4, 5)
"""Share of nominal memory bandwidth that copies reach; assumed, as streaming tests show."""
_ASSUMED = Evidence("assumed", text="Streaming tests show about as much of the nominal rate.")


def _crossings(build: Build, at: Situation) -> Iterator[Term]:
    """Yield what crosses the memory: loads, what drives stage first, stores in and out, remote contexts."""
    flows, copies = at.flows, stored_copies(build)
    loaded, twice = Factor("loaded", flows.loaded, "share"), Factor("out and in", 2)
    yield Term((turns(at), loaded, resumed(build), loaded_copies(build)), "loads")
    yield Term((turns(at), Factor("from drives", flows.from_nvme, "share"), resumed(build), copies), "staged")
    times = Factor("in, and out to drives", 1 if at.scenario.tiers.nvme == "none" else 2)
    yield Term((turns(at), times, stored_tokens(at), token_bytes(build), copies), "stores")
    if at.pooled:
        yield Term((turns(at), twice, loaded, resumed(build), copies), "remote")


@group_limit
class DramBandwidth:
    """Bytes per second that a group reads and writes in host memory."""

    kind = "dram_bandwidth"
    label = "host memory (traffic)"
    unit: Unit = "B/s"
    formula = (
        "h * turns / open * (loads + staged from drives + stores in and out + remote reads out and in)"
        " <= nodes * sockets * channels * speed * 8 * 4/5 * ceiling"
    )
    depends: Depends = "host"

    def active(self, at: Situation) -> bool:
        """Return whether tiers move anything at known rates."""
        tiers = at.scenario.tiers
        return at.turns_per_s > 0 and (tiers.dram, tiers.nvme) != ("none", "none")

    def have(self, build: Build, at: Situation) -> int:
        """Return what the memory of all nodes may be planned for, reads and writes together."""
        sockets = build.core.chassis.n_cpus
        each = topology.memory_bytes_per_s(build.cpu, build.dimm, build.dimms, sockets)
        return int(build.n_nodes * sockets * each * REACHED * build.cache.load_ceiling_fraction)

    def need(self, build: Build, at: Situation) -> Fraction:
        """Return bytes per second per open session."""
        core, flows, size = build.core, at.flows, build.core.footprint
        pulled = copies_on_load(size.kv, core.layout, core.engine, size.sizes.session_tokens)
        loads = flows.loaded * size.resume_bytes * pulled
        staged = flows.from_nvme * size.resume_bytes * size.copies
        times = 1 if at.scenario.tiers.nvme == "none" else 2
        stores = times * flows.stored_tokens * size.kv.rate * size.copies
        remote = 2 * flows.loaded * size.resume_bytes * size.copies if at.pooled else 0
        return at.turns_per_open * (loads + staged + stores + remote)

    def terms(self, build: Build, at: Situation) -> Terms:
        """Return the same, number by number."""
        sockets = build.core.chassis.n_cpus
        each = topology.memory_bytes_per_s(build.cpu, build.dimm, build.dimms, sockets)
        have = (
            nodes(build), Factor("sockets", sockets),
            Factor("memory of a socket", each, "B/s", f"{build.dimms} x {build.dimm.id} on {build.cpu.id}"),
            Factor("what copies reach", REACHED, "share", evidence=_ASSUMED), ceiling(build),
        )  # fmt: skip
        return Terms((Term(have),), tuple(_crossings(build, at)))
