"""What a plan can be best at, one file each: terms, dominance coordinates and exact value under one name."""

from planner.objectives import capex, headroom, nodes, parts, power, tco
from planner.objectives.base import OBJECTIVES, Objective

__all__ = ["OBJECTIVES", "Objective", "capex", "headroom", "nodes", "parts", "power", "tco"]
