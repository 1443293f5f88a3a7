"""Will it fit: the budget of a GPU as a bar, pools, whole sessions and the way to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner.doubts import Doubt
from planner.pool import Pool
from planner.questions.advice import Advice
from planner.questions.fit import Fit, FitQuestion, longest_context
from planner.render.report import Report, Table, Text
from planner.units import ceil, format_bytes, format_gib, format_tokens

_BAR = 60


def fit_report(
    question: FitQuestion, fits: Sequence[Fit], sessions: int | None,
    doubts: Sequence[Doubt] = (), advice: Sequence[Advice] = (), notes: Sequence[str] = (),
) -> Report:  # fmt: skip
    """Return the report of ``planner fit``.

    Parameters
    ----------
    doubts : sequence of Doubt
        Constants that decide the whole sessions; shown where one layout is asked for.
    advice : sequence of Advice
        Changes after which something fits; shown where nothing does.
    notes : sequence of str
        What else a reader should know.
    """
    q = question
    rate = f"{q.kv.bytes_per_token:,} B/token"
    constant = ceil(q.kv.constant_bytes(q.context_tokens))
    if constant:
        rate = f"{rate} + {format_bytes(constant)} a session" if q.kv.rate else f"{format_bytes(constant)} a session"
    head = (
        f"{q.model.name}, {q.weights} weights, KV {q.kv.name} ({rate}), "
        f"{q.n_nodes * q.n_gpus} x {q.gpu.name}, {q.context_tokens:,} tokens per session, "
        f"{q.engine.name} {q.engine.version}"
    )
    table = _table(question, fits, sessions)
    blocks: list[Text | Table] = [Text([head]), table]
    if len(fits) == 1:
        blocks += list(_detail(q, fits[0], sessions))
        blocks += list(_doubt_lines(doubts))
    if advice:
        blocks.append(_advice_table(advice))
    if notes:
        blocks.append(Text(list(notes), "Notes"))
    data: dict[str, Any] = _head(q)
    data["decided_by"] = [vars(doubt) for doubt in doubts]
    data["notes"] = list(notes)
    data["what_to_change"] = [vars(change) for change in advice]
    if len(fits) == 1:
        data |= _fit_data(q, fits[0], sessions)
    else:
        data["layouts"] = [_fit_data(q, fit, sessions) for fit in fits]
    return Report(data, blocks, table)


def _head(q: FitQuestion) -> dict[str, Any]:
    return {
        "model": q.model.id, "engine": q.engine.id, "weights": q.weights, "kv_format": q.kv.name,
        "gpu": q.gpu.id, "n_gpus": q.n_gpus, "n_nodes": q.n_nodes, "context_tokens": q.context_tokens,
        "kv_bytes_per_token": q.kv.bytes_per_token, "kv_formula": q.kv.formula(),
        "session_bytes": -int(-q.kv.session_bytes(q.context_tokens) // 1),
    }  # fmt: skip


def _table(q: FitQuestion, fits: Sequence[Fit], sessions: int | None) -> Table:
    columns = [
        "layout",
        "evidence",
        "weights/GPU",
        "KV/GPU",
        "tokens/pool",
        "sessions",
        "per node",
        "to the next",
    ]
    if sessions:
        columns.append(f"nodes for {sessions}")
    rows = []
    for fit in fits:
        if fit.budget is None or fit.pool is None or fit.fault:
            row = [fit.layout.name, fit.evidence, "-", "-", "-", "0", "0", fit.fault]
        else:
            row = [
                fit.layout.name, fit.evidence, format_gib(fit.budget.weights_bytes),
                format_gib(fit.budget.kv_bytes), f"{fit.pool.tokens:,}",
                f"{fit.pools} x {fit.pool.sessions}", f"{fit.sessions_per_node}",
                f"{format_gib(fit.pool.missing_bytes)} = {format_tokens(fit.pool.missing_tokens)}",
            ]  # fmt: skip
        if sessions:
            row.append(_node_words(fit, sessions))
        rows.append(row)
    right = [*columns[2:7], *columns[8:]]
    return Table(columns, rows, "Layouts", right, [_fit_data(q, fit, sessions) for fit in fits])


def _node_words(fit: Fit, sessions: int) -> str:
    """Return the nodes for so many sessions, on a knife edge also those on its other side."""
    nodes = None if fit.fault else fit.nodes_for(sessions)
    if nodes is None or fit.pool is None:
        return "never"
    side = fit.pool.knife_edge
    other = fit.nodes_for(sessions, fit.pool.sessions + side) if side else nodes
    return f"{nodes}" if other == nodes else f"{nodes} ({other or 'never'} with {fit.pool.sessions + side} per pool)"


def _doubt_lines(doubts: Sequence[Doubt]) -> Iterator[Text]:
    if not doubts:
        return
    yield Text([f"{doubt}: {doubt.why}" for doubt in doubts], "Constants that decide it")


def _advice_table(advice: Sequence[Advice]) -> Table:
    rows = [(a.change, a.option, a.layout, f"{a.sessions}") for a in advice]
    plain = [vars(a) for a in advice]
    return Table(("change", "option", "layout", "whole sessions"), rows, "What to change", ("whole sessions",), plain)


def _detail(q: FitQuestion, fit: Fit, sessions: int | None) -> Iterator[Text]:
    if fit.budget is not None:
        yield Text(list(_bar(fit)), "Budget of one GPU")
        if fit.budget.weights:
            lines = [f"{name:<44} {format_gib(size):>12}" for name, size in fit.budget.weights]
            yield Text(lines, "Weights of one GPU")
    if fit.pool is None or fit.fault:
        yield Text([fit.fault], "Does not fit")
        return
    yield Text(list(_pool_lines(q, fit, sessions)), "Pools")


def _pool_lines(q: FitQuestion, fit: Fit, sessions: int | None) -> Iterator[str]:
    pool = fit.pool
    assert pool is not None
    yield (
        f"{fit.pools} {'pool' if fit.pools == 1 else 'pools'} of {format_tokens(pool.tokens)}; "
        f"{float(pool.exact_sessions):.2f} sessions each, {pool.sessions} whole"
    )
    yield (
        f"the next whole session lacks {format_gib(pool.missing_bytes)} per GPU "
        f"({format_tokens(pool.missing_tokens)})"
        + (f"; {format_gib(pool.spare_bytes)} may go before one is lost" if pool.sessions else "")
    )
    longest = longest_context(q, fit)
    limit = ", as long as the model goes" if longest == q.model.max_context_tokens else ""
    yield f"longest context of one session alone: {format_tokens(longest)}{limit}"
    if pool.paging is not None:
        yield _printed(q, pool)
    if not pool.knife_edge:
        return
    other = pool.sessions + pool.knife_edge
    if sessions is None:
        yield f"knife edge: within 5 % of the pool of {other} whole sessions; --sessions N gives the nodes of both"
    elif fit.nodes_for(sessions) == fit.nodes_for(sessions, other):
        yield f"within 5 % of the pool of {other} whole sessions; {sessions} sessions take as many nodes either way"
    else:
        either = fit.nodes_for(sessions, other)
        yield (
            f"knife edge: {fit.nodes_for(sessions) or 'no'} nodes for {sessions} sessions, "
            f"{'never enough' if either is None else either} with {other} per pool"
        )


def _printed(q: FitQuestion, pool: Pool) -> str:
    paging = pool.paging
    assert paging is not None
    longest, step = q.launch.max_model_tokens, q.step_tokens
    tokens = paging.printed_tokens(pool.rank_bytes, longest, step)
    times = float(paging.printed_concurrency(pool.rank_bytes, longest, step))
    groups = f" in {paging.n_groups} groups of layers" if paging.n_groups > 1 else ""
    if paging.rules.prints == "tokens":
        return f"{q.engine.name} will print {tokens:,} tokens; pages of {paging.block_tokens:,} tokens"
    return (
        f"{q.engine.name} will print a KV cache of {tokens:,} tokens and {times:.2f}x for {longest:,} tokens; "
        f"blocks of {paging.block_tokens:,} tokens{groups}"
    )


def _bar(fit: Fit) -> Iterator[str]:
    budget = fit.budget
    assert budget is not None
    kept = budget.visible_bytes - budget.usable_bytes
    parts = [
        ("weights", budget.weights_bytes),
        *budget.runtime,
        ("KV cache", budget.kv_bytes),
        ("kept free", kept),
    ]
    bar = ""
    for mark, (_, size) in zip("#abcdefg", parts[:-2], strict=False):
        bar += mark * round(_BAR * max(0, size) / budget.visible_bytes)
    bar += "=" * round(_BAR * max(0, budget.kv_bytes) / budget.visible_bytes)
    yield f"[{bar[:_BAR].ljust(_BAR, '.')}] {format_gib(budget.visible_bytes)} visible"
    marks = [*"#abcdefg"[: len(parts) - 2], "=", "."]
    for mark, (name, size) in zip(marks, parts, strict=True):
        yield f"  {mark} {name:<32} {format_gib(size):>12}"


def _fit_data(q: FitQuestion, fit: Fit, sessions: int | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "layout": fit.layout.name,
        "evidence": fit.evidence,
        "fits": not fit.fault,
        "fault": fit.fault or None,
    }
    if fit.budget is None or fit.pool is None:
        return data | {"sessions_per_node": 0}
    pool, budget = fit.pool, fit.budget
    data |= {
        "kv_bytes_per_token_per_rank": fit.rank_bytes_per_token,
        "visible_bytes": budget.visible_bytes,
        "usable_bytes": budget.usable_bytes,
        "weights_bytes": budget.weights_bytes,
        "runtime_bytes": dict(budget.runtime),
        "kv_bytes_per_gpu": budget.kv_bytes,
        "pools": fit.pools,
        "tokens_per_pool": pool.tokens,
        "sessions_per_pool": pool.sessions,
        "sessions_per_pool_exact": round(float(pool.exact_sessions), 4),
        "sessions_per_node": fit.sessions_per_node,
        "margin_to_next_session_gib": round(pool.missing_bytes / 2**30, 4),
        "margin_to_next_session_tokens": pool.missing_tokens,
        "margin_before_loss_gib": round(pool.spare_bytes / 2**30, 4),
        "knife_edge": bool(pool.knife_edge),
        "longest_context_tokens": longest_context(q, fit),
    }
    if sessions:
        data["nodes"] = fit.nodes_for(sessions)
        if pool.knife_edge:
            data["nodes_other_side"] = fit.nodes_for(sessions, pool.sessions + pool.knife_edge)
    return data
