"""SVG: rows of boxes from the memory down to the cards, drawn with the standard library alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from planner.drawing.scene import Box, Scene, Wire

_SLOT, _WIDTH, _HEIGHT, _ROW, _EDGE, _TOP = 104, 92, 36, 84, 16, 44
_FILLS = {
    "memory": "#e8f0fe", "cpu": "#dfe7ef", "switch": "#fdf3dc",
    "gpus": "#e3f4e1", "drives": "#f3e6f7", "nics": "#f0f0f0",
}  # fmt: skip
_CUT, _PLAIN = "#c0392b", "#8a8f98"


@dataclass(frozen=True)
class _Places:
    """Centres of boxes by name, and the size of the page."""

    centres: dict[str, tuple[float, float]]
    width: float
    height: float


def svg(drawn: Scene) -> str:
    """Return the drawing as an SVG page, the links of the cut thick and red."""
    where = _places(drawn)
    width, height = where.width, where.height + 20 * len(drawn.captions)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="11">',
        f"<title>{escape(drawn.title)}</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
        f'<text x="{_EDGE}" y="24" font-size="15">{escape(drawn.title)}</text>',
        *(line for wire in sorted(drawn.wires, key=lambda w: w.full) for line in _wire(wire, where)),
        *(line for box in drawn.boxes for line in _box(box, where)),
    ]
    for i, caption in enumerate(drawn.captions):
        y = where.height + 20 * i
        lines.append(f'<text x="{_EDGE}" y="{y:g}" font-size="12">{escape(caption)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _places(drawn: Scene) -> _Places:
    """Set what hangs on nothing else side by side, and everything else in the middle above it."""
    under: dict[str, list[str]] = {}
    rows = {box.name: box.row for box in drawn.boxes}
    hung: set[str] = set()
    for wire in drawn.wires:
        # A switch with two uplinks stands below the first of them.
        if rows[wire.over] < rows[wire.under] and wire.under not in hung:
            under.setdefault(wire.over, []).append(wire.under)
            hung.add(wire.under)
    across: dict[str, float] = {}
    slots = 0

    def put(name: str) -> float:
        nonlocal slots
        children = [put(child) for child in under.get(name, ())]
        if not children:
            slots += 1
            across[name] = _EDGE + (slots - 0.5) * _SLOT
        else:
            across[name] = (children[0] + children[-1]) / 2
        return across[name]

    for box in drawn.boxes:
        if box.row == 0:
            put(box.name)
    deepest = max(rows.values(), default=0)
    centres = {name: (x, _TOP + rows[name] * _ROW + _HEIGHT / 2) for name, x in across.items()}
    return _Places(centres, max(640, 2 * _EDGE + slots * _SLOT), _TOP + deepest * _ROW + _HEIGHT + 32)


def _wire(wire: Wire, where: _Places) -> Iterator[str]:
    (x1, y1), (x2, y2) = where.centres[wire.over], where.centres[wire.under]
    colour, thick = (_CUT, 4) if wire.full else (_PLAIN, 1.5)
    yield f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{thick}"/>'
    if wire.label:
        # Nearer to the outer end, where wires of one box have parted.
        share = 0.5 if y1 == y2 else 0.66
        x, y = x1 + (x2 - x1) * share, y1 + (y2 - y1) * share - (4 if y1 == y2 else 0)
        half = 2.7 * len(wire.label)
        yield f'<rect x="{x - half:g}" y="{y - 9:g}" width="{2 * half:g}" height="12" fill="#ffffff"/>'
        fill = f'fill="{_CUT if wire.full else "#333333"}" font-size="10" text-anchor="middle"'
        yield f'<text x="{x:g}" y="{y:g}" {fill}>{escape(wire.label)}</text>'


def _box(box: Box, where: _Places) -> Iterator[str]:
    x, y = where.centres[box.name]
    left, top = x - _WIDTH / 2, y - _HEIGHT / 2
    size = f'width="{_WIDTH}" height="{_HEIGHT}" rx="4"'
    yield f'<rect x="{left:g}" y="{top:g}" {size} fill="{_FILLS[box.kind]}" stroke="#555555"/>'
    for i, line in enumerate(box.lines):
        down = y + 4 + 13 * (i - (len(box.lines) - 1) / 2)
        yield f'<text x="{x:g}" y="{down:g}" text-anchor="middle">{escape(line)}</text>'
