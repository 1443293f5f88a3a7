"""Which model, engine profile, formats, layout and GPU a start-up log is of; what it leaves open is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.budget import Launch, visible_bytes
from planner.enginelogs import EngineLog, Settings
from planner.engines import Engine
from planner.errors import InputError, nearest
from planner.hardware import Gpu
from planner.kvcache import kv_cache
from planner.layout import Layout, layout_fault
from planner.loading import Shelf
from planner.models import Model
from planner.pool import pool_fault

_MOST_RANKS = 4096
_MEMORY_SLACK = Fraction(5, 1000)
_QUANTIZED = {
    "fp8": ("fp8",), "modelopt": ("fp8", "nvfp4"), "modelopt_fp4": ("nvfp4",), "nvfp4": ("nvfp4",),
    "mxfp4": ("mxfp4",), "awq": ("int4",), "awq_marlin": ("int4",), "gptq": ("int4",), "gptq_marlin": ("int4",),
    "compressed-tensors": ("fp8-dynamic", "w8a8", "int4", "nvfp4", "fp8"),
}  # fmt: skip


@dataclass(frozen=True)
class Known:
    """What the user says of a run; empty where the log should tell."""

    model: str = ""
    engine: str = ""
    gpu: str = ""
    weights: str = ""
    kv: str = ""
    layout: str = ""


@dataclass(frozen=True)
class RunOf:
    """A run of the catalogue's things."""

    model: Model
    engine: Engine
    gpu: Gpu
    weights: str
    kv_format: str
    layout: Layout
    launch: Launch


def identify(log: EngineLog, known: Known, shelf: Shelf) -> RunOf:
    """Return what a log is of.

    Raises
    ------
    InputError
        Naming everything that neither log nor user says, with the option that says it.
    """
    faults: list[str] = []
    settings = log.settings
    model = _model(settings, known, shelf, faults)
    engine = _engine(log, known, shelf, faults)
    gpu = _gpu(log, known, shelf, engine, faults)
    layout = _layout(settings, known, model, faults)
    weights = _weights(settings, known, model, faults)
    if model is None or engine is None or gpu is None or layout is None or weights is None:
        raise InputError("\n".join(f"{log.path}: {fault}" for fault in faults))
    kv = known.kv or default_kv_format(settings.kv_dtype, model, engine, gpu)
    if not kv:
        has = ", ".join(model.attention[0].formats())
        raise InputError(f"{log.path}: KV format '{settings.kv_dtype}' is not known here; name one with --kv ({has})")
    if kv not in model.attention[0].formats():
        raise InputError(f"--kv {kv}: {nearest(kv, model.attention[0].formats())}")
    found = RunOf(model, engine, gpu, weights, kv, layout, replace(_launch(settings, model), kv_format=kv))
    fault = run_fault(found)
    if fault:
        raise InputError(f"{log.path}: {fault}; correct it with --layout, --kv, --weights or --gpu")
    return found


def run_fault(run: RunOf) -> str:
    """Return why a run cannot have been so; empty where it can."""
    groups, architecture = run.model.attention, run.gpu.architecture
    kv = kv_cache(run.model, run.kv_format, run.launch.draft_layers)
    share = run.launch.utilisation_fraction
    if share is not None and not 0 < share <= 1:
        return f"a memory share of {float(share):g} is none"
    return (
        run.engine.kv_format_fault(run.kv_format, run.model.family, architecture, groups)
        or run.engine.weight_format_fault(run.weights, architecture)
        or layout_fault(run.layout, run.model, run.engine, kv, architecture)
        or pool_fault(kv, run.layout, run.engine, run.model.family)
    )


