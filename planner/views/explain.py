"""The rows within a plan's groups, number by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from planner.answer import machine_name
from planner.constraints.terms import Factor, Term, total
from planner.problem import Situation
from planner.questions.explain import BuildTold, LimitTold
from planner.render.report import Report, Table, Text
from planner.roles import PREFILL
from planner.units import format_bytes, format_rate, format_share
from planner.views.worth import WORTH_COLUMNS, worth_cells, worth_data
from planner.worth import worth_of

_Number = Fraction | int


def explain_report(title: str, told: Sequence[BuildTold]) -> Report:
    """Return the report of ``planner explain``; `title` is the scenario's."""
    blocks: list[Text | Table] = [Text([title])]
    seen: list[str] = []
    for one in told:
        if one.at.label not in seen:
            seen.append(one.at.label)
            blocks.append(_moves(one.at))
        blocks += [Text(list(_words(one)), f"Build {one.letter}"), _rows([one], f"Rows of {one.letter}")]
        if worth := worth_of(one.build, one.at):
            cells = list(map(worth_cells, worth))
            blocks.append(
                Table(WORTH_COLUMNS, cells, f"Load or recompute one session on {one.letter}", WORTH_COLUMNS[1:])
            )
        blocks.append(_numbers(one))
    data = [_build_data(one) for one in told]
    flows = [_moves_data(at) for at in {one.at.label: one.at for one in told}.values()]
    return Report({"title": title, "turns": flows, "builds": data}, blocks, _rows(told, "Rows"))


def _words(one: BuildTold) -> Iterator[str]:
    build, at = one.build, one.at
    machine = f"{build.n_nodes} x {machine_name(build)} with {build.core.chassis.n_gpus} {build.core.gpu.id}"
    yield f"{one.groups} group(s) of {machine}"
    yield build.name
    allowed = min([at.open, *(each.reach for each in one.limits if each.reach is not None)])
    whose = f" of {at.label}" if at.label else ""
    lost = f" once {at.spares} group(s) are lost" if at.spares else ""
    does = "prefills the turns of" if build.core.role == PREFILL else "hosts"
    hosts = f"a group {does} up to {float(one.hosted):,.1f} of {at.open:,} open sessions{whose}{lost}"
    yield f"{hosts}; the rows below allow {allowed:,}"


# What a turn moves


def _origins(at: Situation) -> list[tuple[str, Fraction, str]]:
    flows = at.flows
    return [
        ("GPU memory", flows.from_gpu, "nothing is loaded"),
        ("host memory", flows.from_dram, "loaded over the host links"),
        ("drives", flows.from_nvme, "read from drives, then loaded over the host links"),
        ("nowhere", flows.lost, f"prefilled again: {_plain(flows.again_tokens)} tokens of a turn on average"),
    ]


def _moves(at: Situation) -> Table:
    rows: list[tuple[str, str, str]] = [(name, format_share(share), what) for name, share, what in _origins(at)]
    flows = at.flows
    rows.append(("prompt", "", f"{flows.new_tokens:,} new tokens prefilled, {flows.answer_tokens:,} generated"))
    rows.append(("stored", "", f"{_plain(flows.stored_tokens)} tokens go to the tiers"))
    rows.append(("turns", "", f"{_plain(at.turns_per_s)} a second of {at.open:,} open sessions, in the busiest minute"))
    whose = f" of {at.label}" if at.label else ""
    return Table(("from", "share of turns", "what it moves"), rows, f"What a turn{whose} moves", ("share of turns",))


def _moves_data(at: Situation) -> dict[str, Any]:
    flows = at.flows
    return {
        "service": at.label or None, "turns_per_s": float(at.turns_per_s), "open_sessions": at.open,
        "from_gpu": float(flows.from_gpu), "from_dram": float(flows.from_dram), "from_nvme": float(flows.from_nvme),
        "lost": float(flows.lost), "again_tokens": float(flows.again_tokens), "new_tokens": flows.new_tokens,
        "answer_tokens": flows.answer_tokens, "stored_tokens": float(flows.stored_tokens),
    }  # fmt: skip


# Rows


