"""Quotes to price books: tables, lines, sums, matching, tax; each refusal names its cell."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.hardware import Catalog
from planner.loading import load_shelf
from planner.quotes.importing import Imported, Wishes, import_quote
from tests.unit import quoted
from tests.unit.tiny import shelf

DAY = date(2026, 11, 20)
WISHES = Wishes(book="us-2026-11", currency="USD", tax="excluded", issued=DAY)
HEAD = "Part Number,Description,Qty,Unit Price,Amount"


def made(folder: Path, text: str, wishes: Wishes = WISHES, catalog: Catalog | None = None, **more: Any) -> Imported:
    """What becomes of a text file."""
    path = folder / "q.csv"
    path.write_text(text, encoding="utf-8")
    return import_quote(path, catalog or shelf().catalog, replace(wishes, **more))


def told(found: Imported) -> str:
    return "\n".join(map(str, found.problems))


def cents(found: Imported) -> dict[str, int]:
    assert not found.problems, told(found)
    return {one.part: one.cents["typical"] for one in found.priced}


def test_lines_match_by_number_name_and_short_name(tmp_path: Path) -> None:
    rows = [
        HEAD,
        ',NVIDIA H200 SXM5 141 GB,8,"31,000.00","248,000.00"',
        ",amd  instinct mi300x 192gb,1,12000,12000",
        "PM9A3 3.84 TB,,1,2000.5,2000.5",
        "epyc-9554,,1,6000,",
    ]
    found = made(tmp_path, "\n".join(rows))
    assert cents(found) == {
        "h200-sxm": 3_100_000, "mi300x": 1_200_000, "samsung-pm9a3-3.84tb": 200_050, "epyc-9554": 600_000,
    }  # fmt: skip
    assert [match.how for match in found.matches] == ["name"] * 4


def with_numbers() -> Catalog:
    """The shipped catalogue with a maker's number and an alias on parts of it."""
    catalog = shelf().catalog
    dimms = dict(catalog.dimms())
    dimms["rdimm-96"] = replace(dimms["rdimm-96"], part_numbers=("MTC40F2047S1RC56BB1",), aliases=("96G 内存",))
    dimms["rdimm-64"] = replace(dimms["rdimm-64"], aliases=("Twin module",))
    dimms["rdimm-32"] = replace(dimms["rdimm-32"], aliases=("Twin module",))
    return replace(catalog, parts={**catalog.parts, "dimm": dimms})


@pytest.mark.parametrize(
    ("row", "how"),
    [
        ("MTC40F2047S1RC56BB1,96GB module", "maker's number"),
        ("mtc40f2047s1rc56bb1,96GB module", "maker's number"),
        ("X-1,Micron MTC40F2047S1RC56BB1 96GB DDR5", "maker's number"),
        ("X-1,96g内存", "alias"),
    ],
)
def test_makers_numbers_and_aliases(tmp_path: Path, row: str, how: str) -> None:
    found = made(tmp_path, f"{HEAD}\n{row},1,100,100", catalog=with_numbers())
    assert cents(found) == {"rdimm-96": 10_000} and found.matches[0].how == how


def test_two_answers_are_none(tmp_path: Path) -> None:
    found = made(tmp_path, f"{HEAD}\n,Twin module,1,100,100", catalog=with_numbers())
    assert "cell B2: 'Twin module' may be rdimm-32 or rdimm-64" in told(found)
    assert found.text == ""
    # A number and a name that disagree are settled by neither.
    found = made(tmp_path, f"{HEAD}\nMTC40F2047S1RC56BB1,DDR5 RDIMM 64 GB,1,100,100", catalog=with_numbers())
    assert "may be rdimm-96 or rdimm-64" in told(found)
    # A number decides between parts of one name.
    found = made(tmp_path, f"{HEAD}\nrdimm-64,Twin module,1,100,100", catalog=with_numbers())
    assert cents(found) == {"rdimm-64": 10_000}


