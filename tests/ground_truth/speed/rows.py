"""Rows of public throughput measurements, and what the planner says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from planner.budget import Launch, default_batch, gpu_budget
from planner.kvcache import kv_cache, rank_share
from planner.layout import Layout
from planner.service import Bound, Traffic, bound, requests_per_s, token_seconds
from planner.work import Run, local_link
from tests.ground_truth.predict import shelf

HERE = Path(__file__).parent
KEYS = {
    "id", "source", "model", "weights", "engine", "gpu", "layout", "kv", "input", "output", "concurrency", "running",
    "drafts", "accepted", "inferred", "cached", "exception", "note", "seen",
}  # fmt: skip
_MOST_ACCEPTED = 8
"""Tokens that a step yields at most where drafts are named without their number."""
SEEN = {"output_tokens_per_s", "token_ms", "first_token_ms"}


@dataclass(frozen=True)
class Measured:
    """One measurement of one replica.

    Attributes
    ----------
    input, output, concurrency : int
        Tokens of each request, and requests under way.
    running : int or None
        Most sequences that the engine was told to run at once.
    drafts, accepted
        Tokens proposed per step, and what a step yielded on average.
    inferred : tuple of str
        Fields that the source does not say.
    cached : bool
        Whether the engine may have found the prompt in its prefix cache.
    exception : str
        Physics of a row that is known not to fit; shown but not asserted.
    seen : mapping
        ``output_tokens_per_s``, ``token_ms`` (between tokens), ``first_token_ms``.
    """

    id: str
    source: str
    model: str
    weights: str
    gpu: str
    layout: str
    input: int
    output: int
    concurrency: int
    seen: Mapping[str, float]
    engine: str = "generic"
    kv: str = "bf16"
    running: int | None = None
    drafts: int = 0
    accepted: Fraction = Fraction(1)
    inferred: tuple[str, ...] = ()
    cached: bool = True
    exception: str = ""
    note: str = ""

    @property
    def full(self) -> bool:
        """Whether the source says all that a prediction needs."""
        return not self.inferred

    @property
    def tokens_per_s(self) -> float | None:
        """Output tokens per second as measured."""
        return self.seen.get("output_tokens_per_s")

    @cached_property
    def run(self) -> Run:
        """The replica."""
        found = shelf()
        model, gpu, engine = found.model(self.model), found.catalog.gpus()[self.gpu], found.engines.engines[self.engine]
        return Run(
            model, gpu, engine.service, self.weights, kv_cache(model, self.kv), Layout.parse(self.layout),
            default_batch(gpu, engine).batched_tokens, local_link(gpu), self.drafts, 1 if self.drafts else 0,
        )  # fmt: skip

    @cached_property
    def at_once(self) -> int:
        """Sequences that run at once: no more than asked, than the engine batches, than the KV pools hold."""
        found, run = shelf(), self.run
        engine, layout = found.engines.engines[self.engine], run.layout
        budget = gpu_budget(
            run.model, run.gpu, engine, self.weights, layout, Launch(self.input + self.output, kv_format=self.kv)
        )
        tokens = self.input + self.output
        shares = ((p, rank_share(p, layout.tp, layout.dcp, engine.shards_indexer)) for p in run.kv.parts)
        each = sum((share * p.sequence_bytes(tokens) for p, share in shares), Fraction(0)) / layout.pp
        held = layout.dp * int(max(0, budget.kv_bytes) // each)
        most = self.running or default_batch(run.gpu, engine).max_sequences
        # Where the budget says that it does not fit, it ran all the same.
        return max(1, min(self.concurrency, most, held or self.concurrency))

    def traffic(self, concurrency: int) -> Traffic:
        """Return its requests with so many under way."""
        return Traffic(self.input, self.output, concurrency, self.accepted)

    @property
    def at_best(self) -> Traffic:
        """Its requests for the bound: all under way, and all drafts accepted where the source does not say."""
        most = Fraction(max(self.drafts + 1, _MOST_ACCEPTED))
        return Traffic(
            self.input, self.output, self.concurrency, most if "accepted" in self.inferred else self.accepted
        )


@dataclass(frozen=True)
class Speed:
    """A row with what the planner says.

    Attributes
    ----------
    tokens_per_s, token_ms : float
        Estimated.
    bound : Bound
        With all that were asked for under way.
    """

    row: Measured
    tokens_per_s: float
    token_ms: float
    bound: Bound

    @classmethod
    def of(cls, row: Measured) -> Speed:
        """Estimate a row."""
        load = row.traffic(row.at_once)
        rate = float(row.output * requests_per_s(row.run, load))
        return cls(row, rate, 1000 * float(token_seconds(row.run, load)), bound(row.run, row.at_best))

    @property
    def ratio(self) -> float:
        """Estimated over measured speed: of output tokens per second, else of the time between tokens."""
        measured = self.row.tokens_per_s
        return self.tokens_per_s / measured if measured else self.row.seen["token_ms"] / self.token_ms

    @property
    def beaten(self) -> tuple[str, ...]:
        """Which figures lie beyond the bound."""
        row, found = self.row, []
        rate, between, first = (row.seen.get(key) for key in ("output_tokens_per_s", "token_ms", "first_token_ms"))
        if rate and rate > row.output * self.bound.requests_per_s:
            found.append("tokens/s")
        if between and between < 1000 * self.bound.token_s:
            found.append("between tokens")
        if first and not row.cached and first < 1000 * self.bound.first_token_s:
            found.append("first token")
        return tuple(found)


def read_measured(*paths: Path) -> Iterator[Measured]:
    """Yield the rows of YAML files; those beside this module where none is named."""
    for path in paths or sorted(HERE.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["measurements"]:
            yield make_measured(entry)


def make_measured(entry: Mapping[str, Any]) -> Measured:
    """Return a row, unknown keys refused."""
    unknown = set(entry) - KEYS | {f"seen.{key}" for key in set(entry["seen"]) - SEEN}
    if unknown:
        raise ValueError(f"{entry.get('id')}: unknown keys {sorted(unknown)}")
    values = dict(entry) | {"inferred": tuple(entry.get("inferred", ()))}
    values["accepted"] = Fraction(str(entry.get("accepted", 1)))
    return Measured(**values)
