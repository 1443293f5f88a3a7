"""What one turn moves: where its session comes back from, what is prefilled, what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from planner.scenario import Scenario
from planner.workload import cold_turns, lost_turns, prefix_tokens


@dataclass(frozen=True)
class Flows:
    """One turn on average.

    Attributes
    ----------
    from_gpu, from_dram, from_nvme, lost : Fraction
        Shares of turns by where their session still is: in GPU memory, in host memory, on drives,
        nowhere, so that its whole context is prefilled again. They add up to 1.
    again_tokens, new_tokens, answer_tokens : Fraction, int, int
        Prefilled again, prefilled as new, generated.
    """

    from_gpu: Fraction
    from_dram: Fraction
    from_nvme: Fraction
    lost: Fraction
    again_tokens: Fraction
    new_tokens: int
    answer_tokens: int

    @cached_property
    def loaded(self) -> Fraction:
        """Share of turns whose session is loaded back over the host links."""
        return self.from_dram + self.from_nvme

    @cached_property
    def stored_tokens(self) -> Fraction:
        """Tokens that a turn adds to the tiers: its prompt, its answer, and what was lost.

        Each is stored once, whether as it is generated or with the next prompt.
        """
        return self.again_tokens + self.new_tokens + self.answer_tokens


def flows_of(scenario: Scenario) -> Flows:
    """Return what one turn of a scenario moves; nothing where no rates are known.

    Sessions leave host memory after the TTL, and drives after the retention. Without host memory
    for idle sessions all are read from drives; without drives cold ones are lost, and without both
    all that are not in GPU memory.
    """
    load, tiers = scenario.workload, scenario.tiers
    rates = load.rates
    if rates is None:
        return Flows(Fraction(1), Fraction(0), Fraction(0), Fraction(0), Fraction(0), 0, 0)
    in_gpu, cold = rates.in_gpu_fraction, cold_turns(load)
    warm = max(Fraction(0), 1 - in_gpu - cold)
    from_dram = Fraction(0) if tiers.dram == "none" else warm
    below = 1 - in_gpu - from_dram
    lost = below if tiers.nvme == "none" else min(below, lost_turns(load))
    own = load.context.planned_tokens - prefix_tokens(load)
    return Flows(in_gpu, from_dram, below - lost, lost, lost * own, rates.new_tokens, rates.answer_tokens)


def written_per_day(scenario: Scenario, turns_per_s: Fraction) -> Fraction:
    """Return the tokens that a day of turns adds to the drives, at the mean rate through its hours.

    ``turns_per_s`` is that of the busiest minute. Whether at once or when a session goes cold, each
    token is written once while its copy is kept.
    """
    rates = scenario.workload.rates
    if rates is None or scenario.tiers.nvme == "none":
        return Fraction(0)
    turns = turns_per_s / scenario.workload.peak_over_mean * 3600 * rates.hours_per_day
    return turns * flows_of(scenario).stored_tokens
