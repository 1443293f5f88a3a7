"""Hurt configurations: a model that says what was taken from elsewhere, or an error of ours. Nothing in between."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.importing import import_config
from planner.importing.jsontext import parse_json
from planner.kvcache import kv_cache
from planner.models import Model
from tests.unit import hf_configs

NAMES = sorted(name for name in vars(hf_configs) if name.isupper())
ABSENCE_MEANS = ("quantization_config", "vision_config", "audio_config")
"""Keys whose absence is a statement of its own: a model without quantisation, without an encoder."""

NULL_MEANS = (
    *("n_shared_experts", "sliding_window", "attention_chunk_size", "moe_latent_size", "attn_res_block_size"),
    *("routed_expert_hidden_size", "q_lora_rank", "num_global_key_value_heads"),
)
"""Keys whose null is one: no window, no shared expert, no narrower width."""

Path_ = tuple[str | int, ...]
settings_ = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def read(data: bytes) -> Model | InputError:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_bytes(data)
        try:
            return import_config(path)
        except InputError as fault:
            assert fault.problems and all(problem.message for problem in fault.problems)
            return fault


def dumped(config: Any) -> bytes:
    return json.dumps(config).encode("utf-8")


def figures(model: Model) -> tuple[Any, ...]:
    caches = [kv_cache(model, word, model.draft_layers) for word in model.attention[0].formats()]
    kept = [(cache.rate, cache.constant_bytes(131_072)) for cache in caches]
    weights = [model.file_bytes(checkpoint.format) for checkpoint in model.checkpoints]
    return model.derived_parameters, kept, weights, model.max_context_tokens, model.draft_layers


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every key and of every item of short lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))
    elif isinstance(value, list) and len(value) < 4:
        for i, inner in enumerate(value):
            yield from places(inner, (*path, i))


def changed(config: dict[str, Any], path: Path_, value: Any = None, *, delete: bool = False) -> dict[str, Any]:
    new = copy.deepcopy(config)
    inner: Any = new
    for step in path[:-1]:
        inner = inner[step]
    if delete:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return new


@pytest.mark.parametrize("name", NAMES)
def test_a_deleted_key_never_changes_figures_in_silence(name: str) -> None:
    config = getattr(hf_configs, name)
    whole = read(dumped(config))
    assert isinstance(whole, Model)
    for path in places(config):
        if path[-1] in ABSENCE_MEANS or isinstance(path[-1], int):
            continue
        found = read(dumped(changed(config, path, delete=True)))
        if isinstance(found, Model) and figures(found) != figures(whole):
            assert str(path[-1]) in found.note, path


@pytest.mark.parametrize("name", NAMES)
def test_a_null_never_changes_figures_in_silence(name: str) -> None:
    config = getattr(hf_configs, name)
    whole = read(dumped(config))
    assert isinstance(whole, Model)
    for path in places(config):
        if path[-1] in (*ABSENCE_MEANS, *NULL_MEANS) or isinstance(path[-1], int):
            continue
        found = read(dumped(changed(config, path, None)))
        if isinstance(found, Model) and figures(found) != figures(whole):
            assert str(path[-1]) in found.note, path


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**45), 10**45)
    | st.integers(-3, 300)
    | st.floats()
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings_
@given(st.data())
def test_replaced_values(data: st.DataObject) -> None:
    config = getattr(hf_configs, data.draw(st.sampled_from(NAMES)))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(config))))
        config = changed(config, path, data.draw(JUNK))
    found = read(dumped(config))
    if isinstance(found, Model):
        figures(found)


@settings_
@given(st.data())
def test_scrambled_keys(data: st.DataObject) -> None:
    config = getattr(hf_configs, data.draw(st.sampled_from(NAMES)))
    whole = read(dumped(config))
    assert isinstance(whole, Model)
    path = data.draw(st.sampled_from([p for p in places(config) if isinstance(p[-1], str)]))
    other = data.draw(st.text(max_size=12) | st.just(str(path[-1]) + "s") | st.just(str(path[-1]).upper()))
    inner: Any = config
    for step in path:
        inner = inner[step]
    moved = changed(changed(config, path, delete=True), (*path[:-1], other), inner)
    found = read(dumped(moved))
    if isinstance(found, Model) and path[-1] not in ABSENCE_MEANS and figures(found) != figures(whole):
        assert str(path[-1]) in found.note or other in config, (path, other)


@settings_
@given(st.data())
def test_values_of_other_models(data: st.DataObject) -> None:
    # Two real files crossed: real words and numbers, of the wrong model.
    one, two = (getattr(hf_configs, data.draw(st.sampled_from(NAMES))) for _ in range(2))
    mine, others = one.get("text_config", one), two.get("text_config", two)
    keys = data.draw(st.lists(st.sampled_from(sorted(others)), max_size=5))
    crossed = {**mine, **{key: others[key] for key in keys}}
    found = read(dumped({**one, "text_config": crossed} if "text_config" in one else crossed))
    if isinstance(found, Model):
        figures(found)


@settings_
@given(st.data())
def test_truncated_and_spoilt_text(data: st.DataObject) -> None:
    text = dumped(getattr(hf_configs, data.draw(st.sampled_from(NAMES))))
    if data.draw(st.booleans()):
        found = read(text[: data.draw(st.integers(0, len(text) - 1))])
        assert isinstance(found, InputError)
        return
    at = data.draw(st.integers(0, len(text) - 1))
    found = read(text[:at] + data.draw(st.binary(min_size=1, max_size=4)) + text[at + 1 :])
    if isinstance(found, Model):
        figures(found)


@settings_
@given(JUNK)
def test_json_reads_as_the_standard_reader_does(value: Any) -> None:
    text = json.dumps(value)
    document = parse_json(text, "x.json")
    if not document.problems:
        assert repr(document.data) == repr(json.loads(text))


@settings_
@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \n\\u', max_size=60).map(str.encode))
def test_noise(data: bytes) -> None:
    assert isinstance(read(data), InputError)
