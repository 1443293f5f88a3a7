"""An independent answer to tiny planning problems: every legal build, every fleet, no solver.

Nothing here calls the planner's formulas: costs and racks are computed again from the records.
`Answer.best` is the objective in the planner's order: capex, then nodes; tco, then capex, then
nodes; or nodes, then capex.

Why the search is complete. Adding a group never lowers any cost, count or wattage, and never
lowers what survives the loss of the k largest groups. So some optimal fleet is minimal: without
any one of its groups it no longer holds the load. The search grows fleets in one fixed order of
builds and stops at the first that holds the load; it meets every minimal fleet, since no part of
a minimal fleet holds the load.

Fewest pieces of a part are held like a load: more groups never hold less. Where each build in use
needs so many nodes, a build enters a fleet with its fewest groups at once and grows by one from
there; minimal is then what holds no longer without a group above that, or without all of the build.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from planner.hardware import Item, Switch
from tests.oracle.instances import GB, GIB
from tests.oracle.legal import LegalBuilds, Own, prefix_length, session_size

MOST_STEPS, MOST_GROUPS = 1_500, 9


class TooLargeError(Exception):
    """The instance has more fleets than a test should enumerate."""


@dataclass(frozen=True)
class Totals:
    """What a fleet costs and takes, by the bill of materials."""

    capex: int
    opex: int
    watts: int
    nodes: int
    racks: int
    items: Mapping[str, int]


@dataclass
class Answer:
    """The optimum; `best` is None where no fleet meets the rules."""

    best: tuple[int, ...] | None
    fleet: tuple[Own, ...]
    builds: tuple[Own, ...]
    steps: int = 0


def parts_of(fleet: tuple[Own, ...], market: bool = False) -> dict[str, int]:
    """Return the pieces of each part that a fleet's machines take, or take from the market."""
    pieces: dict[str, int] = {}
    for build in fleet:
        for name, count in build.market if market else build.parts:
            pieces[name] = pieces.get(name, 0) + count
    return pieces


