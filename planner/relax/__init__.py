"""Why there is no plan: which rules conflict, how far each is short, and the cheapest ways out.

One file per kind of rule that can bend.
"""

from __future__ import annotations

# In the order in which the deletion filter tries to do without them: what is told last is what is left.
from planner.relax import (  # isort: skip
    filters,
    roles,
    eligibility,
    first_token,
    decode,
    traffic,
    rewarm,
    spares,
    gpu_models,
    build_nodes,
    minimum,
    builds,
    stock,
    nodes,
    racks,
    rack_units,
    sustained,
    power,
    budget,
)
from planner.relax.base import RULES, Amount, Filter, Limit, Rule, Target
from planner.relax.diagnosis import DEADLINE_S, Diagnosis, Shortfall, WayOut, diagnose
from planner.relax.held import Held
from planner.relax.world import World, rules_of, without

__all__ = [
    "DEADLINE_S", "RULES", "Amount", "Diagnosis", "Filter", "Held", "Limit", "Rule", "Shortfall", "Target", "WayOut",
    "World", "budget", "build_nodes", "builds", "decode", "diagnose", "eligibility", "filters", "first_token",
    "gpu_models", "minimum", "nodes", "power", "rack_units", "racks", "rewarm", "roles", "rules_of", "spares",
    "stock",
    "sustained", "traffic", "without",
]  # fmt: skip
