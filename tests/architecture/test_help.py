"""Everything on the command line explains itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from planner.cli.app import app

COMMANDS = {
    "check", "demand", "fit", "plan", "nodes", "compare", "bom", "catalog list", "catalog show", "model list",
    "model show", "schema", "pareto", "alternatives",
}  # fmt: skip


def commands(command: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        full = f"{above} {name}".strip()
        if getattr(inner, "commands", None):
            yield from commands(inner, full)
        else:
            yield full, inner


FOUND = dict(commands(typer.main.get_command(app)))


def test_commands_of_the_first_slice_are_there() -> None:
    assert set(FOUND) >= COMMANDS


@pytest.mark.parametrize("name", FOUND)
def test_command_and_its_options_have_help(name: str) -> None:
    command = FOUND[name]
    assert (command.help or "").strip().endswith(".")
    silent = [parameter.name for parameter in command.params if not (getattr(parameter, "help", "") or "").strip()]
    assert silent == []


@pytest.mark.parametrize("name", FOUND)
def test_shared_options_are_called_alike(name: str) -> None:
    known = {
        "form": {"-f", "--format"}, "output": {"-o", "--output"}, "catalog": {"--catalog"}, "prices": {"--prices"},
        "sets": {"--set"}, "variant": {"--variant"}, "solver": {"--solver"}, "time_limit": {"--time-limit"},
    }  # fmt: skip
    for parameter in FOUND[name].params:
        if parameter.name in known:
            assert set(parameter.opts) == known[parameter.name]


def test_solving_commands_share_their_options() -> None:
    options = {
        name: {p.name for p in FOUND[name].params}
        for name in ("plan", "bom", "nodes", "compare", "pareto", "alternatives")
    }
    common = {"scenario", "sets", "variant", "form", "output", "catalog", "prices", "solver", "time_limit"}
    assert [name for name, found in options.items() if not common <= found] == []
