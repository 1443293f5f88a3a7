"""Drawings of the inside of a machine, for a page (SVG) and for Markdown (Mermaid)."""

from __future__ import annotations

from planner.drawing.mermaid import mermaid
from planner.drawing.scene import Scene, scene
from planner.drawing.svg import svg

__all__ = ["Scene", "mermaid", "scene", "svg"]
