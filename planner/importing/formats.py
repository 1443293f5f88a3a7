"""Element formats by kind of weight, from what every matrix of a model is kept in.

A checkpoint quantises matrices by name; a model's file knows formats per kind of weight. Where the
matrices of one kind differ, the larger format counts for all of them, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.attention import WeightKind
from planner.importing.draft import Draft
from planner.importing.excluded import Modules
from planner.importing.sheet import Sheet
from planner.models import BYTES_PER_WEIGHT

Choose = Callable[[str, int, WeightKind], str]
"""From a matrix's name, layer and kind to its element format."""
KINDS: tuple[WeightKind, ...] = ("expert", "linear", "attention")
WORDS = {
    "bf16": "bf16", "fp32": "fp32", "fp8": "fp8", "fp8-channel": "fp8", "mxfp8": "mxfp8", "int8-channel": "int8",
    "nvfp4": "nvfp4", "mxfp4": "mxfp4", "int4": "int4", "int4-g128": "int4",
}  # fmt: skip
"""Element format to what users call such a checkpoint."""
MOST_EXPERTS = 4096


@dataclass
class Formats:
    """Element formats of a checkpoint by kind of weight.

    Attributes
    ----------
    word : str
        What users call it.
    by_kind : mapping
        ``expert``, ``linear``, ``attention`` to a format.
    draft, head : str
        Format of draft layers and of the output head; empty where they are as the rest.
    notes : list of str
        What a reader should know.
    """

    word: str
    by_kind: Mapping[str, str]
    draft: str = ""
    head: str = ""
    notes: list[str] = field(default_factory=list)


def plain_formats(element: str) -> Formats:
    """Return the formats of a checkpoint with one format for all."""
    return Formats(WORDS.get(element, element), dict.fromkeys(KINDS, element))


def patterns(sheet: Sheet, keys: tuple[str, ...], *, required: bool = False) -> list[str]:
    """Return the names of all lists under `keys`."""
    found: list[str] = []
    given = False
    for key in keys:
        items = sheet.items(key)
        given = given or items is not None
        for item in items or ():
            if isinstance(item, str):
                found.append(item)
            else:
                sheet.problem(key, f"'{sheet.word(key)}': found {item!r}, expected names of modules")
                break
    if not given and not required:
        sheet.log.defaults.append(f"{sheet.word(keys[0])} none")
    if required and not given:
        sheet.problem(None, f"the key '{sheet.word(keys[0])}' is missing: what stays unquantised is not told",
                      f"add it, or give it with --assume {keys[0]}='[\"lm_head\", ...]'")  # fmt: skip
    return found


def one_format(sheet: Sheet, draft: Draft, base: str, element: str, keys: tuple[str, ...], *, loose: bool = False,
         required: bool = False) -> Formats:  # fmt: skip
    """Return the formats where everything has one format but what a list leaves out."""
    left_out = Modules.of(patterns(sheet, keys, required=required), loose=loose)

    def choose(name: str, layer: int, kind: WeightKind) -> str:
        return base if left_out.match(name, layer) else element

    found = by_kind(draft, choose, base, every=left_out.names_expert())
    check_patterns(sheet, keys, left_out, len(draft.feeds))
    found.draft = base if left_out.draft(len(draft.feeds)) else ""
    return found


def check_patterns(sheet: Sheet, keys: tuple[str, ...], modules: Modules, layers: int) -> None:
    """Refuse names in a list that mean no matrix of the model and are not plainly beside its layers."""
    unknown = modules.unknown(layers)
    key = next((key for key in keys if sheet.data.get(key)), None)
    for pattern in unknown[:5]:
        sheet.problem(key, f"'{pattern}' in a quantisation's list names no matrix that is known of this model type",
                      "check the spelling; a part beside the layers must say so in its name")  # fmt: skip


def by_kind(draft: Draft, choose: Choose, base: str, *, every: bool) -> Formats:
    """Return the largest format of each kind, with notes where they differ."""
    seen: dict[str, dict[str, set[str]]] = {kind: {} for kind in KINDS}
    experts = draft.feed_forward.get("experts", 0) if every else 1
    for matrix in draft.matrices():
        for number in range(min(int(experts), 4096) if "{e}" in matrix.name else 1):
            name = f"layers.{matrix.layer}.{matrix.name.replace('{e}', str(number))}"
            element = choose(name, matrix.layer, matrix.kind)
            seen[matrix.kind].setdefault(element, set()).add(matrix.name.replace(".{e}", ""))
    chosen, notes = {}, []
    for kind, elements in seen.items():
        chosen[kind] = max(elements, key=BYTES_PER_WEIGHT.__getitem__) if elements else ""
        if len(elements) > 1:
            parts = "; ".join(
                f"{element}: {', '.join(sorted(names)[:4])}" for element, names in sorted(elements.items())
            )
            notes.append(
                f"{kind} matrices differ ({parts}); all are counted as {chosen[kind]}, which is too much for some"
            )
    fallback = chosen["linear"] or chosen["attention"] or base
    found = {str(kind): chosen[kind] or fallback for kind in KINDS}
    bulk = found["expert"] if seen["expert"] else found["linear"]
    return Formats(WORDS.get(bulk, bulk), found, notes=notes)


def block_format(sheet: Sheet) -> str:
    """Return the format of FP8 weights: with a scale per block of 128 x 128, or coarser."""
    block = sheet.items("weight_block_size")
    if block is None:
        sheet.log.defaults.append(f"{sheet.word('weight_block_size')} none, so one scale per channel or tensor")
        return "fp8-channel"
    if block != [128, 128]:
        sheet.problem("weight_block_size", f"'weight_block_size': found {block}, expected [128, 128]")
    return "fp8"


def merged(first: Formats, second: Formats) -> bool:
    """Return whether two readings of one checkpoint agree."""
    return dict(first.by_kind) == dict(second.by_kind) and first.draft == second.draft


def assumed_formats(element: str) -> Formats:
    """Return formats of a checkpoint that nobody has published, all matrices alike."""
    found = plain_formats(element)
    found.notes.append("assumed: all matrices in this format, all else BF16; no such checkpoint was seen")
    return found
