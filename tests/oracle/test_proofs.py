"""Exact proofs where builds are too many to list: never of a plan that another beats."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from planner import separation
from planner.errors import InfeasibleError, PriceMissingError
from planner.planning import solve_scenario
from planner.proof import prove_apart
from tests.oracle.campaign import answered

SEEDS = range(120)
pytestmark = pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="the extra 'prove'")


def test_only_optima_are_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "PLAIN_UP_TO", 0)
    proven = apart = 0
    for seed in SEEDS:
        known = answered(seed)
        if known is None or known[0].scenario.tiers.placement != "pooled":
            continue
        instance, _, answer = known
        try:
            solved = solve_scenario(instance.scenario, instance.shelf)
        except (InfeasibleError, PriceMissingError):
            continue
        if not solved.apart:
            continue
        apart += 1
        assert answer.best is not None
        goal = replace(solved.outcome.goals[0], value=answer.best[0])
        proven += prove_apart(solved.apart, goal, 60).proven
        # A worse plan is never called the best, nor is anything shown in no time.
        assert not prove_apart(solved.apart, replace(goal, value=goal.value + 1), 60).proven
        assert "did not finish within 0 s" in prove_apart(solved.apart, goal, 0).words
    assert apart >= 5
    assert proven >= apart * 3 // 4