class Oracle(LegalBuilds):
    """Enumerates the fleets of one instance."""

    # -- what a fleet costs ------------------------------------------------------------------

    def price(self, part: str) -> int:
        return int(getattr(self.prices[part], self.case).cents)

    def tax(self, cents: int) -> int:
        return math.ceil(cents * self.scenario.finance.tax_fraction) if self.book.tax == "excluded" else 0

    def with_tax(self, cents: int) -> int:
        return cents + self.tax(cents)

    def node_cents(self, build: Own) -> int:
        """Return one node with its percentage lines and tax."""
        return sum(count * self.in_a_node(self.price(part)) for part, count in build.bought)

    def in_a_node(self, price: int) -> int:
        """Return a piece of this price with its percentage lines and tax."""
        total = self.with_tax(price)
        for line in self.catalog.cluster.lines:
            if line.percent is not None:
                special = {"low": line.percent_low, "high": line.percent_high}.get(self.case)
                percent = line.percent if special is None else special
                total += (self.scenario.finance.years if line.per_year else 1) * self.with_tax(
                    math.ceil(price * percent)
                )
        return total

    def least_node_cents(self, build: Own) -> int:
        """Return the same with every part at its cheapest tier."""
        return sum(
            count * self.in_a_node(min([self.price(part), *(cents for _, cents in self.tiers(part))]))
            for part, count in build.bought
        )

    def tiers(self, part: str) -> list[tuple[int, int]]:
        """Return where the tiers of a part begin, with their prices."""
        return [(t.from_pieces, int(getattr(t, self.case).cents)) for t in self.prices[part].volume]

    def can_spare(self, fleet: tuple[Own, ...], part: str, more: int, beside: int) -> bool:
        """Return whether so many more pieces of a part can be had and are wanted."""
        limits = self.scenario.limits
        bought, inside = parts_of(fleet, market=True).get(part, 0), parts_of(fleet).get(part, 0)
        most = limits.stock.get(part, 10**9), limits.maximum.get(part, 10**9)
        return bought + beside + more <= most[0] and inside + beside + more <= most[1]

    def volume_cents(self, fleet: tuple[Own, ...], lines: list[tuple[str, int, int]]) -> int:
        """Return what buying at tiers adds to ordinary prices; `lines` are part, pieces and years of cluster lines."""
        total = 0
        for part in self.prices:
            inside = sum(b.nodes * n for b in fleet for name, n in b.bought if name == part)
            beside = [(n, years) for name, n, years in lines if name == part]
            pieces = inside + sum(n for n, _ in beside)
            if pieces:
                old, found = self.price(part), [0]
                for begin, new in self.tiers(part):
                    more = max(0, begin - pieces)
                    if more and not self.can_spare(fleet, part, more, sum(n for n, _ in beside)):
                        continue
                    years = self.scenario.finance.years
                    uses = [
                        (years if line.per_year else 1) * self.with_tax(new)
                        for line in self.catalog.cluster.lines
                        if line.item == part and line.percent is None
                    ]
                    # What no machine holds has no price in one.
                    beside_only = uses and isinstance(self.catalog.find(part), (Item, Switch, type(None)))
                    cents = more * min(uses if beside_only else [self.in_a_node(new), *uses])
                    cents += inside * (self.in_a_node(new) - self.in_a_node(old))
                    cents += sum(n * years * (self.with_tax(new) - self.with_tax(old)) for n, years in beside)
                    found.append(cents)
                total += min(found)
        return total

    def totals(self, fleet: tuple[Own, ...]) -> Totals:
        nodes = sum(b.nodes for b in fleet)
        classes: dict[int, int] = {}
        for b in fleet:
            classes[b.racks_per] = classes.get(b.racks_per, 0) + b.nodes
        drivers = {
            "fleet": 1, "nodes": nodes, "groups": len(fleet), "racks": fewest_racks(tuple(sorted(classes.items()))),
            "front_ports": sum(b.front_ports for b in fleet), "fabric_ports": sum(b.fabric_ports for b in fleet),
        }  # fmt: skip
        capex = sum(b.nodes * self.node_cents(b) for b in fleet)
        watts = sum(b.watts for b in fleet)
        items: dict[str, int] = {}
        lines: list[tuple[str, int, int]] = []
        for line in self.catalog.cluster.lines:
            driver = drivers[line.driver]
            if line.percent is None and driver > line.beyond:
                lots = max(math.ceil(Fraction(driver, line.per)), math.ceil(Fraction(line.minimum, line.pieces)))
                years = self.scenario.finance.years if line.per_year else 1
                capex += lots * line.pieces * years * self.with_tax(self.price(line.item))
                watts += lots * line.pieces * self.catalog.find(line.item).power_w
                items[line.item] = items.get(line.item, 0) + lots * line.pieces
                lines.append((line.item, lots * line.pieces, years))
        capex += self.volume_cents(fleet, lines)
        return Totals(capex, self.opex(watts), watts, nodes, drivers["racks"], items)

    @cached_property
    def opex_per_watt(self) -> Fraction:
        """Return cents per watt and year."""
        money, total = self.scenario.finance, Fraction(0)
        if money.energy_rate:
            total += Fraction(8760, 1000) * money.average_load_fraction * money.pue * money.energy_rate.cents
        if money.colocation_rate:
            total += Fraction(12, 1000) * money.colocation_rate.cents
        return total

    def opex(self, watts: int) -> int:
        return math.ceil(watts * self.opex_per_watt) if self.opex_per_watt else 0

    def value(self, totals: Totals) -> tuple[int, ...]:
        tco = totals.capex + self.scenario.finance.years * totals.opex
        return {
            "capex": (totals.capex, totals.nodes),
            "tco": (tco, totals.capex, totals.nodes),
            "nodes": (totals.nodes, totals.capex),
        }[self.scenario.objective]

    # -- which fleets hold the load ----------------------------------------------------------

    def needs(self, kv: str, tp: int) -> tuple[int, int, int]:
        """Return open sessions, GiB of pooled memory and GB of pooled drives."""
        if not self.pooled:
            return self.all_parts, 0, 0
        size = session_size(self.scenario, self.model, self.cache, kv, tp)
        tiers, people = self.scenario.tiers, self.people
        dram = Fraction(people.in_dram * size.stored + size.prefix, GIB) / self.cache.usable_fraction
        nvme = Fraction(people.on_drives * size.stored + size.prefix, GB) / self.cache.usable_fraction
        return (
            self.all_parts,
            math.ceil(dram) if tiers.dram != "none" else 0,
            math.ceil(nvme) if tiers.nvme != "none" else 0,
        )

    def holds(self, fleet: tuple[Own, ...]) -> bool:
        """Return whether the load is held with the largest spare groups lost, in each count apart."""
        limits = self.scenario.limits
        pieces = parts_of(fleet) if limits.minimum else {}
        if any(pieces.get(name, 0) < least for name, least in limits.minimum.items()):
            return False
        if not self.warm_in_time(fleet):
            return False
        needs = self.needs(fleet[0].kv, fleet[0].tp) if fleet else (1, 0, 0)
        for give, need in zip(("reach", "dram_gib", "drive_gb"), needs, strict=True):
            gives = [getattr(b, give) for b in fleet]
            if any(sum(gives) - sum(gives[i] for i in lost) < need for lost in self.failures(fleet)):
                return False
        return True

    def warm_in_time(self, fleet: tuple[Own, ...]) -> bool:
        """Return whether, whichever group is lost, the rest prefills its contexts again beside its own prompts."""
        load, promised, people = self.scenario.workload, self.scenario.service, self.people
        if promised is None or promised.rewarm_s is None or not people.turns_per_s:
            return True
        parts, own = max(1, people.in_flight), load.context.planned_tokens - prefix_length(self.scenario)
        spare = max(self.scenario.fleet.spare_groups, self.scenario.fleet.spare_nodes)
        for lost in set(fleet):
            hosted = Fraction(lost.reach, parts)
            if spare:
                hosted = hosted * people.open / (hosted + people.open)
            # No TTL is drawn, so that all sessions may come back.
            tokens = math.ceil(hosted * own)
            need = math.ceil(people.turns_per_s * self.prompt_tokens() + tokens / promised.rewarm_s)
            if sum(build.prefill for build in fleet) - lost.prefill < need:
                return False
        return True

    def failures(self, fleet: tuple[Own, ...]) -> Iterator[tuple[int, ...]]:
        """Yield what may fail at once, as places of groups in the fleet; each kind of failure on its own."""
        rules, every = self.scenario.fleet, range(len(fleet))
        yield from itertools.combinations(every, min(rules.spare_groups, len(fleet)))
        if rules.spare_nodes:
            nodes = [i for i in every for _ in range(fleet[i].nodes)]
            yield from {
                tuple(sorted(set(lost))) for lost in itertools.combinations(nodes, min(len(nodes), rules.spare_nodes))
            }
        if rules.spare_racks:
            yield from contents_of_racks(tuple(b.racks_per for b in fleet), rules.spare_racks)

    def allowed(self, fleet: tuple[Own, ...], totals: Totals) -> bool:
        limits, rules = self.scenario.limits, self.scenario.fleet
        stock = parts_of(fleet, market=True) if limits.stock else {}
        inside = parts_of(fleet) if limits.maximum else {}
        owned = Counter(name for b in fleet for name in [str(b.key[0])] * b.nodes)
        load = self.scenario.finance.average_load_fraction
        return (
            (limits.budget is None or totals.capex <= limits.budget.cents)
            and (limits.power_w is None or totals.watts <= limits.power_w)
            and (limits.rack_units is None or sum(b.rack_units for b in fleet) <= limits.rack_units)
            and (rules.max_nodes is None or totals.nodes <= rules.max_nodes)
            and (rules.max_builds is None or len({b.key for b in fleet}) <= rules.max_builds)
            and all(stock.get(n, 0) + totals.items.get(n, 0) <= most for n, most in limits.stock.items())
            and all(inside.get(n, 0) + totals.items.get(n, 0) <= most for n, most in limits.maximum.items())
            and all(owned[own.name] <= own.count for own in rules.owned)
            and (limits.sustained_power_w is None or totals.watts * load <= limits.sustained_power_w)
            and (limits.racks is None or totals.racks <= limits.racks)
            and not (rules.one_gpu_model and len({b.key[2] for b in fleet}) > 1)
            and all(count * b.nodes >= (rules.min_build_nodes or 0) for b, count in Counter(fleet).items())
        )

    # -- search ------------------------------------------------------------------------------

    def solve(self) -> Answer:
        builds = self.builds()
        answer = Answer(None, (), builds)
        # In a pool all nodes read each other's caches, so they share one format and one cut over ranks.
        pools = sorted({(b.kv, b.tp) for b in builds}) if self.pooled else [None]
        for pool in pools:
            offered = [b for b in builds if pool is None or (b.kv, b.tp) == pool]
            if offered and self.can_hold(offered):
                _Search(self, offered, answer).grow((), 0)
        return answer

    def can_hold(self, builds: list[Own]) -> bool:
        needs = self.needs(builds[0].kv, builds[0].tp)
        most = [max(getattr(b, give) for b in builds) for give in ("reach", "dram_gib", "drive_gb")]
        parts = {name for b in builds for name, _ in b.parts}
        asked = (name for name, least in self.scenario.limits.minimum.items() if least)
        return all(not need or best for need, best in zip(needs, most, strict=True)) and parts.issuperset(asked)


