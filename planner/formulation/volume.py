"""Volume prices as rows: which tier each part is bought at, how many pieces at its price, how many beyond use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.costs import Pricing
from planner.program import Program, Volume
from planner.volume import uses_of

Terms = Mapping[int, int]


def add_volumes(program: Program, pricing: Pricing, pieces_of: Callable[[str, str], Terms]) -> None:
    """Add the tiers of every part with volume prices.

    With Q_u pieces of the part in use u and a binary z_t for each tier, which begins at m_t pieces:
    sum z_t <= 1; sum_u Q_u + spare_t >= m_t z_t; spare_t <= m_t z_t; for each use sum_t y_tu <= Q_u
    and y_tu <= U_u z_t. The y_tu cost what a piece is cheaper at the tier, the spares its price.

    Parameters
    ----------
    pieces_of : callable
        (part, use) to pieces per variable.
    """
    for price in pricing.book.tiered:
        used = {use: terms for use in uses_of(pricing, price.part) if (terms := pieces_of(price.part, use))}
        if used:
            _add_part(program, price.part, [tier.from_pieces for tier in price.volume], used)


def _add_part(program: Program, part: str, begins: list[int], used: Mapping[str, Terms]) -> None:
    every: dict[int, int] = {}
    for terms in used.values():
        every |= {var: every.get(var, 0) + n for var, n in terms.items()}
    chosen: list[int] = []
    cheaper: dict[str, list[int]] = {use: [] for use in used}
    for tier, least in enumerate(begins, 1):
        name = f"{part}_{tier}"
        chosen.append(program.add_variable(f"tier_{name}", 1))
        spare = program.add_variable(f"spare_{name}", least)
        program.volumes[spare] = Volume(part, tier, None)
        program.add_row(f"tier_{name}", {**every, spare: 1, chosen[-1]: -least}, ">=", 0)
        program.add_row(f"spare_{name}", {spare: 1, chosen[-1]: -least}, "<=", 0)
        for use, terms in used.items():
            most = sum(n * program.variables[var].upper for var, n in terms.items())
            var = program.add_variable(f"at_{name}_{use}", most)
            program.volumes[var] = Volume(part, tier, use)
            cheaper[use].append(var)
            program.add_row(f"at_{name}_{use}", {var: 1, chosen[-1]: -most}, "<=", 0)
    program.add_row(f"tiers_{part}", dict.fromkeys(chosen, 1), "<=", 1)
    for use, variables in cheaper.items():
        program.add_row(f"used_{part}_{use}", {**used[use], **dict.fromkeys(variables, -1)}, ">=", 0)
