"""A pooled problem as a program over its parts: so many of each core, memory and drive population."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.constraints.sessions import add_covering_rows
from planner.costs import cluster_line_power_w, group_drivers
from planner.formulation.most import Caps, Most, Needs
from planner.formulation.pairing import Slot, add_fits, add_pairing, add_slots
from planner.formulation.rows import add_lots_beyond, add_rack_lots
from planner.formulation.tokens import Option, Parts, Token
from planner.formulation.volume import add_volumes
from planner.hardware import ClusterLine
from planner.problem import Problem, line_pieces
from planner.program import Program
from planner.units import ceil_div
from planner.volume import uses_of

Terms = dict[int, int]
Support = tuple[frozenset[int], frozenset[int], frozenset[int]]
"""Cores, memory options and drive options."""


@dataclass
class Separate:
    """A program over parts with the meaning of its variables.

    Attributes
    ----------
    tokens : list of Token
        Those that are left; `cores` are their variables.
    hosts, drives : dict of int to int
        Variable to the option that it counts, by its place in `Parts`.
    slots : list of Slot
        One for each kind of build where their number is limited.
    most : Most or None
        Bounds of the variables.
    """

    parts: Parts
    needs: Needs
    tokens: list[Token]
    program: Program = field(default_factory=Program)
    hosts: dict[int, int] = field(default_factory=dict)
    drives: dict[int, int] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    most: Most | None = None

    @property
    def cores(self) -> list[int]:
        """Variable of each token."""
        return self.program.groups

    @property
    def problem(self) -> Problem:
        """The problem without builds: it knows what cluster lines cost and draw."""
        return Problem(self.parts.at, (), self.parts.offers.pricing)

    def option_terms(self, cents: bool) -> Terms:
        """Return cents or watts of all variables of options."""
        terms: Terms = {}
        for options, variables in ((self.parts.hosts, self.hosts), (self.parts.drives, self.drives)):
            terms |= {var: options[o].cents if cents else options[o].watts for var, o in variables.items()}
        return terms

    def capex_terms(self) -> Terms:
        """Return cents per variable; their sum is the bill of materials' total."""
        terms = {var: token.cents for token, var in zip(self.tokens, self.cores, strict=True)}
        return terms | self.option_terms(True) | self.problem.capex_terms_of(self.program)

    def power_terms(self) -> Terms:
        """Return peak watts per variable."""
        terms = self.option_terms(False) | self.problem.power_terms_of(self.program)
        pricing = self.parts.offers.pricing
        for token, var in zip(self.tokens, self.cores, strict=True):
            way = self.parts.ways[token.way]
            terms[var] = way.core.n_nodes * way.fixed[2] + sum(
                self.driver(token, line) * line.pieces * cluster_line_power_w(pricing, line)
                for line in pricing.linear_lines()
            )
        return terms

    def node_terms(self) -> Terms:
        """Return nodes per variable."""
        return {v: self.parts.ways[t.way].core.n_nodes for t, v in zip(self.tokens, self.cores, strict=True)}

    def driver(self, token: Token, line: ClusterLine) -> int:
        """Return what one group adds to a cluster line's driver."""
        bare = self.parts.offers.bare(self.parts.ways[token.way])
        return group_drivers(bare, self.parts.offers.pricing.catalog).get(line.driver, 0)

    def stages(self) -> tuple[Terms, Terms]:
        """Return what is minimised first, and what among plans that are equal in that."""
        capex, nodes = self.capex_terms(), self.node_terms()
        return (nodes, capex) if self.parts.at.scenario.objectives == ("nodes",) else (capex, nodes)

    def caps(self, most_of: Callable[[int], int]) -> Caps:
        """Return bounds of tokens and options from those of their variables."""
        tokens = {token: most_of(var) for token, var in zip(self.tokens, self.cores, strict=True)}
        hosts, drives = ({o: most_of(var) for var, o in some.items()} for some in (self.hosts, self.drives))
        return Caps(tokens, hosts, drives)

    def volume_pieces(self, part: str, use: str) -> Terms:
        """Return pieces of a part with volume prices per variable in machines, or in a cluster line."""
        pricing = self.parts.offers.pricing
        line = uses_of(pricing, part)[use]
        if line is None:
            place = [price.part for price in pricing.book.tiered].index(part)
            counted = [(var, token.paid) for token, var in zip(self.tokens, self.cores, strict=True)]
            counted += [(var, self.parts.hosts[o].paid) for var, o in self.hosts.items()]
            counted += [(var, self.parts.drives[o].paid) for var, o in self.drives.items()]
            return {var: paid.pieces[place] for var, paid in counted if paid.pieces[place]}
        if pricing.is_linear(line):
            drivers = {var: self.driver(token, line) for token, var in zip(self.tokens, self.cores, strict=True)}
            return {var: n * line.pieces for var, n in drivers.items() if n}
        return line_pieces(self.program, pricing, line)

    def support(self, values: Sequence[int]) -> Support:
        """Return the cores, memory and drives in use."""
        ways = {token.way for token, var in zip(self.tokens, self.cores, strict=True) if values[var]}
        hosts, drives = ({o for var, o in some.items() if values[var]} for some in (self.hosts, self.drives))
        return frozenset(ways), frozenset(hosts), frozenset(drives)


