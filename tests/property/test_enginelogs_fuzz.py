"""Whatever a log holds, reading it ends in figures that stand in it or in an error that is ours."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.enginelogs import EngineLog, read_logs
from planner.enginelogs.figures import decimal, size, trimmed_size
from planner.enginelogs.reader import markers
from planner.errors import InputError

SAMPLES = sorted((Path(__file__).parents[1] / "unit" / "logs").glob("*.log"))
SOME = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(source: Path | str) -> tuple[EngineLog, ...]:
    """Read, and take the error that is allowed as nothing."""
    try:
        return read_logs(source)
    except InputError as told:
        assert told.problems
        return ()


def said(logs: tuple[EngineLog, ...]) -> set[tuple[object, ...]]:
    return {(log.engine, seen.what, seen.value, seen.line, seen.rank) for log in logs for seen in log.seen}


@cache
def whole(path: Path) -> set[tuple[object, ...]]:
    return said(read(path))


def consistent(logs: tuple[EngineLog, ...]) -> None:
    for log in logs:
        assert log.settings is not None
        for seen in log.seen:
            assert seen.line > 0
            if not isinstance(seen.value, str):
                assert seen.low is not None
                assert seen.high is not None
                assert 0 <= seen.low <= seen.high
                # Sizes are given to the nearest byte.
                assert seen.low - Fraction(1, 2) <= seen.value <= seen.high + Fraction(1, 2)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_log_that_was_cut_anywhere_says_nothing_new(path: Path) -> None:
    text = path.read_text()
    everything = whole(path)
    for cut in range(len(text)):
        assert said(read(text[:cut])) <= everything, cut


@SOME
@given(st.sampled_from(SAMPLES), st.integers(0, 100_000), st.sampled_from(["docker", "cri", "utf-16", "gzip"]))
def test_a_wrapped_log_that_was_cut_says_nothing_new(tmp_path: Path, path: Path, at: int, how: str) -> None:
    text = path.read_text()
    lines = text.splitlines()
    blob = {
        "docker": "".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) + "\n" for line in lines).encode(),
        "cri": "".join(f"2026-01-01T00:00:00.123456789Z stderr F {line}\n" for line in lines).encode(),
        "utf-16": text.encode("utf-16"),
        "gzip": gzip.compress(text.encode(), mtime=0),
    }[how]
    file = tmp_path / "cut.log"
    file.write_bytes(blob[: at % len(blob)])
    assert said(read(file)) <= whole(path)


@SOME
@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.integers(0, 100_000), st.binary(max_size=6)), max_size=20))
def test_garbage_between_the_lines_breaks_nothing(tmp_path: Path, path: Path, garbage: list[tuple[int, bytes]]) -> None:
    blob = path.read_bytes()
    for at, piece in garbage:
        at %= len(blob)
        blob = blob[:at] + piece + blob[at:]
    file = tmp_path / "garbage.log"
    file.write_bytes(blob)
    consistent(read(file))


@SOME
@given(
    st.binary(max_size=3000),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b'{"log":']),
)
def test_any_bytes(tmp_path: Path, blob: bytes, front: bytes) -> None:
    file = tmp_path / "any.log"
    file.write_bytes(front + blob)
    consistent(read(file))


@SOME
@given(st.text(max_size=2000))
def test_any_text(text: str) -> None:
    consistent(read(text))


NUMBERS = st.one_of(
    st.integers(-(10**30), 10**30).map(str),
    st.integers(0, 10**9).map("{:,}".format),
    st.decimals(0, 10**6, places=2).map(str),
    st.sampled_from(["nan", "inf", "1e9", "0x10", "\u0663", "1_000", "", "1,00", "--1", "0.0", "\u0663.\u0665"]),
)
PIECES = st.one_of(
    st.sampled_from(markers()),
    NUMBERS,
    st.sampled_from(
        [" GiB", " GB", "GiB", " tokens", "x", "%", ", ", "(", ")", "{'", "': ", "=", "'", "\n", "\r", "\x1b[0m"]
    ),
    st.sampled_from(["#tokens: ", "K size: ", "V size: ", "size: ", " gb, cost ", " ms, throughput: ", " out of "]),
    st.text(max_size=5),
)


@settings(SOME, max_examples=400)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_mixture_of_known_words(text: str) -> None:
    consistent(read(text))


@SOME
@given(st.integers(0, 2 * 10**12))
def test_the_interval_holds_the_truth(true_bytes: int) -> None:
    for text, kind, scale in (
        (f"{true_bytes / 2**30:.2f}", size, 2**30),
        (f"{true_bytes / 2**30:.4f}", size, 2**30),
        (f"{round(true_bytes / 2**30, 2)}", trimmed_size, 2**30),
        (f"{true_bytes / 2**30:.2f}", decimal, 1),
    ):
        _, low, high = kind(text, "GiB")
        assert low is not None
        assert high is not None
        assert low <= Fraction(true_bytes) * scale / 2**30 <= high


@pytest.mark.parametrize(
    "sign", ["(", "'", "\\", "\x1b[", "\x1b]", '{"a":', "[", ",", "=", "# GPU blocks: ", "Stored "]
)
def test_long_lines_of_one_sign_take_no_time(sign: str) -> None:
    text = "LLM engine Initializing a V1 LLM engine (v1) with config: " + sign * (400_000 // len(sign))
    consistent(read(text))
    consistent(read(f"{sign * (400_000 // len(sign))}\n"))
