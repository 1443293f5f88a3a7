"""The figures that the first slice must reach; facts, not wishes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Command

FIT = ("fit", "--model", "glm-5.3", "--weights", "fp8", "--kv", "fp8_ds_mla", "--gpu", "h200-sxm", "--gpus", "8",
       "--context", "131072")  # fmt: skip
MEASURED = ("--weights-gib", "94.46", "--kv-gib", "25.94", "-f", "json")


def test_fit_of_the_measured_run(command: Command) -> None:
    data = command(*FIT, "--layout", "tp8", *MEASURED).data
    assert data["kv_bytes_per_token"] == 53_940
    assert data["tokens_per_pool"] == pytest.approx(516_372, rel=0.001)
    assert (data["sessions_per_node"], data["evidence"]) == (3, "given")
    assert data["knife_edge"] is True
    assert data["margin_to_next_session_gib"] == pytest.approx(0.40, abs=0.01)
    nodes = command(*FIT, "--layout", "tp8", *MEASURED, "--sessions", "400").data
    assert (nodes["nodes"], nodes["nodes_other_side"]) == (134, 100)


def test_fit_with_context_parallelism(command: Command) -> None:
    assert command(*FIT, "--layout", "tp8-dcp8", *MEASURED).data["sessions_per_node"] == 31
    sglang = command(*FIT, "--layout", "tp8-dcp8", "--engine", "sglang-0.5.23", *MEASURED)
    assert sglang.data["sessions_per_node"] == 23


def test_fit_with_data_parallel_attention(command: Command) -> None:
    # By default every rank makes room for experts on 8,192 tokens of all eight groups: no session is left.
    data = command(*FIT, "--layout", "dp8-ep8", "-f", "json").data
    assert (data["sessions_per_node"], data["evidence"]) == (0, "derived")
    assert data["margin_to_next_session_gib"] == pytest.approx(1.50, abs=0.01)
    small = command(
        *FIT, "--layout", "dp8-ep8", "--max-num-batched-tokens", "2048", "--max-num-seqs", "256", "-f", "json"
    ).data
    assert 8 <= small["sessions_per_node"] <= 16
    assert small["margin_to_next_session_gib"] > 0
    assert small["margin_before_loss_gib"] > 0


def test_fit_of_the_same_model_with_the_newest_engine(command: Command) -> None:
    # No public run of this version: derived. 6 GiB less than the run, which counts the workspace as weights.
    data = command(*FIT, "--layout", "tp8", "-f", "json").data
    assert (data["sessions_per_node"], data["evidence"], data["tokens_per_pool"]) == (4, "derived", 646_592)


def test_fit_of_the_published_run_is_measured(command: Command) -> None:
    words = [*FIT[:-1], "1048576", "--layout", "tp8", "--engine", "vllm-0.28", "-f", "json"]
    data = command(*words).data
    assert (data["sessions_per_node"], data["evidence"], data["tokens_per_pool"]) == (0, "measured", 516_288)


@pytest.mark.parametrize(
    ("model", "weights", "kv", "gpu", "total"),
    [
        ("glm-5", "fp8", "fp8_ds_mla", "h200-sxm", 61_464),
        ("glm-5", "fp8", "bf16", "h200-sxm", 100_152),
        ("deepseek-v3", "fp8", "bf16", "h200-sxm", 70_272),
        ("deepseek-v3.2", "fp8", "fp8_ds_mla", "h200-sxm", 48_068),
        ("llama-3.1-70b", "bf16", "bf16", "h200-sxm", 327_680),
    ],
)
def test_fit_knows_the_bytes_per_token(
    command: Command, model: str, weights: str, kv: str, gpu: str, total: int
) -> None:
    words = ("fit", "--model", model, "--weights", weights, "--kv", kv, "--gpu", gpu, "--layout", "tp8", "-f", "json")
    data = command(*words).data
    assert data["kv_bytes_per_token"] == total
    if model == "llama-3.1-70b":
        assert data["kv_bytes_per_token_per_rank"] == 40_960


def test_demand_of_the_report(command: Command) -> None:
    tiers = command("demand", "report-as-written", "-f", "json").data["tiers"]
    for name, gb in (("hbm", 1184), ("dram", 1420), ("nvme", 5918), ("idle", 4734)):
        assert tiers[name]["bytes"] == pytest.approx(gb * 1e9, rel=0.002)
    bf16 = command("demand", "report-as-written", "--variant", "bf16", "-f", "json").data
    assert bf16["kv"]["bytes_per_token"] == 97_800
    assert bf16["tiers"]["dram"]["bytes"] == pytest.approx(4.63e12, rel=0.002)
    assert bf16["tiers"]["dram"]["bytes"] / tiers["dram"]["bytes"] == pytest.approx(3.26, abs=0.001)


def test_demand_of_the_exact_report(command: Command) -> None:
    data = command("demand", "report-exact", "-f", "json").data
    assert [round(data["tiers"][name]["bytes"] / 1e9, 3) for name in ("hbm", "dram", "nvme")] == [
        1240.656, 1488.787, 6203.281
    ]  # fmt: skip
    assert {"bytes_per_token", "session_bytes"} <= set(data["kv"])
    assert all({"sessions", "bytes"} == set(tier) for tier in data["tiers"].values())


def cents(value: float) -> int:
    found = round(value * 100)
    assert found / 100 == value
    return found


def bom_cents(bom: list[dict[str, Any]]) -> int:
    return sum(cents(line["extended_price"]) + cents(line["tax"]) for line in bom)


def test_plan_of_report_real(command: Command) -> None:
    first = command("plan", "report-real", "-f", "json")
    data = first.data
    assert (data["status"], data["objective"]["gap"], data["verified"]) == ("optimal", 0, True)
    assert [row["kind"] for row in data["constraints"] if row["slack"] < 0] == []
    assert bom_cents(data["bom"]) == cents(data["cost"]["capex_total"]) == cents(data["objective"]["value"])
    assert {line["role"] for line in data["bom"]} == {"node", "cluster"}
    assert all((line["qty_per_node"] is None) == (line["role"] == "cluster") for line in data["bom"])
    assert data["cost"]["low"] <= data["cost"]["capex_total"] <= data["cost"]["high"]
    assert data["n_nodes"] == sum(node["count"] for node in data["nodes"])
    assert command("plan", "report-real", "-f", "json").out == first.out


@pytest.mark.parametrize("name", ["report-exact", "report-as-written", "qwen3-235b"])
def test_bill_adds_up_with_tax_to_the_cent(command: Command, name: str) -> None:
    data = command("bom", name, "--set", "finance.tax=8.875 %", "--set", "finance.price_case=high", "-f", "json").data
    assert any(line["tax"] for line in data["bom"])
    assert bom_cents(data["bom"]) == cents(data["capex_total"])


def test_names_of_the_plan_are_kept(command: Command) -> None:
    data = command("plan", "report-exact", "-f", "json").data
    assert {
        "schema_version", "scenario", "status", "objective", "n_nodes", "n_gpus", "nodes", "bom", "constraints",
        "demand", "cost", "verified", "warnings", "provenance",
    } <= set(data)  # fmt: skip
    assert {"kind", "value", "bound", "gap", "currency"} <= set(data["objective"])
    assert {
        "build", "count", "chassis", "gpu", "gpus_per_node", "dimms", "drives", "nics", "layout", "unit_cost",
    } <= set(data["nodes"][0])  # fmt: skip
    assert {
        "item", "category", "part", "description", "qty_per_node", "qty", "unit_price", "extended_price", "currency",
        "tax", "evidence", "as_of", "source",
    } <= set(data["bom"][0])  # fmt: skip
    assert {"kind", "need", "have", "unit", "slack", "binding"} <= set(data["constraints"][0])
    assert set(data["demand"]["sessions"]) == {"open", "active", "in_flight", "warm", "cold"}
    assert {
        "parts", "cluster", "services", "tax", "capex_total", "opex_per_year", "tco_total", "years", "currency", "low",
        "high", "not_included",
    } <= set(data["cost"])  # fmt: skip
