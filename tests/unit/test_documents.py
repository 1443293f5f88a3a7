"""Strict YAML: traps, duplicates and the place of every fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.documents import Document, parse_document, read_document
from planner.errors import InputError, Problem
from planner.scalars import TRAPS as PATTERNS
from planner.scalars import plain_value


def problems(text: str) -> list[Problem]:
    """All problems of a text, whether it can be read on or not."""
    try:
        return list(parse_document(text, "f").problems)
    except InputError as fault:
        return list(fault.problems)


def place(text: str) -> tuple[int, int]:
    (one,) = problems(text)
    return one.line, one.column


TRAPS = [
    *("y", "n", "Y", "N", "yes", "no", "Yes", "NO", "on", "off", "On", "OFF"),
    *("True", "TRUE", "False", "FALSE", "Null", "NULL"),
    *("12:30", "1:2:3", "-12:30"),
    *("010", "-07", "0x1f", "0o17", "0b1"),
    *("1e9", "1.5e3", "1E-3"),
    *(".5", "5.", "-.5"),
    *(".inf", "-.inf", ".NaN"),
]


@pytest.mark.parametrize("text", TRAPS)
def test_trap_is_an_error_with_its_place_and_advice(text: str) -> None:
    (one,) = problems(f"a: 1\nb:\n  - {text}\n")
    assert (one.file, one.line, one.column) == ("f", 3, 5)
    assert f"'{text}'" in one.message
    assert one.hint


@pytest.mark.parametrize("text", TRAPS)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_trap_in_quotes_is_text(text: str, quote: str) -> None:
    assert parse_document(f"a: {quote}{text}{quote}", "f").data == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("+5", 5), ("1_000", 1000), ("0", 0), ("0.5", 0.5), ("1.21", 1.21),
        ("true", True), ("false", False), ("null", None), ("~", None), ("", None),
        ("128Ki tokens", "128Ki tokens"), ("2026-11-30", "2026-11-30"), ("a:b", "a:b"), ("norway", "norway"),
        ("1.2.3", "1.2.3"), ("'5'", "5"), ("|\n  two\n  lines", "two\nlines"),
    ],
)  # fmt: skip
def test_plain_values(text: str, value: object) -> None:
    document = parse_document(f"a: {text}", "f")
    assert document.problems == []
    assert document.data == {"a": value}
    assert type(document.data["a"]) is type(value)


def test_every_problem_is_told_at_once() -> None:
    found = problems("a: no\nb: 12:30\nb: 2\nc: [010, !!set x, <<]\n")
    assert [(p.line, p.column) for p in sorted(found)][:4] == [(1, 4), (2, 4), (3, 1), (4, 5)]


def test_duplicate_key_names_the_first_place() -> None:
    (one,) = problems("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n")
    assert (one.line, one.column) == (5, 3)
    assert "'c' stands twice" in one.message
    assert "line 3" in one.hint


def test_same_key_in_two_mappings_is_no_duplicate() -> None:
    assert problems("a: {x: 1}\nb: {x: 1}\n") == []


TABS = ["a: 1\n\tb: 2\n", "a:\n\t- 1\n"]


@pytest.mark.parametrize("text", TABS)
def test_tab_is_refused_at_its_place(text: str) -> None:
    assert place(text) == (2, 1)


@pytest.mark.parametrize("text", TABS)
def test_tab_is_refused_with_advice(text: str) -> None:
    assert "spaces" in problems(text)[0].hint


def test_two_documents_are_refused() -> None:
    (one,) = problems("a: 1\n---\nb: 2\n")
    assert one.line == 2
    assert "---" in one.hint


def test_leading_marker_and_comments_are_fine() -> None:
    assert parse_document("# c\n---\na: 1 # d\n", "f").data == {"a": 1}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: &x [*x]\n", "contains itself"),
        ("a: *nope\n", "alias"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "merge"),
        ("? [a]\n: 1\n", "plain text"),
        ("a: [1\n", "YAML"),
        ("a: 'b\n", "YAML"),
        ("a: 1\n b: 2\n", "YAML"),
        ("a: \x01\n", "YAML"),
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("a: " + "[" * 5000, "YAML"),
    ],
)
def test_broken_text_says_what_is_wrong(text: str, word: str) -> None:
    (one,) = problems(text)
    assert word in one.message
    assert one.line >= 1


def test_alias_repeats_a_value() -> None:
    assert parse_document("a: &x {b: 1}\nc: *x\n", "f").data == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize("value", ["!!python/object:os.system 5", "!!str 5", "!!int '5'", "!x 5"])
def test_tag_is_refused(value: str) -> None:
    assert "tag" in problems(f"a: {value}\n")[0].message


@pytest.mark.parametrize("value", ["!x {b: 1}", "!x [1]", "!!python/tuple [1]"])
def test_tag_of_a_collection_is_refused(value: str) -> None:
    assert problems(f"a: {value}\n") != []


def test_endless_number_is_an_error() -> None:
    assert problems("a: " + "9" * 5000) != []


def test_places_of_values_and_keys() -> None:
    document = parse_document("a: 1\nb:\n  - c: 2\n    d: {e: 3}\n", "f")
    assert document.mark(("b", 0, "d", "e"))[1:] == (4, 12)
    assert document.mark(("b", 0, "d", "e"), key=True)[1:] == (4, 9)
    assert document.mark(("b", 0, "d", "missing"))[1:] == (4, 8)
    assert document.mark(())[1:] == (1, 1)
    assert Document("g", None).mark(("x",)) == ("g", 1, 1)


def test_problem_reads_as_compilers_write_it() -> None:
    assert str(Problem("f", 2, 3, "wrong", "right")) == "f:2:3: wrong\n    right"
    assert str(Problem("--set a=1", 0, 0, "wrong")) == "--set a=1: wrong"
    assert str(InputError("plain words")) == "plain words"


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"a: \xff\xfe\x00")
    for path, word in ((binary, "UTF-8"), (tmp_path, "directory"), (tmp_path / "none.yaml", "No such file")):
        with pytest.raises(InputError) as fault:
            read_document(path)
        assert word in str(fault.value)
        assert str(path) in str(fault.value)


def test_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfkind: scenario\n")
    assert read_document(path).data == {"kind": "scenario"}


def test_what_is_taken_for_text_at_a_glance_is_no_trap() -> None:
    words = [*TRAPS, "~", "null", "true", "false", "1_000", "+5", "1.21", "falsey", "e5", "norway", "2026-11-30"]
    for text in [*words, *(word + " x" for word in words), *(word + "x" for word in words)]:
        slowly = any(trap.fullmatch(text) for trap, _ in PATTERNS) and text not in ("null", "true", "false")
        assert (type(plain_value(text)).__name__ == "Trap") is slowly, text


def test_alias_is_a_copy_with_the_places_of_what_it_stands_for() -> None:
    document = parse_document("a: &x {b: &y [1, 2]}\nc: *x\nd: {e: *y}\nf: *y\n", "f")
    assert document.data == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": {"e": [1, 2]}, "f": [1, 2]}
    assert document.data["c"]["b"] is not document.data["a"]["b"]
    assert document.mark(("c", "b", 1))[1:] == document.mark(("a", "b", 1))[1:] == (1, 18)
    assert document.mark(("d", "e"), key=True)[1:] == (3, 5)


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("a: &x 1\nb: &x 2\n", (2, 4), "second occurrence"),
        ("a: 1\n*y : 2\n", (2, 1), "alias"),
        ("a: !x {b: &y 1}\nc: *y\n", (1, 4), "tag"),
        ("a: 1\nb: [*y]\n", (2, 5), "alias"),
        ("a: &x\n  b: *x\n", (1, 4), "contains itself"),
        ("a: {? [1, {b: 2}] : {c: no}, d: off}\n", (1, 7), "plain text"),
        ("a: !x {b: no, c: [off]}\n", (1, 4), "tag"),
        ("a: 1\na: {b: no, c: [off]}\n", (2, 1), "twice"),
    ],
)
def test_what_stands_in_a_refused_value_is_passed_over(text: str, place: tuple[int, int], word: str) -> None:
    found = problems(text)
    assert (found[0].line, found[0].column) == place
    assert word in found[0].message
    assert all("'no'" not in one.message for one in found)


def test_depth_has_an_end() -> None:
    deep = "[" * 600 + "]" * 600
    (one,) = problems(f"a: {deep}\n")
    assert "levels deep" in one.message
    assert parse_document("a: " + "[" * 90 + "]" * 90, "f").problems == []


def test_explicit_tag_that_says_nothing_new_is_passed() -> None:
    assert parse_document("a: !!str abc\nb: ! abc\n!!str c: !!map {d: 1}\n", "f").data == {
        "a": "abc", "b": "abc", "c": {"d": 1},
    }  # fmt: skip


def test_places_are_found_only_when_asked_for() -> None:
    document = parse_document("a: 1\nb: {c: 2}\n", "f")
    assert not document._marks
    assert document.marks[("b", "c")] == ("f", 2, 8)
    assert document.key_marks[("b", "c")] == ("f", 2, 5)
