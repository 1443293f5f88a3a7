"""What a start-up log of an inference engine says: figures, settings, faults, each with its line.

A figure is named by what it counts, its unit last: ``_bytes`` (of one GPU unless said otherwise),
``_tokens``, ``_blocks``, ``_s``, ``_bytes_per_s``; ``_fraction`` lies in 0..1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, NamedTuple

EngineName = Literal["vllm", "sglang", "lmcache"]
Value = int | Fraction | str


class Figure(NamedTuple):
    """A number as printed, and the interval that was rounded to it.

    Attributes
    ----------
    value : int, Fraction or str
        Sizes in bytes (to the nearest byte), shares as fractions, words as text.
    low, high : int or Fraction or None
        What the printed digits allow: low <= truth < high; equal for exact numbers, None for words.
    """

    value: Value
    low: int | Fraction | None = None
    high: int | Fraction | None = None


@dataclass(frozen=True)
class Seen:
    """One figure read from a log.

    Attributes
    ----------
    what : str
        Which figure, e.g. ``kv_memory_bytes``.
    value : int, Fraction or str
        In the unit that the name ends with.
    line : int
        Counted from 1.
    text : str
        The part of the line it was read from.
    rank : str
        The process that said it, as the log names it: ``TP0``, ``DP1 TP3``, ``Worker_TP2``.
    low, high : int or Fraction or None
        What the printed digits allow: low <= truth < high; equal for exact numbers, None for words.
    """

    what: str
    value: Value
    line: int
    text: str
    rank: str = ""
    low: int | Fraction | None = None
    high: int | Fraction | None = None

    @property
    def number(self) -> int | Fraction:
        """The value of a figure that is a number.

        Raises
        ------
        TypeError
            If it is a word.
        """
        if isinstance(self.value, str):
            raise TypeError(f"'{self.what}' is the word '{self.value}'")
        return self.value

    @property
    def spread(self) -> int | Fraction:
        """How far apart `low` and `high` are; 0 for words and exact numbers."""
        return 0 if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True)
class Settings:
    """How the engine was started, as far as the log tells; None or empty where it does not.

    Attributes
    ----------
    model, dtype, kv_dtype, quantization, speculative : str
        In the engine's own words; ``kv_dtype`` may be ``auto``.
    tp, pp, dp, ep, dcp : int or None
        Ranks of each kind of parallelism.
    expert_parallel, dp_attention : str
        ``True`` or ``False``.
    utilisation : Fraction or None
        vLLM's ``gpu_memory_utilization``, SGLang's ``mem_fraction_static``.
    max_model_len, max_num_batched_tokens, block_size : int or None
        In tokens; for SGLang its context length, prefill chunk and page.
    max_num_seqs : int or None
        The most requests at a time.
    """

    model: str = ""
    dtype: str = ""
    kv_dtype: str = ""
    quantization: str = ""
    speculative: str = ""
    expert_parallel: str = ""
    dp_attention: str = ""
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    dcp: int | None = None
    utilisation: Fraction | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    block_size: int | None = None


SETTINGS = frozenset(field.name for field in fields(Settings))
WORDS = frozenset(field.name for field in fields(Settings) if field.type == "str")


@dataclass(frozen=True)
class EngineLog:
    """What one start of one engine said.

    Attributes
    ----------
    engine : str
        ``vllm``, ``sglang`` or ``lmcache``.
    path : str
        The file, as messages name it.
    seen : tuple of Seen
        All figures in the order of the log, settings among them.
    version : str
        As printed; empty where it is not.
    starts : int
        How many starts the file holds; `seen` is of one of them.
    complete : bool
        Whether that start got as far as its KV cache.
    faults : tuple of str
        Failures the engine told about, and figures that could not be read.
    notes : tuple of str
        What to know before the figures are used.
    """

    engine: EngineName
    path: str
    seen: tuple[Seen, ...]
    version: str = ""
    starts: int = 1
    complete: bool = True
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def all(self, what: str) -> tuple[Seen, ...]:
        """Return every figure `what`, in the order of the log."""
        return tuple(seen for seen in self.seen if seen.what == what)

    def one(self, what: str) -> Seen | None:
        """Return the smallest figure `what` over all ranks, or the last word; None without any.

        The smallest is what an engine goes by when its ranks differ; `notes` say that they do.
        """
        found = self.all(what)
        if not found or isinstance(found[-1].value, str):
            return found[-1] if found else None
        return min(found, key=lambda seen: seen.number)

    def narrowest(self, what: str) -> Seen | None:
        """Return the figure `what` that rounding blurs least in relation to its size."""
        found = [seen for seen in self.all(what) if not isinstance(seen.value, str) and seen.value]
        return min(found, key=lambda seen: Fraction(seen.spread) / seen.number, default=None)

    def by_rank(self, what: str) -> dict[str, tuple[Seen, ...]]:
        """Return every figure `what` by the rank that said it.

        SGLang captures several graphs: the sum of a rank's ``graph_bytes`` is what they take.
        """
        ranks = dict.fromkeys(seen.rank for seen in self.all(what))
        return {rank: tuple(seen for seen in self.all(what) if seen.rank == rank) for rank in ranks}

    @property
    def settings(self) -> Settings:
        """How the engine was started; what is said later in the log counts."""
        found: dict[str, Value] = {}
        for seen in self.seen:
            if seen.what in SETTINGS and isinstance(seen.value, str) == (seen.what in WORDS):
                found[seen.what] = Fraction(seen.value) if seen.what == "utilisation" else seen.value
        return Settings(**found)  # type: ignore[arg-type]
