"""Throughput profiles: how many requests of each size a rented instance serves per second.

The measured counterpart of `planner.service`: nothing is derived from a model or a GPU. Requests
are sorted into buckets by input and output size, as in Mélange (arXiv 2404.14527).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from typing import Literal

from planner.evidence import Evidence
from planner.fields import Count, Number, PerHour, Text, Tokens, record

LEAST_REQUESTS_PER_S = Fraction(1, 10**6)
"""Up to here a throughput means that the instance cannot serve the bucket at all."""

Fault = tuple[tuple[str | int, ...], str]


@record
class Instance:
    """What is rented as one piece.

    Attributes
    ----------
    name : str
        How scenarios and plans call it.
    gpu, n_gpus : str, int
        Its GPUs; shown, not computed with. The name's if `gpu` is left out.
    price_rate : MoneyRate
        Per hour.
    requests_per_s : tuple of tuple of Fraction
        Requests per second within the service targets if it serves nothing else: a row per input
        size, a column per output size. At most 0.000001 where it cannot serve.
    """

    name: Text
    gpu: Text | None = None
    n_gpus: Count = 1
    price_rate: PerHour
    requests_per_s: tuple[tuple[Number, ...], ...]
    note: str = ""

    def serves(self, row: int, column: int) -> bool:
        """Return whether it can serve a bucket at all."""
        return self.requests_per_s[row][column] > LEAST_REQUESTS_PER_S


@record
class Profile:
    """Instances measured on the same buckets.

    Attributes
    ----------
    id : str
        How scenarios name it.
    model, targets : str
        What was served and within which service targets; for readers.
    input_tokens, output_tokens : tuple of int
        Largest size of each row's requests and of each column's; may be left out.
    instances : tuple of Instance
        In the order in which plans list them.
    """

    kind: Literal["profile"] = "profile"
    id: Text
    name: Text
    model: str = ""
    targets: str = ""
    input_tokens: tuple[Tokens, ...] = ()
    output_tokens: tuple[Tokens, ...] = ()
    instances: tuple[Instance, ...]
    source: tuple[Text, ...] = ()
    note: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the buckets."""
        table = self.instances[0].requests_per_s
        return len(table), len(table[0])

    @property
    def currency(self) -> str:
        """Of all prices."""
        return self.instances[0].price_rate.currency

    def names(self) -> list[str]:
        """Return the instances' names."""
        return [instance.name for instance in self.instances]


def profile_faults(profile: Profile) -> Iterator[Fault]:
    """Yield what is wrong between a profile's values, each with its path."""
    if not profile.instances:
        yield ("instances",), "is empty; name at least one instance"
        return
    first = profile.instances[0]
    seen: set[str] = set()
    for i, instance in enumerate(profile.instances):
        at = ("instances", i)
        if instance.name in seen:
            yield (*at, "name"), f"'{instance.name}' stands twice"
        seen.add(instance.name)
        if instance.price_rate.cents <= 0:
            yield (*at, "price"), f"the price of '{instance.name}' must be above 0"
        if instance.price_rate.currency != first.price_rate.currency:
            yield (*at, "price"), f"is in {instance.price_rate.currency}, that of '{first.name}' in {profile.currency}"
    if not first.requests_per_s or not first.requests_per_s[0]:
        yield ("instances", 0, "requests_per_s"), "is empty; expected a row per input size"
        return
    for i, instance in enumerate(profile.instances):
        for path, message in table_faults(instance.requests_per_s, profile.shape):
            yield ("instances", i, "requests_per_s", *path), message
    for key, sizes, many in zip(
        ("input", "output"), (profile.input_tokens, profile.output_tokens), profile.shape, strict=True
    ):
        if sizes and (len(sizes) != many or list(sizes) != sorted(set(sizes))):
            yield (key,), f"expected {many} sizes that grow, or none, found {len(sizes)}"


def table_faults(table: tuple[tuple[Fraction, ...], ...], shape: tuple[int, int]) -> Iterator[Fault]:
    """Yield where a table has not a number for each bucket."""
    rows, columns = shape
    if len(table) != rows:
        yield (), f"expected {rows} rows, one per input size, found {len(table)}"
    for i, row in enumerate(table):
        if len(row) != columns:
            yield (i,), f"expected {columns} numbers, one per output size, found {len(row)}"
