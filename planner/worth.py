"""Load or recompute: what a session takes from each tier of a build, against prefilling it again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from planner.build import Build
from planner.constraints.first_token import drive_seconds
from planner.constraints.worth import load_seconds, recompute_seconds
from planner.problem import Situation
from planner.roles import concerns


@dataclass(frozen=True)
class TierWorth:
    """One session at the planned context, without what it shares.

    Attributes
    ----------
    tier : str
        ``host memory`` or ``drives``; with pooled tiers they are another node's.
    bytes : int
        One copy of what is loaded.
    load_s, recompute_s : Fraction
        All steps of loading one after another; prefill on a replica that does nothing else.
    """

    tier: str
    bytes: int
    load_s: Fraction
    recompute_s: Fraction

    @property
    def bytes_per_s(self) -> Fraction:
        """What the build's own path reaches, one step after another."""
        return self.bytes / self.load_s

    @property
    def break_even_bytes_per_s(self) -> Fraction:
        """Bytes per token times prefilled tokens per second: a slower path is not worth it."""
        return self.bytes / self.recompute_s

    @property
    def times(self) -> Fraction:
        """How many times as fast loading is."""
        return self.recompute_s / self.load_s


def worth_of(build: Build, at: Situation) -> tuple[TierWorth, ...]:
    """Return the tiers from which sessions may resume; none where no rates are known, and of one role alone."""
    if at.turns_per_s == 0 or not concerns("worth", build.core.role):
        return ()
    tiers, where = at.scenario.tiers, ", pooled" if at.pooled else ""
    size, again = build.core.footprint.resume_bytes, recompute_seconds(build.core, at)
    links = load_seconds(build.core, build.cache, at)
    found = []
    if tiers.dram != "none":
        found.append(TierWorth(f"host memory{where}", size, links, again))
    if tiers.nvme != "none":
        found.append(TierWorth(f"drives{where}", size, links + drive_seconds(build, at), again))
    return tuple(found)