def make_separate(
    parts: Parts, tokens: Sequence[Token], known: int | None = None, caps: Caps | None = None
) -> Separate | None:
    """Return the program; None where no fleet of these tokens can hold the load.

    `known` is the first objective of a plan: the program keeps all that are as good. `caps` are
    bounds that hold in all of them.
    """
    hosts = _worth(parts.hosts, [token.hosts for token in tokens], parts)
    drives = _worth(parts.drives, [token.drives for token in tokens], parts)
    left = [token for token in tokens if token.hosts & hosts.keys() and token.drives & drives.keys()]
    if not left:
        return None
    made = Separate(parts, Needs.of(parts), left)
    _add_parts(made, sorted(hosts), sorted(drives), known, caps or Caps())
    _add_pairs(made)
    _add_covering(made)
    _add_fleet(made)
    return made


def _add_parts(made: Separate, hosts: Sequence[int], drives: Sequence[int], known: int | None, caps: Caps) -> None:
    """Add variables of all cores, memory and drives."""
    program, most = made.program, Most(made.parts, made.needs, made.tokens, known, caps)
    made.most = most
    program.groups += [program.add_variable(f"core_{t.way}", most.of_token(t)) for t in made.tokens]
    made.hosts |= {program.add_variable(f"host_{o}", most.of_option(o, True)): o for o in hosts}
    made.drives |= {program.add_variable(f"drives_{o}", most.of_option(o, False)): o for o in drives}


def _add_pairs(made: Separate) -> None:
    """Pair every group's core with memory and drives; where the number of builds is limited, in so many slots."""
    program, kinds = made.program, made.parts.at.scenario.fleet.max_builds
    if kinds is not None:
        made.slots += add_slots(program, (made.cores, list(made.hosts), list(made.drives)), kinds)
    for name, options in (("host", made.hosts), ("drives", made.drives)):
        var_of = {option: var for var, option in options.items()}
        takes = {
            var: frozenset(var_of[o] for o in (t.hosts if name == "host" else t.drives) if o in var_of)
            for var, t in zip(made.cores, made.tokens, strict=True)
        }
        add_pairing(program, name, takes)
        add_fits(program, name, takes, made.slots)


def _worth(options: Sequence[Option], accepted: Sequence[frozenset[int]], parts: Parts) -> dict[int, frozenset[int]]:
    """Return the options that no other, wherever they fit, is as good as; each with the tokens that take it."""
    takers: dict[int, set[int]] = {}
    for t, some in enumerate(accepted):
        for option in some:
            takers.setdefault(option, set()).add(t)
    weighed = parts.at.scenario.limits.power_w is not None

    def vector(o: int) -> tuple[int, ...]:
        mine = options[o]
        return (mine.paid.rest_cents, *mine.paid.pieces, -mine.units, -mine.reach, mine.watts if weighed else 0)

    order = sorted(takers, key=lambda o: (vector(o), -len(takers[o]), o))
    kept: list[int] = []
    for o in order:
        if not any(
            takers[k] >= takers[o] and all(a <= b for a, b in zip(vector(k), vector(o), strict=True)) for k in kept
        ):
            kept.append(o)
    return {o: frozenset(takers[o]) for o in kept}


