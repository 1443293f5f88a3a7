"""Element formats of checkpoints of NVIDIA's Model Optimizer: one algorithm, or one per module."""

from __future__ import annotations

from collections.abc import Mapping

from planner.attention import WeightKind
from planner.errors import nearest
from planner.importing.draft import Draft
from planner.importing.excluded import Modules, canonical
from planner.importing.formats import WORDS, Formats, block_format, by_kind, one_format, plain_formats
from planner.importing.sheet import Sheet

_ALGORITHMS = {
    "FP8": "fp8-channel", "FP8_PB_WO": "fp8", "FP8_PB_REAL": "fp8", "FP8_PER_CHANNEL_PER_TOKEN": "fp8-channel",
    "NVFP4": "nvfp4", "NVFP4_AWQ": "nvfp4", "W4A16_NVFP4": "nvfp4", "W4A8_NVFP4_FP8": "nvfp4", "MXFP8": "mxfp8",
    "MXFP4": "mxfp4", "W4A16_MXFP4": "mxfp4", "W4A8_MXFP4_FP8": "mxfp4",
}  # fmt: skip
_GROUPS = {"nvfp4": 16, "mxfp4": 32, "mxfp8": 32}


def _algorithm(sheet: Sheet, key: str, name: object, group: object) -> str:
    """Return the element format of one of modelopt's algorithms."""
    if not isinstance(name, str) or name not in _ALGORITHMS:
        hint = nearest(name, _ALGORITHMS) if isinstance(name, str) else ""
        sheet.problem(key, f"the bytes of weights quantised as {name!r} are not known", hint)
        return "bf16"
    element = _ALGORITHMS[name]
    meant = _GROUPS.get(element)
    if group is not None and meant is not None and group != meant:
        sheet.problem(key, f"{name} in groups of {group!r}, expected {meant}")
    return element


_LISTS = ("exclude_modules", "ignore")


def read_modelopt(sheet: Sheet, draft: Draft, base: str) -> Formats:
    """Return the formats of a checkpoint of NVIDIA's Model Optimizer."""
    name = sheet.raw("quant_algo", None)
    group = sheet.raw("group_size", None)
    sheet.skip("config_groups")
    if name == "MIXED_PRECISION":
        return _mixed(sheet, draft, base)
    sheet.skip("quantized_layers")
    element = _algorithm(sheet, "quant_algo", name, group)
    return one_format(sheet, draft, base, element, _LISTS, required=True)


def _mixed(sheet: Sheet, draft: Draft, base: str) -> Formats:
    """Return the formats where every quantised module is listed with its algorithm."""
    sheet.skip(*_LISTS)
    elements = _listed(sheet)
    if elements is None:
        return plain_formats(base)
    modules = Modules.of(elements)
    by_name = {canonical(name): element for name, element in elements.items()}

    def choose(name: str, layer: int, kind: WeightKind) -> str:
        parts = name.split(".")
        keys = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next((by_name[key] for key in keys if key in by_name), base)

    every = modules.names_expert()
    found = by_kind(draft, choose, base, every=every)
    if not any(element != base for element in found.by_kind.values()) and not sheet.log.problems:
        sheet.log.notes.append("most quantised modules are mixed with others of their kind")
    found.head = next((elements[key] for key in ("lm_head", "language_model.lm_head") if key in elements), "")
    found.draft = base if draft.draft_layers else ""
    _unmatched(sheet, draft, by_name, every)
    return found


def _listed(sheet: Sheet) -> dict[str, str] | None:
    layers = sheet.below("quantized_layers")
    if layers is None:
        sheet.problem(None, "the key 'quantized_layers' is missing; expected every quantised module", "add it")
        return None
    found: dict[str, str] = {}
    for name, entry in layers.data.items():
        if not isinstance(entry, dict):
            layers.problem(name, f"'{name}': expected a mapping with 'quant_algo'")
            return None
        found[name] = _algorithm(layers, name, entry.get("quant_algo"), entry.get("group_size"))
    return found


def _unmatched(sheet: Sheet, draft: Draft, by_name: Mapping[str, str], every: bool) -> None:
    known: set[str] = set()
    experts = int(draft.feed_forward.get("experts", 0)) if every else 1
    for matrix in draft.matrices():
        for number in range(min(experts, 4096) if "{e}" in matrix.name else 1):
            parts = f"layers.{matrix.layer}.{matrix.name.replace('{e}', str(number))}".split(".")
            known.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    beside = Modules.of(name for name in by_name if name not in known)
    for name in beside.unknown(len(draft.feeds))[:5]:
        sheet.problem("quantized_layers", f"'{name}' names no matrix that is known of this model type")


def experts_over_fp8(sheet: Sheet, draft: Draft, base: str) -> Formats:
    """Return the formats of a checkpoint in FP8 of which only the experts were quantised again."""
    element = _algorithm(sheet, "moe_quant_algo", sheet.raw("moe_quant_algo", None), sheet.raw("group_size", None))
    sheet.skip("quant_algo", "config_groups", "ignore", "quantized_layers")
    listed = _listed(sheet) or {}
    if any(found != element or not name.endswith(".experts") for name, found in listed.items()):
        sheet.problem("quantized_layers", f"expected experts only, quantised as {element}")
    layers = {canonical(name) for name in listed}
    expected = {f"layers.{m.layer}.{m.name.split('.{e}')[0]}" for m in draft.matrices() if m.kind == "expert"}
    if layers != expected and not sheet.log.problems:
        sheet.problem("quantized_layers", f"{len(layers)} layers of experts are listed, the model has {len(expected)}")
    rest = block_format(sheet)
    word = WORDS[element]
    # Experts of draft layers stay as they were before.
    draft_format = (draft.expert_format or rest) if draft.draft_layers else ""
    notes = ["all matrices of draft layers are counted as their experts were before"] if draft_format else []
    return Formats(word, {"expert": element, "linear": rest, "attention": rest}, draft_format, notes=notes)