def test_what_nothing_matches_gets_the_nearest_and_a_way_out(tmp_path: Path) -> None:
    text = f"{HEAD}\nR-9,128GB RDIMM DDR5-6400,4,100,400"
    found = made(tmp_path, text)
    assert "q.csv, cell A2: 'R-9 | 128GB RDIMM DDR5-6400' is no part of the catalogue" in told(found)
    assert '--map "R-9=PART"' in told(found) and "nearest: rdimm-128" in told(found) and '--ignore "R-9"' in told(found)
    assert cents(made(tmp_path, text, maps=("R-9=rdimm-128",))) == {"rdimm-128": 10_000}
    assert cents(made(tmp_path, text, maps=("128gb rdimm ddr5-6400=rdimm-128",))) == {"rdimm-128": 10_000}
    assert cents(made(tmp_path, text, maps=("R-9=2 x rdimm-64",))) == {"rdimm-64": 5_000}
    text += "\n,DDR5 RDIMM 96 GB,1,50,50"
    for place in ("R-9", "2", "B2", "128GB RDIMM DDR5-6400"):
        assert cents(made(tmp_path, text, ignores=(place,))) == {"rdimm-96": 5_000}


def test_what_was_settled_must_be_there(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,50,50"
    found = made(tmp_path, text, maps=("Q-1=rdimm-64",), ignores=("99",))
    assert "'99' was settled, and no row says so" in told(found) and "'Q-1' was settled" in told(found)
    with pytest.raises(InputError, match="unknown part 'rdimm-65'; did you mean"):
        made(tmp_path, text, maps=("Q-1=rdimm-65",))
    with pytest.raises(InputError, match="expected TEXT=PART"):
        made(tmp_path, text, maps=("rdimm-64",))


def test_a_mapping_file_serves_several_quotes(tmp_path: Path) -> None:
    settled = tmp_path / "map.yaml"
    settled.write_text('map: {"R-9": rdimm-128, "Q-77": 8 x h200-sxm}\nignore: [Freight]\n', encoding="utf-8")
    text = f"{HEAD}\nR-9,a module,4,100,400\n,Freight,1,70,70"
    assert cents(made(tmp_path, text, map_file=settled)) == {"rdimm-128": 10_000}
    settled.write_text("map: {R-9: rdimm-129}\nignored: []\n", encoding="utf-8")
    with pytest.raises(InputError) as fault:
        made(tmp_path, text, map_file=settled)
    assert "map.yaml:1:" in str(fault.value) and "rdimm-128" in str(fault.value)
    assert "map.yaml:2:1: unknown key 'ignored'" in str(fault.value)


def test_a_kit_is_shared_out_to_the_cent(tmp_path: Path) -> None:
    text = f"{HEAD}\nKIT,HGX H200 8-GPU,1,280001,280001"
    found = made(tmp_path, text, maps=("KIT=8 x h200-sxm",))
    assert cents(found) == {"h200-sxm": 3_500_013}  # 35,000.125
    assert found.priced[0].derived == "USD 280,001.00 / 8 pieces in one, rounded to a cent"


def test_vendors_numbers_are_learnt_for_the_next_quote(tmp_path: Path) -> None:
    found = made(tmp_path, f"{HEAD}\nP63304-B21#0D1,A board,8,100,800", maps=("P63304-B21=h200-sxm",))
    first = tmp_path / "first.yaml"
    first.write_text(found.text, encoding="utf-8")
    catalog = load_shelf((), [first]).catalog
    later = made(tmp_path, f"{HEAD}\nP63304-B21 0D1,Accelerator,8,90,720", catalog=catalog)
    assert cents(later) == {"h200-sxm": 9_000} and later.matches[0].how == "vendor's number"


def test_short_feature_codes_are_not_learnt(tmp_path: Path) -> None:
    found = made(tmp_path, f"{HEAD}\nBX01,DDR5 RDIMM 96 GB,1,50,50")
    assert "part_numbers" not in found.text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (",DDR5 RDIMM 96 GB,8,100,801", "cell D2: 8 x 100.00 is 800.00, the amount says 801.00"),
        (",DDR5 RDIMM 96 GB,2.5,100,250", "cell C2: '2.5' is no whole number of pieces"),
        (",DDR5 RDIMM 96 GB,1,call,", "cell D2: 'call' is no number"),
        (",DDR5 RDIMM 96 GB,1,-100,-100", "cell D2: '-100' is negative"),
        (",DDR5 RDIMM 96 GB,1,=1+1,", "cell D2: '=1+1' is no number"),
        (",DDR5 RDIMM 96 GB,1,EUR 100,", "'EUR 100' is in EUR, the quote in USD"),
        (",DDR5 RDIMM 96 GB,,,100", "100.00 for no number of pieces, and no price of one"),
        (",DDR5 RDIMM 96 GB,1,0.001,0.001", "the price is below a cent"),
        (",,1,100,100", "cell D2: a price without a word on what it is for"),
        (",Discount,1,-100,-100", "what it takes off is of no part"),
        (",DDR5 RDIMM 96 GB,1,9999999999999,", "out of all proportion"),
    ],
)
def test_lines_that_cannot_be(tmp_path: Path, row: str, words: str) -> None:
    found = made(tmp_path, f"{HEAD}\n{row}\n,DDR5 RDIMM 32 GB,1,10,10")
    assert words in told(found) and found.text == ""


