"""Constraints, one file each: formula, row, exact check and report line under one name."""

from planner.constraints import (
    budget,
    builds,
    decode,
    dram,
    fabric,
    first_token,
    hbm,
    host_link,
    nodes,
    nvme,
    nvme_read,
    nvme_write,
    pools,
    power,
    prefill,
    rack_units,
    sessions,
    stock,
)
from planner.constraints.base import FLEET_RULES, GROUP_LIMITS, Check, FleetRule, GroupLimit, reach

__all__ = [
    "FLEET_RULES", "GROUP_LIMITS", "Check", "FleetRule", "GroupLimit", "budget", "builds",
    "decode", "dram", "fabric", "first_token", "hbm", "host_link", "nodes", "nvme", "nvme_read",
    "nvme_write", "pools", "power", "prefill", "rack_units", "reach", "sessions", "stock",
]  # fmt: skip
