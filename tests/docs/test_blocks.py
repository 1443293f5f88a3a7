"""Every pasted block of output is what its command prints today.

A block is a ```text fence after ``<!-- $ command -->``. The command is a pipeline that begins with
`planner`, or `accuracy` for the table of public logs; folding and cutting are part of it. Trailing spaces and blank lines at the ends do not count.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
MARK = "<!-- $ "
BLOCK = re.compile(r"<!-- \$ (?P<command>.*?) -->\n```text\n(?P<text>.*?)```", re.S)
SLOW = ("pooled",)
"""Words of commands that take over 5 s."""


def blocks() -> list[object]:
    found: list[object] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            name = f"{page.relative_to(ROOT).as_posix()}:{text.count(chr(10), 0, block.start()) + 1}"
            marks = [pytest.mark.long] if any(word in block["command"] for word in SLOW) else []
            found.append(pytest.param(block["command"], block["text"], id=name, marks=marks))
    return found


@lru_cache
def output(command: str) -> str:
    python = shlex.quote(sys.executable)
    known = f'planner() {{ {python} -m planner "$@"; }}\naccuracy() {{ {python} -m tests.ground_truth "$@"; }}\n'
    script = f"{known}set -o pipefail\n{command}\n"
    # Lines are cut by characters only where the locale knows them.
    env = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain(text: str) -> list[str]:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").split("\n")


def test_every_mark_has_its_block() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(BLOCK.findall(text)) == text.count(MARK), page


@pytest.mark.parametrize(("command", "text"), blocks())
def test_block(command: str, text: str) -> None:
    assert plain(text) == plain(output(command))
