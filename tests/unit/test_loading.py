"""Catalogue files to records: every kind of fault, with its place, all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.errors import InputError, Problem
from planner.evidence import Evidence
from planner.loading import Shelf, load_shelf
from tests.benchmarks.catalogue import write_catalogue
from tests.unit.tiny import shelf

ROOT = Path(__file__).parents[2]

Layer = Callable[[str], Path]

DRIVE = """\
kind: drive
id: d
name: Drive
vendor: V
role: data
form_factors: [u2-15]
capacity: {value: 1 TB, source: dgx-png}
read: {value: 4 GB/s, derived: "twice a half", source: dgx-png}
write: {value: 2 GB/s, assumed: by hand, low: 1 GB/s, high: 3 GB/s, note: see there}
dwpd: {value: 1, assumed: by hand}
power: {value: 10 W, source: [dgx-png, dgxh100-qa]}
"""
BOOK = """\
kind: prices
id: b
name: B
region: R
currency: USD
as_of: 2026-11-30
tax: excluded
prices:
"""
PRICE = "  - {part: h200-sxm, low: USD 1, typical: USD 2, high: USD 3, as_of: '2026-11', basis: list, assumed: guess}\n"


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    """Write one file of a catalogue layer and return its folder."""

    def write(text: str) -> Path:
        (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def faults(folder: Path) -> list[Problem]:
    with pytest.raises(InputError) as fault:
        load_shelf([folder])
    return list(fault.value.problems)


def fault(folder: Path) -> Problem:
    (one,) = faults(folder)
    return one


def test_evidence_is_taken_apart(layer: Layer) -> None:
    drive = load_shelf([layer(DRIVE)]).catalog.drives()["d"]
    assert (drive.capacity_bytes, drive.read_bytes_per_s, drive.power_w) == (10**12, 4 * 10**9, 10)
    assert drive.evidence["capacity"] == Evidence("sourced", ("dgx-png",))
    assert drive.evidence["read"] == Evidence("derived", ("dgx-png",), "twice a half")
    assert drive.evidence["write"] == Evidence("assumed", (), "by hand", "1 GB/s", "3 GB/s", "see there")
    assert drive.evidence["power"].sources == ("dgx-png", "dgxh100-qa")
    assert str(drive.evidence["write"]) == "assumed: by hand [1 GB/s to 3 GB/s]"


CHANGES = {
    "unknown key": ("vendor: V", "vendr: V", "unknown key 'vendr'", "did you mean 'vendor'"),
    "missing key": ("vendor: V\n", "", "'vendor' is missing", "add 'vendor"),
    "missing unit": ("{value: 1 TB,", "{value: 1,", "has no unit", ""),
    "wrong unit": ("{value: 1 TB,", "{value: 1 W,", "expected bytes", ""),
    "wrong word": ("role: data", "role: dta", "expected data or boot", "did you mean 'data'"),
    "text for a list": ("form_factors: [u2-15]", "form_factors: u2-15", "expected a list", "- item"),
    "number for text": ("name: Drive", "name: 5", "expected text", ""),
    "empty text": ("name: Drive", "name: ''", "expected text", ""),
    "negative number": ("{value: 1, assumed", "{value: -1, assumed", "at least 0", ""),
    "unknown evidence": ("assumed: by hand}", "asumed: by hand}", "unknown key 'asumed'", "assumed"),
    "no evidence": ("{value: 1, assumed: by hand}", "1", "'dwpd' has no source", "assumed"),
    "no kind of evidence": ("{value: 1, assumed: by hand}", "{value: 1, note: see there}", "needs 'source'", ""),
    "unknown source": ("source: dgx-png}\nread", "source: dgx-pgn}\nread", "unknown source 'dgx-pgn'", "dgx-png"),
    "evidence that is a list": ("assumed: by hand}", "assumed: [by, hand]}", "must be plain text", ""),
    "unknown kind": ("kind: drive", "kind: drve", "expected one of", "did you mean 'drive'"),
    "no kind": ("kind: drive\n", "", "'kind' is None", ""),
}


@pytest.mark.parametrize(("old", "new", "message", "hint"), CHANGES.values(), ids=CHANGES)
def test_fault_is_told_with_advice(layer: Layer, old: str, new: str, message: str, hint: str) -> None:
    assert old in DRIVE
    text = DRIVE.replace(old, new, 1)
    found = [p for p in faults(layer(text)) if message in p.message]
    assert len(found) == 1
    assert hint in found[0].hint
    assert found[0].file.endswith("x.yaml")
    changed = next(i for i, (a, b) in enumerate(zip(DRIVE.splitlines(), text.splitlines(), strict=False), 1) if a != b)
    assert found[0].line in (changed, 1)


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DRIVE.replace("vendor: V", "vendr: no").replace("1 TB", "1"), encoding="utf-8")
    (tmp_path / "b.yaml").write_text("a: 1\na: 2\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("", encoding="utf-8")
    found = faults(tmp_path)
    assert {Path(p.file).name for p in found} == {"a.yaml", "b.yaml", "c.yaml"}
    assert len([p for p in found if p.file.endswith("a.yaml")]) >= 3
    assert found == sorted(found)


def test_layer_replaces_a_shipped_entry_and_changes_the_digest(layer: Layer) -> None:
    made = load_shelf(
        [layer(DRIVE.replace("id: d\n", "id: samsung-pm9a3-3.84tb\n").replace("[u2-15]", "[u2, u3, u2-15]"))]
    )
    assert made.catalog.drives()["samsung-pm9a3-3.84tb"].capacity_bytes == 10**12
    assert shelf().catalog.drives()["samsung-pm9a3-3.84tb"].capacity_bytes != 10**12
    assert made.catalog.digest != shelf().catalog.digest


def test_entry_that_stands_twice_in_a_layer(layer: Layer) -> None:
    entry = "\n".join(f"    {line}" for line in DRIVE.splitlines()).replace("    kind", "  - kind", 1)
    one = fault(layer(f"parts:\n{entry}\n{entry}\n"))
    assert "drive 'd' stands twice" in one.message
    assert ":3" in one.hint


REFERENCES = {
    "price of nothing": (BOOK + PRICE.replace("h200-sxm", "h200-smx"), "unknown part 'h200-smx'"),
    "gpu of a system": ("dgx-h200.yaml", "gpu: h200-sxm", "gpu: h200-smx", "unknown gpu 'h200-smx'"),
    "cpu of a system": ("dgx-h200.yaml", "cpu: xeon-8480-plus", "cpu: xeon-8481", "unknown cpu"),
    "chassis of a system": ("dgx-h200.yaml", "chassis: dgx-h100", "chassis: dgx-h10", "unknown chassis"),
    "dimm of a system": ("dgx-h200.yaml", "part: rdimm-64", "part: rdimm-63", "unknown dimm"),
    "nic of a system": ("dgx-h200.yaml", "part: cx7-400", "part: cx7-401", "unknown nic"),
    "boot drive of a system": ("dgx-h200.yaml", "part: micron-7450", "part: micron-7451", "unknown drive"),
}


@pytest.mark.parametrize("case", REFERENCES.values(), ids=REFERENCES)
def test_reference_to_nothing_names_the_nearest(layer: Layer, case: tuple[str, ...]) -> None:
    text, message = case[0], case[-1]
    if len(case) == 4:
        shipped = (ROOT / "catalog/systems") / case[0]
        text = shipped.read_text(encoding="utf-8").replace(case[1], case[2], 1)
    one = fault(layer(text))
    assert message in one.message
    assert "did you mean" in one.hint


MISFITS = {
    "gpu": ("gpu: h200-sxm", "gpu: mi300x", "not among the GPUs"),
    "platform": ("cpu: xeon-8480-plus", "cpu: epyc-9554", "takes"),
    "slots": ("count: {value: 32", "count: {value: 33", "33 DIMMs do not fit 32 slots"),
    "bays": (
        "part: samsung-pm9a3-3.84tb, count: {value: 8",
        "part: samsung-pm9a3-3.84tb, count: {value: 9",
        "9 drives",
    ),
    "cards": ("part: cx7-2x200, count: {value: 2", "part: cx7-2x200, count: {value: 3", "11 network cards"),
    "boot": (
        "part: micron-7450-pro-1.92tb, count: {value: 2",
        "part: micron-7450-pro-1.92tb, count: {value: 4",
        "boot",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), MISFITS.values(), ids=MISFITS)
def test_system_that_does_not_fit_its_chassis(layer: Layer, old: str, new: str, message: str) -> None:
    text = (ROOT / "catalog/systems/dgx-h200.yaml").read_text(encoding="utf-8")
    assert old in text
    assert message in fault(layer(text.replace(old, new, 1))).message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("low: USD 1,", "low: USD 5,"), "low <= typical <= high"),
        (("low: USD 1,", "low: USD 0,"), "must be above 0"),
        (("high: USD 3", "high: EUR 3"), "is in EUR, the book in USD"),
        ((", assumed: guess", ""), "has no evidence"),
        (("assumed: guess", "sources: [nope]"), "unknown source 'nope'"),
        (("basis: list", "basis: lst"), "expected contract"),
        (("as_of: '2026-11'", "as_of: '30.11.2026'"), "expected a date"),
        (("USD 2,", "2,"), "has no currency"),
    ],
)
def test_price_that_cannot_be_right(layer: Layer, change: tuple[str, str], message: str) -> None:
    assert change[0] in PRICE
    assert message in "\n".join(p.message for p in faults(layer(BOOK + PRICE.replace(*change))))


def test_part_that_is_priced_twice(layer: Layer) -> None:
    assert "twice" in fault(layer(BOOK + PRICE + PRICE)).message


SILENT = {
    "parts that are no list": "parts: 3\n",
    "key beside parts": "parts: []\nprats: []\n",
    "sources that are no mapping": "sources: 3\n",
    "key beside sources": "sources: {}\nsurces: {}\n",
    "measured of nothing": (
        "kind: measured\nid: m\nmodel: nope\nengine: nope\nweights: nope\nkv_format: nope\ngpu: nope\nlayout: nope\n"
        "weights_memory: 1 GiB\nkv_memory: 1 GiB\nsource: dgx-png\n"
    ),
    "source of a checkpoint": ("glm-5.yaml", "source: [glm-5-config, glm-5.2-index]", "source: [nope]"),
    "element format": ("glm-5.yaml", "experts: nvfp4", "experts: nvfp5"),
    "draft format": ("glm-5.yaml", "draft: bf16", "draft: bf17"),
}


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_nothing_is_silently_ignored(layer: Layer, case: str | tuple[str, str, str]) -> None:
    text = case if isinstance(case, str) else ""
    if isinstance(case, tuple):
        text = (ROOT / "catalog/models" / case[0]).read_text(encoding="utf-8")
        assert case[1] in text
        text = text.replace(case[1], case[2], 1)
    assert faults(layer(text)) != []


def test_price_file_over_the_shipped_books(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text((BOOK + PRICE).replace("as_of: 2026-11-30", "as_of: '2026-11-30'"), encoding="utf-8")
    books = load_shelf((), [file]).catalog.books
    assert set(books) == {*shelf().catalog.books, "b"}
    price = books["b"].find("h200-sxm")
    assert price is not None
    assert (price.low.cents, price.typical.cents, price.high.cents) == (100, 200, 300)
    assert books["b"].cents("h200-sxm", "high") == 300
    assert books["b"].cents("b200") is None


def test_missing_folder_and_missing_file(tmp_path: Path) -> None:
    for call in (lambda: load_shelf([tmp_path / "none"]), lambda: load_shelf((), [tmp_path / "none.yaml"])):
        with pytest.raises(InputError, match="none"):
            call()


def test_shelf_finds_models_by_alias_and_suggests() -> None:
    made: Shelf = shelf()
    assert made.model("deepseek-r1") is made.model("deepseek-v3")
    with pytest.raises(InputError, match=r"did you mean 'glm-5"):
        made.model("glm-5x")


def test_a_large_catalogue_loads_whole(tmp_path: Path) -> None:
    write_catalogue(tmp_path, 500, seed=1)
    assert len(load_shelf([tmp_path]).catalog.book("drawn").prices) == 500


def test_faults_of_a_large_catalogue_keep_their_places(tmp_path: Path) -> None:
    write_catalogue(tmp_path, 300, seed=2)
    file = tmp_path / "parts-002.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    at = max(i for i, line in enumerate(lines) if line.startswith("  vendor: "))
    lines[at] = "  vendr: V"
    file.write_text("\n".join(lines), encoding="utf-8")
    places = {(Path(one.file).name, one.line, one.column) for one in faults(tmp_path)}
    assert ("parts-002.yaml", at + 1, 3) in places
