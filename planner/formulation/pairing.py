"""Which cores get which memory and drives: flows between classes of them, or slots for a few kinds of build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.program import Program


def add_pairing(program: Program, name: str, takes: Mapping[int, frozenset[int]]) -> None:
    """Give every group one option that its core takes: flows between classes of both.

    Cores that take the same options are one class, and so are options that the same cores take.
    `takes` is, for each core's variable, those of the options that it takes.
    """
    cores: dict[frozenset[int], list[int]] = {}
    for var, some in takes.items():
        cores.setdefault(some, []).append(var)
    keys = list(cores)
    takers: dict[int, set[int]] = {}
    for k, some in enumerate(keys):
        for option in some:
            takers.setdefault(option, set()).add(k)
    classes: dict[frozenset[int], list[int]] = {}
    for option in sorted(takers):
        classes.setdefault(frozenset(takers[option]), []).append(option)
    out: list[dict[int, int]] = [dict.fromkeys(group, 1) for group in cores.values()]
    for c, (some_cores, group) in enumerate(classes.items()):
        into = dict.fromkeys(group, 1)
        for k in sorted(some_cores):
            flow = program.add_variable(f"{name}_{k}_{c}", min(_most(program, group), _most(program, cores[keys[k]])))
            into[flow], out[k][flow] = -1, -1
        program.add_equal(f"{name}_in_{c}", into)
    for k, terms in enumerate(out):
        program.add_equal(f"{name}_out_{k}", terms)


def _most(program: Program, some: Sequence[int]) -> int:
    return sum(program.variables[var].upper for var in some)


@dataclass
class Slot:
    """One kind of build: a choice of one core, one memory and one drive population for all its groups.

    Attributes
    ----------
    groups : int
        Variable: how many.
    shares, picks : dict of int to int
        Variable of each part to the one that counts it in this slot, and to the binary that chooses it.
    """

    groups: int
    shares: dict[int, int] = field(default_factory=dict)
    picks: dict[int, int] = field(default_factory=dict)


def add_slots(program: Program, parts: Sequence[Sequence[int]], n: int) -> list[Slot]:
    """Share the counts of cores, of memory and of drives out over `n` slots; the fuller ones come first."""
    slots: list[Slot] = []
    for s in range(n):
        slots.append(_add_slot(program, str(s), parts))
        if s:
            program.add_row("order", {slots[s - 1].groups: 1, slots[s].groups: -1}, ">=", 0)
    for some in parts:
        for var in some:
            program.add_equal(f"shares_{var}", {slot.shares[var]: 1 for slot in slots} | {var: -1})
    return slots


def _add_slot(program: Program, name: str, parts: Sequence[Sequence[int]]) -> Slot:
    """Let all groups of a slot be of one core, one memory and one drive population."""
    slot = Slot(program.add_variable(f"slot_{name}", max(program.variables[var].upper for var in parts[0])))
    for some in parts:
        for var in some:
            upper = program.variables[var].upper
            share = slot.shares[var] = program.add_variable(f"share_{name}_{var}", upper)
            pick = slot.picks[var] = program.add_variable(f"pick_{name}_{var}", 1)
            program.add_row(f"pick_{name}_{var}", {share: 1, pick: -upper}, "<=", 0)
        program.add_row(f"one_{name}", {slot.picks[var]: 1 for var in some}, "<=", 1)
        program.add_equal(f"slot_{name}", {slot.shares[var]: 1 for var in some} | {slot.groups: -1})
    return slot


def add_fits(program: Program, name: str, takes: Mapping[int, frozenset[int]], slots: Sequence[Slot]) -> None:
    """Let each slot's core take its option: as both are one choice, comparing how many groups is enough."""
    options = frozenset[int]().union(*takes.values())
    cores: dict[frozenset[int], list[int]] = {}
    for var, some in takes.items():
        cores.setdefault(some, []).append(var)
    for slot in slots:
        for some, group in cores.items():
            if some != options:
                terms = {slot.shares[var]: 1 for var in group} | {slot.shares[var]: -1 for var in some}
                program.add_row(f"fit_{name}", terms, "<=", 0)
