"""Lint rules: each can fail, with the place of the value, and each passes what is right."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.lint import RULES, SEVERITIES, Finding, Stock, findings
from planner.lint.base import days_since
from planner.lint.families import deviation
from planner.lint.memory_bandwidth import BY_ARCHITECTURE
from planner.lint.pcie_lanes import lanes_of, used_bytes_per_s
from planner.lint.power_supplies import least_w, most_w
from planner.lint.shares import gpu_share, shares
from planner.lint.sparse_flops import DENSE_BF16_T
from planner.loading import load_entries
from tests.unit.tiny import shelf

ROOT = Path(__file__).parents[2]
DAY = date(2026, 12, 1)

GPU = """\
kind: gpu
id: g
name: G 80 GB
vendor: V
architecture: sm90
form_factor: sxm5
memory: {value: 81559 MiB, source: aic}
visible: {value: 79.18 GiB, source: aic}
memory_bandwidth: {value: 3.35 TB/s, source: aic}
dense:
  bf16: {value: 989 TFLOP/s, source: aic}
  fp8: {value: 1979 TFLOP/s, source: aic}
power: {value: 700 W, source: aic}
host_link: {value: 63 GB/s, source: aic}
fabric: {value: 450 GB/s, source: aic}
"""
FP4 = "fp8: {value: 1979 TFLOP/s, source: aic}\n  fp4: {value: 7916 TFLOP/s, source: aic}"
CONSUMER = GPU.replace("fp8: {value: 1979 TFLOP/s, source: aic}", FP4).replace("sm90", "sm120").replace("3.35", "1.79")
CONSUMER = CONSUMER.replace("989", "209").replace("1979", "419").replace("7916", "1676")
DIMM = "kind: dimm\nid: m\nname: M\ncapacity: {value: 64 GiB, source: aic}\nspeed: {value: 6400, source: aic}\n"
DIMM += "power: {value: 7 W, source: aic}\n"
DRIVE = """\
kind: drive
id: d
name: D
vendor: V
role: data
form_factors: [u2]
capacity: {value: 3.84 TB, source: aic}
read: {value: 7 GB/s, source: aic}
write: {value: 4 GB/s, source: aic}
dwpd: {value: 1, source: aic}
power: {value: 15 W, source: aic}
"""
NIC = "kind: nic\nid: nic1\nname: Nic\nvendor: V\nports: {value: 1, source: aic}\n"
NIC += "port: {value: 400 Gbit/s, source: aic}\ncable: fibre-mpo\npower: {value: 15 W, source: aic}\n"
CPU = "kind: cpu\nid: c\nname: C\nvendor: V\nplatform: epyc-turin\nmemory_channels: {value: 12, source: aic}\n"
CPU += "speed_1dpc: {value: 6400, source: aic}\nspeed_2dpc: {value: 4400, source: aic}\n"
CPU += "power: {value: 400 W, source: aic}\n"
RATE = "kind: exchange\nid: r\nbase: USD\nquote: CNY\nrate: {value: 7.1, source: aic}\n"
RATE += "note: of a bank\nas_of: '2026-09-01'\n"
BOOK = """\
kind: prices
id: b
name: B
region: US
currency: USD
as_of: "2026-12-01"
tax: excluded
prices:
"""


def price(part: str, typical: int, day: str = "2026-12-01", more: str = "") -> str:
    """One line of a price book."""
    low, high = f"USD {typical}", f"USD {typical}"
    return (
        f"  - {{part: {part}, low: {low}, typical: USD {typical}, high: {high}, as_of: '{day}', basis: list, "
        f"sources: [aic]{more}}}\n"
    )


def shipped(name: str) -> str:
    return (ROOT / "catalog" / name).read_text(encoding="utf-8")


def changed(name: str, old: str, new: str) -> str:
    text = shipped(name)
    assert old in text
    return text.replace(old, new, 1)


DRIVES = {
    "samsung-pm9a3-3.84tb": 3840, "samsung-pm9a3-7.68tb": 7680, "micron-9550-pro-3.84tb": 3840,
    "micron-9550-pro-15.36tb": 15360, "kioxia-cm7-r-7.68tb": 7680,
}  # fmt: skip
SAME = {part: round(gb / 5) for part, gb in DRIVES.items()}
MEMBERS = "".join(price(part, usd) for part, usd in SAME.items())
OUT, PM9A3 = "kioxia-cm7-r-15.36tb", "samsung-pm9a3-3.84tb"
USES = DIMM.replace("aic", "s")
SOURCES = "sources:\n  s: {title: S, where: 'https://example.org', date: '2026-11', grade: A}\n"
BARE = SOURCES.replace("https://example.org", "").replace("2026-11", "")
UNDATED = SOURCES.replace("2026-11", "")
GRADE_D = SOURCES.replace("grade: A", "grade: D")
XD670, HGX, CPU0 = "chassis/hpe-xd670.yaml", "topologies/oem-hgx-4switch.yaml", "at: cpu0\n    link: {value: Gen5 "
WEAK = changed(XD670, "[h100-sxm, h200-sxm]", "[h200-sxm]")
RACK = shipped("cluster.yaml").split("id: standard\n")[1].split("  low: 32")[0].split("\n", 1)[1]
Files = dict[str, str]
"""Name to text; a lone text is ``x.yaml``."""

# Rule to what it objects to, a word of the message, the line of the value, and the same put right.
CASES: dict[str, list[tuple[str | Files, str, int, str | Files]]] = {
    "missing-source": [
        (changed("cluster.yaml", "  low: 32\n  high: 42\n  source: [ra-bom]", "").replace(RACK, "rack_units: 36\n", 1),
         "'rack_units' has no source", 7, shipped("cluster.yaml")),
        (changed("cluster.yaml", '    assumed: "one copper splitter per two 200G ports; leaves within 3 m"\n', ""),
         "the line 'front-cables' has no evidence", 42, shipped("cluster.yaml")),
    ],
    "memory-bandwidth": [
        (GPU.replace("3.35 TB/s", "33.5 TB/s"), "33,500 GB/s from 79.6 GiB", 9, GPU),
        (GPU.replace("3.35 TB/s", "3.35 TB/s").replace("81559 MiB", "8155 MiB"), "expected what", 9, GPU),
        (GPU.replace("sm90", "sm80"), "HBM2, HBM2e", 9, GPU.replace("3.35 TB/s", "2.039 TB/s").replace("sm90", "sm80")),
        (GPU.replace("3.35 TB/s", "335 TB/s").replace("sm90", "new"), "LPDDR", 9, GPU.replace("sm90", "new")),
    ],
    "memory-units": [
        (GPU.replace("81559 MiB", "80 GB"), "whole MiB", 7, GPU.replace("81559 MiB", "80 GiB")),
        (GPU.replace("81559 MiB", "80 GB"), "whole MiB", 7,
         GPU.replace("{value: 81559 MiB", "{value: 80 GB, derived: a decimal label").replace("79.18", "74")),
        (GPU.replace("81559 MiB", "76293 MiB").replace("G 80 GB", "G 96 GB"), "does not go with", 7, GPU),
        (GPU.replace("79.18 GiB", "80.18 GiB"), "engines see", 8, GPU.replace("79.18 GiB", "78 GiB")),
        (DIMM.replace("64 GiB", "64 GB"), "59.6 GiB", 4, DIMM),
        (DRIVE.replace("3.84 TB", "3840 GiB"), "decimal GB", 7, DRIVE),
    ],
    "sparse-flops": [
        (GPU.replace("1979", "3958"), "fp8 is 4 x bf16", 12, GPU),
        (GPU.replace("989", "1979").replace("fp8: {value: 1979", "fp8: {value: 3958"), "sm90 has 990", 11, GPU),
        (GPU.replace("fp8: {value: 1979 TFLOP/s, source: aic}", FP4), "fp4 is 4 x fp8", 13, CONSUMER),
        (CONSUMER.replace("209", "504").replace("419", "1007").replace("1676", "4030"),
         "sm120 has 2,016 dense", 13, CONSUMER),
        (GPU.replace("sm90", "new").replace("3.35", "1.5"), "659 FLOP", 11, GPU.replace("sm90", "new")),
    ],
    "weak-source": [
        ({"s.yaml": BARE, "x.yaml": USES}, "neither address nor date; 3 values", 2,
         {"s.yaml": SOURCES, "x.yaml": USES}),
        ({"s.yaml": GRADE_D, "x.yaml": USES}, "grade D", 2,
         {"s.yaml": GRADE_D, "x.yaml": DIMM.replace("aic", "[s, aic]")}),
    ],
    "undated-source": [({"s.yaml": UNDATED, "x.yaml": USES}, "no date", 2, {"s.yaml": SOURCES, "x.yaml": USES})],
    "unused-source": [({"s.yaml": SOURCES, "x.yaml": DIMM}, "'s'", 2, {"s.yaml": SOURCES, "x.yaml": USES})],
    "price-outlier": [
        (BOOK + MEMBERS + price(OUT, 30_720), "costs USD 2 per GB; the median of 6 data drives", 14,
         BOOK + MEMBERS + price(OUT, 4_000)),
        (BOOK + MEMBERS + price(OUT, 307), "usual are", 14, BOOK + MEMBERS + price(OUT, 2_300)),
    ],
    "small-family": [(BOOK + price("rdimm-64", 900), "1 price of DIMMs", 9, BOOK + MEMBERS)],
    "stale-price": [
        (BOOK + price(part, 900, old), message, 9, BOOK + price(part, 900, young))
        for part, old, message, young in (
            ("rdimm-64", "2026-10-01", "61 days old; 60", "2026-10-02"),
            (PM9A3, "2026-09", "up to 91 days", "2026-11"),
            ("h200-sxm", "2026-06-03", "181 days old; 180", "2026-06-04"),
            ("dgx-h200", "2026", "up to 334 days", "2026-07"),
            ("sn4700", "2025-11-30", "366 days old; 365", "2025-12-01"),
        )
    ],
    "stale-rate": [
        (RATE, "up to 91 days old", 7, RATE.replace("2026-09-01", "2026-09-02")),
    ],
    "future-price": [(BOOK + price("rdimm-64", 9, "2062-11-01"), "after 2026-12-01", 9, BOOK + price("rdimm-64", 9))],
    "expired-quote": [
        (BOOK + price("rdimm-64", 9, more=f", valid_until: '{last}'"), f"ended {days} days ago", 9,
         BOOK + price("rdimm-64", 9, more=f", valid_until: '{good}'"))
        for last, days, good in (
            ("2026-11-29", 2, "2026-12-01"), ("2026-10", 31, "2026-12"), ("2025", 335, "2026"),
            ("2025-12", 335, "2026-12"),
        )
    ],
    "unused-part": [
        (GPU, "no chassis takes this GPU", 2, {"x.yaml": GPU.replace("id: g\n", "id: h100-sxm\n")}),
        (CPU.replace("epyc-turin", "p"), "no chassis takes the platform p", 2, CPU),
        (DIMM.replace("64 GiB", "512 GiB"), "this large", 2, DIMM),
        (DRIVE.replace("[u2]", "[e9]"), "no chassis has a bay for e9", 2, DRIVE),
        (DRIVE.replace("role: data", "role: boot"), "asks for it", 2, DRIVE),
        (NIC, "asks for it", 2, NIC.replace("id: nic1\n", "id: cx7-400\n")),
        (changed(XD670, "max_dimm:\n  value: 128 GiB", "max_dimm:\n  value: 1 GiB").replace("id: hpe-xd670", "id: t"),
         "no DIMM is small enough", 4, shipped(XD670)),
        (changed(XD670, "drive_form_factors: [u2]", "drive_form_factors: [e9]"), "no data drive fits", 4,
         shipped(XD670)),
        (changed(XD670, "gpu_models: [h100-sxm, h200-sxm]", "gpu_models: []"), "takes no GPU", 4, shipped(XD670)),
        (shipped(XD670).replace("id: hpe-xd670", "id: t") + "whole_system: true\n", "no system has it", 4,
         shipped(XD670)),
        (changed(HGX, "id: oem-hgx-4switch", "id: t"), "no chassis is wired so", 5,
         shipped(HGX)),
    ],
    "unpriced-part": [(DIMM, "no book has a price for 'm'", 2, {"x.yaml": DIMM, "b.yaml": BOOK + price("m", 9)})],
    "assumed-contents": [
        (changed("systems/dgx-h200.yaml", "{value: 32, source: mlp41-dgx-h200}", "{value: 32, assumed: a}"),
         "dimms assumed", 5, shipped("systems/dgx-h200.yaml")),
    ],
    "power-supplies": [
        (WEAK.replace("psu: {value: 3000 W", "psu: {value: 2400 W"), "4 of 6 supplies of 2.4 kW give 9.6 kW", 10, WEAK),
        (WEAK.replace("spare_psus: {value: 2", "spare_psus: {value: 3"), "3 of 6", 10, WEAK),
    ],
    "full-power": [
        (changed(XD670, "psu: {value: 3000 W", "psu: {value: 2500 W"), "all slots and bays full", 28, shipped(XD670)),
    ],
    "pcie-lanes": [
        ({"c.yaml": shipped(XD670), "x.yaml": changed(HGX, f"{CPU0}x16", f"{CPU0}x48")},
         "96 lanes of Gen5 hang on cpu0", 38,
         {"x.yaml": shipped(HGX)}),
    ],
}  # fmt: skip


@pytest.fixture
def lint(tmp_path: Path) -> Callable[[str | Files], list[Finding]]:
    """Lint the shipped catalogue with files over it; only what is found in these."""

    def run(files: str | Files, day: date = DAY) -> list[Finding]:
        for name, text in ({"x.yaml": files} if isinstance(files, str) else files).items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return [one for one in findings(Stock(load_entries([tmp_path]), day)) if str(tmp_path) in one.place.file]

    return run


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES)


FLAT = [pytest.param(rule, *case, id=f"{rule}-{i}") for rule, cases in CASES.items() for i, case in enumerate(cases)]


@pytest.mark.parametrize(("rule", "wrong", "word", "line", "right"), FLAT)
def test_rule_finds_what_is_wrong_at_its_place_and_passes_what_is_right(
    lint: Callable[[str | Files], list[Finding]],
    rule: str,
    wrong: str | Files,
    word: str,
    line: int,
    right: str | Files,
) -> None:
    found = [one for one in lint(wrong) if one.rule == rule]
    assert [(one.place.line, one.severity) for one in found if word in one.message] == [(line, RULES[rule].severity)]
    assert [one for one in lint(right) if one.rule == rule and word in one.message] == []


def test_errors_come_first_then_places(lint: Callable[[str | Files], list[Finding]]) -> None:
    found = lint({"b.yaml": GPU.replace("3.35 TB/s", "33.5 TB/s"), "a.yaml": DIMM.replace("64 GiB", "64 GB")})
    assert [one.rule for one in found][:2] == ["memory-units", "memory-bandwidth"]
    assert [SEVERITIES.index(one.severity) for one in found] == sorted(SEVERITIES.index(one.severity) for one in found)
    assert found[0].subject == "dimm m"


def test_shipped_catalogue_has_no_errors() -> None:
    assert [one for one in findings(Stock(load_entries(), DAY)) if one.severity == "error"] == []


def test_price_of_a_merged_book_is_found_in_the_layer_that_it_stands_in(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text(BOOK + price("rdimm-32", 9) + price("rdimm-64", 9, "2020"), encoding="utf-8")
    second.write_text(BOOK + price("rdimm-96", 9, "2020") + price("rdimm-32", 9), encoding="utf-8")
    found = findings(Stock(load_entries([first, second]), DAY))
    places = [one.place[:2] for one in found if one.rule == "stale-price" and one.subject == "prices b"]
    assert places == [(str(first), 10), (str(second), 9)]


@pytest.mark.parametrize(("day", "days"), [("2026-11-30", 1), ("2026-11", 30), ("2026", 334), ("2026-12-02", -1)])
def test_age_counts_from_the_first_day_that_a_date_may_mean(day: str, days: int) -> None:
    assert days_since(day, DAY) == days


@pytest.mark.parametrize("day", ["2026-13", "2026-02-30", "2026-00-10", "0000"])
def test_day_that_is_in_no_calendar_is_refused_on_loading(tmp_path: Path, day: str) -> None:
    (tmp_path / "x.yaml").write_text(BOOK + price("rdimm-64", 9, day), encoding="utf-8")
    with pytest.raises(InputError, match=f"'{day}' is no day of the calendar"):
        load_entries([tmp_path])


def test_deviation_is_that_of_the_median() -> None:
    assert deviation([1.0, 2.0, 3.0, 100.0]) == (2.5, 1.0)


@pytest.mark.parametrize(
    ("name", "architecture", "gib", "gb_per_s"),
    [
        ("A100 40", "sm80", 39.6, 1555), ("A100 80", "sm80", 79.2, 2039), ("A30", "sm80", 24, 933),
        ("A10", "sm86", 22.5, 600),
        ("L4", "sm89", 22.5, 300), ("L40S", "sm89", 45, 864), ("H100 PCIe", "sm90", 79.6, 2000),
        ("H100 NVL", "sm90", 93.6, 3900),
        ("GH200", "sm90", 95.6, 4000), ("H200", "sm90", 140.4, 4800), ("H20", "sm90", 95.6, 4000),
        ("B200", "sm100", 179.1, 8000),
        ("B300", "sm103", 268.6, 8000), ("RTX 5090", "sm120", 31.8, 1792), ("MI210", "gfx90a", 64, 1638),
        ("MI250X", "gfx90a", 128, 3277), ("MI300X", "gfx942", 192, 5300), ("MI325X", "gfx942", 256, 6000),
        ("MI355X", "gfx950", 288, 8000), ("Gaudi 2", "gaudi2", 96, 2450), ("Gaudi 3", "gaudi3", 128, 3700),
        ("Ascend 910B", "ascend", 64, 1600), ("Ascend 910C", "ascend", 128, 3200), ("300I Duo", "ascend", 96, 408),
        ("GB10", "sm121", 119, 273), ("Rubin", "rubin", 288, 22000), ("V100", "sm70", 32, 900), ("T4", "sm75", 15, 320),
    ],
)  # fmt: skip
def test_bandwidth_of_real_cards_passes(name: str, architecture: str, gib: float, gb_per_s: float) -> None:
    from planner.lint.memory_bandwidth import _EVERY

    kinds = BY_ARCHITECTURE.get(architecture, _EVERY)
    assert any(kind.fits(gib, gb_per_s) for kind in kinds), name
    # Bits taken for bytes, and a slipped digit, are seen where the memory is known.
    if architecture in BY_ARCHITECTURE:
        assert not any(kind.fits(gib, gb_per_s * 10) or kind.fits(gib, gb_per_s / 8) for kind in kinds)


def test_architectures_with_known_peaks_have_known_memory() -> None:
    assert set(DENSE_BF16_T) <= set(BY_ARCHITECTURE)


def test_power_of_the_least_and_of_the_fullest_machine_by_hand() -> None:
    catalog = shelf().catalog
    chassis, gpu = catalog.chassis()["hpe-xd670"], catalog.gpus()["h200-sxm"]
    fixed = 3200 + 8 * 700 + 2 * 15 + 2 * 8  # base, GPUs, front cards, boot drives
    assert least_w(catalog, chassis, gpu) == fixed + 2 * (350 + 8 * 7)
    assert most_w(catalog, chassis, gpu) == fixed + 2 * 350 + 32 * 7 + 8 * 15 + 16 * 25


def test_lanes_by_hand() -> None:
    assert (lanes_of("xeon-spr", 2), lanes_of("epyc-turin", 2), lanes_of("epyc-turin", 1)) == (80, 80, 128)
    assert lanes_of("kunpeng", 2) is None
    catalog = shelf().catalog
    chassis = catalog.chassis()["asus-esc8000a-e12"]
    lane = 3_937_500_000
    # Four x16 GPUs, half of the x4 bays and half of the x16 slots on each processor.
    each = 4 * 16 + -(-chassis.drive_bays // 2) * 4 + -(-chassis.nic_slots // 2) * 16
    assert used_bytes_per_s(chassis, catalog.topologies["pcie-8gpu-switchless"])["cpu0"] == each * lane


def test_shares_by_hand(tmp_path: Path) -> None:
    text = GPU.replace("{value: 3.35 TB/s, source: aic}", "{value: 3.35 TB/s, assumed: a}")
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    before, after = (Stock(load_entries(layers), DAY) for layers in ((), (tmp_path,)))
    old, new = gpu_share(before), gpu_share(after)
    assert (new.sourced, new.derived, new.assumed) == (old.sourced + 2, old.derived, old.assumed + 1)
    rows = {row.kind: row for row in shares(after)}
    assert rows["gpu"].total == {row.kind: row for row in shares(before)}["gpu"].total + 8
    assert rows["all"].total == sum(row.total for kind, row in rows.items() if kind != "all")
    assert old.percent("assumed") < 10


def test_plain_numbers_count_as_sourced_by_the_entry(tmp_path: Path) -> None:
    plain = "kind: dimm\nid: m\nname: M\nsource: aic\ncapacity: 64 GiB\nspeed: 6400\npower: 7 W\n"
    (tmp_path / "x.yaml").write_text(plain, encoding="utf-8")
    stocks = (Stock(load_entries(layers), DAY) for layers in ((), (tmp_path,)))
    before, after = (next(row for row in shares(stock) if row.kind == "dimm") for stock in stocks)
    assert after.sourced == before.sourced + 3
