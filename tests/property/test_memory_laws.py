"""Laws of the memory model for all shipped engines and models: what must grow grows, and no byte is promised twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from planner.budget import Launch, gpu_budget
from planner.engines import Engine
from planner.hardware import Gpu
from planner.kvcache import KvCache, kv_cache
from planner.layout import Layout, layout_fault, offered_layouts
from planner.models import Model
from planner.pool import Pool, Sizes, kv_pool
from planner.weights import weights_per_gpu
from tests.property.worlds import shelf

GIB = 2**30
MANY = settings(
    deadline=None, derandomize=True, max_examples=60, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
ENGINES = sorted(shelf().engines.engines)
MODELS = sorted({model.id for model in shelf().models.values()})
GPUS = sorted(shelf().catalog.gpus())
STEPS = (2048, 8192, 16384)


@dataclass(frozen=True)
class Run:
    """A model on an engine and GPU in one layout."""

    engine: Engine
    model: Model
    gpu: Gpu
    kv: KvCache
    layout: Layout

    def pool(self, memory: int, sizes: Sizes, step: int = 8192) -> Pool:
        return kv_pool(memory, self.kv, self.layout, self.engine, self.model.family, step, sizes)

    def __repr__(self) -> str:
        return f"{self.model.id} {self.kv.name} on {self.gpu.id} with {self.engine.id} {self.layout.name}"


@cache
def formats(engine: str, model: str, gpu: str) -> tuple[str, ...]:
    found, at, on = shelf().engines.engines[engine], shelf().model(model), shelf().catalog.gpus()[gpu]
    legal = [name for name in at.attention[0].formats() if not found.kv_format_fault(name, at.family, on.architecture)]
    return tuple(name for name in legal if all(not g.formats() or name in g.formats() for g in at.attention))


@cache
def layouts(engine: str, model: str, gpu: str, kv_format: str) -> tuple[Layout, ...]:
    found, at, on = shelf().engines.engines[engine], shelf().model(model), shelf().catalog.gpus()[gpu]
    kv = kv_cache(at, kv_format)
    more = [Layout(tp=4, pp=2), Layout(tp=4, pcp=2), Layout(tp=4, pcp=2, dcp=8), Layout(tp=2, pcp=4, dcp=4)]
    offered = [*offered_layouts(8, 1, at), *offered_layouts(8, 2, at), *more]
    return tuple(one for one in offered if not layout_fault(one, at, found, kv, on.architecture))


@st.composite
def runs(draw: st.DrawFn, engine: str | None = None) -> Run:
    name, model, gpu = (
        engine or draw(st.sampled_from(ENGINES)),
        draw(st.sampled_from(MODELS)),
        draw(st.sampled_from(GPUS)),
    )
    legal = formats(name, model, gpu)
    assume(legal)
    kv_format = draw(st.sampled_from(legal))
    layout = draw(st.sampled_from(layouts(name, model, gpu, kv_format)))
    at = shelf().model(model)
    return Run(shelf().engines.engines[name], at, shelf().catalog.gpus()[gpu], kv_cache(at, kv_format), layout)


@st.composite
def sessions(draw: st.DrawFn) -> Sizes:
    tokens = draw(st.one_of(st.integers(1, 2000), st.integers(1, 300_000), st.sampled_from([8192, 131_072])))
    prefix = draw(st.one_of(st.just(0), st.integers(0, tokens - 1)))
    return Sizes(tokens, prefix, draw(st.integers(1, 4)) if prefix else 1)


MEMORY = st.one_of(st.integers(0, 100 * GIB), st.integers(0, GIB))


@pytest.mark.parametrize("engine", ENGINES)
def test_knife_edges_are_exact(engine: str) -> None:
    # So many bytes more hold one more session and one byte fewer does not; the spare ones may go, and no more.
    @MANY
    @given(runs(engine), sessions(), MEMORY, st.sampled_from(STEPS))
    def check(run: Run, sizes: Sizes, memory: int, step: int) -> None:
        found = run.pool(memory, sizes, step)

        def at(moved: int) -> int:
            return run.pool(memory + moved, sizes, step).sessions - found.sessions

        assert (at(found.missing_bytes), at(found.missing_bytes - 1)) == (1, 0)
        if found.sessions:
            assert (at(-found.spare_bytes), at(-found.spare_bytes - 1)) == (0, -1)

    check()


@MANY
@given(runs(), sessions(), MEMORY, MEMORY)
def test_more_memory_never_holds_fewer_sessions(run: Run, sizes: Sizes, memory: int, more: int) -> None:
    one, other = run.pool(memory, sizes), run.pool(memory + more, sizes)
    assert one.sessions <= other.sessions
    assert one.tokens <= other.tokens


@MANY
@given(runs(), st.integers(1, 300_000), st.integers(1, 5000), MEMORY)
def test_more_tokens_never_take_fewer_bytes(run: Run, tokens: int, more: int, memory: int) -> None:
    short, long = run.pool(memory, Sizes(tokens)), run.pool(memory, Sizes(tokens + more))
    assert long.sessions <= short.sessions
    assert long.paging is not None
    assert long.paging.request_bytes(tokens + more) >= long.paging.request_bytes(tokens)
    assert run.kv.session_bytes(tokens + more) >= run.kv.session_bytes(tokens)


@MANY
@given(runs(), MEMORY)
def test_tokens_of_a_pool_are_those_of_its_longest_session(run: Run, memory: int) -> None:
    found = run.pool(memory, Sizes(1))
    # Where every layer has a window, a session may have any length.
    assert run.pool(memory, Sizes(found.tokens + 1)).sessions == 0 or not run.kv.rate
    if found.tokens:
        assert run.pool(memory, Sizes(found.tokens)).sessions >= 1


@MANY
@given(runs(), sessions(), MEMORY)
def test_pools_never_hold_more_than_the_bytes_of_all_their_gpus(run: Run, sizes: Sizes, memory: int) -> None:
    # Whatever is split over ranks, one copy of each session lies in the memory of them together.
    found, tokens = run.pool(memory, replace(sizes, prefix_tokens=0)), sizes.session_tokens
    gpus = run.layout.tp * run.layout.pcp * run.layout.pp
    assert found.sessions * run.kv.session_bytes(tokens) <= memory * gpus
    assert run.kv.rate * found.tokens <= memory * gpus


@MANY
@given(runs(), sessions(), MEMORY)
def test_a_smaller_format_never_holds_fewer_sessions(run: Run, sizes: Sizes, memory: int) -> None:
    caches = [kv_cache(run.model, name) for name in formats(run.engine.id, run.model.id, run.gpu.id)]
    caches = [kv for kv in caches if run.layout in layouts(run.engine.id, run.model.id, run.gpu.id, kv.name)]
    held = [(tuple(p.row_bytes for p in kv.parts), replace(run, kv=kv).pool(memory, sizes).sessions) for kv in caches]
    for rows, sessions_ in held:
        for other, others in held:
            if all(mine <= theirs for mine, theirs in zip(rows, other, strict=True)):
                assert sessions_ >= others


@MANY
@given(runs(), st.integers(0, 1))
def test_more_ranks_never_hold_more_weights(run: Run, draft: int) -> None:
    for one in run.model.checkpoints:
        held = [
            weights_per_gpu(run.model, one.format, Layout(tp=tp), run.engine, draft)
            for tp in (1, 2, 4, 8)
            if run.model.attention[0].tensor_limit() % tp == 0
        ]
        assert held == sorted(held, reverse=True)
        stages = [weights_per_gpu(run.model, one.format, Layout(tp=2, pp=pp), run.engine, draft) for pp in (1, 2, 4)]
        assert stages == sorted(stages, reverse=True)


@MANY
@given(runs(), st.integers(1024, 2**20), st.integers(1, 2**20))
def test_parts_of_a_budget_add_up_and_longer_contexts_never_leave_more(run: Run, tokens: int, more: int) -> None:
    for one in run.model.checkpoints:
        short, long = (
            gpu_budget(run.model, run.gpu, run.engine, one.format, run.layout, Launch(context))
            for context in (tokens, tokens + more)
        )
        assert short.kv_bytes == short.usable_bytes - short.weights_bytes - short.runtime_bytes
        assert 0 <= sum(size for _, size in short.weights) - short.weights_bytes <= len(short.weights)
        assert short.usable_bytes <= short.visible_bytes <= run.gpu.memory_bytes
        # Past `long_from` an engine reserves fewer rows per token, so one step down is its own.
        if not _shrinks(run.engine, tokens, tokens + more):
            assert long.kv_bytes <= short.kv_bytes


def _shrinks(engine: Engine, short: int, long: int) -> bool:
    rule = engine.runtime.workspace
    return rule is not None and rule.long_factor < rule.factor and short <= rule.long_from_tokens < long


CHANGES: dict[str, Callable[[Launch], Launch]] = {
    "more sequences": lambda launch: replace(launch, max_sequences=2 * (launch.max_sequences or 0)),
    "larger steps": lambda launch: replace(launch, batched_tokens=2 * (launch.batched_tokens or 0)),
    "a draft layer": lambda launch: replace(launch, draft_layers=1),
    "a smaller share": lambda launch: replace(launch, utilisation_fraction=Fraction(3, 4)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_options_that_take_memory_never_leave_more(change: str) -> None:
    @MANY
    @given(runs(), st.integers(1, 512), st.sampled_from(STEPS))
    def check(run: Run, sequences: int, step: int) -> None:
        share = Fraction(9, 10) if change == "a smaller share" else None
        launch, weights = Launch(8192, share, sequences, step), run.model.checkpoints[0].format
        changed = CHANGES[change](launch)
        one, other = (gpu_budget(run.model, run.gpu, run.engine, weights, run.layout, at) for at in (launch, changed))
        assert other.kv_bytes <= one.kv_bytes

    check()
