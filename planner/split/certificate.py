"""Whether a fleet can serve everything, proven in exact fractions from a solver's hint.

The most even split of a fleet is a linear program. At a corner of it the pairs (instance, bucket)
in use form trees, and within a tree all instances are equally loaded. So a solver's floating-point
answer is needed for one thing only: which pairs are in use. From the trees the shares follow
exactly, and so do the prices of load that prove the least load from below. Either the shares prove
that the fleet serves everything, or the prices prove that it cannot. Where the hint was so bad that
neither holds, neither is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.solve import minimise
from planner.split.problem import Counts, SplitProblem
from planner.split.rows import Cell, balance_program

ZERO, ONE = Fraction(0), Fraction(1)
_USED = 1e-9
Shares = dict[Cell, Fraction]


@dataclass(frozen=True)
class Split:
    """How a fleet shares out the requests.

    Attributes
    ----------
    shares : dict
        (offer, bucket) to the share of the bucket, all exact; empty where some bucket has no server.
    load : Fraction or None
        Largest share of their time for which instances of one offer are busy; None with no shares.
    refuted : bool
        Whether it is proven that the fleet cannot serve everything.
    """

    shares: Shares
    load: Fraction | None
    refuted: bool

    @property
    def proven(self) -> bool:
        """Whether it is proven that the fleet serves everything."""
        return self.load is not None and self.load <= 1


def balance(problem: SplitProblem, counts: Counts, solver: str = "highs") -> Split:
    """Return the most even split of a fleet, with the proof that it serves everything or cannot."""
    owned = {g: count for g, count in counts.items() if count}
    if not all(any(b in problem.loads[g] for g in owned) for b in range(len(problem.buckets))):
        return Split({}, None, True)
    split = balance_program(problem, owned)
    assert split.load is not None
    hints = minimise(split.program, {split.load: 1}, solver).hints
    return exact_split(problem, owned, {cell: hints.get(var, 0.0) for cell, var in split.shares.items()})


def exact_split(problem: SplitProblem, owned: Counts, hints: Mapping[Cell, float]) -> Split:
    """Return the split whose pairs in use are those of the hint."""
    edges = _forest(hints, len(problem.buckets))
    while True:
        trees = [_Tree(problem, owned, edges, root) for root in _roots(edges, owned)]
        shares = {cell: share for tree in trees for cell, share in tree.shares().items()}
        wrong = min(shares, key=lambda cell: (shares[cell], cell), default=None)
        if wrong is None or shares[wrong] >= 0:
            break
        # The bucket's other servers have more than all of it, so it keeps one.
        edges = edges - {wrong}
    load = _checked_load(problem, owned, shares)
    return Split(shares, load, _refutes(problem, owned, _prices(problem, trees)))


def _checked_load(problem: SplitProblem, owned: Counts, shares: Shares) -> Fraction | None:
    """Return the largest load, from the shares alone; None if they do not serve every bucket in full."""
    served = [ZERO] * len(problem.buckets)
    loads = dict.fromkeys(owned, ZERO)
    for (g, b), share in shares.items():
        if share < 0 or b not in problem.loads[g]:
            return None
        served[b] += share
        loads[g] += share * problem.loads[g][b]
    if any(share != 1 for share in served):
        return None
    return max(loads[g] / count for g, count in owned.items())


def _refutes(problem: SplitProblem, owned: Counts, prices: Mapping[int, Fraction]) -> bool:
    """Return whether all buckets, each at its cheapest server, cost more than all that the fleet has.

    Any prices of load that are not negative will do: serving b takes at least min_g price_g * load_gb,
    and the fleet has price_g for each instance of g to give.
    """
    need = ZERO
    for b in range(len(problem.buckets)):
        need += min(prices.get(g, ZERO) * problem.loads[g][b] for g in owned if b in problem.loads[g])
    return need > sum((prices.get(g, ZERO) * count for g, count in owned.items()), ZERO)


def _prices(problem: SplitProblem, trees: Sequence[_Tree]) -> dict[int, Fraction]:
    """Return prices of load at which no bucket is cheaper served in a tree other than its own.

    They begin in the busiest tree. Trees that could relieve it join at the least price at which
    they do not; at the least load these are as busy as it is. The others stay free.
    """
    busiest = max(range(len(trees)), key=lambda i: trees[i].load)
    own = [tree.prices() for tree in trees]
    scales = {busiest: ONE}
    for _ in trees:
        for i, scale in list(scales.items()):
            cost = {b: scale * own[i][g] * problem.loads[g][b] for g, b in trees[i].lines}
            for j in range(len(trees)):
                ratios = (
                    cost[b] / (price * problem.loads[g][b])
                    for g, price in own[j].items()
                    for b in cost
                    if b in problem.loads[g]
                )
                least = max(ratios, default=ZERO) if j != i else ZERO
                if least > scales.get(j, ZERO):
                    scales[j] = least
    return {g: scale * price for j, scale in scales.items() for g, price in own[j].items()}


def _forest(hints: Mapping[Cell, float], buckets: int) -> frozenset[Cell]:
    """Return the pairs in use, the largest shares first, without those that would close a ring."""
    head: dict[tuple[str, int], tuple[str, int]] = {}

    def find(node: tuple[str, int]) -> tuple[str, int]:
        while node in head:
            node = head[node]
        return node

    kept = set()
    largest: dict[int, Cell] = {}
    for cell in sorted(hints, key=lambda cell: (-hints[cell], cell)):
        largest.setdefault(cell[1], cell)
        if hints[cell] > _USED or largest[cell[1]] == cell:
            one, other = find(("offer", cell[0])), find(("bucket", cell[1]))
            if one != other:
                head[one] = other
                kept.add(cell)
    return frozenset(kept)


def _roots(edges: Iterable[Cell], owned: Counts) -> list[int]:
    """Return one offer of each tree."""
    servers: dict[int, list[int]] = {}
    for g, b in sorted(edges):
        servers.setdefault(b, []).append(g)
    roots, seen = [], set()
    for root in sorted(owned):
        if root in seen:
            continue
        roots.append(root)
        pending = [root]
        while pending:
            g = pending.pop()
            seen.add(g)
            for b, of_bucket in servers.items():
                if (g, b) in edges:
                    pending += [other for other in of_bucket if other not in seen]
    return roots


class _Tree:
    """The offers and buckets that hang together below one offer.

    A share in it is ``constant + slope * load`` of the tree's own load, which is the same for all of
    its offers.
    """

    def __init__(self, problem: SplitProblem, owned: Counts, edges: frozenset[Cell], root: int) -> None:
        self.problem, self.owned, self.edges, self.root = problem, owned, edges, root
        self.lines: dict[Cell, tuple[Fraction, Fraction]] = {}
        self.parents: dict[int, tuple[int, int]] = {}
        constant, slope = self._load(root, None)
        self.load = constant / (owned[root] - slope)

    def _load(self, g: int, above: int | None) -> tuple[Fraction, Fraction]:
        """Return the load of all buckets below an offer."""
        constant = slope = ZERO
        for b in sorted(b for offer, b in self.edges if offer == g and b != above):
            left, drift = ONE, ZERO
            for other in sorted(offer for offer, bucket in self.edges if bucket == b and offer != g):
                self.parents[other] = (g, b)
                below, per_load = self._load(other, b)
                # What is left of the offer's time goes to the bucket above it.
                each = self.problem.loads[other][b]
                line = (-below / each, (self.owned[other] - per_load) / each)
                self.lines[other, b] = line
                left, drift = left - line[0], drift - line[1]
            self.lines[g, b] = (left, drift)
            constant += left * self.problem.loads[g][b]
            slope += drift * self.problem.loads[g][b]
        return constant, slope

    def shares(self) -> Shares:
        """Return the shares at the tree's load."""
        return {cell: constant + slope * self.load for cell, (constant, slope) in self.lines.items()}

    def prices(self) -> dict[int, Fraction]:
        """Return prices of load at which a shared bucket costs the same at each of its servers."""
        found = {self.root: ONE}
        for g, (parent, b) in self.parents.items():
            found[g] = found[parent] * self.problem.loads[parent][b] / self.problem.loads[g][b]
        return found