def test_all_problems_at_once(tmp_path: Path) -> None:
    found = made(tmp_path, f"{HEAD}\n,Nothing known,1,5,5\n,DDR5 RDIMM 96 GB,x,100,\n,DDR5 RDIMM 32 GB,2,10,21")
    assert len(found.problems) == 3


def test_an_amount_is_shared_out_over_its_pieces(tmp_path: Path) -> None:
    found = made(tmp_path, "Item,Qty,Total\nDDR5 RDIMM 96 GB,3,1000.00")
    assert cents(found) == {"rdimm-96": 33_333}
    assert found.priced[0].derived == "USD 1,000.00 / 3 pieces, rounded to a cent"


def test_one_part_at_two_prices_is_not_chosen_between(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,100,100\n,DDR5 RDIMM 96 GB,2,90,180"
    found = made(tmp_path, text)
    assert "cell D3: 'rdimm-96' stands at several prices: 100.00 in D2, 90.00 in D3" in told(found)
    assert cents(made(tmp_path, text, ignores=("2",))) == {"rdimm-96": 9_000}
    same = made(tmp_path, f"{HEAD}\n,DDR5 RDIMM 96 GB,1,90,90\n,DDR5 RDIMM 96 GB,2,90,180")
    assert cents(same) == {"rdimm-96": 9_000} and "cell D2, D3: " in same.text


def test_lines_without_a_price_are_told_and_not_written(tmp_path: Path) -> None:
    found = made(tmp_path, f"{HEAD}\n,DDR5 RDIMM 96 GB,1,100,100\nBFYA,Rail kit,4,0.00,0.00\n5977,No RAID,1,included,-")
    assert cents(found) == {"rdimm-96": 10_000}
    assert [match.line.row for match in found.matches if not match.line.priced] == [3, 4]
    # Terms under the table are none of its lines.
    found = made(tmp_path, f"{HEAD}\n,DDR5 RDIMM 96 GB,1,100,100\nDate,2026-11-18\nWarranty,3 years", issued=None)
    assert cents(found) and len(found.matches) == 1 and found.terms.issued == date(2026, 11, 18)


@pytest.mark.parametrize(
    ("tail", "right"),
    [
        (",,,Total,1000", True),
        (",,,Total,1001", False),
        (",,,Subtotal,1000\n,,,VAT 19%,190\n,,,Grand Total,1190", True),
        (",,,Subtotal,1000\n,,,VAT 19%,191\n,,,Grand Total,1191", False),
        (",,,Subtotal,1000\n,,,Grand Total,1100", False),
    ],
)
def test_sums_are_held_against_the_lines(tmp_path: Path, tail: str, right: bool) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,8,100,800\n,DDR5 RDIMM 64 GB,2,100,200\n{tail}"
    found = made(tmp_path, text)
    assert (not found.problems) is right, told(found)
    if not right:
        assert "come to" in told(found) and "--accept-sums" in told(found)
        passed = made(tmp_path, text, accept_sums=True)
        assert cents(passed) == {"rdimm-96": 10_000, "rdimm-64": 10_000}
        assert "accepted: " in passed.text


def test_tax_is_never_taken_for_granted_nor_converted_silently(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113"
    assert "nothing states whether prices hold tax" in told(made(tmp_path, text, tax=""))
    found = made(tmp_path, text, tax="included")
    assert "the price is with tax, the book's are without, and no rate is stated" in told(found)
    found = made(tmp_path, text, tax="included", rate=Decimal("0.13"))
    assert cents(found) == {"rdimm-96": 10_000}
    assert found.priced[0].derived == "USD 113.00 with 13 % tax / 1.13"
    assert 'derived: "USD 113.00 with 13 % tax / 1.13"' in found.text
    stated = made(tmp_path, f"All prices include 13% VAT\n{text}", tax="")
    assert cents(stated) == {"rdimm-96": 10_000}


def test_of_prices_with_and_without_tax_the_books_own_is_taken(tmp_path: Path) -> None:
    text = "品名,数量,含税单价,不含税单价\nDDR5 RDIMM 96 GB,1,113,100"
    assert cents(made(tmp_path, text, tax="")) == {"rdimm-96": 10_000}
    own = made(tmp_path, text, tax="", book="ours", region="CN", currency="CNY")
    assert "two columns of unit_price: C1 '含税单价' and D1 '不含税单价'" in told(own)
    assert cents(made(tmp_path, text, tax="included", book="ours", region="CN", currency="CNY")) == {"rdimm-96": 11_300}


def test_currency_is_stated_or_asked_for(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,$113.00,$113.00"
    assert "nothing states the currency" in told(made(tmp_path, text, currency=""))
    assert cents(made(tmp_path, text)) == {"rdimm-96": 11_300}
    found = made(tmp_path, text, currency="EUR")
    assert "the price is in EUR, the book in USD" in told(found)


def test_dates_are_stated_or_asked_for(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113"
    assert "nothing states the date of the quote" in told(made(tmp_path, text, issued=None))
    head = "Quote No: Q-5,Date: 2026-11-20\nValid for 30 days\n"
    found = made(tmp_path, head + text, issued=None)
    assert cents(found) and 'valid_until: "2026-12-20"' in found.text and 'quote: "Q-5"' in found.text
    found = made(tmp_path, f"Date: 11/12/2026\n{text}", issued=None)
    assert "may be day/month or month/day" in told(found)
    assert not made(tmp_path, f"Date: 11/12/2026\n{text}").problems
    found = made(tmp_path, f"Date: 2026-11-20\nQuote date: 2026-11-21\n{text}", issued=None)
    assert "issued is 2026-11-21 here, 2026-11-20 in row 1" in told(found)
    found = made(tmp_path, text, valid_until=date(2026, 11, 19))
    assert "ends on 2026-11-19, before its own date" in told(found)


def test_a_line_may_hold_for_so_many_days(tmp_path: Path) -> None:
    text = f"{HEAD},有效期\n,DDR5 RDIMM 96 GB,1,113,113,30天\n,DDR5 RDIMM 64 GB,1,50,50,\n"
    found = made(tmp_path, text, valid_until=date(2026, 12, 31))
    assert cents(found) and 'valid_until: "2026-12-20"' in found.text and 'valid_until: "2026-12-31"' in found.text
    assert "is no day" in told(made(tmp_path, text.replace("30天", "soon")))
    early = made(tmp_path, text.replace("30天", "2026-11-19"))
    assert "cell D2: the price ends on 2026-11-19, before its own date 2026-11-20" in told(early)


def test_two_rates_of_tax_state_none(tmp_path: Path) -> None:
    text = f"Goods include 13% VAT\nServices include 6% VAT\n{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113"
    assert "no rate is stated" in told(made(tmp_path, text, tax=""))
    assert cents(made(tmp_path, text, tax="", rate=Decimal("0.13"))) == {"rdimm-96": 10_000}
    assert cents(made(tmp_path, text, tax="", book="ours", region="US")) == {"rdimm-96": 11_300}


def test_a_rate_per_line(tmp_path: Path) -> None:
    text = "Item,Price incl. VAT,VAT rate\nDDR5 RDIMM 96 GB,113,13%\nDDR5 RDIMM 64 GB,106,6%\n"
    assert cents(made(tmp_path, text, tax="")) == {"rdimm-96": 10_000, "rdimm-64": 10_000}


def test_long_texts_take_no_time(tmp_path: Path) -> None:
    long = "/" * 60_000 + "1t" * 20_000
    found = made(tmp_path, f"{long}\n{HEAD},Lead time\n{long},{long},{long},{long},{long},{long}")
    assert "is no number" in told(found)


def test_a_book_is_named(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113"
    assert "no price book is named" in told(made(tmp_path, text, book=""))
    assert "'ours' is a new price book" in told(made(tmp_path, text, book="ours"))
    found = made(tmp_path, text, book="ours", region="US")
    assert '\nid: "ours"\n' in found.text and not found.laid_over


def test_numbers_that_can_be_read_in_two_ways(tmp_path: Path) -> None:
    text = "Item;Price\nDDR5 RDIMM 96 GB;2.999\n"
    found = made(tmp_path, text, currency="EUR", book="ours", region="EU")
    assert "cell B2: '2.999' may be 2999 or 2.999" in told(found)
    assert cents(made(tmp_path, text, currency="EUR", book="ours", region="EU", decimal="comma")) == {
        "rdimm-96": 299_900
    }
    more = text + "DDR5 RDIMM 64 GB;1.200,50\n"
    assert cents(made(tmp_path, more, currency="EUR", book="ours", region="EU"))["rdimm-96"] == 299_900
    assert cents(made(tmp_path, text)) == {"rdimm-96": 300}  # Dollars have points: 2.999, rounded to a cent.


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "Was,Wieviel,Stückpreis\nDDR5 RDIMM 96 GB,1,113\n"
    assert "no row of headers with a name and a price was found" in told(made(tmp_path, text))
    assert cents(made(tmp_path, text, columns=("name=A", "unit_price=C"))) == {"rdimm-96": 11_300}
    with pytest.raises(InputError, match="unknown field; did you mean 'unit_price'"):
        made(tmp_path, text, columns=("unit_prise=C",))
    with pytest.raises(InputError, match="expected FIELD=LETTER"):
        made(tmp_path, text, columns=("unit_price=7",))


def test_repeated_headers_and_blank_lines(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113\n\n{HEAD}\n,DDR5 RDIMM 64 GB,1,50,50\n,,,Total,163\n"
    assert cents(made(tmp_path, text)) == {"rdimm-96": 11_300, "rdimm-64": 5_000}


def test_a_second_table_is_told(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113\n\nDescription,Unit Price,Qty\nDDR5 RDIMM 64 GB,2,50\n"
    assert "cell A4: another table begins here, with other columns" in told(made(tmp_path, text))
    above = f"Item,Amount\nServers,113\n\n{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113\n"
    assert "q.csv, row 1: another table begins here" in told(made(tmp_path, above))
    assert "--table 1 or --table 4" in told(made(tmp_path, above))
    assert cents(made(tmp_path, above, table=4)) == {"rdimm-96": 11_300}
    found = made(tmp_path, text, table=1)
    assert cents(found) == {"rdimm-96": 11_300} and "q.csv: the table under row 4 was not read" in found.remarks


def test_keys_in_a_row_above_are_no_headers(tmp_path: Path) -> None:
    text = "报价日期,2026/11/20,,币种：人民币\n品名,数量,含税单价,含税金额\nDDR5 RDIMM 64 GB,2,113,226\n"
    found = made(tmp_path, text, currency="", tax="", issued=None, book="ours", region="CN")
    assert cents(found) == {"rdimm-64": 11_300} and found.terms.issued == date(2026, 11, 20)


def test_an_older_quote_does_not_make_the_book_older(tmp_path: Path) -> None:
    text = f"{HEAD}\n,DDR5 RDIMM 96 GB,1,113,113"
    assert '\nas_of: "2026-11-30"\n' in made(tmp_path, text).text
    assert '\nas_of: "2026-12-03"\n' in made(tmp_path, text, issued=date(2026, 12, 3)).text
    found = made(tmp_path, text + "\n,Freight,1,5,5", ignores=("Freight",))
    assert "rows left out as asked: 3" in found.remarks


def test_prices_far_from_the_books_are_pointed_at(tmp_path: Path) -> None:
    found = made(tmp_path, f"{HEAD}\n,NVIDIA H200 SXM5 141 GB,1,280000,280000")
    assert any("h200-sxm at 280,000.00 in D2: the book has 35,000.00" in text for text in found.remarks)


def test_what_is_written_loads_and_carries_its_evidence(tmp_path: Path) -> None:
    head = 'Seller: Example: Systems "GmbH",Warranty: 3 years\n'
    rows = f"{HEAD},Lead time,Valid until\n,DDR5 RDIMM 96 GB,1,113,113,8-10 weeks,2026-12-24\n"
    found = made(tmp_path, head + rows, quote="Q: 1 # 'x'")
    path = tmp_path / "out.yaml"
    path.write_text(found.text, encoding="utf-8")
    catalog = load_shelf((), [path]).catalog
    price = catalog.books["us-2026-11"].find("rdimm-96")
    assert price is not None and price.lead_time is not None
    assert (price.typical.cents, price.quote, price.seller) == (11_300, "Q: 1 # 'x'", found.terms.seller)
    assert (price.lead_time.time_days, price.valid_until, price.warranty_months) == (70, "2026-12-24", 36)
    source = catalog.sources.by_id[price.sources[0]]
    assert (source.where, source.date, source.grade) == ("q.csv", "2026-11-20", "A") and "Q: 1" in source.title
    assert price.evidence.kind == "sourced" and "cell D3" in price.note


def test_merged_prices_and_hidden_rows(tmp_path: Path) -> None:
    rows = [
        ["Item", "Qty", "Unit Price", "Lead time"],
        ["DDR5 RDIMM 96 GB", 1, 100, "4 weeks"],
        ["DDR5 RDIMM 64 GB", 1, None, None],
        ["DDR5 RDIMM 32 GB", 1, 10, None],
    ]
    path = tmp_path / "q.xlsx"
    path.write_bytes(quoted.workbook(rows, ["C2:C3"]))
    found = import_quote(path, shelf().catalog, WISHES)
    assert "q.xlsx, sheet 'Quote', cell C2: one price is merged over several lines" in told(found)
    rows[2][2] = 60
    path.write_bytes(quoted.workbook(rows, ["D2:D4"], hidden=[3]))
    found = import_quote(path, shelf().catalog, WISHES)
    assert "q.xlsx, sheet 'Quote', row 3: is hidden, and has a price" in told(found)
    skipped = import_quote(path, shelf().catalog, replace(WISHES, hidden="skip"))
    assert cents(skipped) == {"rdimm-96": 10_000, "rdimm-32": 1_000}
    taken = import_quote(path, shelf().catalog, replace(WISHES, hidden="take"))
    assert cents(taken) == {"rdimm-96": 10_000, "rdimm-64": 6_000, "rdimm-32": 1_000}
    # Words merged over several rows hold for each.
    assert taken.text.count("time: 28 days") == 3


def test_several_sheets_are_chosen_between(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for name, price in (("Servers", 100), ("Options", 90), ("Old", 80)):
        page = book.create_sheet(name)
        page.append(["Item", "Unit Price (USD)"])
        page.append(["DDR5 RDIMM 96 GB", price])
    book["Old"].sheet_state = "hidden"
    cover = book["Sheet"]
    cover.append(["Quote date", date(2026, 11, 20)])
    cover.append(["Prices exclude VAT"])
    path = tmp_path / "q.xlsx"
    book.save(path)
    asked = Wishes(book="us-2026-11")
    found = import_quote(path, shelf().catalog, asked)
    assert "several sheets have prices: 'Servers', 'Options'" in told(found)
    assert "the hidden sheet 'Old' has prices and was not read" in found.remarks
    assert cents(import_quote(path, shelf().catalog, replace(asked, sheets=("Options",)))) == {"rdimm-96": 9_000}
    both = import_quote(path, shelf().catalog, replace(asked, sheets=("Servers", "Options")))
    assert "stands at several prices" in told(both)
    assert "there is no sheet 'Option'" in told(import_quote(path, shelf().catalog, replace(asked, sheets=("Option",))))
