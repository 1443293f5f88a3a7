"""The decode rate gives way by whole tokens per second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.loading import Shelf
from planner.problem import Problem
from planner.relax.base import Target, rule
from planner.scenario import Scenario


def slowest_rate(scenario: Scenario) -> int:
    """Return the least rate at which an hour's answers take less than an hour to decode."""
    rates = scenario.workload.rates
    return 1 if rates is None else int(rates.turns_per_hour * rates.answer_tokens / 3600) + 1


@rule
class DecodeRate(Target):
    """service.decode."""

    path = "service.decode"
    label = "decode rate"
    covers = ("service.decode",)

    def active(self, scenario: Scenario, shelf: Shelf) -> bool:
        """Return whether a slower rate could be promised."""
        promised = scenario.service
        return promised is not None and promised.decode_tokens_per_s > slowest_rate(scenario)

    def dropped(self, scenario: Scenario, shelf: Shelf) -> Scenario:
        """Return the scenario with the slowest rate at which its own turns can still be answered."""
        return self.bent(scenario, slowest_rate(scenario))

    def asked(self, scenario: Scenario) -> int:
        """Return tokens per second."""
        assert scenario.service is not None
        return scenario.service.decode_tokens_per_s

    def bent(self, scenario: Scenario, amount: int) -> Scenario:
        """Return the scenario with another rate."""
        assert scenario.service is not None
        return replace(scenario, service=replace(scenario.service, decode_tokens_per_s=amount))

    def loosest(self, scenario: Scenario, problem: Problem, counts: Mapping[int, int]) -> int:
        """Return the slowest rate."""
        return slowest_rate(scenario)

    def shown(self, amount: int, currency: str) -> str:
        """Return the rate."""
        return f"{amount:,} tokens/s"

    def text(self, amount: int, currency: str) -> str:
        """Return the rate."""
        return f"{amount} tokens/s"

    def words(self, scenario: Scenario, amount: int, currency: str) -> str:
        """Return what is to be done."""
        return f"promise {self.shown(amount, currency)} to each session instead of {self.asked(scenario)}"
