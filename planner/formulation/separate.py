"""A pooled problem as a program over its parts: so many of each core, memory and drive population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.constraints.pools import POOLS
from planner.constraints.sessions import add_covering_rows
from planner.costs import cluster_line_power_w, group_drivers
from planner.formulation.rows import add_rack_lots
from planner.formulation.tokens import Option, Parts, Token
from planner.hardware import ClusterLine
from planner.problem import Problem
from planner.program import Program
from planner.units import ceil_div

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
    hosts, drives : dict of int
        Variable of each option that is left, by its place in `Parts`.
    used : dict
        Binary of each core, memory and drive population, where the number of builds is limited.
    """

    parts: Parts
    tokens: list[Token]
    program: Program = field(default_factory=Program)
    cores: list[int] = field(default_factory=list)
    hosts: dict[int, int] = field(default_factory=dict)
    drives: dict[int, int] = field(default_factory=dict)
    used: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        """The problem without builds: it knows what cluster lines cost and draw."""
        return Problem(self.parts.at, (), self.parts.offers.pricing)

    def option_terms(self, cents: bool) -> Terms:
        """Return cents or watts of all variables of options."""
        terms: Terms = {}
        for options, variables in ((self.parts.hosts, self.hosts), (self.parts.drives, self.drives)):
            terms |= {var: options[o].cents if cents else options[o].watts for o, var in variables.items()}
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

    def require_other(self, support: Support) -> None:
        """Allow only plans with a part beyond `support`, within which the best plan is known."""
        known = {(name, i) for name, some in zip(("core", "host", "drives"), support, strict=True) for i in some}
        beyond = {var: 1 for part, var in self.used.items() if part not in known}
        self.program.add_row("other", beyond, ">=", 1)

    def support(self, values: Sequence[int]) -> Support:
        """Return the cores, memory and drives in use."""
        ways = {token.way for token, var in zip(self.tokens, self.cores, strict=True) if values[var]}
        hosts, drives = ({o for o, var in some.items() if values[var]} for some in (self.hosts, self.drives))
        return frozenset(ways), frozenset(hosts), frozenset(drives)


def make_separate(parts: Parts, tokens: Sequence[Token]) -> Separate | None:
    """Return the program; None where no fleet of these tokens can hold the load."""
    hosts = _worth(parts.hosts, [token.hosts for token in tokens], parts)
    drives = _worth(parts.drives, [token.drives for token in tokens], parts)
    made = Separate(parts, [token for token in tokens if token.hosts & hosts.keys() and token.drives & drives.keys()])
    if not made.tokens:
        return None
    needs = _needs(parts)
    program = made.program
    for token in made.tokens:
        most = _most_of_token(parts, token, needs)
        made.cores.append(program.add_variable(f"core_{token.way}", most))
    for name, options, left, variables in (
        ("host", parts.hosts, hosts, made.hosts),
        ("drives", parts.drives, drives, made.drives),
    ):
        for option in sorted(left):
            most = _most_of_option(made, options[option], name, option, needs)
            variables[option] = program.add_variable(f"{name}_{option}", most)
        _add_pairing(made, name, variables)
    _add_covering(made, needs)
    _add_fleet(made)
    return made


def _worth(options: Sequence[Option], accepted: Sequence[frozenset[int]], parts: Parts) -> dict[int, frozenset[int]]:
    """Return the options that no other, wherever they fit, is as good as; each with the tokens that take it."""
    takers: dict[int, set[int]] = {}
    for t, some in enumerate(accepted):
        for option in some:
            takers.setdefault(option, set()).add(t)
    weighed = parts.strict or parts.at.scenario.limits.power_w is not None

    def vector(o: int) -> tuple[int, ...]:
        mine = options[o]
        return (mine.cents, -mine.units, -mine.reach, mine.watts if weighed else 0)

    order = sorted(takers, key=lambda o: (vector(o), -len(takers[o]), o))
    kept: list[int] = []
    for o in order:
        if not any(
            takers[k] >= takers[o] and all(a <= b for a, b in zip(vector(k), vector(o), strict=True)) for k in kept
        ):
            kept.append(o)
    return {o: frozenset(takers[o]) for o in kept}


@dataclass(frozen=True)
class _Needs:
    """What the fleet must hold: parts of sessions, GiB, GB; 0 where a tier is not used."""

    sessions: int
    gib: int
    gb: int
    spares: int


def _needs(parts: Parts) -> _Needs:
    at, bare = parts.at, parts.offers.bare(parts.ways[0])
    gib, gb = (pool.need_units(bare, at) if pool.active(at) else 0 for pool in POOLS)
    return _Needs(at.open_parts, gib, gb, Problem(at, (), parts.offers.pricing).spares)


_MANY = 10**5
"""Groups that no plan has; only where an option gives nothing to a pool that needs it."""


def _groups(need: int, least: int) -> int:
    return 0 if need <= 0 else ceil_div(need, least) if least > 0 else _MANY


def _most_of_token(parts: Parts, token: Token, needs: _Needs) -> int:
    """Return a bound: so many groups of it hold the load alone, whatever their options."""
    drives = [parts.drives[d] for d in token.drives]
    reach = min(min(parts.ways[token.way].reach, option.reach) for option in drives)
    gib = min(parts.hosts[h].units for h in token.hosts)
    gb = min(option.units for option in drives)
    most = max(_groups(needs.sessions, reach), _groups(needs.gib, gib), _groups(needs.gb, gb))
    return _limited(parts, parts.ways[token.way].core.n_nodes, most + needs.spares)


