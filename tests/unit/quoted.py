"""Three quotes as sellers really shape them, invented for the tests, and helpers to make workbooks.

Names, numbers and prices are made up; the quirks are not.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl

from planner.quotes.template import still


def workbook(
    rows: Sequence[Sequence[Any]],
    merged: Sequence[str] = (),
    hidden: Sequence[int] = (),
    formulas: Mapping[str, str] | None = None,
    title: str = "Quote",
) -> bytes:
    """A workbook of one sheet; `formulas` turns cells into formulas that keep their values as stored ones."""
    book = openpyxl.Workbook()
    page = book.active
    page.title = title
    for row in rows:
        page.append(list(row))
    for area in merged:
        page.merge_cells(area)
    for row in hidden:
        page.row_dimensions[row].hidden = True
    out = io.BytesIO()
    book.save(out)
    return with_formulas(still(out.getvalue()), formulas or {})


def with_formulas(content: bytes, formulas: Mapping[str, str]) -> bytes:
    """Put formulas before the values of cells, as spreadsheet programs store both."""

    def patch(xml: bytes) -> bytes:
        text = xml.decode("utf-8")
        for cell, formula in formulas.items():
            text, count = re.subn(rf'(<c r="{cell}"[^>]*>)<v', rf"\1<f>{formula}</f><v", text)
            assert count == 1, cell
        return text.encode("utf-8")

    return rewrite(content, {"xl/worksheets/sheet1.xml": patch} if formulas else {})


def rewrite(content: bytes, patches: Mapping[str, Any], extra: Mapping[str, bytes] | None = None) -> bytes:
    """A workbook with some of its parts changed, and others added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as made, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in made.infolist():
            data = made.read(part)
            changed = patches[part.filename](data) if part.filename in patches else data
            new.writestr(zipfile.ZipInfo(part.filename), changed, zipfile.ZIP_DEFLATED)
        for name, data in (extra or {}).items():
            new.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


ENGLISH_MAPS = ("4X77A9X128=rdimm-128", "4X77A9X096=rdimm-96")


def english(folder: Path) -> Path:
    """An integrator's export: merged title, two rows of headers, feature codes, lines at no price, formulas, totals."""
    rows: list[list[Any]] = [
        ["Example Systems Inc. - Configuration and price summary"],
        ["Quote #: ES-204417-B", None, None, "Quote Date:", date(2026, 11, 20)],
        ["Prepared for: A Buyer", None, None, "Valid until:", "Dec 31, 2026"],
        ["All prices are in USD and do not include sales tax. Lead time: 8-10 weeks ARO. Warranty: 3 years"],
        [],
        ["Line", "Part Number", "Feature", "Product Description", "Qty", "Price", None, None, None],
        [None, None, "Code", None, None, "List Price", "Disc %", "Unit Net Price", "Ext. Net Price"],
        ["Section 1 - GPU servers (2 configurations)"],
        [1, "AS-8125GS-TNMR2", "BX00", "8U 8-GPU barebone, 6 x 3000W", 4, 31000, "14.5%", "26,505.00", 106020],
        [2, "100-300000045H", "B9Q1", "AMD Instinct MI300X 192 GB", 32, 14000, "15%", "11,900.00", "$380,800.00"],
        [3, "100-000000790", "BPVF", "AMD EPYC 9554", 8, 9087, None, Decimal("6150.5"), 49204],
        [4, "4X77A9X128#0D1", "BQ3D", "128GB TruDDR5 2Rx4 RDIMM", 48, 7000, None, "5,500.00", 264000],
        [5, "4X77A9X096 0D1", "BQ39", "96GB TruDDR5 2Rx4 RDIMM", 48, 4300, None, "3,400.25", "163,212.00"],
        [6, "MZQL23T8HCLS", "BNHZ", "Samsung PM9A3 3.84 TB", 8, None, None, "1,999.99", "15,999.92"],
        [7, None, "BFYA", "Operating mode selection: maximum efficiency", 4, 0, None, "0.00", "0.00"],
        [8, None, "5977", "Select storage devices, no configured RAID", 4, None, None, "Included", "-"],
        [None, None, None, None, None, None, None, "Subtotal", Decimal("979235.92")],
        ["Section 2 - Network"],
        [9, "MCX755206AS-NEAT", None, "NVIDIA ConnectX-7 2 x 200G QSFP112", "8 pcs", None, None, "1,875.00", 15000],
        [None, None, None, None, None, None, None, "Subtotal", 15000],
        [None, None, None, None, None, None, None, "Grand Total (USD)", Decimal("994235.92")],
        [],
        ["Terms: net 30 days. This quote is valid for the quantities shown."],
    ]
    path = folder / "ES-204417-B.xlsx"
    formulas = {"I9": "E9*26505", "I17": "SUM(I9:I16)", "I21": "I17+I20", "H11": "F11*0.6768"}
    path.write_bytes(workbook(rows, ["A1:I1", "A8:I8", "A18:I18", "F6:I6", "A4:I4"], formulas=formulas))
    return path


