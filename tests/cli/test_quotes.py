"""`catalog import` and `catalog export`: three quotes whose effect on a plan is added up by hand."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.cli.conftest import Command
from tests.unit import quoted

QUOTED_DRIVE = ("--set", "limits.stock={micron-7450-pro-7.68tb: 0, solidigm-p5520-7.68tb: 0}")
"""Plans take the drive that was quoted, not one that was not."""


def settled(maps: tuple[str, ...]) -> list[str]:
    return [word for text in maps for word in ("--map", text)]


def totals(data: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Pieces and cents of a part or service, over all lines of the bill."""
    found: dict[str, tuple[int, int]] = {}
    for line in data["bom"]:
        pieces, cents = found.get(line["part"], (0, 0))
        more = round(line["extended_price"] * 100) + round(line["tax"] * 100)
        found[line["part"]] = (pieces + line["qty"], cents + more)
    return found


def test_the_english_quote_changes_the_plan_as_added_up_by_hand(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "ours.yaml"
    done = command(
        "catalog", "import", str(quoted.english(tmp_path)), "--book", "us-2026-11", "-o", str(out),
        "--seller", "Example Systems", *settled(quoted.ENGLISH_MAPS),
    )  # fmt: skip
    assert (done.code, done.out) == (0, "") and "7 price(s)." in done.err
    data = command("bom", "report-real", *QUOTED_DRIVE, "--prices", str(out), "-f", "json").data
    found = totals(data)
    # Pieces of the plan times prices of the quote, in cents.
    by_hand = {
        "smc-8125gs-tnmr2": (4, 4 * 26_505_00),
        "mi300x": (32, 32 * 11_900_00),
        "epyc-9554": (8, 8 * 6_150_50),
        "rdimm-128": (48, 48 * 5_500_00),
        "rdimm-96": (48, 48 * 3_400_25),
        "samsung-pm9a3-3.84tb": (8, 8 * 1_999_99),
        "cx7-2x200": (8, 8 * 1_875_00),
        # Not in the quote: as the shipped book has it.
        "micron-7450-pro-1.92tb": (8, 8 * 1_469_00),
    }
    assert {part: found[part] for part in by_hand} == by_hand
    # One node with 128 GB modules: 26,505 + 8 x 11,900 + 2 x 6,150.50 + 24 x 5,500 + 2 x 1,469 + 2 x 1,999.99
    # + 2 x 1,875 = 276,693.98; with 96 GB modules 24 x 2,099.75 less: 226,299.98. There are two of each.
    node, other = 276_693_98, 226_299_98
    assert sum(cents for _, cents in by_hand.values()) == 2 * (node + other)
    # Freight is 1 % of each piece, rounded up to a cent: 265.05 + 8 x 119 + 2 x 61.51 + 24 x 55 + 2 x 14.69 + 2 x 20
    # + 2 x 18.75 = 2,766.95; with 96 GB modules 24 x 34.01 for 24 x 55: 2,263.19.
    freight = 2 * (2_766_95 + 2_263_19)
    # Support is 3 % of each piece a year, for four: 795.15 + 8 x 357 + 2 x 184.52 + 24 x 165 + 2 x 44.07 + 2 x 60
    # + 2 x 56.25 = 8,300.83; with 96 GB modules 24 x 102.01 for 24 x 165: 6,789.07.
    support = 2 * 4 * (8_300_83 + 6_789_07)
    assert (found["freight"][1], found["support"][1]) == (freight, support)
    # Around the nodes all is as before: 2 x 30,728 + 14 x 220 + 3,500 + 20 x 6 + 2 x 2,500 + 4 x 3,500 + 2 x 46,787
    # + 13,517 + 4 x 2,500 = 204,247.
    around = 204_247_00
    rest = sum(cents for part, (_, cents) in found.items() if part not in {*by_hand, "freight", "support"})
    assert rest == around
    assert round(data["capex_total"] * 100) == 2 * (node + other) + freight + support + around
    (source,) = [s for s in data["sources"] if s["id"].startswith("quote-")]
    assert source["where"] == "ES-204417-B.xlsx, sheet Quote" and source["date"] == "2026-11-20"
    gpu = next(line for line in data["bom"] if line["part"] == "mi300x")
    assert (gpu["quote"], gpu["seller"], gpu["valid_until"]) == ("ES-204417-B", "Example Systems", "2026-12-31")
    assert (gpu["lead_time_days"], gpu["warranty_months"], gpu["order_numbers"]) == (70, 36, "100-300000045H")


def test_the_chinese_quote_changes_the_plan_as_added_up_by_hand(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "ours.yaml"
    done = command(
        "catalog", "import", str(quoted.chinese(tmp_path)), "--book", "cn-2026-11", "-o", str(out),
        *settled(quoted.CHINESE_MAPS),
    )  # fmt: skip
    assert done.code == 0, done.err
    before = command("bom", "h20-or-h200", "-f", "json").data
    data = command("bom", "h20-or-h200", "--prices", str(out), "-f", "json").data
    found = totals(data)
    by_hand = {
        "cn-h200-8": (1, 1_425_000_00),  # 142.5万
        "sn4700": (2, 2 * 243_000_00),  # 24.3万 in full-width digits
        "sn2201": (1, 23_360_00),  # 2.336万
        "installation": (1, 19_800_00),  # 19,800元 in a column of 万元
        "freight": (1, 14_250_00),  # 1 % of the machine
        "support": (1, 171_000_00),  # 3 % a year for four years
    }
    assert {part: found[part] for part in by_hand} == by_hand
    # 75,000 less for the machine, 2 x 7,000 and 5,116 for switches, 540 for the installation, 750 and 9,000 for
    # freight and support: the tax is in all prices, so nothing is added.
    less = 75_000_00 + 2 * 7_000_00 + 5_116_00 + 540_00 + 750_00 + 9_000_00
    assert round(before["capex_total"] * 100) - round(data["capex_total"] * 100) == less
    machine = next(line for line in data["bom"] if line["part"] == "cn-h200-8")
    assert (machine["quote"], machine["valid_until"]) == ("ZB-2026-0917", "2027-01-02")  # 45 days after 18 November
    assert (machine["lead_time_days"], machine["warranty_months"]) == (42, 36)
    assert command("bom", "h20-or-h200", "--prices", str(out), "--final", "--date", "2027-01-03").code == 3


def test_the_shops_order_changes_the_plan_as_added_up_by_hand(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "ours.yaml"
    words = ("catalog", "import", str(quoted.retail(tmp_path)), "--date", "2026-11-20", "--basis", "street")
    done = command(*words, "--book", "us-2026-11", "-o", str(out))
    assert done.code == 3 and "the price is in EUR, the book in USD" in done.err and not out.exists()
    done = command(*words, "--book", "eu-ours", "--region", "EU", "-o", str(out))
    assert done.code == 0, done.err
    listed = command("catalog", "list", "--prices", str(out), "--book", "eu-ours", "-f", "json").data
    prices = {row["id"]: (row["price"], row["basis"]) for row in listed if row["price"]}
    assert prices == {
        "samsung-pm9a3-3.84tb": (1899.50, "street"), "micron-7450-pro-1.92tb": (1249, "street"),
        "rdimm-96": (2999, "street"),
    }  # fmt: skip
    # The same shop in dollars, over the shipped book: only prices of the order move the plan.
    dollars = tmp_path / "dollars.csv"
    dollars.write_text(quoted.RETAIL.replace("€", "").replace("EUR", "USD"), encoding="utf-8")
    done = command("catalog", "import", str(dollars), *words[3:], "--book", "us-2026-11", "-o", str(out), "--force")
    assert done.code == 0, done.err
    before = totals(command("bom", "report-real", *QUOTED_DRIVE, "-f", "json").data)
    data = command("bom", "report-real", *QUOTED_DRIVE, "--prices", str(out), "-f", "json").data
    found = totals(data)
    assert found["samsung-pm9a3-3.84tb"] == (8, 8 * 1_899_50)
    assert found["micron-7450-pro-1.92tb"] == (8, 8 * 1_249_00)
    assert found["rdimm-96"] == (48, 48 * 2_999_00)
    assert found["mi300x"] == before["mi300x"] and found["rdimm-128"] == before["rdimm-128"]


def test_a_dry_run_says_what_matched_and_writes_nothing(command: Command, tmp_path: Path) -> None:
    path = quoted.english(tmp_path)
    out = tmp_path / "ours.yaml"
    done = command("catalog", "import", str(path), "--dry-run", "-o", str(out))
    assert done.code == 3 and not out.exists()
    assert "maker's number" in done.out and " name " in done.out
    assert "Grand Total (USD)" in done.out and "row 15: BFYA" in done.out
    assert '--map "4X77A9X128#0D1=PART"' in done.err
    assert "no price book" not in done.err
    good = command("catalog", "import", str(path), "--dry-run", "-f", "json", *settled(quoted.ENGLISH_MAPS))
    assert good.code == 0 and good.err == ""
    assert [one["part"] for one in good.data["prices"]][:2] == ["smc-8125gs-tnmr2", "mi300x"]
    assert good.data["quote"] == "ES-204417-B" and all(one["right"] for one in good.data["sums"])
    rows = list(csv.DictReader(io.StringIO(command(
        "catalog", "import", str(path), "--dry-run", "-f", "csv", *settled(quoted.ENGLISH_MAPS)).out)))  # fmt: skip
    assert rows[0]["cell"] == "H9" and (rows[0]["matched_by"], rows[1]["matched_by"]) == ("maker's number", "name")


def test_without_a_file_the_book_is_printed(command: Command, tmp_path: Path) -> None:
    words = ("catalog", "import", str(quoted.english(tmp_path)), "--book", "us-2026-11")
    done = command(*words, *settled(quoted.ENGLISH_MAPS))
    assert done.code == 0 and done.out.startswith("# yaml-language-server") and 'part: "mi300x"' in done.out
    assert command(*words, *settled(quoted.ENGLISH_MAPS)).out == done.out


def test_nothing_is_overwritten_unasked(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "ours.yaml"
    out.write_text("mine", encoding="utf-8")
    words = ("catalog", "import", str(quoted.english(tmp_path)), "--book", "us-2026-11", "-o", str(out))
    done = command(*words, *settled(quoted.ENGLISH_MAPS))
    assert done.code == 2 and "--force" in done.err and out.read_text(encoding="utf-8") == "mine"
    assert command(*words, *settled(quoted.ENGLISH_MAPS), "--force").code == 0
    assert [path.name for path in tmp_path.glob(".*")] == []
    done = command(*words[:-1], str(tmp_path / "ours.xlsx"))
    assert done.code == 2 and "expected a file that ends in .yaml or .yml" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tax", "13"), "expected excluded, included"),
        (("--tax", "gross"), "expected excluded, included"),
        (("--basis", "contrakt"), "did you mean 'contract'"),
        (("--hidden", "maybe"), "known: skip, take"),
        (("--decimal", "dot"), "--decimal dot"),
        (("--date", "tomorrow"), "expected a day"),
    ],
)
def test_words_that_are_off(command: Command, tmp_path: Path, words: tuple[str, str], told: str) -> None:
    done = command("catalog", "import", str(quoted.retail(tmp_path)), *words)
    assert done.code == 2 and told in done.err


def test_a_template_is_filled_in_and_read_back(command: Command, tmp_path: Path) -> None:
    out, book = tmp_path / "template.xlsx", tmp_path / "ours.yaml"
    assert command("catalog", "export", "gpu", "dimm", "-o", str(out)).code == 0
    first = out.read_bytes()
    assert command("catalog", "export", "gpu", "dimm", "-o", str(out)).code == 2
    assert command("catalog", "export", "gpu", "dimm", "-o", str(out), "--force").code == 0
    assert out.read_bytes() == first
    sheet = (filled := openpyxl.load_workbook(out)).active
    head = next(row for row in sheet.iter_rows() if row[1].value == "Part ID")
    columns = {cell.value: cell.column for cell in head}
    rows = {row[1].value: row[0].row for row in sheet.iter_rows(min_row=head[0].row + 1)}
    assert {"h200-sxm", "rdimm-96"} <= set(rows) and "epyc-9554" not in rows
    assert sheet.cell(rows["h200-sxm"], columns["Current typical"]).value == 35000
    sheet.cell(rows["h200-sxm"], columns["New typical"]).value = "31,000.10"
    sheet.cell(rows["rdimm-96"], columns["New typical"]).value = 2222.22
    sheet.cell(rows["rdimm-96"], columns["New high"]).value = 2500
    sheet.cell(rows["rdimm-96"], columns["Valid until"]).value = "2026-12-31"
    sheet.cell(rows["rdimm-96"], columns["Quote no"]).value = "R-1"
    filled.save(out)
    done = command("catalog", "import", str(out), "--book", "us-2026-11", "--date", "2026-12-01", "-o", str(book))
    assert done.code == 0, done.err
    listed = command("catalog", "list", "dimm", "--prices", str(book), "-f", "json").data
    new = next(row for row in listed if row["id"] == "rdimm-96")
    assert (new["price_low"], new["price"], new["price_high"]) == (2222.22, 2222.22, 2500)
    assert 'typical: "USD 31000.10"' in book.read_text(encoding="utf-8")
    assert command("catalog", "export", "gpus", "-o", str(tmp_path / "t.csv")).code == 2
    assert command("catalog", "export", "-o", str(tmp_path / "t.ods")).code == 2
