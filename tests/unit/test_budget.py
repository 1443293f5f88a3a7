"""The memory of one GPU: every term of every rule by hand, and two engines' own figures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from planner.attention.dsa import Dsa
from planner.attention.mla import Mla
from planner.budget import (
    Budget,
    Launch,
    activations,
    default_batch,
    encoder_bytes,
    expert_workspace,
    given_budget,
    gpu_budget,
    known_budget,
    reserve_bytes,
    visible_bytes,
)
from planner.engines import Activations, Batch, Engine, Reserve, Workspace
from planner.errors import InputError
from planner.layout import Layout
from planner.models import FeedForward, Model
from planner.weights import weights_per_gpu
from tests.unit import tiny
from tests.unit.tiny import GB, GIB, shelf

ALONE, SHORT = Layout(), Launch(1024)
ENGINES, GPUS = shelf().engines.engines, shelf().catalog.gpus()
VLLM, SGLANG = ENGINES["vllm-0.33"], ENGINES["sglang-0.5.23"]
H200 = GPUS["h200-sxm"]
GLM = shelf().model("glm-5.3")
LATENT: dict[str, Any] = {
    "layers": 8, "heads": 8, "rank": 256, "rope": 32, "nope": 64, "value_dim": 32, "query_rank": 128,
}  # fmt: skip
SPARSE = Dsa(**LATENT, indexer_layers=2, indexer_heads=4, indexer_dim=32, topk=64)

PEAK = Activations(
    base_bytes=10, sampler=Fraction(3), vocabulary=Fraction(5), stream=Fraction(7), sampled=Fraction(11),
    streams=Fraction(17), widest=Fraction(13), scores_bytes=19, latent=Fraction(23),
)  # fmt: skip
"""Applied below to 2 sequences and 4 new tokens of the tiny model: hidden 512, vocabulary 1,000, feed-forward 1,024."""
SAMPLER = 3 * 2 * 1000 + 5 * 1000 + 7 * 4 * 512 + 11 * 2 * 512
WORK = Workspace(
    experts=Fraction(3), query=Fraction(29), padded=Fraction(31), factor=5, long_factor=2, long_from_tokens=1000,
    row_bytes=37, picked=Fraction(41),
)  # fmt: skip
EXPERTS = FeedForward(expert_layers=8, experts=8, active_experts=2, expert_size=1024)


def with_runtime(**changes: Any) -> Engine:
    batch = Batch(from_memory_bytes=0, max_sequences=2, batched_tokens=4)
    return tiny.engine(runtime=replace(tiny.engine().runtime, **({"batches": (batch,)} | changes)))


def budget_of(engine: Engine, layout: Layout = ALONE, launch: Launch = SHORT, **changes: Any) -> Budget:
    return gpu_budget(tiny.model(**changes), tiny.gpu(), engine, "bf16", layout, launch)


def test_budget_by_hand() -> None:
    budget = budget_of(tiny.engine())
    weights = weights_per_gpu(tiny.model(), "bf16", Layout(), tiny.engine())
    assert (budget.visible_bytes, budget.usable_bytes, budget.runtime_bytes) == (16 * GIB, 16 * GIB, GIB)
    assert (budget.weights_bytes, budget.kv_bytes, budget.evidence) == (weights, 15 * GIB - weights, "derived")


def test_engines_see_what_logs_say_or_their_usual_share() -> None:
    engine = with_runtime(visible_fraction=Fraction(99, 100))
    assert visible_bytes(tiny.gpu(), engine) == 16 * GIB * 99 // 100
    assert visible_bytes(tiny.gpu(visible_bytes=15 * GIB), engine) == 15 * GIB
    budget = gpu_budget(tiny.model(), tiny.gpu(visible_bytes=15 * GIB), engine, "bf16", Layout(), Launch(1024))
    assert (budget.visible_bytes, budget.usable_bytes) == (15 * GIB, 15 * GIB)


def test_ranks_that_reduce_or_exchange_take_more() -> None:
    engine = with_runtime(
        base_single_bytes=GB, base_parallel_bytes=3 * GB, base_bridged_bytes=2 * GB, expert_buffer_bytes=5 * GB
    )
    experts = {"feed_forward": EXPERTS}
    assert budget_of(engine).runtime_bytes == GB
    assert budget_of(engine, Layout(pp=2)).runtime_bytes == GB
    assert budget_of(engine, Layout(tp=2)).runtime_bytes == 3 * GB
    over_pcie = tiny.gpu(fabric_bytes_per_s=0)
    assert gpu_budget(tiny.model(), over_pcie, engine, "bf16", Layout(tp=2), Launch(1024)).runtime_bytes == 2 * GB
    assert budget_of(engine, Layout(dp=2, ep=2), **experts).runtime_bytes == 8 * GB


def test_options_of_the_launch_go_before_the_profile() -> None:
    engine = replace(with_runtime(activations=PEAK), utilisation_fraction=Fraction(90, 100))

    def runtime(launch: Launch) -> int:
        return dict(budget_of(engine, launch=launch).runtime)["activations"]

    assert budget_of(engine).usable_bytes == 16 * GIB * 9 // 10
    assert budget_of(engine, launch=Launch(1024, Fraction(1, 2))).usable_bytes == 8 * GIB
    assert runtime(Launch(1024)) == activations(PEAK, tiny.model(), Layout(), 2, 4)
    assert runtime(Launch(1024, None, 900)) == activations(PEAK, tiny.model(), Layout(), 900, 4)
    assert runtime(Launch(1024, None, None, 8)) == activations(PEAK, tiny.model(), Layout(), 2, 8)
    draft = weights_per_gpu(tiny.model(), "bf16", Layout(), engine, 1)
    assert budget_of(engine, launch=Launch(1024, draft_layers=1)).weights_bytes == draft


def test_batch_goes_by_memory_and_architecture() -> None:
    rows = [(80, (), 4), (40, ("a",), 3), (40, (), 2), (10, (), 1)]
    batches = tuple(
        Batch(from_memory_bytes=gib * GIB, not_on=not_on, max_sequences=n, batched_tokens=n) for gib, not_on, n in rows
    )
    engine = with_runtime(batches=batches)

    def found(gib: int, architecture: str = "a") -> int:
        return default_batch(tiny.gpu(memory_bytes=gib * GIB, architecture=architecture), engine).max_sequences

    assert [found(96), found(80), found(79), found(79, "b"), found(40), found(39), found(10)] == [4, 4, 2, 3, 2, 1, 1]
    with pytest.raises(InputError, match="no batch is given for Gpu"):
        found(9)


def test_four_and_more_ranks_may_take_more_sequences() -> None:
    batch = Batch(from_memory_bytes=0, max_sequences=2, tensor_sequences=20, batched_tokens=4)
    engine = with_runtime(batches=(batch,), activations=PEAK)

    def sequences(layout: Layout, launch: Launch = SHORT) -> bool:
        model = tiny.model(feed_forward=EXPERTS)
        found = dict(gpu_budget(model, tiny.gpu(), engine, "bf16", layout, launch).runtime)["activations"]
        return found == activations(PEAK, model, layout, 20, 4)

    assert [sequences(Layout(tp=tp)) for tp in (1, 2, 4, 8)] == [False, False, True, True]
    assert sequences(Layout(dp=4, ep=4))  # attention groups are ranks, too
    assert not sequences(Layout(tp=4), Launch(1024, None, 2))


def test_activations_peak_in_the_sampler_or_in_the_widest_layer() -> None:
    layer, model = 17 * 4 * 512 + 13 * 4 * 1024, tiny.model()
    assert activations(PEAK, model, Layout(), 2, 4) == 10 + max(SAMPLER, layer) == 10 + layer
    assert activations(PEAK, model, Layout(tp=2), 2, 4) == 10 + 17 * 4 * 512 + 13 * 4 * 512
    assert activations(replace(PEAK, streams=Fraction(0)), model, Layout(tp=8), 2, 4) == 10 + SAMPLER
    assert activations(PEAK, tiny.model(feed_forward=EXPERTS), Layout(), 2, 4) == 10 + SAMPLER


@pytest.mark.parametrize("term", ["sampler", "vocabulary", "stream", "sampled"])
def test_each_term_of_the_sampler(term: str) -> None:
    # 2 sequences x 1,000 entries; 1,000 entries; 4 tokens x 512; 2 sequences x 512.
    sizes = {"sampler": 2000, "vocabulary": 1000, "stream": 2048, "sampled": 1024}
    only = replace(PEAK, **{name: Fraction(0) for name in (*sizes, "streams", "widest") if name != term})
    assert activations(only, tiny.model(), Layout(), 2, 4) == 10 + getattr(PEAK, term) * sizes[term]


def test_activations_of_latent_attention() -> None:
    layer = 17 * 4 * 512 + 13 * 4 * 1024
    dense, sparse = tiny.model(attention=(Mla(**LATENT),)), tiny.model(attention=(SPARSE,))
    assert activations(PEAK, dense, Layout(), 2, 4) == 10 + layer + 23 * 8 * (64 + 32)
    assert activations(PEAK, dense, Layout(tp=4), 2, 4) == 10 + 17 * 4 * 512 + 13 * 4 * 256 + 23 * 2 * (64 + 32)
    assert activations(PEAK, sparse, Layout(), 2, 4) == 10 + layer + 19


@pytest.mark.parametrize(
    ("layout", "size", "width", "elements"),
    [
        (Layout(), 1024, None, 4 * (1024 + 2048)),
        (Layout(tp=2), 1024, None, 4 * (512 + 1024)),
        (Layout(tp=8), 1024, None, 4 * (512 + 512)),  # 128 and twice that are less than the hidden size
        (Layout(dp=4, ep=4), 1024, None, 4 * 4 * (1024 + 2048)),  # all groups' tokens, whole experts
        (Layout(dp=2, tp=2, ep=4), 1024, None, 2 * 4 * (1024 + 2048)),
        (Layout(tp=8), 1024, 64, 4 * (128 + 256)),
    ],
)
def test_workspace_of_experts(layout: Layout, size: int, width: int | None, elements: int) -> None:
    model = tiny.model(feed_forward=replace(EXPERTS, expert_size=size, expert_hidden=width))
    assert expert_workspace(WORK, model, layout, 4) == 3 * 2 * elements


def test_dense_models_need_no_workspace_of_experts() -> None:
    assert expert_workspace(WORK, tiny.model(), Layout(), 4) == 0
    assert "workspace of experts" not in dict(budget_of(with_runtime(workspace=WORK)).runtime)


@pytest.mark.parametrize(
    ("tp", "context", "size"),
    [
        (1, 1000, 4 * (29 * 8 + 31 * 64) + 5 * 1000 * 37),
        (4, 1000, 4 * (29 * 2 + 31 * 64) + 5 * 1000 * 37),
        (4, 1001, 4 * (29 * 2 + 31 * 64) + 2 * 1001 * 37),
    ],
)
def test_workspace_of_sparse_attention(tp: int, context: int, size: int) -> None:
    engine = with_runtime(workspace=WORK)
    runtime = dict(budget_of(engine, Layout(tp=tp), Launch(context), attention=(SPARSE,)).runtime)
    assert runtime["sparse prefill workspace"] == size
    assert runtime["indexer's selections"] == 41 * 4 * 64


def test_experts_and_sparse_attention_share_the_larger_workspace() -> None:
    model = {"attention": (SPARSE,), "feed_forward": EXPERTS}
    small, large = (
        dict(budget_of(with_runtime(workspace=WORK), launch=Launch(context), **model).runtime) for context in (64, 1000)
    )
    assert "workspace of experts" not in large
    assert small["workspace of experts"] + small["sparse prefill workspace"] == 3 * 2 * 4 * (1024 + 2048)


def test_room_for_images() -> None:
    two = Fraction(2)
    item = {"encoder": True, "encoder_item_tokens": 1000, "encoder_item_elements": 300}
    assert encoder_bytes(tiny.model(), 4096, two) == 0
    assert encoder_bytes(tiny.model(encoder=True), 4096, two) == 2 * 4096 * 512
    assert encoder_bytes(tiny.model(**item), 4096, two) == 2 * 4 * (300 + 1000 * 512)
    assert encoder_bytes(tiny.model(**item), 500, two) == 2 * (300 + 1000 * 512)


RESERVE = Reserve(
    base_bytes=1, chunk_bytes=10, rank_bytes=100, sequence_bytes=1000, group_bytes=10**5, many_bytes=10**6,
    many_sequences=5, graphs_bytes=10**8, latent_bytes=2 * 10**8, expert_bytes=10**9, floor_bytes=0, floor_from_bytes=0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "sequences", "latent", "size"),
    [
        ("tp1", 5, False, 1 + 10 * 7 + 100 + 1000 * 5 + 10**8),
        ("tp8", 5, False, 1 + 10 * 7 + 800 + 1000 * 5 + 10**8),
        ("tp8", 5, True, 1 + 10 * 7 + 800 + 1000 * 5 + 2 * 10**8),
        ("tp8-dcp8", 5, True, 1 + 10 * 7 + 800 + 1000 * 5),
        ("tp2-pp3", 5, True, 1 + 10 * 7 + 600 + 1000 * 5),
        ("dp2-tp2-ep4", 5, False, 1 + 10 * 7 + 400 + 1000 * 5 + 10**5 * 5 * 2 + 10**8 + 10**9),
        ("dp2-tp2-ep4", 6, False, 1 + 10 * 7 + 400 + 1000 * 6 + 11 * 10**5 * 6 * 2 + 10**8 + 10**9),
    ],
)
def test_reserve_by_hand(layout: str, sequences: int, latent: bool, size: int) -> None:
    model = tiny.model(attention=(Mla(**LATENT),)) if latent else tiny.model()
    assert reserve_bytes(RESERVE, model, tiny.gpu(), Layout.parse(layout), sequences, 7) == size


def test_reserve_has_a_floor_on_large_gpus_below_the_expert_buffers() -> None:
    rule = replace(RESERVE, floor_bytes=GIB, floor_from_bytes=16 * GIB)
    model, plain = tiny.model(), 1 + 10 * 7 + 100 + 1000 * 5 + 10**8
    assert reserve_bytes(rule, model, tiny.gpu(), Layout(), 5, 7) == GIB
    assert reserve_bytes(rule, model, tiny.gpu(memory_bytes=16 * GIB - 1), Layout(), 5, 7) == plain
    assert reserve_bytes(rule, model, tiny.gpu(), Layout(tp=2, ep=2), 5, 7) == GIB + 10**9


def test_what_a_reserve_leaves_is_rounded_to_a_thousandth() -> None:
    # 5 GiB of 16 leave 0.6875, that is 0.688; of more than there is, nothing.
    for reserve, share in ((5 * GIB, Fraction(688, 1000)), (20 * GIB, Fraction(0))):
        rule = Reserve(
            base_bytes=reserve, chunk_bytes=0, rank_bytes=0, sequence_bytes=0, group_bytes=0, many_bytes=0,
            many_sequences=1, graphs_bytes=0, latent_bytes=0, expert_bytes=0, floor_bytes=0, floor_from_bytes=0,
        )  # fmt: skip
        budget = budget_of(tiny.engine(utilisation_fraction=None, reserve=rule))
        assert budget.usable_bytes == int(16 * GIB * share)
    assert budget.kv_bytes < 0


def test_engine_must_say_what_it_leaves() -> None:
    with pytest.raises(InputError, match="neither 'utilisation' nor 'reserve'"):
        budget_of(tiny.engine(utilisation_fraction=None))


@pytest.mark.parametrize("name", list(ENGINES))
def test_every_engine_says_it_one_way(name: str) -> None:
    engine = ENGINES[name]
    assert (engine.utilisation_fraction is None) != (engine.reserve is None)
    assert (engine.runtime.activations is None) == (engine.runtime.workspace is None) == (engine.reserve is not None)
    assert [b.from_memory_bytes for b in engine.runtime.batches] == sorted(
        (b.from_memory_bytes for b in engine.runtime.batches), reverse=True
    )
    assert engine.runtime.batches[-1].from_memory_bytes == 0


# What SGLang 0.5.23 sets as mem_fraction_static (arg_groups/memory_hook.py).
FRACTIONS = {
    "h100-sxm": (0.830, 0.812, 0.799, 0.573, 0.548),
    "h200-sxm": (0.903, 0.893, 0.886, 0.758, 0.744),
    "b200": (0.854, 0.849, 0.844, 0.743, 0.732),
}
RUNS = [
    ("llama-3.1-70b", Layout()),
    ("llama-3.1-70b", Layout(tp=8)),
    ("deepseek-v3", Layout(tp=8)),
    ("deepseek-v3", Layout(dp=8)),
    ("deepseek-v3", Layout(dp=8, ep=8)),
]


@pytest.mark.parametrize("gpu", FRACTIONS)
def test_static_fractions_of_sglang(gpu: str) -> None:
    found = []
    for name, layout in RUNS:
        model = shelf().model(name)
        budget = gpu_budget(model, GPUS[gpu], SGLANG, model.checkpoints[0].format, layout, Launch(8192))
        found.append(round(budget.usable_bytes / budget.visible_bytes, 3))
    assert found == list(FRACTIONS[gpu])


def test_workspace_of_glm_5_3() -> None:
    def workspace(context: int) -> int:
        budget = gpu_budget(GLM, H200, VLLM, "fp8", Layout(tp=8), Launch(context))
        return dict(budget.runtime)["sparse prefill workspace"]

    # kv-facts.md 4.2: 0.70 GiB at 131,072, 1.09 at 202,752, 2.25 at 1,048,576; 8,192 x 2,176 x (8 + 64) B beside.
    beside = 8192 * 2176 * 72
    gib = [round((workspace(context) - beside) / GIB, 2) for context in (131_072, 202_752, 1_048_576)]
    assert gib == [0.70, 1.09, 2.25]


def test_the_published_run_of_glm_5_3_is_foretold() -> None:
    # recipes#893, vLLM 0.28 at 1,048,576 tokens: 94.46 GiB at load, the sparse workspace among them.
    budget = gpu_budget(GLM, H200, ENGINES["vllm-0.28"], "fp8", Layout(tp=8), Launch(1_048_576))
    runtime = dict(budget.runtime)
    at_load = budget.weights_bytes + runtime["sparse prefill workspace"] + runtime["indexer's selections"]
    assert at_load / GIB == pytest.approx(94.46, abs=0.2)


def known(layout: str, tokens: int, gpu: str = "h200-sxm", engine: str = "vllm-0.28", model: Model = GLM) -> Budget:
    launch, rows = Launch(tokens), shelf().engines.measured
    return known_budget(
        model, GPUS[gpu], ENGINES[engine], "fp8", "fp8_ds_mla", Layout.parse(layout), launch, rows
    )  # fmt: skip


def estimate(layout: str, tokens: int, gpu: str = "h200-sxm", engine: str = "vllm-0.28") -> Budget:
    return gpu_budget(GLM, GPUS[gpu], ENGINES[engine], "fp8", Layout.parse(layout), Launch(tokens))


def test_measured_run_replaces_the_estimate() -> None:
    found = known("tp8", 1_048_576)
    assert (found.evidence, found.weights_bytes, found.kv_bytes) == ("measured", round(94.46 * GIB), round(25.94 * GIB))
    assert found.usable_bytes == found.weights_bytes + found.runtime_bytes + found.kv_bytes


def test_measured_run_with_other_options_is_moved_by_our_estimate_of_them() -> None:
    # The run's workspace is 8,192 x 1,152 x 8 B and 5 rows of 1,152 B per token of longest context; at 131,072 the
    # experts' is the larger one: 2 B x 8,192 x 8 x (6,144 + 6,144).
    found = known("tp8", 131_072)
    lighter = 5 * 1152 * (1_048_576 - 131_072)  # reserved at load, so that the log counts it as weights
    assert (found.evidence, found.weights_bytes) == ("derived", round(94.46 * GIB) - lighter)
    moved = 1152 * (8192 * 8 + 5 * 1_048_576) - 2 * 8192 * 8 * 2 * 6144
    assert found.kv_bytes == round(25.94 * GIB) + moved


def test_measured_run_serves_context_parallelism_too() -> None:
    spread = known("tp8-dcp8", 1_048_576)
    assert (spread.evidence, spread.kv_bytes) == ("derived", round(25.94 * GIB))


@pytest.mark.parametrize(
    ("layout", "gpu", "engine"), [("tp4", "h200-sxm", "vllm-0.28"), ("tp8", "b200", "vllm-0.28"),
                                  ("tp8", "h200-sxm", "vllm-0.33")],
)  # fmt: skip
def test_other_runs_are_derived(layout: str, gpu: str, engine: str) -> None:
    assert known(layout, 1_048_576, gpu, engine) is estimate(layout, 1_048_576, gpu, engine)


def test_given_figures_leave_the_rest_to_the_runtime() -> None:
    budget = given_budget(estimate("tp8", 8192), 5, 7, "given")
    assert (budget.weights_bytes, budget.kv_bytes, budget.evidence) == (5, 7, "given")
    assert budget.runtime_bytes == budget.usable_bytes - 12
