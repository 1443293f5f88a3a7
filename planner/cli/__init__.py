"""The command line: words to calls, answers to stdout, all talk to stderr, faults to exit codes."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code.

    A user's mistake ends with a message and a code, never with a traceback.
    """
    from planner.errors import PlannerError
    from planner.interrupts import raised, session

    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    try:
        from planner.cli.app import app

        with session():
            app(arguments, standalone_mode=True)
    except PlannerError as fault:
        print(f"planner: {fault}", file=sys.stderr)
        sys.exit(fault.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        _end()
    except Exception:
        if not raised():
            raise
        _end()


def _end() -> None:
    print("planner: interrupted", file=sys.stderr)
    sys.exit(130)
