"""Files of measurements: our columns, AIConfigurator's, and every fault with its place."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.planning import make_plan
from planner.scenario import Scenario
from planner.scenario_files import load_scenario
from planner.throughput import Throughput
from planner.throughput_files import cells, read_throughput
from tests.unit.tiny import shelf

HEAD = "gpu,layout,input,output,concurrency,tokens_per_s,ttft_ms,tpot_ms\n"
# What `aiconfigurator cli` saves as best_config_topn.csv and pareto.csv for aggregated serving.
THEIRS = (
    "model,isl,osl,prefix,concurrency,request_rate,bs,global_bs,ttft,tpot,request_latency,encoder_latency,"
    "encoder_memory,seq/s,seq/s/gpu,tokens/s,tokens/s/gpu,tokens/s/user,num_total_gpus,tp,pp,dp,moe_tp,moe_ep,cp,"
    "parallel,gemm,kvcache,fmha,moe,comm,memory,balance_score,num_ctx_reqs,num_gen_reqs,num_tokens,ctx_tokens,"
    "gen_tokens,backend,version,system,power_w,tokens/s/gpu_cluster\n"
)


def theirs(model: str = "zai-org/GLM-5", system: str = "h200_sxm", how: str = "1,1,8,1,8") -> str:
    return (
        f"{model},65536,1024,0,32,0.5,4,32,5210.5,41.2,47000,0,0,0.62,0.08,640.5,80.06,24.3,8,{how},1,"
        f"x,fp8_block,fp8,float16,fp8_block,half,110,1,1,31,9000,8192,31,vllm,0.33.0,{system},650,80.06\n"
    )


def read(tmp_path: Path, text: str, model: str = "glm-5") -> Throughput:
    path = tmp_path / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return read_throughput(path, model, shelf())


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_our_columns(tmp_path: Path) -> None:
    found = read(tmp_path, f"# runs of May\n\n{HEAD}h20-141,EP8-dp8,2048,1024,100,791.73,21147.2,99.71\n")
    (row,) = found.rows
    assert (found.format, found.left_out, len(found.digest)) == ("rows", (), 12)
    assert (row.line, row.model, row.gpu, row.layout) == (4, "glm-5", "h20-141", "dp8-ep8")
    assert (row.input_tokens, row.output_tokens, row.concurrency) == (2048, 1024, 100)
    assert row.output_tokens_per_s == Fraction("791.73")
    assert (row.first_token_s, row.token_s) == (Fraction("21.1472"), Fraction("0.09971"))
    assert row.prefilled_per_s == 2 * row.output_tokens_per_s


def test_optional_columns_may_be_empty_or_left_out(tmp_path: Path) -> None:
    head = "model,engine,weights,kv_format,prefix,note,gpu,layout,input,output,concurrency,tokens_per_s\n"
    line = '"zai-org/GLM-5",vllm,fp8,,512,"two, ""quoted""",h200-sxm,tp8,2048,1024,4,80\n'
    (row,) = read(tmp_path, head + line).rows
    assert (row.model, row.engine, row.weights, row.kv_format, row.prefix_tokens) == ("glm-5", "vllm", "fp8", "", 512)
    assert row.between_s == Fraction(4, 80)


def test_cells_know_their_columns() -> None:
    assert [(cell.text, cell.column) for cell in cells('a,"b,""c""",,d')] == [
        ("a", 1), ('b,"c"', 3), ("", 13), ("d", 14),
    ]  # fmt: skip


def test_aiconfigurator(tmp_path: Path) -> None:
    found = read(tmp_path, THEIRS + theirs())
    (row,) = found.rows
    assert (found.format, row.model, row.gpu, row.layout) == ("AIConfigurator", "glm-5", "h200-sxm", "dp8-ep8")
    assert (row.input_tokens, row.output_tokens, row.concurrency, row.engine) == (65536, 1024, 32, "vllm")
    assert (row.output_tokens_per_s, row.token_s) == (Fraction("640.5"), Fraction("0.0412"))
    assert row.first_token_s == Fraction("5.2105")


@pytest.mark.parametrize(
    ("how", "layout"),
    [("8,1,1,8,1", "tp8"), ("8,1,1,1,8", "tp8-ep8"), ("4,2,1,4,1", "tp4-pp2"), ("2,1,4,1,8", "dp4-tp2-ep8")],
)
def test_their_layouts(tmp_path: Path, how: str, layout: str) -> None:
    (row,) = read(tmp_path, THEIRS + theirs(how=how)).rows
    assert row.layout == layout


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (theirs(how="1,1,8,8,1"), "data-parallel attention with experts that are split is no layout here"),
        (theirs(how="8,1,1,2,4"), "experts over 4 x 2 of 8 ranks are no layout here"),
        (theirs(system="tpu9"), "the catalogue has no GPU 'tpu9'"),
        (theirs(model="someone/else"), "the catalogue has no model 'someone/else'"),
    ],
)
def test_what_no_replica_here_can_be_is_left_out_and_said(tmp_path: Path, line: str, why: str) -> None:
    found = read(tmp_path, THEIRS + theirs() + line)
    assert (len(found.rows), found.left_out) == (1, (f"line 3: {why}",))
    assert faults(tmp_path, THEIRS + line) == [
        f"runs.csv:1:1: holds no measurement that can be used\n    line 2: {why}"
    ]


