"""From ``quantization_config`` to the element formats of a checkpoint: one reader per method."""

from __future__ import annotations

from planner.errors import nearest
from planner.importing.compressed_tensors import read_compressed
from planner.importing.draft import Draft
from planner.importing.excluded import Modules, PatternError
from planner.importing.formats import (
    WORDS,
    Formats,
    block_format,
    by_kind,
    check_patterns,
    one_format,
    patterns,
    plain_formats,
)
from planner.importing.modelopt import experts_over_fp8, read_modelopt
from planner.importing.sheet import Sheet

METHODS = (
    "fp8",
    "compressed-tensors",
    "modelopt",
    "modelopt_fp4",
    "modelopt_mixed",
    "awq",
    "gptq",
    "mxfp4",
    "fbgemm_fp8",
)


def read_quantization(sheet: Sheet, draft: Draft, base: str) -> Formats:
    """Return the formats that a quantisation's keys tell.

    Parameters
    ----------
    sheet : Sheet
        The keys; problems go to its log.
    draft : Draft
        The model, whose matrices they mean.
    base : str
        Format of what stays unquantised.
    """
    method = sheet.raw("quant_method", None)
    if method is None and (sheet.has("quant_algo") or sheet.has("quantization")):
        method = "modelopt"
    sheet.skip("quantization")
    if not isinstance(method, str) or method not in METHODS:
        known = ", ".join(METHODS)
        hint = nearest(method, METHODS) if isinstance(method, str) else f"known: {known}"
        message = f"the bytes of weights quantised with {method!r} are not known; known: {known}"
        sheet.problem("quant_method" if "quant_method" in sheet.data else None, message, hint)
        return plain_formats(base)
    sparse = sheet.raw("sparsity_config", None)
    if sparse and not (isinstance(sparse, dict) and sparse.get("format", "dense") == "dense"):
        sheet.problem("sparsity_config", "the bytes of sparse weights are not known")
    try:
        found = _read(method, sheet, draft, base)
    except PatternError as fault:
        sheet.problem(None, f"a list of modules holds {fault}")
        found = plain_formats(base)
    _unknown(sheet)
    return found


def _read(method: str, sheet: Sheet, draft: Draft, base: str) -> Formats:
    if method == "fp8" and sheet.data.get("quant_algo") == "MIXED_PRECISION":
        return experts_over_fp8(sheet, draft, base)
    if method in ("fp8", "fbgemm_fp8"):
        sheet.skip("activation_scale_ub")
        found = one_format(
            sheet, draft, base, block_format(sheet), ("modules_to_not_convert", "ignored_layers"), loose=True
        )
        return _with_experts(found, draft)
    if method == "mxfp4":
        return one_format(sheet, draft, base, "mxfp4", ("modules_to_not_convert",), loose=True)
    if method in ("awq", "gptq"):
        return _integers(method, sheet, draft, base)
    if method == "compressed-tensors":
        return read_compressed(sheet, draft, base)
    return read_modelopt(sheet, draft, base)


def _with_experts(found: Formats, draft: Draft) -> Formats:
    """Return `found` with the format that experts alone have."""
    element = draft.expert_format
    if not element or element == found.by_kind["expert"]:
        return found
    by_kind = {**found.by_kind, "expert": element}
    return Formats(WORDS[element], by_kind, found.draft, found.head, found.notes)


_NOT_FOR_SIZE = """
activation_scheme fmt scale_fmt kv_cache_scheme kv_cache_quant_algo producer format quantization_status
global_compression_ratio version transform_config checkpoint_format meta desc_act damp_percent
static_groups true_sequential sym zero_point do_fuse fuse_max_seq_len modules_to_fuse exllama_config pack_dtype
pack_method lm_head has_zero_point duo_scaling moe_quant_algo expert_dtype
kv_cache_dtype dequantize
"""
_BESIDE = frozenset(_NOT_FOR_SIZE.split())


def _unknown(sheet: Sheet) -> None:
    for key in sorted(sheet.data.keys() - sheet.known - _BESIDE):
        message, hint = f"unknown key '{sheet.word(key)}' of a quantisation", f"--ignore {key} if it does not matter"
        sheet.problem(key, message, hint, at_key=True)


def _integers(method: str, sheet: Sheet, draft: Draft, base: str) -> Formats:
    """Return the formats of AWQ and GPTQ: 4 bits with a scale and a zero per group of 128."""
    bits, group = sheet.count("bits"), sheet.raw("group_size", None)
    if bits != 4 or group != 128 or isinstance(group, bool):
        sheet.problem("group_size", f"{bits} bits in groups of {group}: only 4 bits in groups of 128 are known")
    head = "int4-g128" if sheet.flag("lm_head", False) else ""
    dynamic = sheet.below("dynamic")
    names = patterns(sheet, ("modules_to_not_convert",))
    for key in dynamic.data if dynamic else ():
        if not key.startswith("-:"):
            sheet.problem("dynamic", f"'{key}' sets other bits for some modules, which is not known")
        names.append("re:" + key[2:])
    sheet.skip("modules_in_block_to_quantize", "inside_layer_modules", "block_name_to_quantize", "model_seqlen",
               "dataset", "tokenizer", "use_exllama", "quant_type", "backend")  # fmt: skip
    left_out = Modules.of(names, loose=True)
    found = by_kind(draft, lambda name, layer, _: base if left_out.match(name, layer) else "int4-g128", base,
                     every=left_out.names_expert())  # fmt: skip
    check_patterns(sheet, ("modules_to_not_convert", "dynamic"), left_out, len(draft.feeds))
    found.draft = base if left_out.draft(len(draft.feeds)) else ""
    found.head = head
    return found