def _launch(settings: Settings, model: Model) -> Launch:
    said = re.search(r"num_spec(?:ulative)?_tokens\W{1,4}(\d{1,3})\b", settings.speculative)
    drafts = int(said[1]) if said else 0
    own = bool(settings.speculative) and model.draft_layers > 0
    return Launch(
        settings.max_model_len or model.max_context_tokens, settings.utilisation, settings.max_num_seqs,
        settings.max_num_batched_tokens, 1 if own else 0, drafts or int(own),
    )  # fmt: skip


def _model(settings: Settings, known: Known, shelf: Shelf, faults: list[str]) -> Model | None:
    if known.model:
        return shelf.model(known.model)
    found = match_model(settings.model, shelf) if settings.model else None
    if found is None:
        said = f"names the model '{settings.model}', which the catalogue does not have" if settings.model else (
            "does not name its model"
        )  # fmt: skip
        faults.append(f"{said}; add --model ID (a catalogue id, an alias, or the path of a config.json)")
    return found


def match_model(name: str, shelf: Shelf) -> Model | None:
    """Return the catalogue's model of a checkpoint's name, quantised or tuned derivatives included; else None."""
    by_words = {_plain(alias): model for alias, model in shelf.models.items()}
    text = _plain(name.rstrip("/").rsplit("/", 1)[-1])
    while text:
        if text in by_words:
            return by_words[text]
        text = text.rpartition("-")[0] if re.search(_SUFFIX, text) else ""
    return None


_SUFFIX = (
    r"-(fp8|fp4|nvfp4|mxfp4|int4|int8|awq|gptq|w8a8|w4a16|quantized|quantised|dynamic|bf16|instruct|chat|it|hf|"
    r"base|thinking|mtp|marlin|autoround|block|static|pertensor|\d{4}|4bit|8bit)$"
)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("quantized.", "quantized-")).strip("-")


def _engine(log: EngineLog, known: Known, shelf: Shelf, faults: list[str]) -> Engine | None:
    engines = shelf.engines.engines
    if known.engine:
        if known.engine not in engines:
            raise InputError(f"--engine {known.engine}: unknown engine; {nearest(known.engine, engines)}")
        return engines[known.engine]
    if log.engine == "lmcache":
        faults.append("is of LMCache alone, which does not say its engine; add --engine ID")
        return None
    found = profile_of(log.engine, log.version, shelf) if log.version else None
    if found is None:
        faults.append(f"does not say a version of {log.engine} that has a profile; add --engine ID")
    return found


def profile_of(engine: str, version: str, shelf: Shelf) -> Engine | None:
    """Return the profile of the nearest release of `engine` not above `version`, else the lowest; None without any."""
    own = [e for e in shelf.engines.engines.values() if e.name.lower() == engine]
    wanted = _numbers(version)
    below = [e for e in own if _numbers(e.version) <= wanted]
    return max(below, key=lambda e: _numbers(e.version)) if below else min(
        own, key=lambda e: _numbers(e.version), default=None
    )  # fmt: skip


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version.split("rc")[0].split("dev")[0])[:3])


def _gpu(log: EngineLog, known: Known, shelf: Shelf, engine: Engine | None, faults: list[str]) -> Gpu | None:
    gpus = shelf.catalog.gpus()
    if known.gpu:
        if known.gpu not in gpus:
            raise InputError(f"--gpu {known.gpu}: unknown GPU; {nearest(known.gpu, gpus)}")
        return gpus[known.gpu]
    seen = log.one("total_gpu_memory_bytes")
    if seen is None or engine is None:
        faults.append("does not say the GPU; add --gpu ID")
        return None
    total = Fraction(seen.number)
    near = [g for g in gpus.values() if abs(visible_bytes(g, engine) - total) <= total * _MEMORY_SLACK]
    if len(near) == 1:
        return near[0]
    named = f"it may be {' or '.join(g.id for g in near)}" if near else "no GPU of the catalogue shows as much"
    faults.append(f"shows {float(total) / 2**30:.2f} GiB of GPU memory; {named}; add --gpu ID")
    return None


