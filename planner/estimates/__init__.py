"""Prices for parts that a book has none for, by rules that say so: one file per rule, one registry."""

from planner.estimates import convert, per_gb, system_less_parts
from planner.estimates.base import RULES, estimate_faults, with_estimates

__all__ = ["RULES", "convert", "estimate_faults", "per_gb", "system_less_parts", "with_estimates"]
