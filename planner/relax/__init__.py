"""Why there is no plan: which rules conflict, how far each is short, and the cheapest ways out.

One file per kind of rule that can bend.
"""

from __future__ import annotations

# In the order in which the deletion filter tries to do without them: what is told last is what is left.
from planner.relax import (  # isort: skip
    filters,
    first_token,
    decode,
    traffic,
    spares,
    builds,
    stock,
    nodes,
    rack_units,
    power,
    budget,
)
from planner.relax.base import RULES, Amount, Filter, Limit, Rule, Target
from planner.relax.diagnosis import DEADLINE_S, Diagnosis, Shortfall, WayOut, diagnose
from planner.relax.world import World, rules_of, without

__all__ = [
    "DEADLINE_S", "RULES", "Amount", "Diagnosis", "Filter", "Limit", "Rule", "Shortfall", "Target", "WayOut", "World",
    "budget", "builds", "decode", "diagnose", "filters", "first_token", "nodes", "power", "rack_units", "rules_of",
    "spares", "stock", "traffic", "without",
]  # fmt: skip
