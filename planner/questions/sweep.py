"""One scenario under several values of one setting, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from planner.errors import InfeasibleError, PriceMissingError, UnprovenError, UsageError
from planner.interrupts import interrupted
from planner.plan import Plan
from planner.scenario import Override

if TYPE_CHECKING:
    import pandas

_MOST_VALUES = 1000


@dataclass(frozen=True)
class Point:
    """One value with its plan, or with the reason there is none."""

    value: str
    plan: Plan | None
    fault: str = ""
    unproven: bool = False


def parse_over(text: str) -> tuple[str, list[str]]:
    """Read ``workload.users=50..2000:50`` or ``kv_format=fp8,bf16``: a setting and its values.

    Raises
    ------
    UsageError
        If the text is neither.
    """
    path, found, values = text.partition("=")
    example = "expected SETTING=a,b,c or SETTING=from..to:step, such as workload.users=50..400:50"
    if not found or not path.strip() or not values.strip():
        raise UsageError(f"--over {text}: {example}")
    if ".." not in values:
        return path.strip(), split_words(values, f"--over {text}")
    span, _, step = values.partition(":")
    first, _, last = span.partition("..")
    try:
        numbers = range(int(first), int(last) + 1, int(step or 1))
    except ValueError:
        raise UsageError(f"--over {text}: {example}") from None
    if not numbers or len(numbers) > _MOST_VALUES:
        raise UsageError(f"--over {text}: gives {len(numbers)} values; expected 1 to {_MOST_VALUES}")
    return path.strip(), [str(number) for number in numbers]


def split_words(text: str, option: str) -> list[str]:
    """Return the words of a comma list.

    Raises
    ------
    UsageError
        If there is none, or an empty one among them.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"{option}: expected words with commas between them")
    return words


def ask(value: str, plan: Callable[[], Plan]) -> Point:
    """Return a point; a value without a plan says why and does not end the table."""
    if interrupted():
        return Point(value, None, "interrupted", unproven=True)
    try:
        return Point(value, plan())
    except (InfeasibleError, PriceMissingError) as fault:
        return Point(value, None, short_reason(fault))
    except UnprovenError as fault:
        return Point(value, None, short_reason(fault), unproven=True)


def sweep(path: str, values: Sequence[str], plan_with: Callable[[Override], Plan]) -> list[Point]:
    """Return a point per value of one setting."""
    return [ask(value, partial(plan_with, Override(path, value))) for value in values]


def point_row(path: str, point: Point) -> dict[str, Any]:
    """Return a point as plain values; None where there is no plan.

    The swept value stands first, marked so that no result shares its name.
    """
    plan = point.plan
    value = int(point.value) if point.value.isdigit() else point.value
    return {
        f"over {path}": value,
        "status": plan.status if plan else "no plan",
        "n_nodes": plan.n_nodes if plan else None,
        "n_gpus": plan.n_gpus if plan else None,
        "gpus": "+".join(sorted({g.gpu for g in plan.groups})) if plan else None,
        "kv_format": "+".join(sorted({g.kv_format for g in plan.groups})) if plan else None,
        "layout": "+".join(sorted({g.layout for g in plan.groups})) if plan else None,
        "limited_by": "+".join(sorted({g.limiting for g in plan.groups if g.limiting})) if plan else None,
        "kv_bytes_per_token": plan.demand.kv.bytes_per_token if plan and len(plan.services) == 1 else None,
        "power_w": plan.power_w if plan else None,
        "capex_total": plan.cost.capex_total / 100 if plan else None,
        "currency": plan.cost.currency if plan else None,
        "reason": point.fault or None,
    }


def short_reason(fault: Exception) -> str:
    """Return the gist of an error in one line: its head and the first reason below it."""
    head, *rest = str(fault).splitlines()
    first = rest[0].strip().removeprefix("- ") if rest else ""
    return f"{head} {first}".strip()


def frame(path: str, points: Sequence[Point]) -> pandas.DataFrame:
    """Return the points as a pandas table, for notebooks."""
    import pandas

    return pandas.DataFrame([point_row(path, point) for point in points])
