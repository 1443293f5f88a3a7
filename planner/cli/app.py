"""All commands under one name."""

from __future__ import annotations

import typer

from planner.cli import browse, calibrating, choosing, explaining, fitting, planning, scenarios

app = typer.Typer(
    name="planner",
    help="Find the lowest-cost set of servers that holds an LLM's KV cache.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from planner import __version__

        typer.echo(f"planner {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Find the lowest-cost set of servers that holds an LLM's KV cache."""


scenarios.register(app)
planning.register(app)
choosing.register(app)
explaining.register(app)
fitting.register(app)
calibrating.register(app)
browse.register(app)