class _Search:
    """Grows fleets until they hold the load, cheapest per session first."""

    def __init__(self, oracle: Oracle, builds: list[Own], answer: Answer) -> None:
        self.oracle, self.answer = oracle, answer
        self.cents = {b.key: b.nodes * oracle.least_node_cents(b) for b in builds}
        self.builds = sorted(builds, key=lambda b: (Fraction(self.cents[b.key], b.reach), repr(b.key)))

    def grow(self, fleet: tuple[Own, ...], start: int) -> None:
        self.answer.steps += 1
        if self.answer.steps > MOST_STEPS or len(fleet) > MOST_GROUPS:
            raise TooLargeError
        if self.oracle.holds(fleet):
            totals = self.oracle.totals(fleet)
            value = self.oracle.value(totals)
            if self.oracle.allowed(fleet, totals) and (self.answer.best is None or value < self.answer.best):
                self.answer.best, self.answer.fleet = value, fleet
            return
        for i in range(start, len(self.builds)):
            first = not fleet or fleet[-1].key != self.builds[i].key
            larger = fleet + (self.builds[i],) * (self.least_groups(self.builds[i]) if first else 1)
            if self.worth(larger):
                self.grow(larger, i)

    def least_groups(self, build: Own) -> int:
        return math.ceil(Fraction(self.oracle.scenario.fleet.min_build_nodes or 1, build.nodes))

    def worth(self, fleet: tuple[Own, ...]) -> bool:
        """Return whether the nodes alone, without anything beside them, leave room for an optimum."""
        oracle = self.oracle
        capex = sum(self.cents[b.key] for b in fleet)
        watts, nodes = sum(b.watts for b in fleet), sum(b.nodes for b in fleet)
        opex = oracle.opex(watts) if oracle.scenario.objective == "tco" else 0
        least = Totals(capex, opex, watts, nodes, 0, {})
        if self.answer.best is not None and oracle.value(least) > self.answer.best:
            return False
        return oracle.allowed(fleet, least)


