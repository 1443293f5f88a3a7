"""Readers of configurations, one file per kinship of attention; found by ``model_type``."""

from __future__ import annotations

from planner.importing.families import (
    compressed,
    delta,
    dense,
    experts,
    gemma,
    glm_next,
    hybrid,
    latent,
    others,
    windows,
)
from planner.importing.families.base import READERS, Source

KINSHIPS = (compressed, delta, dense, experts, gemma, glm_next, hybrid, latent, others, windows)
"""Each has registered its readers by being imported."""

__all__ = ["KINSHIPS", "READERS", "Source"]