def test_disaggregated_serving_is_refused(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "model,isl,osl,(p)tp,(d)tp\nx,1,1,1,1\n")
    assert fault.startswith("runs.csv:1:15: prefill and decode run on GPUs of their own")


def test_all_faults_of_the_columns_at_once(tmp_path: Path) -> None:
    found = faults(tmp_path, "gpu,layot,input,output,concurrency,tokens_per_s,gpu\n")
    assert [text.split(": ", 1)[0] for text in found] == ["runs.csv:1:1", "runs.csv:1:5", "runs.csv:1:49"]
    assert "the column 'layout' is missing" in found[0]
    assert "unknown column 'layot'" in found[1]
    assert "layout" in found[1].splitlines()[1]
    assert "stands twice" in found[2]


def test_a_missing_column_of_theirs_names_the_nearest(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, THEIRS.replace("moe_ep", "moe_epp") + theirs())
    assert "the column 'moe_ep' is missing" in fault
    assert "moe_epp" in fault.splitlines()[1]


def test_all_faults_of_the_rows_at_once(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        HEAD + "h200,tp8x,-5,1.5,0,0,x,nan\n" + "h200-sxm,tp8,1e3,1,1,1,1\n" + "h200-sxm,tp8,9999999999,1,1,1,1,1\n",
    )
    places = [text.split(": ", 1)[0].removeprefix("runs.csv:") for text in found]
    assert places == ["2:1", "2:6", "2:11", "2:14", "2:18", "2:20", "2:22", "2:24", "3:24", "4:14"]
    assert "unknown GPU 'h200'" in found[0]
    assert "h200-sxm" in found[0]
    assert "expected a whole number" in found[2]
    assert "found 7 fields, expected 8" in found[8]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", HEAD])
def test_a_file_without_measurements(tmp_path: Path, text: str) -> None:
    assert len(faults(tmp_path, text)) == 1


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_throughput(path, "glm-5", shelf())


def test_more_of_a_prefix_than_of_a_prompt(tmp_path: Path) -> None:
    head = "prefix,gpu,layout,input,output,concurrency,tokens_per_s\n"
    (fault,) = faults(tmp_path, f"{head}2048,h200-sxm,tp8,1024,1,1,1\n")
    assert fault.startswith("runs.csv:2:1: 'prefix': found 2048, more than the 1024 tokens of 'input'")


# In a scenario


def scenario(tmp_path: Path, text: str, **changes: str) -> Scenario:
    (tmp_path / "runs.csv").write_text(text, encoding="utf-8")
    file = tmp_path / "mine.yaml"
    lines = "".join(f"  {key}: {value}\n" for key, value in ({"measured": "runs.csv"} | changes).items())
    head = "kind: scenario\nname: mine\ntitle: Mine\nextends: h20-or-h200\nservice:\n"
    rest = "serving: {layouts: [dp4-tp2-ep8]}\n"
    file.write_text(f"{head}{lines}{rest}", encoding="utf-8")
    return load_scenario(str(file), (), None, shelf())


def test_a_scenario_reads_the_file_beside_it(tmp_path: Path) -> None:
    made = scenario(tmp_path, HEAD + "h200-sxm,tp8,65536,1024,16,400,,30\n")
    assert [row.concurrency for row in made.throughput.rows] == [16]
    assert made.throughput.rows[0].model == "glm-5"


def test_faults_of_the_file_stand_beside_those_of_the_scenario(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        scenario(tmp_path, HEAD + "h200,tp8,65536,1024,16,400,,30\n", prefill_ceiling="120 %")
    text = str(caught.value)
    assert "runs.csv:2:1: 'gpu': unknown GPU 'h200'" in text
    assert "mine.yaml:7:20: expected a share of the time" in text


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine.yaml:6:13: 'measured': there is no file 'other.csv'"):
        scenario(tmp_path, HEAD, measured="other.csv")


def test_more_accepted_than_drafted() -> None:
    from planner.scenario import Override

    with pytest.raises(InputError, match="expected 1 to 2 tokens per step with 1 drafted"):
        load_scenario(
            "h20-or-h200",
            (Override.parse("serving.draft_layers=1"), Override.parse("serving.accepted=2.5")),
            None,
            shelf(),
        )


def test_a_plan_says_what_was_measured_and_what_cannot_have_been(tmp_path: Path) -> None:
    text = HEAD + "h200-sxm,dp4-tp2-ep8,65536,1024,24,90000,,15\nh200-sxm,dp4-tp2-ep8,65536,1024,1,90,4500,10\n"
    made = scenario(tmp_path, text)
    plan = make_plan(made, shelf(), compare=False)
    assert plan.provenance["measured"] == [{"file": made.throughput.file, "digest": made.throughput.digest, "rows": 2}]
    words = " ".join(plan.warnings)
    assert "are measured, where they apply" in words
    assert "line 2: 90,000 tokens/s are more than dp4-tp2-ep8 on h200-sxm can do at its peaks" in words
