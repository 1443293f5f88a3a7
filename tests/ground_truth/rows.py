"""Rows of public engine logs: what was run, what the engine printed, and what can be checked.

A row is checked as far as it goes. Its printed tokens against its printed GiB need the model's
shape alone; the GiB themselves need the GPU, the engine's version and its options as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
KEYS = {
    "id", "source", "model", "weights", "engine", "version", "gpu", "layout", "kv", "utilisation", "max_model_len",
    "batched_tokens", "max_sequences", "draft_layers", "draft_tokens", "prefix_caching", "approximate", "inferred",
    "unsaid", "seen", "exception", "note",
}  # fmt: skip
SEEN = {
    "kv_gib",
    "tokens",
    "weights_gib",
    "blocks",
    "concurrency",
    "activations_gib",
    "k_gib",
    "v_gib",
    "longest",
    "moved_gib",
}


@dataclass(frozen=True)
class Row:
    """One run.

    Attributes
    ----------
    model, weights, gpu, layout, kv : str
        Ids of the catalogue; ``gpu`` may be empty.
    engine, version : str
        Profile of the catalogue, and the version that ran.
    seen : mapping
        What was printed: ``kv_gib`` (per GPU), ``tokens``, ``weights_gib``, ...
    inferred : tuple of str
        Fields that the source does not say: the value is the one that gives the printed figures.
    unsaid : bool
        Whether the source names options, such as draft tokens, whose values it does not say.
    exception : str
        Physics of a row that is known not to fit; it is shown but not asserted.
    """

    id: str
    source: str
    model: str
    engine: str
    layout: str = "tp1"
    weights: str = "bf16"
    kv: str = "bf16"
    gpu: str = ""
    version: str = ""
    utilisation: Fraction | None = None
    max_model_len: int | None = None
    batched_tokens: int | None = None
    max_sequences: int | None = None
    draft_layers: int = 0
    draft_tokens: int = 0
    prefix_caching: bool | None = None
    approximate: bool = False
    inferred: tuple[str, ...] = ()
    unsaid: bool = False
    seen: Mapping[str, Any] = field(default_factory=dict)
    exception: str = ""
    note: str = ""

    @property
    def kv_bytes(self) -> tuple[Fraction, Fraction] | None:
        """The interval of bytes per GPU that the printed GiB stand for."""
        if "k_gib" in self.seen:
            texts = [str(self.seen["k_gib"]), str(self.seen["v_gib"])]
        elif "kv_gib" in self.seen:
            texts = [str(self.seen["kv_gib"])]
        else:
            return None
        half = sum((_half(text) for text in texts), Fraction(0))
        whole = sum((Fraction(text) for text in texts), Fraction(0))
        return (whole - half) * 2**30, (whole + half) * 2**30

    @property
    def full(self) -> bool:
        """Whether everything stands there that a prediction of the KV memory needs."""
        known = self.gpu and self.utilisation is not None and self.max_model_len and not self.approximate
        return bool(known and ("tokens" in self.seen or "kv_gib" in self.seen))

    @property
    def h100_campaign(self) -> bool:
        """Whether it is of the runs of vLLM 0.19 on H100."""
        return bool(re.fullmatch(r"V0[0-5]\d", self.id))


def _half(text: str) -> Fraction:
    decimals = len(text.partition(".")[2]) or 0
    return Fraction(1, 2 * 10 ** max(decimals, 2 if "." in text else 0))


def read_rows(*paths: Path) -> Iterator[Row]:
    """Yield the rows of YAML files; those beside this module where none is named."""
    for path in paths or sorted(HERE.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["rows"]:
            yield make_row(entry)


def make_row(entry: Mapping[str, Any]) -> Row:
    """Return a row, unknown keys refused."""
    unknown = set(entry) - KEYS | {f"seen.{key}" for key in set(entry["seen"]) - SEEN}
    if unknown:
        raise ValueError(f"{entry.get('id')}: unknown keys {sorted(unknown)}")
    values = dict(entry)
    values["inferred"] = tuple(values.get("inferred", ()))
    if not set(values["inferred"]) <= KEYS:
        raise ValueError(f"{entry.get('id')}: unknown fields in 'inferred': {sorted(values['inferred'])}")
    if "utilisation" in values:
        values["utilisation"] = Fraction(str(values["utilisation"]))
    return Row(**values)
