"""Constraints, one file each: formula, row, exact check and report line under one name."""

from planner.constraints import (
    budget,
    build_nodes,
    builds,
    decode,
    dram,
    dram_bandwidth,
    fabric,
    first_token,
    gpu_models,
    hbm,
    host_link,
    host_store,
    minimum,
    nodes,
    nvme,
    nvme_endurance,
    nvme_read,
    nvme_write,
    owned,
    pools,
    power,
    prefill,
    rack_units,
    racks,
    rewarm,
    sessions,
    spare_racks,
    stock,
    sustained,
    worth,
)
from planner.constraints.base import FLEET_RULES, GROUP_LIMITS, Check, FleetRule, GroupLimit, reach

__all__ = [
    "FLEET_RULES", "GROUP_LIMITS", "Check", "FleetRule", "GroupLimit", "budget", "build_nodes", "builds",
    "decode", "dram", "dram_bandwidth", "fabric", "first_token", "gpu_models", "hbm", "host_link", "host_store",
    "minimum", "nodes", "nvme", "nvme_endurance", "nvme_read", "nvme_write", "owned", "pools", "power",
    "prefill", "rack_units", "racks", "reach", "rewarm", "sessions", "spare_racks", "stock", "sustained",
    "worth",
]  # fmt: skip
