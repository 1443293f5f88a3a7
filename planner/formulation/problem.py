"""The problem a plan solves: builds, prices, rules; and how it becomes a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from planner.build import Build
from planner.constraints import FLEET_RULES, Situation
from planner.costs import Pricing, cluster_line_power_w, group_drivers
from planner.formulation.program import Program
from planner.hardware import ClusterLine
from planner.units import ceil_div


@dataclass(frozen=True)
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
    """

    at: Situation
    builds: tuple[Build, ...]
    pricing: Pricing

    @property
    def spares(self) -> int:
        """Groups that may be lost with the load still held."""
        return self.at.scenario.fleet.spare_groups

    def fleet(self, counts: Mapping[int, int]) -> dict[Build, int]:
        """Return counts by build instead of by index."""
        return {self.builds[i]: n for i, n in sorted(counts.items()) if n}

    def most_groups(self, build: Build) -> int:
        """Return a bound on the groups of one build that an optimal plan can hold.

        All of it alone meets the session row with that many; in a pool, memory may ask for more.
        """
        at = self.at
        most = ceil_div(at.open, build.reach) if build.reach else 1
        if at.pooled:
            from planner.constraints.pools import POOLS

            for pool in POOLS:
                have = pool.units(build, at)
                if pool.active(at) and have > 0:
                    most = max(most, ceil_div(pool.need_units(build, at), have))
        return most + self.spares

    @cached_property
    def program(self) -> Program:
        """All variables and rows."""
        program = Program()
        limit = self.at.scenario.fleet.max_nodes
        for i, build in enumerate(self.builds):
            most = self.most_groups(build)
            if limit is not None:
                most = min(most, limit // build.n_nodes)
            program.groups.append(program.add_variable(f"groups_{i}", most))
        self._add_racks(program)
        for line in self.pricing.catalog.cluster.lines:
            if not self.pricing.is_linear(line) and line.driver != "racks":
                self._add_lots(program, line)
        for rule in FLEET_RULES.values():
            if rule.active(self.at):
                rule.add_rows(program, self)
        return program

    def _add_racks(self, program: Program) -> None:
        """Add racks by class: nodes of classes up to c fill racks of classes up to c."""
        classes = sorted({build.racks_per for build in self.builds})
        most = sum(
            build.n_nodes * program.variables[group].upper
            for build, group in zip(self.builds, program.groups, strict=True)
        )
        for size in classes:
            program.racks[size] = program.add_variable(f"racks_{size}", max(1, most))
        for size in classes:
            terms = {var: c for c, var in program.racks.items() if c <= size}
            for i, build in enumerate(self.builds):
                if build.racks_per <= size:
                    terms[program.groups[i]] = -build.n_nodes
            program.add_row(f"racks_{size}", terms, ">=", 0)

    def _add_lots(self, program: Program, line: ClusterLine) -> None:
        """Add the lots of a rounded line: lots * per >= driver, and at least the minimum."""
        least = ceil_div(line.minimum, line.pieces)
        if line.driver == "fleet":
            lots = max(1, least)
            program.lots[line.id] = program.add_variable(f"lots_{line.id}", lots, lots)
            return
        drivers = [group_drivers(build, self.pricing.catalog)[line.driver] for build in self.builds]
        bounds = [program.variables[g].upper for g in program.groups]
        most = ceil_div(sum(d * u for d, u in zip(drivers, bounds, strict=True)), line.per)
        lots = program.add_variable(f"lots_{line.id}", max(most, least, 1))
        program.lots[line.id] = lots
        terms = {program.groups[i]: -d for i, d in enumerate(drivers)}
        program.add_row(f"lots_{line.id}", {lots: line.per, **terms}, ">=", 0)
        if least and all(drivers):
            program.add_row(f"least_{line.id}", {lots: 1}, ">=", least)
        elif least:
            for i, driver in enumerate(drivers):
                if driver:
                    program.add_row(f"least_{line.id}_{i}", {lots: 1, program.mark_used(i): -least}, ">=", 0)

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

    def _cluster_terms(self, program: Program, each: Callable[[ClusterLine], int]) -> dict[int, int]:
        terms: dict[int, int] = {}
        for line in self.pricing.catalog.cluster.lines:
            if line.id in program.lots:
                terms[program.lots[line.id]] = line.pieces * each(line)
            elif line.driver == "racks" and line.percent is None:
                for var in program.racks.values():
                    terms[var] = terms.get(var, 0) + line.pieces * each(line)
        return terms
