"""Measured throughput of replicas: the rows of a CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Row:
    """One measurement of one replica.

    Attributes
    ----------
    line : int
        Where it stands in the file.
    model, gpu : str
        Ids of the catalogue.
    layout : str
        Name of the replica's.
    input_tokens, output_tokens : int
        Of each request.
    prefix_tokens : int
        Of the input, found in a cache.
    concurrency : int
        Requests under way on the replica.
    output_tokens_per_s : Fraction
        Of the replica.
    first_token_s, token_s : Fraction or None
        Time to the first token and between tokens, where they were measured.
    engine, weights, kv_format : str
        Empty where the file does not say: then any.
    """

    line: int
    model: str
    gpu: str
    layout: str
    input_tokens: int
    output_tokens: int
    concurrency: int
    output_tokens_per_s: Fraction
    prefix_tokens: int = 0
    first_token_s: Fraction | None = None
    token_s: Fraction | None = None
    engine: str = ""
    weights: str = ""
    kv_format: str = ""

    @property
    def context_tokens(self) -> int:
        """Longest context while it decoded."""
        return self.input_tokens + self.output_tokens

    @property
    def between_s(self) -> Fraction:
        """Seconds between a session's tokens: as measured, else all that a request waited spread over them."""
        return self.token_s or self.concurrency / self.output_tokens_per_s

    @property
    def prefilled_per_s(self) -> Fraction:
        """Prompt tokens per second that the replica prefilled beside its decoding."""
        return self.output_tokens_per_s * (self.input_tokens - self.prefix_tokens) / self.output_tokens


@dataclass(frozen=True, eq=False)
class Throughput:
    """What a file of measurements holds.

    Attributes
    ----------
    file, digest : str
        As messages name it, and what it held.
    format : str
        ``rows`` or ``AIConfigurator``.
    rows : tuple of Row
        In the order of the file.
    left_out : tuple of str
        What was not read, and why.
    """

    file: str
    digest: str
    format: str
    rows: tuple[Row, ...]
    left_out: tuple[str, ...] = ()