CHINESE_MAPS = ("H200 智算整机=cn-h200-8",)


def chinese(folder: Path) -> Path:
    """A 分项报价表: merged titles, 万元 with 13 % VAT, sections with their sums, full-width digits, hidden notes."""
    rows: list[list[Any]] = [
        ["某某智算中心项目分项报价表"],
        [
            "报价单号：ZB-2026-0917　　报价日期：2026年11月18日　　报价有效期：45天",
            None, None, None, None, None, "单位：人民币万元",
        ],
        ["序号", "设备名称", "规格型号", "配置描述", "数量", "含税报价", None, "货期", "质保"],
        [None, None, None, None, None, "单价", "合计", None, None],
        ["一、计算节点"],
        [1, "GPU服务器", "H200 智算整机", "8x H200 / 2TB", "１台", Decimal("142.5"), Decimal("142.5"), "6周", "3年"],
        ["小计", None, None, None, None, None, Decimal("142.5")],
        ["二、网络设备", None, None, None, None, None, Decimal("50.936")],
        [
            2, "接入交换机", "NVIDIA SN4700 32 x 400G, run as 64 x 200G", "含电源风扇", "2台", "２４．３",
            Decimal("48.6"), "10个工作日", "36个月",
        ],
        [3, "管理交换机", "SN2201 48 x 1G", None, 1, Decimal("2.336"), Decimal("2.336"), "现货", "三年"],
        ["三、服务"],
        [4, "实施服务", "Racking, cabling and acceptance test of one node", None, "1项", "19,800元", "1.98"],
        [5, "培训服务", None, "现场培训", "1项", "免费", "-", None, None],
        ["小计", None, None, None, None, None, Decimal("1.98")],
        ["合计（含13%增值税）", None, None, None, None, None, Decimal("195.416")],
        ["大写：人民币壹佰玖拾伍万肆仟壹佰陆拾元整"],
        ["备注：1. 以上报价含13%增值税专用发票；2. 含运输至最终用户现场。"],
    ]  # fmt: skip
    path = folder / "分项报价表.xlsx"
    merged = ["A1:I1", "A2:F2", "F3:G3", "A5:I5", "A3:A4", "B3:B4", "C3:C4", "D3:D4", "E3:E4", "H3:H4", "I3:I4"]
    path.write_bytes(workbook(rows, merged, formulas={"G15": "G7+G8+G14"}, title="分项报价表"))
    return path


RETAIL = """\
Order summary;;;;;
"Exported 20 Nov 2026; prices exclude VAT";;;;;
SKU;Product;Availability;Price each (EUR);Qty;Line total
="0012345";Samsung PM9A3 3.84 TB;In stock;1.899,50 €;8;15.196,00 €
="0012399";Micron 7450 PRO 1.92 TB M.2;2-3 days;1 249,00 €;;
="0077001";'=DDR5 RDIMM 96 GB;;2.999;12;35.988,00

;;;;Subtotal;51.184,00 €
;;;;VAT 19%;9.724,96 €
;;;;Total;60.908,96 €
"""


def retail(folder: Path) -> Path:
    """A shop's order summary: semicolons, decimal commas, numbers kept as text, a mark of UTF-8, tax below."""
    path = folder / "order-8891.csv"
    path.write_bytes(b"\xef\xbb\xbf" + RETAIL.replace("\n", "\r\n").encode())
    return path
