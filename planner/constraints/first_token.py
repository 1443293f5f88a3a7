"""First token: the resume of one session from the slowest tier, then its new prompt."""

from __future__ import annotations

from fractions import Fraction

from planner import rates, topology
from planner.build import Build, Core
from planner.constraints.base import Depends, Unit, group_limit
from planner.constraints.fabric import PLANNED_SHARE
from planner.copies import copies_on_load
from planner.engines import Cache
from planner.problem import Situation
from planner.roles import DECODE, PREFILL, has_tiers
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


def drive_seconds(build: Build, at: Situation) -> Fraction:
    """Return the time to read one session from the node's drives; 0 without a drive tier."""
    if at.scenario.tiers.nvme == "none" or build.drive is None or build.core.role == PREFILL:
        return Fraction(0)
    cut = topology.drive_read(build.core.chassis, build.drive, build.drives)
    read = cut.bytes_per_s * build.cache.drive_read_fraction
    size = build.core.footprint
    return size.resume_bytes * size.copies / read


def core_seconds(core: Core, cache: Cache, at: Situation) -> Fraction:
    """Return the time to load one session into its GPUs and to prefill its new prompt.

    Of groups of one role it is their own part, the transfer to and from the others included.
    """
    if core.role == PREFILL:
        return prompt_stay_seconds(core, cache, at, Fraction(at.flows.new_tokens))
    seconds = _decode_seconds(core, cache, at) if core.role == DECODE else rates.prompt_seconds(core, at.scenario)
    if has_tiers(at):
        seconds += _session_bytes(core) / _links(core, cache)
    if at.pooled and core.fabric_nic is not None:
        # Any turn may find its session on another node.
        seconds += core.footprint.resume_bytes * core.footprint.copies / _cards(core)
    return seconds


def _decode_seconds(core: Core, cache: Cache, at: Situation) -> Fraction:
    """Return the time to send a context away, and to take what was prefilled of it into the GPUs."""
    size, new = core.footprint, at.flows.new_tokens * core.footprint.kv.rate
    away = size.resume_bytes if at.flows.lost < 1 else 0
    return (away + new) * size.copies / _cards(core) + new * _pulled(core) / _links(core, cache)


def prompt_stay_seconds(core: Core, cache: Cache, at: Situation, tokens: Fraction) -> Fraction:
    """Return how long a turn is on a prefill group: its context comes, so many tokens are prefilled and go.

    What is prefilled beyond the new tokens passes the replica chunk by chunk, each through all stages.
    """
    size, run, links, cards = core.footprint, Run.of(core), _links(core, cache), _cards(core)
    come = _session_bytes(core) / links + size.resume_bytes * size.copies / cards if at.flows.lost < 1 else 0
    more = (tokens - at.flows.new_tokens) * run.layout.dp * run.layout.pp
    compute = rates.prompt_seconds(core, at.scenario) + more / rates.replica_prefill_tokens_per_s(core, at.scenario)
    return come + compute + tokens * size.kv.rate * size.copies * (1 / links + 1 / cards)


def _session_bytes(core: Core) -> Fraction:
    return core.footprint.resume_bytes * _pulled(core)


def _pulled(core: Core) -> Fraction:
    return copies_on_load(core.footprint.kv, core.layout, core.engine, core.footprint.sizes.session_tokens)


def _links(core: Core, cache: Cache) -> Fraction:
    """Return what one session has of the host links: those of its own attention group."""
    some = min(core.layout.tp, core.chassis.n_gpus)
    return topology.host_link(core.chassis, core.gpu, some).bytes_per_s * cache.host_link_fraction


def _cards(core: Core) -> Fraction:
    return topology.fabric(core.chassis, core.fabric_nic, core.fabric_nics).bytes_per_s * PLANNED_SHARE