def _layout(settings: Settings, known: Known, model: Model | None, faults: list[str]) -> Layout | None:
    if known.layout:
        return Layout.parse(known.layout)
    if settings.tp is None:
        faults.append("does not say its layout; add --layout NAME, such as tp8")
        return None
    tensor, data, stages, context = settings.tp, settings.dp or 1, settings.pp or 1, settings.dcp or 1
    degrees = {"tensor": settings.tp, "data": settings.dp, "pipeline": settings.pp, "context": settings.dcp}
    for name, degree in degrees.items():
        if degree is not None and not 1 <= degree <= _MOST_RANKS:
            faults.append(f"says {degree} for {name} parallelism, which is no layout; add --layout NAME")
            return None
    if settings.dp_attention == "True":
        if tensor % data:
            faults.append(f"says {data} attention groups of {tensor} ranks, which is no layout; add --layout NAME")
            return None
        tensor //= data
    spread = settings.expert_parallel == "True" or (settings.ep or 1) > 1
    experts = tensor * data if spread and model is not None and model.feed_forward.experts else 1
    if data > 1 and experts == 1:
        data = 1  # replicas of their own
    return Layout(tp=tensor, dp=data, pp=stages, ep=experts, dcp=context)


def _weights(settings: Settings, known: Known, model: Model | None, faults: list[str]) -> str | None:
    if model is None:
        return None
    if known.weights:
        model.checkpoint(known.weights)
        return known.weights
    have = [c.format for c in model.checkpoints]
    fits = [name for name in _weight_formats(settings, have) if name in have]
    if fits:
        return fits[0]
    faults.append(f"does not tell which weights of {model.name} it loads; add --weights FORMAT ({', '.join(have)})")
    return None


def _weight_formats(settings: Settings, have: Sequence[str]) -> Iterator[str]:
    """Yield the formats that a log's words allow: what a checkpoint's name says goes before 'None'."""
    word, name = settings.quantization.lower(), _plain(settings.model.rstrip("/").rsplit("/", 1)[-1])
    named = [formats for key, formats in _NAMED.items() if re.search(rf"(^|-){key}(-|$)", name)]
    if named:
        yield from named[0]
    elif word in ("", "none"):
        yield "bf16" if "bf16" in have else have[0]
    elif len(_QUANTIZED.get(word, (word,))) == 1:
        yield from _QUANTIZED.get(word, (word,))


_NAMED = {
    "nvfp4": ("nvfp4",), "mxfp4": ("mxfp4",), "fp8-dynamic": ("fp8-dynamic",), "w8a8": ("w8a8",), "w4a16": ("int4",),
    "fp8": ("fp8", "fp8-dynamic"), "awq": ("int4",), "gptq": ("int4",), "int4": ("int4",), "4bit": ("int4",),
}  # fmt: skip
"""What a checkpoint's name says of its weights, the more telling words first."""


def default_kv_format(word: str, model: Model, engine: Engine, gpu: Gpu) -> str:
    """Return the KV format that an engine's word for it means for a model on a GPU; empty if it is unknown."""
    word, groups = word.lower().removeprefix("torch."), model.attention
    if word in ("", "auto", "none"):
        return engine.default_kv_format(model.id, model.family, gpu.architecture, groups)
    if word in ("bfloat16", "float16", "bf16", "fp16", "half"):
        return "bf16"
    if word in ("float32", "fp32"):
        return "fp32"
    if word.startswith("fp8") and word not in model.attention[0].formats():
        word = "fp8"
    if word == "fp8":
        names = ("fp8", "fp8_ds_mla")
        legal = [n for n in names if not engine.kv_format_fault(n, model.family, gpu.architecture, groups)]
        packed = gpu.architecture == "sm90" and "fp8_ds_mla" in legal
        return "fp8_ds_mla" if packed or legal == ["fp8_ds_mla"] else "fp8"
    return word if word in model.attention[0].formats() else ""
