"""Errors, suggestions, registries: what a stranger reads."""

from __future__ import annotations

import pytest

from planner import errors
from planner.errors import InputError, PlannerError, Problem, nearest
from planner.registry import Registry


def test_exit_codes() -> None:
    codes = {kind.__name__: kind.exit_code for kind in (PlannerError, *PlannerError.__subclasses__())}
    assert codes == {
        "PlannerError": 1, "UsageError": 2, "InputError": 3, "InfeasibleError": 4, "PriceMissingError": 5,
        "UnprovenError": 6,
    }  # fmt: skip
    assert errors.EXIT_OK == 0


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("usres", ["users", "model"], "did you mean 'users'?"),
        ("h200", ["b200", "h200-sxm", "h20-96"], "did you mean 'h200-sxm'?"),
        ("USERS", ["users"], "did you mean 'users'?"),
        ("zzz", ["a", "b"], "known: a, b"),
        ("zzz", [], "none are known"),
        ("glm-5x", ["glm-5", "deepseek"], "did you mean 'glm-5'?"),
    ],
)
def test_nearest_word(word: str, known: list[str], hint: str) -> None:
    assert nearest(word, known) == hint


def test_many_known_words_are_cut() -> None:
    assert nearest("zzz", [f"word{i:02}" for i in range(20)]).endswith("and 8 more")


def test_problems_are_sorted_and_told_once() -> None:
    first, second = Problem("a", 1, 1, "x"), Problem("a", 2, 1, "y")
    assert InputError([second, first, second]).problems == (first, second)


def test_registry_refuses_duplicates_and_suggests() -> None:
    registry: Registry[int] = Registry("number")
    registry.register("one")(1)
    registry.register("two")(2)
    with pytest.raises(ValueError, match="'one' is registered twice"):
        registry.register("one")(3)
    with pytest.raises(InputError, match="unknown number 'onne'; did you mean 'one'"):
        registry["onne"]
    assert (list(registry), registry.values(), registry["two"], "two" in registry) == (["one", "two"], (1, 2), 2, True)
