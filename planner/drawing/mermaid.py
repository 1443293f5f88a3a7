"""Mermaid, which Markdown viewers draw."""

from __future__ import annotations

import re

from planner.drawing.scene import Box, Scene

_SHAPES = {"memory": ("[(", ")]"), "switch": ("{{", "}}"), "gpus": ("(", ")")}
_CUT = "stroke:#c0392b,stroke-width:4px"


def mermaid(drawn: Scene) -> str:
    """Return the drawing as a flowchart, the links of the cut thick and red."""
    lines = ["flowchart TD"]
    lines += [f"    {_box(box)}" for box in drawn.boxes]
    for wire in drawn.wires:
        label = f"|{wire.label}|" if wire.label else ""
        lines.append(f"    {_id(wire.over)} ---{label} {_id(wire.under)}")
    cut = [str(i) for i, wire in enumerate(drawn.wires) if wire.full]
    if cut:
        lines.append(f"    linkStyle {','.join(cut)} {_CUT}")
    return "\n".join(lines) + "\n"


def _id(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _box(box: Box) -> str:
    start, end = _SHAPES.get(box.kind, ("[", "]"))
    return f'{_id(box.name)}{start}"{"<br/>".join(box.lines)}"{end}'
