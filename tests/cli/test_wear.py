"""What a plan says of the wear of its drives."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


def test_plan_says_what_is_used_up_and_what_is_replaced(command: Command) -> None:
    tco = ("qwen3-235b", "--set", "objective=tco")
    plain = command("plan", *tco).out
    assert "writes use up 28.1% of what 2 x micron-7450-pro-7.68tb are rated for in 4 years: USD 1,845.83" in plain
    assert "drive_wear" not in command("plan", "qwen3-235b", "-f", "json").data["cost"]
    hard = ("limits.drive_wear=900 %", "workload.rates.new=8k tokens", "workload.rates.hours_per_day=24")
    words = [word for one in hard for word in ("--set", one)]
    (wear,) = command("plan", *tco, *words, "-f", "json").data["cost"]["drive_wear"]
    assert wear["used_share"] > 1 and wear["replaced"] == pytest.approx(
        (wear["used_share"] - 1) * wear["price"], abs=0.01
    )
