"""Scenario files: parents, variants, overrides, and the faults of each."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from planner.errors import InputError, Problem
from planner.scenario import Override, Scenario
from planner.scenario_files import load_any, load_scenario, shipped_scenarios
from planner.setting_paths import full_path, setting_paths
from tests.unit.tiny import shelf

ROOT = Path(__file__).parents[2]

Load = Callable[..., Scenario]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write a scenario that extends `report-real` and load it."""

    def load(text: str = "", *sets: str, variant: str | None = None, parent: str = "report-real") -> Scenario:
        path = tmp_path / "x.yaml"
        path.write_text(f"kind: scenario\nextends: {parent}\nname: x\n{text}", encoding="utf-8")
        return load_scenario(str(path), [Override.parse(one) for one in sets], variant, shelf())

    return load


def faults(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(InputError) as fault:
        call()
    return list(fault.value.problems)


def test_child_lays_its_keys_over_the_parent(load: Load) -> None:
    parent, child = load_scenario("report-real"), load("workload: {users: 7, context: {planned: 64Ki tokens}}")
    assert (child.workload.users, child.workload.context.planned_tokens) == (7, 65_536)
    assert child.workload.context.max_tokens == parent.workload.context.max_tokens
    assert child.workload.sessions_per_user == parent.workload.sessions_per_user
    assert (child.name, child.title) == ("x", parent.title)


def test_lists_replace_and_null_removes(load: Load) -> None:
    child = load("serving: {kv_formats: [bf16]}\nservice: null\nfinance: {energy: null}\n")
    assert child.serving.kv_formats == ("bf16",)
    assert child.service is None
    assert child.finance.energy_rate is None
    assert child.finance.colocation_rate is not None


def test_value_with_evidence_replaces_one_without_and_the_other_way_round(load: Load) -> None:
    child = load("workload: {duty: 50 %, users: {value: 5, assumed: by hand}}")
    assert (child.workload.duty_fraction, child.workload.users) == (Fraction(1, 2), 5)
    assert "workload.duty" not in child.evidence
    assert child.evidence["workload.users"].text == "by hand"


def test_precedence_is_set_over_variant_over_file_over_parent(load: Load) -> None:
    text = "workload: {users: 1}\nvariants:\n  v: {workload: {users: 2}}\n"
    users = [load().workload.users, load(text).workload.users, load(text, variant="v").workload.users]
    users.append(load(text, "workload.users=3", variant="v").workload.users)
    users.append(load(text, "workload.users=3", "workload.users=4", variant="v").workload.users)
    assert users == [200, 1, 2, 3, 4]
    assert load(text, "workload.users=3", variant="v").applied == ("variant v", "workload.users=3")


def test_parents_variants_are_not_inherited(load: Load) -> None:
    (one,) = faults(lambda: load(variant="no-spare"))
    assert "no variant 'no-spare'" in one.message


def test_resolved_scenario_holds_what_was_applied(load: Load) -> None:
    resolved = load("workload: {users: 1}", "workload.users=3").resolved
    assert resolved["workload"]["users"] == 3
    assert "extends" not in resolved


def test_parent_beside_the_child(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("kind: scenario\nextends: report-real\nname: b\nmodel: glm-5.3\n", "utf-8")
    (tmp_path / "child.yaml").write_text("kind: scenario\nextends: base\nname: c\n", "utf-8")
    assert load_scenario(str(tmp_path / "child.yaml")).model == "glm-5.3"


def test_scenario_that_extends_itself(tmp_path: Path) -> None:
    for name, parent in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"kind: scenario\nextends: {parent}\nname: {name}\n", "utf-8")
    (one,) = faults(lambda: load_scenario(str(tmp_path / "a.yaml")))
    assert "extends itself" in one.message


def test_unknown_parent_names_the_nearest(load: Load) -> None:
    (one,) = faults(lambda: load(parent="report-rael"))
    assert (one.line, one.column) == (2, 10)
    assert "report-real" in one.hint


SETS = [
    ("workload.users=5", lambda s: s.workload.users, 5),
    ("users=5", lambda s: s.workload.users, 5),
    ("kv_format=bf16", lambda s: s.serving.kv_formats, ("bf16",)),
    ("kv_format=[bf16, fp8]", lambda s: s.serving.kv_formats, ("bf16", "fp8")),
    ("gpus=h200-sxm", lambda s: s.fleet.gpus, ("h200-sxm",)),
    ("planned=64Ki tokens", lambda s: s.workload.context.planned_tokens, 65_536),
    ("workload.duty=50 %", lambda s: s.workload.duty_fraction, Fraction(1, 2)),
    ("workload.duty={value: 50 %, assumed: x}", lambda s: s.workload.duty_fraction, Fraction(1, 2)),
    ("service=null", lambda s: s.service, None),
    ("service=", lambda s: s.service, None),
    ("limits.stock.h200-sxm=8", lambda s: dict(s.limits.stock), {"h200-sxm": 8}),
    ("limits.stock={h200-sxm: 8}", lambda s: dict(s.limits.stock), {"h200-sxm": 8}),
    ("fleet.group_nodes=[1, 2, 4]", lambda s: s.fleet.group_nodes, (1, 2, 4)),
    ("note=a=b", lambda s: s.note, "a=b"),
]


@pytest.mark.parametrize(("text", "read", "value"), SETS, ids=[text for text, _, _ in SETS])
def test_override(load: Load, text: str, read: Callable[[Scenario], object], value: object) -> None:
    assert read(load("", text)) == value


WRONG_SETS = {
    "nonsense": "PATH=VALUE",
    "=3": "PATH=VALUE",
    "workload.usres=3": "did you mean 'workload.users'",
    "usres=3": "no setting 'usres'",
    "workload.users.x=3": "no setting",
    "extends=report-exact": "no setting",
    "workload.users=abc": "whole number of at least 1",
    "workload.users=0": "whole number of at least 1",
    "workload.users=no": "write true or false",
    "workload=3": "expected keys and values",
    "workload.context=[1": "is not YAML",
    "workload.duty=0.12": "has no unit",
    "kind=foo": "expected scenario",
    "model=glm-5x": "did you mean",
    "gpus=h200": "or 'h200-sxm'?",
    "serving.engines=vllm": "did you mean 'vllm-0.",
    "finance.prices=us": "did you mean 'us-2026-11'",
    "limits.stock.h200=8": "did you mean",
    "workload.in_flight=5": "not both",
    "workload.active_per_user=11": "more sessions are active",
    "finance.pue=0.9": "at least 1",
}


@pytest.mark.parametrize(("text", "words"), WRONG_SETS.items(), ids=WRONG_SETS)
def test_override_that_is_wrong(load: Load, text: str, words: str) -> None:
    told = "\n".join(str(problem) for problem in faults(lambda: load("", text)))
    assert words in told
    assert "--set" in told or "x.yaml" in told


def test_short_names_are_those_with_one_meaning() -> None:
    assert full_path("users") == "workload.users"
    assert full_path("workload") == "workload"
    paths = list(setting_paths())
    assert len(paths) == len(set(paths))
    assert {"workload.users", "fleet.spare_groups", "finance.energy", "limits.power"} <= set(paths)
    assert not [path for path in paths if path.endswith((".cents", ".currency", ".evidence"))]


def test_all_faults_of_a_scenario_are_told_at_once(load: Load) -> None:
    text = "warm: 3\nworkload: {usres: 3, warm: 30, context: {planned: 128K}}\nserving: {engines: no}\nmodel: nope\n"
    found = faults(lambda: load(text))
    assert [p.line for p in found if p.file.endswith("x.yaml")] == [4, 5, 5, 5, 6, 7]
    assert any("did you mean 'users'" in p.hint for p in found)


CONTRADICTIONS = {
    "workload: {ttl: 1 h}": "'warm' or 'ttl'",
    "workload: {warm: 130 %}": "100 %",
    "workload: {duty: 130 %}": "100 %",
    "workload: {retained: 130 %}": "100 %",
    "workload: {peak_over_mean: 0.5}": "at least 1",
    "workload: {shared_prefix: {length: 5 tokens}}": "'share' or 'length'",
    "workload: {shared_prefix: {share: 130 %}}": "100 %",
    "workload: {context: {planned: 256Ki tokens}}": "longer than the maximum",
    "serving: {custom_kv: {name: a, token: 1 B}}": "'kv_formats' or 'custom_kv'",
    "serving: {kv_formats: null}": "'kv_formats' or 'custom_kv'",
    "serving: {engines: []}": "name at least one",
    "serving: {weights: []}": "name at least one",
}


@pytest.mark.parametrize(("text", "words"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_scenario_that_contradicts_itself(load: Load, text: str, words: str) -> None:
    assert words in "\n".join(p.message for p in faults(lambda: load(text)))


SENSELESS = {
    "workload: {context: {planned: 0 tokens, mean: null}}": "at least one token",
    "workload: {shared_prefix: {share: 100 %}}": "leaves nothing of a session's own",
    "service: {decode: 0 tokens/s}": "never served",
    "serving: {kv_formats: null, custom_kv: {name: z, token: 0 B}}": "at least one byte per token",
    "workload: {rates: {cold: 300 %}}": "cannot exceed 100 %",
    "finance: {average_load: 500 %}": "cannot exceed 100 %",
    "finance: {energy: USD -1/kWh}": "cannot be below 0",
    "limits: {budget: EUR 5M}": "is in EUR, price book 'us-2026-11' in USD",
    "finance: {energy: EUR 0.1/kWh}": "is in EUR, price book 'us-2026-11' in USD",
    "workload: {context: {planned: 300Ki tokens, max: 400Ki tokens}}": "takes 202,752 tokens at most",
    "serving: {draft_layers: 5}": "has 1 draft layers",
    "serving: {layouts: []}": "name at least one",
    "fleet: {group_nodes: []}": "name at least 1",
    "variants: 3": "expected names",
    "variants: {v: 3}": "expected the settings that it changes",
    "variants: {v: {workload: {usres: 3}}}": "did you mean 'workload.users'",
}


@pytest.mark.parametrize(("text", "words"), SENSELESS.items(), ids=SENSELESS)
def test_scenario_that_cannot_be_meant(load: Load, text: str, words: str) -> None:
    assert words in "\n".join(str(p) for p in faults(lambda: load(text)))


@pytest.mark.parametrize("text", ["variants: {v: 3}", "variants: 3"])
def test_variant_that_is_no_mapping(load: Load, text: str) -> None:
    assert faults(lambda: load(text, variant="v"))[0].line == 4


def test_key_that_a_child_removes_is_missing_in_the_child(load: Load) -> None:
    (one,) = faults(lambda: load("title: null\n"))
    assert one.file.endswith("x.yaml")


def test_endless_name_is_no_scenario() -> None:
    (one,) = faults(lambda: load_scenario("a" * 300))
    assert "aaa" in f"{one.file} {one.message}"


@pytest.mark.parametrize("name", shipped_scenarios())
def test_shipped_scenarios_load_with_each_variant(name: str) -> None:
    plain = load_any(name, (), None, shelf())
    assert plain.name == name
    text = (ROOT / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8")
    block = text.partition("\nvariants:\n")[2]
    variants = [
        line[2:-1] for line in block.splitlines() if line.startswith("  ") and line[2] != " " and line[-1] == ":"
    ]
    for variant in variants:
        assert load_any(name, (), variant, shelf()).applied == (f"variant {variant}",)