@cache
def contents_of_racks(classes: tuple[int, ...], racks: int) -> tuple[tuple[int, ...], ...]:
    """Return all that so many racks may hold together, as places: in one no more than the class of each in it says."""
    every = range(len(classes))
    one = {
        frozenset(inside)
        for size in range(1, len(classes) + 1)
        for inside in itertools.combinations(every, size)
        if all(classes[i] >= size for i in inside)
    }
    found = {frozenset[int]()}
    for _ in range(racks):
        found = {some | more for some in found for more in (*one, frozenset())}
    return tuple(tuple(sorted(inside)) for inside in found)


@cache
def fewest_racks(classes: tuple[tuple[int, int], ...]) -> int:
    """Return the fewest racks by trying every content of the rack that holds a smallest-class node.

    `classes` pairs a class (nodes per rack) with a count; a rack holds no more nodes than the
    smallest class in it says.
    """
    classes = tuple((size, count) for size, count in classes if count)
    if not classes:
        return 0
    (size, count), rest = classes[0], classes[1:]
    best = sum(n for _, n in classes)
    for taken in _choices(((size, count - 1), *rest), size - 1):
        left = tuple((c, n - t) for (c, n), t in zip(((size, count - 1), *rest), taken, strict=True))
        best = min(best, 1 + fewest_racks(left))
    return best


def _choices(classes: tuple[tuple[int, int], ...], room: int) -> Iterator[tuple[int, ...]]:
    if not classes:
        yield ()
        return
    for taken in range(min(room, classes[0][1]) + 1):
        for others in _choices(classes[1:], room - taken):
            yield (taken, *others)
