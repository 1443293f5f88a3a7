"""The problem a plan solves: the scenario's situation, the builds on offer, the prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from planner.build import Build, group_pieces
from planner.costs import Pricing, cluster_line_power_w, group_drivers, tco_line_cents
from planner.demand import turns_per_s
from planner.hardware import ClusterLine
from planner.program import Program
from planner.scenario import Scenario
from planner.workload import Sessions, count_sessions


@dataclass(frozen=True)
class Situation:
    """The scenario with what follows from it for every build."""

    scenario: Scenario
    sessions: Sessions
    turns_per_s: Fraction

    @classmethod
    def of(cls, scenario: Scenario) -> Situation:
        """Count sessions and turns once."""
        sessions = count_sessions(scenario.workload)
        return cls(scenario, sessions, turns_per_s(scenario, sessions))

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
        """Whether host memory and drives are one pool over the fleet."""
        return self.scenario.tiers.placement == "pooled"


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
        """Groups that may be lost with the load still held.

        Lost nodes take their groups with them; at worst each is of another group.
        """
        fleet = self.at.scenario.fleet
        return max(fleet.spare_groups, fleet.spare_nodes)

    def fleet(self, counts: Mapping[int, int]) -> dict[Build, int]:
        """Return counts by build instead of by index."""
        return {self.builds[i]: n for i, n in sorted(counts.items()) if n}

    def capex_terms_of(self, program: Program) -> dict[int, int]:
        """Return cents per variable; their sum is the bill of materials' total."""
        terms = {program.groups[i]: build.cost_cents for i, build in enumerate(self.builds)}
        return terms | self._cluster_terms(program, self.pricing.lot_cents)

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
        return terms | self._cluster_terms(program, of_line)

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
        return terms | self._cluster_terms(program, of_line)

    def _cluster_terms(self, program: Program, each: Callable[[ClusterLine], int]) -> dict[int, int]:
        terms: dict[int, int] = {}
        for line in self.pricing.catalog.cluster.lines:
            if line.id in program.lots:
                terms[program.lots[line.id]] = line.pieces * each(line)
            elif self.pricing.is_per_rack(line):
                for var in program.racks.values():
                    terms[var] = terms.get(var, 0) + line.pieces * each(line)
        return terms
