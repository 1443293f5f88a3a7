"""The shipped catalogue: complete, sourced, consistent, and its machines fit together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.assembly import Machine, system_faults, system_power_w
from planner.documents import read_document
from planner.evidence import Evidence
from planner.hardware import Part, System
from planner.loading import PART_KINDS
from planner.models import BYTES_PER_WEIGHT
from planner.reading import take_apart
from planner.schema import schema_text
from planner.views.catalog import parts_cents, show_report
from tests.unit.tiny import shelf

ROOT = Path(__file__).parents[2]
FILES = sorted(path for name in ("catalog", "scenarios") for path in (ROOT / name).rglob("*.yaml"))
NAMES_OF_FILES = [path.relative_to(ROOT).as_posix() for path in FILES]
CATALOG = shelf().catalog
PARTS = [part for by_id in CATALOG.parts.values() for part in by_id.values()]
SYSTEMS = list(CATALOG.systems().values())


# Counts that the first slice promises.


def test_gpus() -> None:
    wanted = {
        "h100-sxm", "h200-sxm", "h20-96", "h20-141", "b200", "b300", "mi300x", "mi355x", "rtx-pro-6000", "l40s",
    }  # fmt: skip
    assert set(CATALOG.gpus()) >= wanted


def test_chassis_and_other_parts() -> None:
    assert len(CATALOG.chassis()) >= 8
    assert len([drive for drive in CATALOG.drives().values() if drive.role == "data"]) >= 30
    assert [drive for drive in CATALOG.drives().values() if drive.role == "boot"]
    assert {dimm.capacity_bytes // 2**30 for dimm in CATALOG.dimms().values()} >= {32, 64, 96, 128}
    assert all(CATALOG.parts[kind] for kind in PART_KINDS)


# GPUs without a chassis, and why. They serve 'planner fit' and comparisons; no plan can hold them.
HOMELESS = {
    "rtx-4090": "has fans of its own", "rtx-5090": "has fans of its own", "rtx-pro-6000-ws": "has fans of its own",
    "rtx-pro-6000-maxq": "has fans of its own", "gb200": "comes in racks of 72", "gb300": "comes in racks of 72",
    "mi250x": "sits in machines of supercomputers", "gaudi2": "its machine was not documented",
    "ascend-910c": "its machine was not documented", "ascend-950pr": "its machine was not documented",
}  # fmt: skip


@pytest.mark.parametrize("gpu", CATALOG.gpus())
def test_every_gpu_has_a_chassis(gpu: str) -> None:
    homes = [chassis.id for chassis in CATALOG.chassis().values() if gpu in chassis.gpu_models]
    assert bool(homes) != (gpu in HOMELESS), HOMELESS.get(gpu)


def test_counts_of_the_first_release() -> None:
    assert len(CATALOG.gpus()) >= 44
    assert len(CATALOG.chassis()) >= 45
    assert {dimm.capacity_bytes // 2**30 for dimm in CATALOG.dimms().values()} >= {32, 48, 64, 96, 128, 256}
    assert {dimm.generation for dimm in CATALOG.dimms().values()} == {"ddr4", "ddr5"}


def test_few_values_of_a_gpu_are_assumed() -> None:
    """Memory, bandwidth and power decide what fits, how fast and at what cost: less than a tenth is assumed."""
    paths = ("memory", "memory_bandwidth", "power")
    found = [gpu.evidence[path].kind for gpu in CATALOG.gpus().values() for path in paths]
    assert found.count("assumed") < len(found) / 10


def test_models() -> None:
    wanted = {
        "glm-5", "glm-5.2", "glm-5.3", "deepseek-v3", "deepseek-r1", "deepseek-v3.2", "kimi-k2", "llama-3.1-8b",
        "llama-3.1-70b", "llama-3.1-405b", "qwen3-32b", "qwen3-235b-a22b", "gpt-oss-120b",
    }  # fmt: skip
    assert set(shelf().models) >= wanted


def test_price_books_are_dated_and_of_one_currency() -> None:
    assert {book.currency for book in CATALOG.books.values()} >= {"USD", "CNY"}
    for book in CATALOG.books.values():
        assert {p.typical.currency for p in book.prices} == {book.currency}
        assert all(p.as_of[:4].isdigit() and p.as_of <= book.as_of for p in book.prices)


# Files.


@pytest.mark.parametrize("path", FILES, ids=NAMES_OF_FILES)
def test_header_names_a_schema_that_exists(path: Path) -> None:
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    start = "# yaml-language-server: $schema="
    assert first.startswith(start)
    schema = (path.parent / first.removeprefix(start)).resolve()
    assert schema.is_file()
    kind = "scenario" if path.parent.name == "scenarios" else "prices" if path.parent.name == "prices" else "catalog"
    assert schema == ROOT / "catalog" / "schema" / f"{kind}.json"


@pytest.mark.parametrize("name", ["scenario", "catalog", "prices"])
def test_schema_file_is_up_to_date(name: str) -> None:
    path = ROOT / "catalog" / "schema" / f"{name}.json"
    assert path.read_text(encoding="utf-8") == schema_text(name), f"planner schema {name} > {path}"


# Evidence.


def entries() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for path, shown in zip(FILES, NAMES_OF_FILES, strict=True):
        document = read_document(path)
        for entry in document.data.get("parts", [document.data]):
            if isinstance(entry, dict) and "kind" in entry and path.parent.name != "scenarios":
                yield f"{shown}:{entry.get('id')}", document, entry


ENTRIES = list(entries())


@pytest.mark.parametrize(("document", "entry"), [e[1:] for e in ENTRIES], ids=[e[0] for e in ENTRIES])
def test_every_value_has_evidence(document: Any, entry: dict[str, Any]) -> None:
    apart = take_apart(document, entry)
    assert apart.problems == []
    bare = [] if entry.get("source") else apart.bare
    if entry["kind"] == "prices":
        bare = []  # each price says so itself: see below
    if entry["kind"] == "cluster":
        assert [line["id"] for line in entry["lines"] if not (line.get("assumed") or line.get("sources"))] == []
        bare = [path for path in bare if path[0] != "lines"]
    assert bare == []


def test_prices_have_one_kind_of_evidence_and_known_sources() -> None:
    for book in CATALOG.books.values():
        for price in book.prices:
            assert not (price.derived and price.assumed), price.part
            assert price.evidence.sources or price.evidence.text, price.part
            assert set(price.sources) <= set(CATALOG.sources.by_id), price.part
            assert 0 < price.low.cents <= price.typical.cents <= price.high.cents, price.part


def test_no_part_is_priced_twice() -> None:
    for book in CATALOG.books.values():
        parts = [price.part for price in book.prices]
        assert len(parts) == len(set(parts))


def test_prices_are_of_parts_that_exist() -> None:
    known = {part.id for part in PARTS}
    for book in CATALOG.books.values():
        assert {price.part for price in book.prices} <= known


def test_assumed_values_say_why() -> None:
    for part in PARTS:
        assert all(e.text for e in evidence_of(part) if e.kind == "assumed"), part.id
        assert all(e.sources for e in evidence_of(part) if e.kind == "sourced"), part.id


def evidence_of(part: Part) -> list[Evidence]:
    return list(part.evidence.values())


def test_sources_are_all_known_also_the_nested_ones() -> None:
    known = set(CATALOG.sources.by_id)
    for model in {m.id: m for m in shelf().models.values()}.values():
        assert {name for one in model.checkpoints for name in one.source} | set(model.source) <= known, model.id
    for engine in shelf().engines.engines.values():
        rules = (*engine.kv_formats, *engine.weight_formats)
        assert {name for rule in rules for name in rule.source} <= known, engine.id
    for line in CATALOG.cluster.lines:
        assert set(line.sources) <= known, line.id


def test_no_source_is_idle() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES if not path.name.startswith("sources"))
    # 'own-log' is for the files that users make with 'planner calibrate'.
    assert [name for name in CATALOG.sources.by_id if name not in text] == ["own-log"]


# References between models, engines and measurements, which the loader does not check yet.


def test_measurements_are_of_known_things() -> None:
    for row in shelf().engines.measured:
        model = shelf().models[row.model]
        engine = shelf().engines.engines[row.engine]
        assert row.gpu in CATALOG.gpus()
        assert model.checkpoint(row.weights)
        architecture = CATALOG.gpus()[row.gpu].architecture
        assert not engine.kv_format_fault(row.kv_format, model.family, architecture)


def test_formats_are_known_words() -> None:
    architectures = {gpu.architecture for gpu in CATALOG.gpus().values()}
    for model in shelf().models.values():
        for one in model.checkpoints:
            names = {
                one.experts,
                one.linear,
                one.other,
                one.draft or "bf16",
                one.head or "bf16",
                one.attention or "bf16",
            }
            assert names <= set(BYTES_PER_WEIGHT), model.id
            assert any(
                not engine.weight_format_fault(one.format, architecture)
                for engine in shelf().engines.engines.values()
                for architecture in architectures
            ), f"{model.id}: no engine runs {one.format}"


# Machines.


def content(system: System) -> tuple[Any, ...]:
    catalog = CATALOG
    return (
        system, catalog.chassis()[system.chassis], catalog.gpus()[system.gpu], catalog.cpus()[system.cpu],
        catalog.dimms()[system.dimms.part], catalog.drives(), catalog.nics(),
    )  # fmt: skip


@pytest.mark.parametrize("system", SYSTEMS, ids=[system.id for system in SYSTEMS])
def test_system_fits_its_chassis(system: System) -> None:
    assert list(system_faults(Machine(*content(system)))) == []
    chassis = CATALOG.chassis()[system.chassis]
    assert system_power_w(Machine(*content(system))) <= chassis.power_limit_w
    cards = sum(inside.count for inside in system.nics)
    assert cards <= chassis.nic_slots


@pytest.mark.parametrize("chassis", CATALOG.chassis().values(), ids=list(CATALOG.chassis()))
def test_chassis_can_be_filled(chassis: Any) -> None:
    assert all(CATALOG.gpus()[gpu].form_factor == chassis.gpu_form_factor for gpu in chassis.gpu_models)
    platforms = {cpu.platform for cpu in CATALOG.cpus().values()}
    assert set(chassis.cpu_platforms) & platforms
    assert chassis.spare_psus < chassis.psus
    fullest = max(CATALOG.gpus()[gpu].power_w for gpu in chassis.gpu_models) * chassis.n_gpus + chassis.base_w
    assert fullest <= chassis.power_limit_w
    bays = [d for d in CATALOG.drives().values() if set(d.form_factors) & set(chassis.drive_form_factors)]
    assert [d for d in bays if d.role == "data"]


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300"])
def test_parts_against_the_price_of_the_whole_system(name: str) -> None:
    book = CATALOG.book("us-2026-11")
    system, price = CATALOG.systems()[name], book.find(name)
    assert price is not None
    report = show_report(CATALOG, name, book.id)
    rows = report.data["systems"]  # type: ignore[call-overload]
    words = "\n".join(line for block in report.blocks for line in getattr(block, "lines", ()))
    assert rows
    for row in rows:
        if row.get("missing"):
            continue
        total, _ = parts_cents(CATALOG, book, system, row["chassis"])
        assert row["parts_total"] == total / 100
        if price.low.cents <= total <= price.high.cents:
            assert row["within"]
        else:
            assert not row["within"]
            assert " below it; a whole system's price holds" in words or " above it; " in words
            # A gap that is explained is still no more than a quarter.
            assert 0.75 * price.low.cents <= total <= 1.25 * price.high.cents
