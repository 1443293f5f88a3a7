"""Estimate and bound against public throughput measurements, and how raw rows are read."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.ground_truth.raw import UnusableError
from tests.ground_truth.speed.raw import from_raw_speed, read_raw_speed
from tests.ground_truth.speed.report import speed_summary, speed_table, speeds, within
from tests.ground_truth.speed.rows import Measured, Speed, make_measured, read_measured

ROWS = list(read_measured())


@cache
def found() -> list[Speed]:
    return speeds(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_no_measurement_beats_the_bound(row: Measured) -> None:
    assert Speed.of(row).beaten == ()


def test_the_estimate_is_within_a_factor_of_two() -> None:
    good = within(found())
    assert len(good) >= 25
    assert sum(good) >= Fraction(4, 5) * len(good)


def test_the_estimate_stays_below_the_bound() -> None:
    assert all(s.tokens_per_s <= s.row.output * s.bound.requests_per_s for s in found())


def test_the_table_names_every_row() -> None:
    text = speed_table(found())
    assert all(f"\n{row.id} " in text for row in ROWS)
    assert any(line.startswith("bound: no measurement beats it") for line in speed_summary(found()))


def raw(**changes: Any) -> dict[str, Any]:
    observed = {"isl": 1024, "osl": 1024, "concurrency": 64, "output_tok_per_s_per_gpu": 223.6, "tpot_ms": 34.6}
    row = {
        "id": "R", "kind": "throughput", "source": "a", "model": "deepseek-ai/DeepSeek-R1-0528", "engine": "sglang",
        "engine_version": "0.5.7", "gpu": "H200", "gpu_count": 8, "tp": 8, "pp": None, "dp": None, "ep": 1,
        "kv_dtype": None, "weight_quant": "fp8", "note": "", "observed": observed,
    }  # fmt: skip
    return row | changes


def seen(**changes: Any) -> dict[str, Any]:
    return {"isl": 1024, "osl": 1024, "concurrency": 8, "tpot_ms": 30} | changes


def test_a_raw_row() -> None:
    row = from_raw_speed(raw())
    assert (row.model, row.gpu, row.layout, row.weights, row.engine) == (
        "deepseek-v3", "h200-sxm", "tp8", "fp8", "sglang-0.5.23",
    )  # fmt: skip
    assert row.seen["output_tokens_per_s"] == pytest.approx(8 * 223.6)
    assert row.full


@pytest.mark.parametrize(
    ("changes", "layout"),
    [
        ({"tp": None, "dp": 8}, "dp8-ep8"), ({"tp": 8, "dp": 8}, "dp8-ep8"), ({"ep": 8}, "tp8-ep8"),
        ({"tp": 4, "pp": 2}, "tp4-pp2"), ({"gpu_count": 1, "tp": None}, "tp1"),
        ({"observed": seen(dcp=8)}, "tp8-dcp8"),
    ],
)  # fmt: skip
def test_layouts_of_raw_rows(changes: dict[str, Any], layout: str) -> None:
    row = from_raw_speed(raw(**changes))
    assert (row.layout, row.full) == (layout, True)


def test_a_layout_that_is_not_said_is_inferred() -> None:
    low = from_raw_speed(raw(tp=None, observed=seen(strategy="low-latency")))
    high = from_raw_speed(raw(tp=None, observed=seen(strategy="high-throughput")))
    assert (low.layout, high.layout, low.inferred) == ("tp8", "dp8-ep8", ("layout",))


@pytest.mark.parametrize(
    ("changes", "drafts", "accepted", "inferred"),
    [
        ({"observed": seen(mtp_acceptance_length=1.64), "note": "MTP 3 tokens; more"}, 3, "1.64", ()),
        ({"note": "speculative acceptance pinned by env, not measured (3.5)"}, 3, "3.5", ()),
        ({"note": "no speculation"}, 0, "1", ()),
        ({"note": "MTP"}, 0, "1", ("accepted",)),
        ({"observed": seen(mtp=5)}, 0, "1", ("accepted",)),
    ],
)
def test_drafts_of_raw_rows(changes: dict[str, Any], drafts: int, accepted: str, inferred: tuple[str, ...]) -> None:
    row = from_raw_speed(raw(**changes))
    assert (row.drafts, row.accepted, row.inferred) == (drafts, Fraction(accepted), inferred)


def test_answers_are_as_long_as_the_totals_say() -> None:
    short = seen(isl=8000, osl=4000, output_tok_per_s=485.78, total_tok_per_s=10462.57)
    assert from_raw_speed(raw(observed=short)).output == 390
    exact = seen(isl=2048, osl=1024, output_tok_per_s=791.73, total_tok_per_s=2375.18)
    assert from_raw_speed(raw(observed=exact)).output == 1024


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"gpu": "A100"}, "no GPU 'A100', or several"), ({"model": "someone/new"}, "no model 'someone/new'"),
        ({"gpu": None}, "no GPU"), ({"observed": {"isl": 1, "osl": 1, "tpot_ms": 1}}, "concurrency is not said"),
        ({"observed": seen(tpot_ms=None)}, "neither tokens per second"),
        ({"weight_quant": "q4_k_m"}, "no such weights"),
        ({"tp": None, "gpu_count": None}, "neither GPUs nor a layout"), ({"tp": 3}, "cannot be split over 3 ranks"),
    ],
)  # fmt: skip
def test_raw_rows_of_no_use_say_why(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(UnusableError, match=why):
        from_raw_speed(raw(**changes))


def test_a_file_of_raw_rows(tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in (raw(), raw(gpu="A100"), raw(kind="vllm_kv"))), encoding="utf-8")
    first, second = read_raw_speed(path)
    assert isinstance(first, Measured)
    assert second[0] == "R"  # type: ignore[index]


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown keys"):
        make_measured({"id": "A", "seen": {"speed": 1}})
