"""catalog list, compare and search: what is shown of parts, chosen, sorted, side by side, found."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from planner.hardware import Catalog
from planner.loading import PART_KINDS
from planner.views.catalog_list import folded, search_report
from planner.views.columns import BY_KIND
from tests.cli.conftest import Command
from tests.unit.test_lint import BOOK, GPU, price
from tests.unit.tiny import shelf

GB = 10**9


def wide(text: str) -> str:
    """The same in full-width characters."""
    return "".join(chr(0x3000) if char == " " else chr(ord(char) + 0xFEE0) for char in text)


@pytest.fixture
def catalog() -> Catalog:
    return shelf().catalog


def ids(command: Command, *words: str) -> list[str]:
    return [row["id"] for row in command("catalog", "list", *words, "-f", "json").data]


@pytest.mark.parametrize("kind", PART_KINDS)
def test_every_kind_has_columns_of_its_own_in_every_format(command: Command, kind: str) -> None:
    assert kind in BY_KIND
    shown = command("catalog", "list", kind).out.splitlines()
    data = command("catalog", "list", kind, "-f", "json").data
    rows = list(csv.DictReader(io.StringIO(command("catalog", "list", kind, "-f", "csv").out)))
    assert len(data) == len(rows) == len(shelf().catalog.parts[kind])
    assert len({tuple(row) for row in data}) == 1
    assert "evidence" in shown[2]


def test_gpu_by_hand(command: Command, tmp_path: Path) -> None:
    files = {"g.yaml": GPU, "b.yaml": BOOK + price("g", 20_000, "2026-11-01")}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = ("gpu", "--catalog", str(tmp_path), "--book", "b", "--date", "2026-12-01", "--vendor", "v")
    (row,) = command("catalog", "list", *words, "-f", "json").data
    wanted = {
        "memory_bytes": 81559 * 2**20, "memory_bandwidth_bytes_per_s": 3350 * GB, "bf16_flops": 989 * 10**12,
        "fp8_flops": 1979 * 10**12, "power_w": 700, "price": 20_000, "price_per_gib": round(20_000 / (81559 / 1024), 2),
        "price_per_tb_per_s": round(20_000 / 3.35, 2), "as_of": "2026-11-01", "age_days": 30, "evidence": "sourced",
    }  # fmt: skip
    assert {key: row[key] for key in wanted} == wanted
    line = command("catalog", "list", *words).out.splitlines()[4]
    cells = "g V sm90 79.65 GiB 3.35 TB/s 989 TF 1,979 TF 700 W 20,000 251.11 5,970.15 2026-11-01 30 d sourced"
    assert line.split() == cells.split()


def test_part_without_price_has_none_and_never_0(command: Command, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(BOOK + price("h200-sxm", 9), encoding="utf-8")
    words = ("--catalog", str(tmp_path), "--book", "b")
    rows = {row["id"]: row for row in command("catalog", "list", "gpu", *words, "-f", "json").data}
    empty = {key: value for key, value in rows["b200"].items() if key.startswith("price") or key == "as_of"}
    assert set(empty.values()) == {None}
    line = next(line for line in command("catalog", "list", "gpu", *words).out.splitlines() if line.startswith("b200"))
    assert line.split("no price")[1].split() == ["-", "-", "-", "-"]
    shown = command("catalog", "compare", "b200", "h200-sxm", *words)
    assert "no price" in shown.out
    assert command("catalog", "search", "b200", *words, "-f", "json").data[0]["price"] is None


@pytest.mark.parametrize("word", ["price-per-gb", "price-per-GiB", "per-gib", "price_per_gib"])
def test_sort_by_price_per_gb_puts_parts_without_one_last(command: Command, word: str) -> None:
    data = command("catalog", "list", "gpu", "--sort", word, "-f", "json").data
    values = [row["price_per_gib"] for row in data]
    known = [value for value in values if value is not None]
    assert known == sorted(known)
    assert values == known + [None] * (len(values) - len(known))
    back = command("catalog", "list", "gpu", "--sort", word, "--descending", "-f", "json").data
    assert [row["price_per_gib"] for row in back][: len(known)] == known[::-1]
    assert back[-1]["price_per_gib"] is None


@pytest.mark.parametrize(
    ("kind", "word", "key"),
    [
        ("gpu", "memory", "memory_bytes"), ("gpu", "price", "price"), ("gpu", "power", "power_w"),
        ("gpu", "price-per-tb-per-s", "price_per_tb_per_s"), ("gpu", "fp8", "fp8_flops"),
        ("drive", "price-per-tb", "price_per_tb"),
        ("drive", "price-per-gb", "price_per_tb"), ("dimm", "capacity", "capacity_bytes"),
        ("chassis", "ru", "rack_units"),
    ],
)  # fmt: skip
def test_sort_by_other_columns(command: Command, kind: str, word: str, key: str) -> None:
    rows = command("catalog", "list", kind, "--sort", word, "-f", "json").data
    found = [row[key] for row in rows if row[key] is not None]
    assert found == sorted(found)
    assert len(set(found)) > 1


def test_filters(command: Command, catalog: Catalog) -> None:
    amd = [part.id for part in catalog.gpus().values() if part.vendor == "AMD"]
    assert ids(command, "gpu", "--vendor", "amd") == amd != []
    assert ids(command, "gpu", "--vendor", wide("AMD")) == amd
    large = {part.id for part in catalog.gpus().values() if part.memory_bytes >= 141 * 10**9}
    assert set(ids(command, "gpu", "--min-memory", "141GB")) == large
    assert "h200-sxm" not in ids(command, "gpu", "--min-memory", "141 GiB")
    assert set(ids(command, "dimm", "--min-memory", "96GiB")) == {"rdimm-96", "rdimm-128", "rdimm-256"}


WRONG = {
    "column": (("list", "gpu", "--sort", "pwer"), 2, "did you mean 'power'"),
    "column of another kind": (("list", "cpu", "--sort", "per-gib"), 2, "no such column"),
    "vendor": (("list", "gpu", "--vendor", "NVIDA"), 2, "did you mean 'NVIDIA'"),
    "size without unit": (("list", "gpu", "--min-memory", "80"), 2, "has no unit"),
    "size of what has none": (("list", "cpu", "--min-memory", "80 GiB"), 2, "list gpu, dimm or drive"),
    "size that nothing has": (("list", "dimm", "--min-memory", "1 TiB"), 2, "the largest has"),
    "day": (("list", "gpu", "--date", "soon"), 2, "expected a day"),
    "one part": (("compare", "b200"), 2, "two different parts"),
    "a part twice": (("compare", "b200", "b200"), 2, "two different parts"),
    "unknown parts": (("compare", "b20", "h200-sx"), 3, "unknown part 'b20'"),
    "two kinds": (("compare", "b200", "rdimm-64"), 2, "'b200' is a gpu, 'rdimm-64' is a dimm"),
    "nothing found": (("search", "pm9a4"), 3, "did you mean"),
    "known words apart": (("search", "b200", "rdimm"), 3, "not together"),
    "no word": (("search", " "), 2, "give a word"),
}


@pytest.mark.parametrize(("words", "code", "said"), WRONG.values(), ids=WRONG)
def test_wrong_words_are_told(command: Command, words: tuple[str, ...], code: int, said: str) -> None:
    done = command("catalog", *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_compare_marks_what_differs_and_says_what_it_rests_on(command: Command) -> None:
    lines = command("catalog", "compare", "h200-sxm", "h20-141", "h100-sxm").out.splitlines()
    rows = {line.split("  ")[0]: line for line in lines}
    assert rows["memory"].split() == ["memory", "*", *(["140.40", "GiB", "S"]) * 2, "79.65", "GiB", "S"]
    assert rows["power"].split() == ["power", "*", "700", "W", "S", "500", "W", "A", "700", "W", "S"]
    assert rows["architecture"].split() == ["architecture", "sm90", "sm90", "sm90"]
    assert "dense.fp8" in rows
    data = command("catalog", "compare", "h200-sxm", "h20-141", "-f", "json").data
    assert "memory" not in data["differs"]
    assert {"power", "memory_bandwidth", "dense.fp8"} <= set(data["differs"])
    assert data["parts"][1]["values"]["power"]["evidence"].startswith("assumed: ")
    assert data["parts"][0]["values"]["power"]["value"] == 700


def test_compare_lists_what_only_one_of_them_has(command: Command) -> None:
    lines = command("catalog", "compare", "b200", "h200-sxm").out.splitlines()
    fp4 = next(line for line in lines if line.startswith("dense.fp4"))
    assert fp4.split()[1] == "*"
    assert fp4.split()[-1] == "-"


@pytest.mark.parametrize("kind", PART_KINDS)
def test_two_of_every_kind_can_be_compared(command: Command, catalog: Catalog, kind: str) -> None:
    two = list(catalog.parts[kind])[:2]
    done = command("catalog", "compare", *two, "-f", "json")
    assert done.code == 0
    assert [part["id"] for part in done.data["parts"]] == two


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("h200-sxm",), "h200-sxm"), (("H200",), "h200-nvl"), ((wide("H200"),), "h200-nvl"),
        (("h200", "SXM"), "h200-sxm"),
        (("h200sxm",), "h200-sxm"), (("pm9a3", "7.68"), "samsung-pm9a3-7.68tb"),
        ((wide("samsung 7.68"),), "samsung-pm1743-7.68tb"),
        (("dgx", "b300"), "dgx-b300"), (("MCX75310AAS",), "cx7-400"),
        (("drive", "qlc", "61"), "samsung-bm1743-61.44tb"),
        (("rdimm64",), "rdimm-64"), (("supermicro", "mi300x"), "smc-8125gs-mi300x"),
    ],
)  # fmt: skip
def test_search_finds_by_any_name_in_any_width_and_case(command: Command, words: tuple[str, ...], first: str) -> None:
    assert command("catalog", "search", *words, "-f", "json").data[0]["id"] == first


def test_search_puts_the_nearest_first(catalog: Catalog) -> None:
    data = search_report(catalog, ["b300"], "us-2026-11").data
    assert isinstance(data, list)
    found = [row["id"] for row in data]
    assert found[0] == "b300"
    assert {"dgx-b300", "dgx-b300-chassis"} <= set(found)


def test_folding() -> None:
    assert folded(f"  {wide('H200 SXM')} ") == "h200 sxm"
    assert folded("STRASSE") == folded("straße")