def _rows(told: Sequence[BuildTold], title: str) -> Table:
    columns = ("build", "row", "need per open session", "have per group", "path", "allows", "headroom", "")
    pairs = [(one, each) for one in told for each in one.limits]
    rows = [
        (
            one.letter, each.limit.kind, "-" if not each.need else shown(each.need, each.limit.unit),
            shown(each.have, each.limit.unit) + (" to spare" if not each.need else ""),
            _path(each),
            "any" if each.reach is None else f"{each.reach:,}",
            "met" if each.used_fraction is None else f"{float(1 - each.used_fraction):.1%}",
            "<- binding" if each.binding else "",
        )
        for one, each in pairs
    ]  # fmt: skip
    plain = [{"build": one.letter, **_limit_data(each, short=True)} for one, each in pairs]
    return Table(columns, rows, title, (*columns[2:4], *columns[5:7]), plain)


def _path(each: LimitTold) -> str:
    """Return what limits inside the machine, of the flow that the row has."""
    return next((factor.path for term in each.terms.have for factor in term.factors if factor.path), "")


def _numbers(one: BuildTold) -> Table:
    rows: list[tuple[str, str, str, str, str]] = []
    for each in one.limits:
        rows += [(each.limit.kind, *row) for row in _limit_rows(each)]
    return Table(("row", "of", "number", "value", "where from"), rows, f"Numbers of {one.letter}", ("value",))


def _limit_rows(each: LimitTold) -> Iterator[tuple[str, str, str, str]]:
    unit = each.limit.unit
    for side, terms in (("need", each.terms.need), ("have", each.terms.have)):
        for term in (term for term in terms if term.value or len(terms) == 1):
            name = f"{side}{': ' + term.words if term.words and len(terms) > 1 else ''}{' (-)' if term.minus else ''}"
            yield from ((name, *_cells(factor)) for factor in term.factors)
        if len(terms) > 1 or any(len(term.factors) > 1 for term in terms):
            yield side, "= together", shown(total(terms), unit), ""
    yield from (("behind it", *_cells(factor)) for factor in each.terms.basis)


def _cells(factor: Factor) -> tuple[str, str, str]:
    where = [factor.path, str(factor.evidence) if factor.evidence else ""]
    return factor.words, shown(factor.value, factor.unit), "; ".join(filter(None, where))


def shown(value: _Number, unit: str) -> str:
    """Return a number in its unit."""
    forms: dict[str, Callable[[_Number], str]] = {
        "B": format_bytes, "B/s": format_rate, "share": lambda share: format_share(Fraction(share)),
        "B/day": lambda amount: f"{format_bytes(amount)}/day", "": _plain,
        "FLOP/s": lambda flops: f"{float(flops) / 1e12:,.4g} TFLOP/s",
    }  # fmt: skip
    return forms[unit](value) if unit in forms else f"{_plain(value)} {unit}"


def _plain(value: _Number) -> str:
    """Return a whole number whole, another with four digits."""
    if Fraction(value).denominator == 1 or value >= 10_000:
        return f"{round(value):,}"
    return f"{float(value):,.4g}"


# For machines


def _build_data(one: BuildTold) -> dict[str, Any]:
    return {
        "build": one.letter, "name": one.build.name, "service": one.at.label or None, "groups": one.groups,
        "hosts": float(one.hosted), "rows": [_limit_data(each) for each in one.limits],
        "load_or_recompute": [worth_data(tier) for tier in worth_of(one.build, one.at)],
    }  # fmt: skip


def _limit_data(each: LimitTold, short: bool = False) -> dict[str, Any]:
    data = {
        "row": each.limit.kind, "label": each.limit.label, "unit": each.limit.unit,
        "need_per_open_session": float(each.need), "have_per_group": each.have, "allows": each.reach,
        "headroom": None if each.used_fraction is None else float(1 - each.used_fraction), "binding": each.binding,
        "path": _path(each) or None, "formula": each.limit.formula,
    }  # fmt: skip
    if short:
        return data
    terms = each.terms
    return {
        **data, "need": list(map(_term_data, terms.need)), "have": list(map(_term_data, terms.have)),
        "behind": list(map(_factor_data, terms.basis)),
    }  # fmt: skip


def _term_data(term: Term) -> dict[str, Any]:
    return {
        "what": term.words or None, "sign": -1 if term.minus else 1,
        "factors": list(map(_factor_data, term.factors)),
    }  # fmt: skip


def _factor_data(factor: Factor) -> dict[str, Any]:
    evidence = factor.evidence
    return {
        "what": factor.words, "value": float(factor.value), "unit": factor.unit or None,
        "limited_by": factor.path or None, "evidence": evidence.kind if evidence else None,
        "low": evidence.low or None if evidence else None, "high": evidence.high or None if evidence else None,
        "reason": evidence.text or None if evidence else None, "source": list(evidence.sources) if evidence else [],
    }  # fmt: skip
