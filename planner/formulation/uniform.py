"""Fleets of a single build each, weighed roughly: a first plan, with which a search begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.formulation.most import Needs
from planner.formulation.tokens import Option, Parts

if TYPE_CHECKING:
    import numpy

_NEVER = 10**15
Triple = tuple[int, int, int]
"""Core, memory option, drive option."""


def best_uniform(parts: Parts, n: int) -> list[tuple[int, Triple]]:
    """Return for the `n` most promising cores the build of which a fleet alone is best, with about its value.

    Cluster lines that are rounded up, racks and the fleet's limits are left out: whoever asks
    solves and verifies.
    """
    needs = Needs.of(parts)
    found = [best for i in range(len(parts.ways)) if (best := _best_of_core(parts, needs, i)) is not None]
    return sorted(found)[:n]


def _best_of_core(parts: Parts, needs: Needs, i: int) -> tuple[int, Triple] | None:
    import numpy

    way, hosts, drives = parts.ways[i], list(parts.host_of[i]), list(parts.drive_of[i])
    of_hosts, of_drives = _table(parts.hosts, hosts), _table(parts.drives, drives)
    reaches = [_groups(needs.sessions, numpy.minimum(table[3], way.reach)) for table in (of_hosts, of_drives)]
    of_host = numpy.maximum(_groups(needs.gib, of_hosts[1]), reaches[0])
    of_drive = numpy.maximum(_groups(needs.gb, of_drives[1]), reaches[1])
    groups = numpy.maximum(of_host[:, None], of_drive[None, :]) + needs.spares
    cents = parts.core_paid(way).cents + of_hosts[0][:, None] + of_drives[0][None, :]
    each = way.core.n_nodes if parts.at.scenario.objectives == ("nodes",) else cents
    legal = of_hosts[2][:, None] + of_drives[2][None, :] <= parts.room(way, 1)
    values = numpy.where(legal & (groups < _NEVER), groups * each, _NEVER)
    place = int(values.argmin())
    host, drive = divmod(place, len(drives))
    value = int(values[host, drive])
    return None if value >= _NEVER else (value, (i, hosts[host], drives[drive]))


def _table(options: list[Option], some: list[int]) -> numpy.ndarray:
    import numpy

    rows = [(options[o].cents, options[o].units, options[o].watts, options[o].reach) for o in some]
    return numpy.array(rows, dtype=numpy.int64).T


def _groups(need: int, each: numpy.ndarray) -> numpy.ndarray:
    """Return how many groups of each hold a need; very many where it holds nothing."""
    import numpy

    if need <= 0:
        return numpy.zeros_like(each)
    enough = -(-need // numpy.maximum(each, 1))
    return numpy.where(each > 0, enough, _NEVER)
