"""Where there is no plan: why, as the answer of any command that solves."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from planner.cli.options import write
from planner.errors import EXIT_INFEASIBLE, InfeasibleError

if TYPE_CHECKING:
    from pathlib import Path

    from planner.loading import Shelf
    from planner.relax import Diagnosis
    from planner.scenario import Scenario


@contextlib.contextmanager
def diagnosed(
    scenario: Scenario, shelf: Shelf, solver: str, time_limit: float | None, form: str | None, output: Path | None
) -> Iterator[None]:
    """Where there is no plan, write why and what to do as the answer, and leave with the code for it."""
    try:
        yield
    except InfeasibleError as fault:
        from planner.views.infeasible import infeasible_report

        print(f"planner: {str(fault).splitlines()[0].rstrip('.')}", file=sys.stderr)
        write(infeasible_report(diagnosis(scenario, shelf, solver, time_limit, fault)), form, output)
        raise typer.Exit(EXIT_INFEASIBLE) from None


def diagnosis(
    scenario: Scenario, shelf: Shelf, solver: str, time_limit: float | None, fault: InfeasibleError, ways: bool = True
) -> Diagnosis:
    """Return why a scenario that failed with `fault` has no plan; of `ways` out only where asked."""
    from planner.cli.progress import progress
    from planner.planning import pricing_of
    from planner.relax import DEADLINE_S, diagnose

    why = [line.strip().removeprefix("- ") for line in str(fault).splitlines()[1:]]
    limit = DEADLINE_S if time_limit is None else time_limit
    with progress() as tell:
        return diagnose(scenario, shelf, pricing_of(scenario, shelf), solver, limit, why, ways=ways, progress=tell)