def _add_covering(made: Separate) -> None:
    """Add sessions over tokens, memory over hosts, drives over drives; and what drives let be hosted."""
    parts, needs = made.parts, made.needs
    reaches = {var: token.reach for token, var in zip(made.tokens, made.cores, strict=True)}
    _add_cover(made, "sessions", reaches, needs.sessions)
    if needs.gib > 0:
        _add_cover(made, "dram_pool", {var: parts.hosts[o].units for var, o in made.hosts.items()}, needs.gib)
    if needs.gb > 0:
        _add_cover(made, "nvme_pool", {var: parts.drives[o].units for var, o in made.drives.items()}, needs.gb)
    for name, options, variables in (("host", parts.hosts, made.hosts), ("drive", parts.drives, made.drives)):
        hosted = {var: options[o].reach for var, o in variables.items()}
        if min(hosted.values()) < max(reaches.values()):
            made.program.add_row(f"{name}_reach", hosted, ">=", needs.sessions)


def _add_cover(made: Separate, name: str, capacities: Mapping[int, int], need: int) -> None:
    each, groups = list(capacities.values()), list(capacities)
    add_covering_rows(made.program, name, each, need, made.needs.spares, groups=groups)


def _add_fleet(made: Separate) -> None:
    """Add racks, lots of rounded cluster lines, and the limits of the fleet."""
    program, at, parts = made.program, made.parts.at, made.parts
    _add_racks(made)
    pricing = parts.offers.pricing
    for line in pricing.catalog.cluster.lines:
        if not pricing.is_linear(line) and not pricing.is_per_rack(line):
            _add_lots(made, line)
    add_volumes(program, pricing, made.volume_pieces)
    limits, fleet = at.scenario.limits, at.scenario.fleet
    if limits.budget is not None:
        program.add_row("budget", made.capex_terms(), "<=", limits.budget.cents)
    if limits.power_w is not None:
        program.add_row("power", made.power_terms(), "<=", limits.power_w)
    if limits.rack_units is not None:
        height = {
            var: parts.ways[t.way].core.n_nodes * parts.ways[t.way].core.chassis.rack_units
            for t, var in zip(made.tokens, made.cores, strict=True)
        }
        program.add_row("rack_units", height, "<=", limits.rack_units)
    if fleet.max_nodes is not None:
        program.add_row("nodes", made.node_terms(), "<=", fleet.max_nodes)


def _add_racks(made: Separate) -> None:
    program, nodes = made.program, made.node_terms()
    classes = sorted({token.racks for token in made.tokens})
    most = sum(n * program.variables[var].upper for var, n in nodes.items())
    for size in classes:
        program.racks[size] = program.add_variable(f"racks_{size}", max(1, most))
    for size in classes:
        terms = {var: c for c, var in program.racks.items() if c <= size}
        terms |= {v: -nodes[v] for t, v in zip(made.tokens, made.cores, strict=True) if t.racks <= size}
        program.add_row(f"racks_{size}", terms, ">=", 0)


def _add_lots(made: Separate, line: ClusterLine) -> None:
    """Add the lots of a rounded line, at least its minimum where any core in use has a part in it."""
    program, least = made.program, ceil_div(line.minimum, line.pieces)
    if line.driver == "fleet":
        lots = max(1, least)
        program.lots[line.id] = program.add_variable(f"lots_{line.id}", lots, lots)
        return
    if line.driver == "racks":
        add_rack_lots(program, line, least)
        return
    drivers = {var: made.driver(token, line) for token, var in zip(made.tokens, made.cores, strict=True)}
    if line.beyond:
        most_known = None if made.most is None else made.most.of_driver([*drivers.values()])
        add_lots_beyond(program, line, drivers, most_known)
        return
    most = ceil_div(sum(n * program.variables[var].upper for var, n in drivers.items()), line.per)
    every = least if all(drivers.values()) else 0
    lots = program.add_variable(f"lots_{line.id}", max(most, least, 1), every)
    program.lots[line.id] = lots
    program.add_row(f"lots_{line.id}", {lots: line.per} | {var: -n for var, n in drivers.items()}, ">=", 0)
    if least > max(1, every):
        for i, driver in enumerate(drivers.values()):
            if driver:
                program.add_row(f"least_{line.id}_{i}", {lots: 1, program.mark_used(i): -least}, ">=", 0)