def _most_of_option(made: Separate, mine: Option, name: str, option: int, needs: _Needs) -> int:
    """Return a bound: so many groups with it hold the load alone, whatever their cores."""
    takers = [t for t in made.tokens if option in (t.hosts if name == "host" else t.drives)]
    ways = [made.parts.ways[token.way] for token in takers]
    drives = [made.parts.drives[d] for token in takers for d in token.drives] if name == "host" else [mine]
    hosts = [mine] if name == "host" else [made.parts.hosts[h] for token in takers for h in token.hosts]
    reach = min(min(way.reach for way in ways), min(option.reach for option in drives))
    most = max(
        _groups(needs.sessions, reach),
        _groups(needs.gib, min(option.units for option in hosts)),
        _groups(needs.gb, min(option.units for option in drives)),
    )
    return _limited(made.parts, mine.n_nodes, most + needs.spares)


def _limited(parts: Parts, n_nodes: int, most: int) -> int:
    limit = parts.at.scenario.fleet.max_nodes
    return most if limit is None else min(most, limit // n_nodes)


def _add_pairing(made: Separate, name: str, variables: Mapping[int, int]) -> None:
    """Give every group one option that its token takes: flows between classes of both.

    Tokens that take the same options are one class, and so are options that the same tokens take.
    """
    program = made.program
    each = [token.hosts if name == "host" else token.drives for token in made.tokens]
    takes = [frozenset(o for o in some if o in variables) for some in each]
    cores: dict[frozenset[int], list[int]] = {}
    for some, var in zip(takes, made.cores, strict=True):
        cores.setdefault(some, []).append(var)
    classes: dict[frozenset[int], list[int]] = {}
    keys = list(cores)
    for option, var in variables.items():
        classes.setdefault(frozenset(k for k, some in enumerate(keys) if option in some), []).append(var)
    out: list[Terms] = [dict.fromkeys(group, 1) for group in cores.values()]
    for c, (takers, group) in enumerate(classes.items()):
        into: Terms = dict.fromkeys(group, 1)
        for k in sorted(takers):
            most = min(
                sum(program.variables[v].upper for v in group), sum(program.variables[v].upper for v in cores[keys[k]])
            )
            flow = program.add_variable(f"{name}_{k}_{c}", most)
            into[flow], out[k][flow] = -1, -1
        _add_equal(program, f"{name}_in_{c}", into)
    for k, terms in enumerate(out):
        _add_equal(program, f"{name}_out_{k}", terms)


def _add_equal(program: Program, name: str, terms: Terms) -> None:
    program.add_row(name, terms, "<=", 0)
    program.add_row(name, terms, ">=", 0)


def _add_covering(made: Separate, needs: _Needs) -> None:
    """Add sessions over tokens, memory over hosts, drives over drives; and what drives let be hosted."""
    program, spares, parts = made.program, needs.spares, made.parts
    add_covering_rows(
        program, "sessions", [token.reach for token in made.tokens], needs.sessions, spares, groups=made.cores
    )  # fmt: skip
    for name, need, options, variables in (
        ("dram_pool", needs.gib, parts.hosts, made.hosts),
        ("nvme_pool", needs.gb, parts.drives, made.drives),
    ):
        if need > 0:
            units = [options[o].units for o in variables]
            add_covering_rows(program, name, units, need, spares, groups=list(variables.values()))
    reaches = {var: parts.drives[o].reach for o, var in made.drives.items()}
    if min(reaches.values()) < max(token.reach for token in made.tokens):
        program.add_row("drive_reach", reaches, ">=", needs.sessions)


def _add_fleet(made: Separate) -> None:
    """Add racks, lots of rounded cluster lines, and the limits of the fleet."""
    program, at, parts = made.program, made.parts.at, made.parts
    _add_racks(made)
    pricing = parts.offers.pricing
    for line in pricing.catalog.cluster.lines:
        if not pricing.is_linear(line) and not pricing.is_per_rack(line):
            _add_lots(made, line)
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
    if fleet.max_builds is not None:
        _add_kinds(made, fleet.max_builds)


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
    """Add the lots of a rounded line; a minimum where every token has a part in it, else none: a bound from below."""
    program, least = made.program, ceil_div(line.minimum, line.pieces)
    if line.driver == "fleet":
        lots = max(1, least)
        program.lots[line.id] = program.add_variable(f"lots_{line.id}", lots, lots)
        return
    if line.driver == "racks":
        add_rack_lots(program, line, least)
        return
    drivers = {var: made.driver(token, line) for token, var in zip(made.tokens, made.cores, strict=True)}
    most = ceil_div(sum(n * program.variables[var].upper for var, n in drivers.items()), line.per)
    every = least if all(drivers.values()) else 0
    lots = program.add_variable(f"lots_{line.id}", max(most, least, 1), every)
    program.lots[line.id] = lots
    program.add_row(f"lots_{line.id}", {lots: line.per} | {var: -n for var, n in drivers.items()}, ">=", 0)


def _add_kinds(made: Separate, most: int) -> None:
    """At most so many cores, memory and drive populations in use: every plan of so many builds keeps to that."""
    program = made.program
    ways: dict[int, list[int]] = {}
    for token, var in zip(made.tokens, made.cores, strict=True):
        ways.setdefault(token.way, []).append(var)
    hosts, drives = ({o: [var] for o, var in some.items()} for some in (made.hosts, made.drives))
    for name, groups in (("core", ways), ("host", hosts), ("drives", drives)):
        used: Terms = {}
        for i, group in groups.items():
            binary = program.add_variable(f"used_{name}_{i}", 1)
            made.used[name, i] = binary
            used[binary] = 1
            for var in group:
                program.add_row(f"used_{name}_{i}", {var: 1, binary: -program.variables[var].upper}, "<=", 0)
            program.add_row(f"in_use_{name}_{i}", dict.fromkeys(group, 1) | {binary: -1}, ">=", 0)
        program.add_row(f"kinds_{name}", used, "<=", most)
