"""A log file, or its text, to what each engine in it said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from planner.enginelogs.base import EngineLog
from planner.enginelogs.reader import READERS, markers
from planner.enginelogs.text import blocks_of_file, blocks_of_text, decoded, lines
from planner.errors import InputError, Problem

_SHOWN = {
    "vLLM": "'Available KV cache memory: … GiB', 'GPU KV cache size: … tokens', '# GPU blocks: …'",
    "SGLang": "'KV Cache is allocated. #tokens: …', 'max_total_num_tokens=…', 'server_args=ServerArgs(…)'",
    "LMCache": "'Stored … out of total … tokens. size: … gb', 'LMCache Configuration: {…}'",
}


def read_logs(source: Path | str, name: str | None = None) -> tuple[EngineLog, ...]:
    """Read a log and return what each engine in it said, the one that holds the KV pool first.

    Parameters
    ----------
    source : Path or str
        A file (plain or gzip), or the text of a log.
    name : str or None
        How messages call it; the path by default.

    Raises
    ------
    InputError
        If it cannot be read or holds no line of a known engine; it says which lines were looked for.
    """
    shown = name or (str(source) if isinstance(source, Path) else "log")
    readers = [kind() for kind in READERS.values()]
    known = markers()
    some = False
    try:
        for line in lines(_blocks(source)):
            some = some or bool(line.text.strip())
            if any(marker in line.text for marker in known):
                for reader in readers:
                    reader.read(line)
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or str(fault)
        raise InputError([Problem(shown, 0, 0, f"cannot be read: {reason}")]) from None
    found = [log for reader in readers if (log := reader.log(shown)) is not None]
    if not found:
        raise InputError([_unknown(shown, some)])
    first, *others = sorted(found, key=lambda log: (log.engine == "lmcache", not log.complete, -len(log.seen)))
    also = tuple(f"the log also holds lines of {other.engine}" for other in others)
    return (replace(first, notes=(*first.notes, *also)), *others)


def read_log(source: Path | str, name: str | None = None) -> EngineLog:
    """Read a log and return what the engine that holds the KV pool said, else LMCache.

    Parameters
    ----------
    source : Path or str
        A file (plain or gzip), or the text of a log.
    name : str or None
        How messages call it; the path by default.

    Raises
    ------
    InputError
        If it cannot be read or holds no line of a known engine; it says which lines were looked for.
    """
    return read_logs(source, name)[0]


def _blocks(source: Path | str) -> Iterator[str]:
    return decoded(blocks_of_file(source)) if isinstance(source, Path) else blocks_of_text(source)


def _unknown(shown: str, some: bool) -> Problem:
    looked = "\n    ".join(f"{engine}: {what}" for engine, what in _SHOWN.items())
    message = "holds no start-up line of a known engine" if some else "the file is empty"
    return Problem(shown, 0, 0, message, f"looked for lines such as\n    {looked}")
