"""Numbers, days and words of quotes: what is read, and what is refused rather than guessed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from planner.quotes.cells import cell_name, clean
from planner.quotes.days import days_of, months_of, parse_day, percent_of
from planner.quotes.numbers import NumberError, Style, decimal_style, parse_amount, parse_quantity
from planner.quotes.words import Header, header, is_section, is_tax, is_total, money_unit, rate_of, tax_of


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("￥1,234.50", "1234.50", ""),
        ("12.5万", "125000", ""),
        ("12.5 万元", "125000", "CNY"),
        ("19,800.00元", "19800", "CNY"),
        ("3.5万元/台", "35000", "CNY"),
        ("1 234,50 €", "1234.50", "EUR"),
        ("1\u202f234,50\xa0€", "1234.50", "EUR"),
        ("1'234.50 CHF", "1234.50", "CHF"),
        ("US$1,234,567", "1234567", "USD"),
        ("1.234.567,89", "1234567.89", ""),
        ("１２，３４５．６７", "12345.67", ""),
        ("(1,000.00)", "-1000", ""),
        ("-5.5", "-5.5", ""),
        ("+7", "7", ""),
        ("0.125", "0.125", ""),
        ("1234.567", "1234.567", ""),
        ("31000", "31000", ""),
        ("RMB 1.5亿", "150000000", "CNY"),
        ("20k USD", "20000", "USD"),
        ("5,500.00 per unit", "5500", ""),
    ],
)
def test_amounts(text: str, value: str, currency: str) -> None:
    found = parse_amount(text)
    assert (found.value, found.currency) == (Decimal(value), currency)


@pytest.mark.parametrize(
    ("text", "style", "value"),
    [
        ("31,000", "point", "31000"),
        ("31,000", "comma", "31"),
        ("2.999", "comma", "2999"),
        ("2.999", "point", "2.999"),
        ("1.234.567", "", "1234567"),
    ],
)
def test_what_a_sign_parts_follows_from_the_file(text: str, style: Style, value: str) -> None:
    assert parse_amount(text, style).value == Decimal(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("31,000", "may be 31000 or 31.000"),
        ("1.234", "may be 1234 or 1.234"),
        ("1,23,456", "is no number"),
        ("abc", "is no number"),
        ("", "is no number"),
        ("12 34", "is no number"),
        ("1..2", "is no number"),
        ("#REF!", "is no number"),
        ("USD 5 EUR", "names EUR and USD"),
        ("9" * 30, "out of all proportion"),
        ("٣٤", "is no number"),
    ],
)
def test_amounts_that_are_none(text: str, words: str) -> None:
    with pytest.raises(NumberError, match=words):
        parse_amount(text)


@pytest.mark.parametrize(
    ("texts", "style"),
    [
        (["31,000", "1,234.50"], "point"),
        (["2.999", "1.899,50 €"], "comma"),
        (["31,000"], ""),
        (["1,5", "2.5"], "mixed"),
        (["USD 12.50"], "point"),
        (["words", "8"], ""),
    ],
)
def test_style_of_a_file(texts: list[str], style: Style) -> None:
    assert decimal_style(texts) == style


@pytest.mark.parametrize(
    ("text", "pieces"), [("8", 8), ("8台", 8), ("１２ pcs", 12), ("1,024", 1024), ("8.00", 8), ("2 x", 2), ("x 4", 4)]
)
def test_quantities(text: str, pieces: int) -> None:
    assert parse_quantity(text) == pieces


@pytest.mark.parametrize("text", ["2.5", "-1", "some", "", "1,2", "8 9"])
def test_quantities_that_are_none(text: str) -> None:
    with pytest.raises(NumberError, match="no whole number"):
        parse_quantity(text)


@pytest.mark.parametrize(
    "text",
    ["2026-11-20", "2026/11/20", "2026年11月20日", "20 Nov 2026", "Nov 20, 2026", "November 20th, 2026", "11/20/2026",
     "20.11.2026", "20-Nov-2026", "2026-11-20 10:30:00"],
)  # fmt: skip
def test_days(text: str) -> None:
    assert parse_day(text) == date(2026, 11, 20)


@pytest.mark.parametrize(
    ("text", "words"),
    [("11/12/2026", "day/month or month/day"), ("2026-02-30", "is no day"), ("soon", "is no day"), ("46000", "no day")],
)
def test_days_that_are_none(text: str, words: str) -> None:
    with pytest.raises(NumberError, match=words):
        parse_day(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [("8-10 weeks ARO", 70), ("6周", 42), ("30天", 30), ("10个工作日", 14), ("2 to 3 months", 93), ("in stock", None)],
)
def test_lead_times_take_the_late_end(text: str, days: int | None) -> None:
    found = days_of(text)
    assert (found[0] if found else None) == days


@pytest.mark.parametrize(
    ("text", "months"),
    [("3年", 36), ("3-year", 36), ("三年质保", 36), ("18 months", 18), ("1.5 years", None), ("90 days", None)],
)
def test_warranties(text: str, months: int | None) -> None:
    assert months_of(text) == months


def test_percents() -> None:
    assert percent_of("增值税 13%") == Decimal("0.13") and percent_of("8.25 %") == Decimal("0.0825")
    assert percent_of("6% or 13%") is None and percent_of("none") is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("Part Number", "number"), ("P/N", "number"), ("Product #", "number"), ("SKU", "number"), ("型号", "number"),
        ("物料编码", "number"), ("料号", "number"), ("Feature Code", "number"), ("Mfr. Part No.", "maker_number"),
        ("原厂料号", "maker_number"), ("Product Description", "description"), ("规格", "description"),
        ("配置描述", "description"), ("品名", "name"), ("Item", "name"), ("Item #", "line"), ("序号", "line"),
        ("Qty", "qty"), ("Q'ty", "qty"), ("数量（台）", "qty"), ("Unit Price", "unit_price"), ("单 价", "unit_price"),
        ("Unit Net Price", "unit_price"), ("List Price", "list_price"), ("Ext. Net Price", "amount"),
        ("小计", "amount"), ("合计", "amount"),
        ("金额", "amount"), ("Currency", "currency"), ("币种", "currency"), ("税率", "tax_rate"),
        ("税额", "tax_amount"), ("单位", "uom"), ("Valid until", "valid_until"), ("有效期", "valid_until"),
        ("Lead time", "lead_time"), ("货期", "lead_time"), ("交货期", "lead_time"), ("Quote no.", "quote"),
        ("报价单号", "quote"), ("Warranty", "warranty"), ("质保", "warranty"), ("Current typical", "ignored"),
        ("Disc. %", "discount"),
    ],
)  # fmt: skip
def test_headers(text: str, field: str) -> None:
    found = header(text)
    assert found is not None and found.field == field


def test_headers_say_tax_unit_and_currency() -> None:
    assert header("单价（含税，万元）") == Header("unit_price", "included", 4, "CNY")
    assert header("不含税单价") == Header("unit_price", "excluded")
    assert header("Unit Price excl. VAT (EUR)") == Header("unit_price", "excluded", None, "EUR")
    assert header("含13%增值税单价(元)") == Header("unit_price", "included", 0, "CNY", Decimal("0.13"))
    assert header("单位：万元") is None and header("H200 SXM5 141 GB") is None


@pytest.mark.parametrize(
    ("text", "tax"),
    [
        ("Prices exclude sales tax.", "excluded"), ("以上价格不含税", "excluded"), ("excl. VAT", "excluded"),
        ("All prices include 19% VAT", "included"), ("含13%增值税", "included"), ("VAT not included", "excluded"),
        ("do not include any applicable taxes", "excluded"), ("tax included", "included"), ("net 30 days", ""),
        ("plus VAT", "excluded"), ("税前", "excluded"),
    ],
)  # fmt: skip
def test_tax_statements(text: str, tax: str) -> None:
    assert tax_of(text) == tax


def test_money_units() -> None:
    assert money_unit("人民币万元") == ("CNY", 4) and money_unit("USD") == ("USD", None)
    assert money_unit("元") == ("CNY", 0) and money_unit("US$ ea") == ("USD", None) and money_unit("¥") == ("", None)
    assert rate_of("增值税13%") == Decimal("0.13") and rate_of("15% off") is None


def test_rows_that_are_no_parts() -> None:
    assert is_total("合计（含税）：") and is_total("Grand Total (USD)") and is_total("一、计算节点小计")
    assert is_tax("VAT 19%") and is_tax("增值税（13%）") and not is_tax("Tax consulting service for one year, on site")
    assert is_section("一、计算节点") and is_section("（二）网络") and is_section("Section 2 - Network")
    assert is_section("三") and not is_section("NVIDIA H200") and not is_total("Totally flash array 30 TB")


def test_cells() -> None:
    assert cell_name(12, 2) == "B12" and cell_name(1, 27) == "AA1" and cell_name(3, 702) == "ZZ3"
    assert clean(" a\x00b\u200b\r\nc\ud800 ") == "ab  c"
