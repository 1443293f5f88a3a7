"""Shipped scenarios, damaged at random: always a message and an exit code, never a traceback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]

MUTANTS = 240
SOLVED = 10
NASTY = [
    "no", "~", "-1", "0", "1e9", "[", "]", "{", "}", "'", '"', ": ", "- ", "\t", "&a", "*a", "!!int", "<<: ", "%", "#",
    "null", "12:30", "010", "30", "KB", "1 TB", "999999999999999999999", "\u200b", "ü", "万", "|", ">", "? ", "---\n",
    "{value: 1, assumed: x}", "{value: 1}", "[a, b]", "h200", "USD 5", "tokens",
]  # fmt: skip
SHIPPED = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "scenarios").glob("*.yaml"))]
RENTED = [text for text in SHIPPED if "name: melange-" in text]
TEXTS = [text for text in SHIPPED if text not in RENTED]


def damage(text: str, rng: Random) -> str:
    """Return the text with one to three changes of lines or characters."""
    for _ in range(rng.randint(1, 3)):
        lines = text.split("\n")
        i, at = rng.randrange(len(lines)), rng.randrange(len(text) + 1)
        change = rng.randrange(8)
        if change == 0:
            del lines[i]
        elif change == 1:
            lines.insert(i, lines[i])
        elif change == 2:
            j = rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
        elif change == 3:
            key, colon, _ = lines[i].partition(":")
            lines[i] = f"{key}{colon} {rng.choice(NASTY)}"
        elif change == 4:
            lines[i] = " " * rng.randint(0, 6) + lines[i].lstrip()
        text = "\n".join(lines)
        if change == 5:
            text = text[:at] + text[at + 1 :]
        elif change == 6:
            text = text[:at] + rng.choice(NASTY) + text[at:]
        elif change == 7:
            text = text[:at] + rng.choice(NASTY) + text[at + 1 :]
    return text


@pytest.fixture
def mutants(tmp_path: Path) -> list[Path]:
    paths = []
    for seed in range(MUTANTS):
        rng = Random(seed)
        path = tmp_path / f"mutant-{seed}.yaml"
        path.write_text(damage(rng.choice(TEXTS), rng), encoding="utf-8")
        paths.append(path)
    return paths


def test_damaged_scenarios_never_end_in_a_traceback(command: Command, mutants: list[Path]) -> None:
    codes: dict[str, int] = {}
    for path in mutants:
        done = command("demand", str(path), "-f", "json")
        codes[path.stem] = done.code
        assert (done.out == "") is (done.code != 0)
        assert (done.err == "") is (done.code == 0)
    assert {name: code for name, code in codes.items() if code not in (0, 3)} == {}
    assert 0 < list(codes.values()).count(0) < MUTANTS


def test_damaged_scenarios_that_still_read_can_be_solved(command: Command, mutants: list[Path]) -> None:
    solved = 0
    for path in mutants:
        text = path.read_text(encoding="utf-8")
        if solved == SOLVED or "pooled" in text or command("demand", str(path)).code:
            continue
        assert command("bom", str(path), "--time-limit", "2", "-f", "json").code in (0, 4, 5, 6)
        solved += 1
    assert solved == SOLVED


def test_damaged_scenarios_of_rented_instances(command: Command, tmp_path: Path) -> None:
    codes: dict[int, int] = {}
    path = tmp_path / "mutant.yaml"
    for seed in range(MUTANTS):
        rng = Random(seed)
        path.write_text(damage(rng.choice(RENTED), rng), encoding="utf-8")
        done = command("plan", str(path), "--time-limit", "2", "-f", "json")
        assert (done.out == "") is (done.code not in (0, 6)), done
        codes[done.code] = codes.get(done.code, 0) + 1
    assert set(codes) <= {0, 3, 4, 6}, codes
    assert min(codes[0], codes[3]) > 10
