"""The problem a plan solves: the scenario's situation, the builds on offer, the prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from planner.build import Build, group_pieces
from planner.costs import Pricing, cluster_line_power_w, group_drivers, tco_line_cents
from planner.demand import sessions_of, turns_per_s
from planner.flows import Flows, flows_of, written_per_day
from planner.hardware import ClusterLine
from planner.program import Program
from planner.scenario import Scenario, services_of
from planner.volume import uses_of, volume_terms
from planner.workload import Sessions


@dataclass(frozen=True, eq=False)
class Situation:
    """The scenario with what follows from it for every build.

    Attributes
    ----------
    flows : Flows
        What one turn moves.
    parts : tuple of Situation
        Of a plan of several services one each; sessions are then theirs alone.
    """

    scenario: Scenario
    sessions: Sessions
    turns_per_s: Fraction
    flows: Flows
    parts: tuple[Situation, ...] = ()

    @classmethod
    def of(cls, scenario: Scenario) -> Situation:
        """Count sessions and turns once, and those of each service."""
        sessions = sessions_of(scenario)
        parts = tuple(map(cls.of, services_of(scenario))) if scenario.services else ()
        turns = turns_per_s(scenario, sessions)
        return cls(scenario, sessions, turns, flows_of(scenario), parts)

    @property
    def services(self) -> tuple[Situation, ...]:
        """The situation of each service; itself where it is alone."""
        return self.parts or (self,)

    @property
    def label(self) -> str:
        """How a plan of several services calls this one."""
        return self.scenario.label

    @property
    def spares(self) -> int:
        """Groups that may be lost with the load still held.

        Lost nodes take their groups with them; at worst each is of another group.
        """
        return max(self.scenario.fleet.spare_groups, self.scenario.fleet.spare_nodes)

    @cached_property
    def turns_per_open(self) -> Fraction:
        """Turns per second of one open session, in the busiest minute."""
        return self.turns_per_s / self.open

    @cached_property
    def written_per_day(self) -> Fraction:
        """Tokens that a day adds to the drives for one open session."""
        return written_per_day(self.scenario, self.turns_per_open)

    @property
    def open(self) -> int:
        """Open sessions: what groups host."""
        return self.sessions.open

    @property
    def scale(self) -> int:
        """Parts into which a session is divided when reaches are compared.

        Groups host shares of the open sessions, and of those in flight, on average. Were each
        group's share floored to whole sessions, three groups with 20 slots each would not hold 60
        sessions in flight of 2,000 open: 666 + 666 + 666. In parts of 1 / in_flight they do.
        """
        return max(1, self.sessions.in_flight)

    @property
    def open_parts(self) -> int:
        """Open sessions in parts."""
        return self.open * self.scale

    @property
    def pooled(self) -> bool:
        """Whether host memory and drives are one pool over the fleet, or over a service's part of it."""
        return any(one.scenario.tiers.placement == "pooled" for one in self.services)


