"""Element formats of checkpoints of compressed-tensors: groups of modules with a scheme each."""

from __future__ import annotations

from planner.attention import WeightKind
from planner.importing.draft import Draft
from planner.importing.excluded import Modules
from planner.importing.formats import WORDS, Formats, by_kind, check_patterns, patterns, plain_formats
from planner.importing.sheet import Sheet
from planner.models import BYTES_PER_WEIGHT


def read_compressed(sheet: Sheet, draft: Draft, base: str) -> Formats:
    """Return the formats that groups of modules with their schemes tell."""
    groups = sheet.below("config_groups")
    if groups is None or not groups.data:
        sheet.problem(None, "the key 'config_groups' is missing; expected the weights' scheme", "add it")
        return plain_formats(base)
    left_out = Modules.of(patterns(sheet, ("ignore",), required=True))
    schemes: list[tuple[Modules, str]] = []
    words: dict[str, str] = {}
    for name in groups.data:
        group = groups.below(name)
        weights = group.below("weights") if group else None
        if group is None or weights is None:
            groups.problem(name, f"'{groups.word(name)}': expected a mapping with 'weights'")
            continue
        element = _scheme(weights)
        schemes.append((Modules.of(patterns(group, ("targets",), required=True)), element))
        words.setdefault(element, _word(element, group.data.get("input_activations")))
        group.skip("input_activations", "output_activations", "format")

    def choose(name: str, layer: int, kind: WeightKind) -> str:
        if left_out.match(name, layer):
            return base
        aimed = [element for targets, element in schemes if targets.match(name, layer)]
        broad = [element for targets, element in schemes if "Linear" in targets.patterns]
        return (aimed or broad or [base])[0]

    every = left_out.names_expert() or any(targets.names_expert() for targets, _ in schemes)
    found = by_kind(draft, choose, base, every=every)
    check_patterns(sheet, ("ignore",), left_out, len(draft.feeds))
    found.draft = base if left_out.draft(len(draft.feeds)) else ""
    found.word = words.get(found.by_kind["expert"], found.word)
    return found


def _word(element: str, activations: object) -> str:
    """Return what users call a checkpoint: its activations tell kinds apart whose weights are the same."""
    kept = activations if isinstance(activations, dict) else {}
    if element == "fp8-channel" and kept.get("dynamic") is True:
        return "fp8-dynamic"
    if element == "int8-channel" and kept.get("num_bits") == 8 and kept.get("type") == "int":
        return "w8a8"
    return WORDS.get(element, element)


def _scheme(weights: Sheet) -> str:
    """Return the element format of a scheme of compressed-tensors."""
    kind, bits = weights.text("type", ("int", "float")), weights.count("num_bits")
    strategy = weights.text("strategy", ("group", "channel", "tensor", "block", "tensor_group"))
    group, block = weights.raw("group_size", None), weights.raw("block_structure", None)
    even = weights.flag("symmetric", True)
    if (kind, bits, strategy) in {("float", 8, "channel"), ("float", 8, "tensor")}:
        return "fp8-channel"
    if (kind, bits, strategy) == ("float", 8, "block") and block in ([128, 128], "128x128"):
        return "fp8"
    if (kind, bits, strategy) in {("int", 8, "channel"), ("int", 8, "tensor")}:
        return "int8-channel"
    known = {("int", 4, 32): "int4", ("int", 4, 128): "int4-g128", ("float", 4, 16): "nvfp4", ("float", 4, 32): "mxfp4",
             ("float", 8, 32): "mxfp8"}  # fmt: skip
    found = (
        known.get((kind, int(bits), group))
        if isinstance(group, int) and strategy in ("group", "tensor_group")
        else None
    )
    if found is None or (found == "int4" and not even):
        if not weights.failed:
            message = f"the bytes of {bits}-bit {kind} weights by {strategy} of {group or block} are not known"
            weights.problem("num_bits", message, "known: " + ", ".join(BYTES_PER_WEIGHT))
        return "bf16"
    if found == "int4-g128" and even:
        weights.log.notes.append(
            "groups of 128 are counted with a zero each, which symmetric weights do not keep (0.8 % too much)"
        )
    return found
