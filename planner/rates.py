"""The rates that limits are held against: measured where a scenario brings measurements, else the roofline.

Prefill and decode take turns on the same GPUs. Prompts alone may take no more than the prefill
ceiling; steps, slowed by the prompts between them, must keep the promised rate within the decode
ceiling.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from planner import service
from planner.build import Core
from planner.engines import ServiceRates
from planner.measured import prefill_measured, prompt_measured, rows_of, sessions_measured
from planner.scenario import Scenario
from planner.throughput import Row, Throughput
from planner.work import Run


def prefill_ceiling(scenario: Scenario, rates: ServiceRates) -> Fraction:
    """Return the share of the time that prefill may take: the scenario's, else the engine's."""
    said = scenario.service.prefill_ceiling_fraction if scenario.service else None
    return rates.load_ceiling_fraction if said is None else said


def decode_ceiling(scenario: Scenario, rates: ServiceRates) -> Fraction:
    """Return the share of the time that steps and prompts together may take: the scenario's, else the engine's."""
    said = scenario.service.decode_ceiling_fraction if scenario.service else None
    return rates.decode_ceiling_fraction if said is None else said


def accepted_tokens(scenario: Scenario) -> Fraction:
    """Return the tokens that a step yields per session: 1 where drafts are loaded but their success is not said."""
    return scenario.serving.accepted or Fraction(1)


def measured_rows(core: Core, scenario: Scenario) -> tuple[Row, ...]:
    """Return the measurements of a core's replica; none where the scenario brings none."""
    table: Throughput | None = scenario.throughput
    return () if table is None else rows_of(table, Run.of(core), (core.engine.id, core.engine.name))


def replica_prefill_tokens_per_s(core: Core, scenario: Scenario) -> Fraction:
    """Return the prompt tokens per second of a replica at the planned context that does nothing else."""
    return _prefill_tokens_per_s(Run.of(core), measured_rows(core, scenario), scenario)


@lru_cache(maxsize=4096)
def _prefill_tokens_per_s(run: Run, rows: tuple[Row, ...], scenario: Scenario) -> Fraction:
    position = scenario.workload.context.planned_tokens
    each = service.prefill_tokens_per_s(run, position)
    found = prefill_measured(rows, run, position, each)
    return each if found is None else found


def prefill_tokens_per_s(core: Core, scenario: Scenario) -> int:
    """Return the prompt tokens per second of a group within the ceiling, rounded down."""
    ceiling = prefill_ceiling(scenario, core.engine.service)
    return int(core.replicas * replica_prefill_tokens_per_s(core, scenario) * ceiling)


def decode_sessions(core: Core, scenario: Scenario, prefilled_per_s: Fraction) -> int:
    """Return how many sessions one replica decodes at the promised rate.

    Parameters
    ----------
    prefilled_per_s : Fraction
        Prompt tokens per second that come with each session in flight.
    """
    return _decode_sessions(Run.of(core), measured_rows(core, scenario), scenario, prefilled_per_s)


@lru_cache(maxsize=4096)
def _decode_sessions(run: Run, rows: tuple[Row, ...], scenario: Scenario, prefilled_per_s: Fraction) -> int:
    assert scenario.service is not None
    prefill = _prefill_tokens_per_s(run, rows, scenario)
    context, rate = scenario.workload.context.planned_tokens, scenario.service.decode_tokens_per_s
    ceiling, share = decode_ceiling(scenario, run.rates), prefilled_per_s / prefill

    def roofline() -> int:
        return service.decode_sessions(run, context, accepted_tokens(scenario) / rate, ceiling, share)

    def allowed_s(row: Row) -> Fraction:
        # What was measured holds the row's own prompts; only more of them than that come on top.
        more = max(Fraction(0), row.concurrency * share - row.prefilled_per_s / prefill)
        return (ceiling - more) / rate

    found = sessions_measured(rows, allowed_s, context, roofline)
    return roofline() if found is None else found


def prompt_seconds(core: Core, scenario: Scenario) -> Fraction:
    """Return the time to prefill one turn's new tokens alone on a group."""
    rates = scenario.workload.rates
    assert rates is not None
    run, position = Run.of(core), scenario.workload.context.planned_tokens
    found = prompt_measured(measured_rows(core, scenario), run, rates.new_tokens, position)
    return service.prompt_seconds(run, rates.new_tokens, position) if found is None else found


def fastest_output(core: Core, row: Row) -> Fraction:
    """Return the output tokens per second that no replica of a core beats on a row's traffic."""
    run = Run.of(core)
    # A cached prefix is not computed, and drafts may all be accepted.
    load = service.Traffic(
        max(1, row.input_tokens - row.prefix_tokens), row.output_tokens, row.concurrency, Fraction(1 + run.draft_tokens)
    )
    return row.output_tokens * service.bound(run, load).requests_per_s
