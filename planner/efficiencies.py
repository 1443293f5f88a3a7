"""What an offload product was measured to move of the nominal bandwidths, laid over its profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Literal

from planner.engines import Cache
from planner.evidence import Evidence
from planner.fields import Share, Text, record

PATHS = ("host_link", "drive_read", "drive_write")
"""The paths that a profile has an efficiency of, as its file has them."""


@record
class Efficiency:
    """Shares of the nominal bandwidths that one product was seen to move; None where it was not measured.

    Attributes
    ----------
    cache : str
        Id of the product's profile whose shares are replaced.
    host_link_fraction : Fraction or None
        Between host memory and GPUs, both ways.
    drive_read_fraction, drive_write_fraction : Fraction or None
        From and to drives.
    """

    kind: Literal["efficiency"] = "efficiency"
    id: Text
    cache: Text
    host_link_fraction: Share | None = None
    drive_read_fraction: Share | None = None
    drive_write_fraction: Share | None = None
    source: tuple[Text, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    note: str = ""


def with_efficiencies(caches: Mapping[str, Cache], rows: Iterable[Efficiency]) -> dict[str, Cache]:
    """Return the profiles with what was measured in place of their own shares, evidence included; later rows win."""
    found = dict(caches)
    for row in rows:
        cache = found[row.cache]
        whole = Evidence("sourced", row.source, note=row.note)
        shares = {f"{path}_fraction": getattr(row, f"{path}_fraction") for path in PATHS}
        known = {name: share for name, share in shares.items() if share is not None}
        evidence = {name.removesuffix("_fraction"): whole for name in known} | {
            path: why for path, why in row.evidence.items() if path in PATHS
        }
        found[row.cache] = replace(cache, **known, evidence={**cache.evidence, **evidence})
    return found