@dataclass(frozen=True)
class Share:
    """A service and what of a problem is its own.

    Attributes
    ----------
    at : Situation
        Of the service.
    places : tuple of int
        Indices of the builds that are for it.
    """

    at: Situation
    places: tuple[int, ...]

    def named(self, text: str) -> str:
        """Return a row's name that says which service it is of, where there are several."""
        return f"{text}_{self.at.label}" if self.at.label else text


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be decided.

    Attributes
    ----------
    at : Situation
        The scenario and its sessions.
    builds : tuple of Build
        The columns, in canonical order, each with its cost and reach.
    pricing : Pricing
        Prices and running costs.
    caps : mapping of str to int
        Objective to the most that a plan may have of it.
    """

    at: Situation
    builds: tuple[Build, ...]
    pricing: Pricing
    caps: Mapping[str, int] = field(default_factory=dict)

    @property
    def spares(self) -> int:
        """Groups of all services that may be lost with the load still held."""
        return sum(at.spares for at in self.at.services)

    def at_of(self, build: Build) -> Situation:
        """Return the situation of the service that a build is for."""
        return next(at for at in self.at.services if at.label == build.core.service)

    def shares(self) -> Iterator[Share]:
        """Yield each service with the indices of its builds."""
        for at in self.at.services:
            yield Share(at, tuple(i for i, build in enumerate(self.builds) if build.core.service == at.label))

    def fleet(self, counts: Mapping[int, int]) -> dict[Build, int]:
        """Return counts by build instead of by index."""
        return {self.builds[i]: n for i, n in sorted(counts.items()) if n}

    def capex_terms_of(self, program: Program) -> dict[int, int]:
        """Return cents per variable; their sum is the bill of materials' total."""
        terms = {program.groups[i]: build.cost_cents for i, build in enumerate(self.builds)}
        terms |= self._cluster_terms(program, self.pricing.lot_cents)
        return terms | volume_terms(self.pricing, program.volumes)

    def power_terms_of(self, program: Program) -> dict[int, int]:
        """Return peak watts per variable."""
        return self._piece_terms(program, lambda build: build.power_w, lambda watts: watts)

    def opex_terms_of(self, program: Program) -> dict[int, int]:
        """Return running cost per year in cents per variable, rounded up per group and per piece."""
        return self._piece_terms(program, lambda build: build.opex_cents, self.pricing.opex_cents)

    def tco_terms_of(self, program: Program) -> dict[int, int]:
        """Return cents over the term per variable, rounded up per group and per piece."""
        years = self.pricing.finance.years

        def of_line(line: ClusterLine) -> int:
            return tco_line_cents(self.pricing, line)

        terms = self._piece_terms(
            program, lambda build: build.tco_cents, lambda watts: years * self.pricing.opex_cents(watts)
        )
        terms |= self._cluster_terms(program, of_line)
        return terms | volume_terms(self.pricing, program.volumes, tco=True)

    def _piece_terms(
        self, program: Program, of_build: Callable[[Build], int], of_watts: Callable[[int], int]
    ) -> dict[int, int]:
        """Return what adds up over groups and, by their watts, over the pieces of cluster lines."""
        terms = {program.groups[i]: of_build(build) for i, build in enumerate(self.builds)}
        for line in self.pricing.linear_lines():
            each = of_watts(cluster_line_power_w(self.pricing, line))
            for i, build in enumerate(self.builds):
                driver = group_drivers(build, self.pricing.catalog).get(line.driver, 0)
                terms[program.groups[i]] += each * driver * line.pieces

        def of_line(line: ClusterLine) -> int:
            return of_watts(cluster_line_power_w(self.pricing, line))

        return terms | self._cluster_terms(program, of_line)

    def part_terms_of(
        self, program: Program, part: str, pieces: Callable[[Build, str], int] = group_pieces
    ) -> dict[int, int]:
        """Return pieces of `part` per variable, in machines and in cluster lines."""

        def of_line(line: ClusterLine) -> int:
            return 1 if line.percent is None and (line.item or line.id) == part else 0

        terms = {program.groups[i]: pieces(build, part) for i, build in enumerate(self.builds)}
        for line in self.pricing.linear_lines():
            for i, build in enumerate(self.builds):
                driver = group_drivers(build, self.pricing.catalog).get(line.driver, 0)
                terms[program.groups[i]] += of_line(line) * driver * line.pieces
        spare = (var for var, each in program.volumes.items() if each.part == part and each.use is None)
        return terms | self._cluster_terms(program, of_line) | dict.fromkeys(spare, 1)

    def volume_pieces_of(self, program: Program, part: str, use: str) -> dict[int, int]:
        """Return pieces of `part` per variable in machines, or in a cluster line, as far as they are paid for."""
        line = uses_of(self.pricing, part)[use]
        if line is None:
            every = (
                (program.groups[i], build.n_nodes * sum(n for _, name, n in self.pricing.bought(build) if name == part))
                for i, build in enumerate(self.builds)
            )
            return {var: n for var, n in every if n}
        if self.pricing.is_linear(line):
            drivers = (group_drivers(build, self.pricing.catalog)[line.driver] for build in self.builds)
            return {var: n * line.pieces for var, n in zip(program.groups, drivers, strict=True) if n}
        return line_pieces(program, self.pricing, line)

    def _cluster_terms(self, program: Program, each: Callable[[ClusterLine], int]) -> dict[int, int]:
        terms: dict[int, int] = {}
        for line in self.pricing.catalog.cluster.lines:
            if line.id in program.lots:
                terms[program.lots[line.id]] = line.pieces * each(line)
            elif self.pricing.is_per_rack(line):
                for var in program.racks.values():
                    terms[var] = terms.get(var, 0) + line.pieces * each(line)
        return terms


def line_pieces(program: Program, pricing: Pricing, line: ClusterLine) -> dict[int, int]:
    """Return the pieces of a cluster line per lot or rack, where it is rounded up."""
    if line.id in program.lots:
        return {program.lots[line.id]: line.pieces}
    return dict.fromkeys(program.racks.values(), line.pieces) if pricing.is_per_rack(line) else {}
