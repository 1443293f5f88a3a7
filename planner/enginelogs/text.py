"""Log files to lines: unpacked, decoded, out of their wrappings, one at a time.

Logs come through containers, journals, terminals and shells: gzip, UTF-16, a JSON object per
line, colour codes, progress bars that return the carriage. None of it changes what a line says.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

_BLOCK = 1 << 18
_LONGEST = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS
# The container runtime cuts longer lines into pieces of this many bytes.
_PIECE = 16_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CRI = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T\S{8,40} (?P<stream>stdout|stderr) (?P<tag>[FP])\S* (?P<text>.*)", re.S)
_MESSAGE_KEYS = ("log", "message", "msg", "MESSAGE", "textPayload", "line")


class Line(NamedTuple):
    """One line.

    Attributes
    ----------
    number : int
        Counted from 1; lines out of one wrapping share it.
    text : str
        Without colour codes and line ends.
    whole : bool
        Whether its end was there; a number at the end of a cut line may have lost digits.
    """

    number: int
    text: str
    whole: bool


def blocks_of_file(path: Path) -> Iterator[bytes]:
    """Yield what the file at `path` holds, unpacked if it is gzip; a torn archive ends early.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield from _unpacked(file) if packed else _blocks(file)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    for block in _blocks(file):
        while block:
            try:
                yield unpacker.decompress(block, _BLOCK)
            except zlib.error:
                return
            block = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            if unpacker.eof:
                unpacker = zlib.decompressobj(_GZIP)
    yield unpacker.flush()


def decoded(blocks: Iterator[bytes]) -> Iterator[str]:
    """Yield the blocks as text; bytes that are none become replacement signs, half a sign at the end nothing."""
    first = next(blocks, b"")
    decoder = codecs.getincrementaldecoder(_encoding(first))(errors="replace")
    yield decoder.decode(first)
    for block in blocks:
        yield decoder.decode(block)


def _encoding(first: bytes) -> str:
    for mark, name in _BOMS:
        if first.startswith(mark):
            return name
    even, odd = first[:4096:2], first[1:4096:2]
    if len(odd) > 1 and odd.count(0) * 10 > len(odd) * 9 and even.count(0) * 10 < len(even):
        return "utf-16-le"
    if len(odd) > 1 and even.count(0) * 10 > len(even) * 9 and odd.count(0) * 10 < len(odd):
        return "utf-16-be"
    return "utf-8"


def blocks_of_text(text: str) -> Iterator[str]:
    """Yield a text in blocks."""
    file = io.StringIO(text, newline="")
    while block := file.read(_BLOCK):
        yield block


def lines(blocks: Iterator[str]) -> Iterator[Line]:
    """Yield the lines of a text, out of their wrappings."""
    return _unwrapped(_split(blocks))


def _split(blocks: Iterator[str]) -> Iterator[Line]:
    rest, number, skipping = "", 1, False
    for block in blocks:
        *ended, rest = (rest + block).split("\n")
        for text in ended:
            if not skipping:
                yield from _returns(number, text, True)
            number, skipping = number + 1, False
        if skipping or len(rest) > _LONGEST:
            yield from () if skipping else _returns(number, rest[:_LONGEST], False)
            rest, skipping = "", True
    if rest and not skipping:
        yield from _returns(number, rest, False)


def _returns(number: int, text: str, whole: bool) -> Iterator[Line]:
    if "\r" not in text:
        yield Line(number, text, whole)
        return
    *ended, rest = text.split("\r")
    yield from (Line(number, part, True) for part in ended if part)
    if rest:
        yield Line(number, rest, whole)


class _Message(NamedTuple):
    """What one line of a file carries: `more` says that the next one of its stream goes on with it."""

    text: str
    whole: bool
    stream: str = ""
    more: bool = False


def _unwrapped(raw: Iterator[Line]) -> Iterator[Line]:
    pieces: dict[str, str] = {}
    number = 0
    for line in raw:
        number = line.number
        message = _unwrap(line)
        text = pieces.pop(message.stream, "") + message.text if pieces else message.text
        if message.more:
            pieces[message.stream] = text[:_LONGEST]
        else:
            yield from _parts(number, text, message.whole)
    for text in pieces.values():
        yield from _parts(number, text, False)


def _parts(number: int, text: str, whole: bool) -> Iterator[Line]:
    *ended, rest = text.split("\n")
    yield from (Line(number, plain(part), True) for part in ended)
    yield Line(number, plain(rest), whole)


def plain(text: str) -> str:
    """Return `text` without colour codes and other terminal controls."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.replace("\x00", "") if "\x00" in text else text


def _unwrap(line: Line) -> _Message:
    text = line.text
    if text[:1] == "{":
        torn = _Message(text if line.whole or text[:2] != '{"' else "", line.whole)
        return _unwrap_json(text) or torn
    if text[:1].isdigit() and (match := _CRI.match(text)):
        return _Message(match["text"], line.whole, match["stream"], match["tag"] == "P" and line.whole)
    return _Message(text, line.whole)


def _unwrap_json(text: str, *, inner: bool = False) -> _Message | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    message = _message(record) if isinstance(record, dict) else None
    if message is None:
        return None
    stream = str(record.get("stream", ""))
    ended = message.endswith("\n") or "stream" not in record
    more = not ended and len(message.encode(errors="replace")) >= _PIECE
    message = message.rstrip("\n")
    if message[:1] == "{" and not inner and not more:
        return _unwrap_json(message, inner=True) or _Message(message, ended, stream)
    process = record.get("processName")
    return _Message(f"({process[:60]} pid=0) {message}" if isinstance(process, str) else message, ended, stream, more)


def _message(record: dict[str, Any]) -> str | None:
    if isinstance(record.get("jsonPayload"), dict):
        record = record["jsonPayload"]
    return next((record[key] for key in _MESSAGE_KEYS if isinstance(record.get(key), str)), None)
