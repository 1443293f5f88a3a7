"""What the words of a quote mean, in English and Chinese: headers, totals, sections, tax, currency."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from planner.quotes.days import percent_of
from planner.quotes.numbers import CODES, wide

Tax = Literal["included", "excluded", ""]

_NO_TAX = re.compile(
    r"不含\s*(\d+(\.\d+)?\s*%\s*)?的?(增值)?税|未(含)?税|税前|无税|裸价"
    r"|\b(excl(uding|usive of|uded|ude|udes|\.)?|ex|before|without|w/o|net of|plus|not including|do not include)"
    r"\.?\s*(any\s+|all\s+|applicable\s+|sales\s+|local\s+)*(\d+(\.\d+)?\s*%\s*)?(vat|tax|taxes|gst)\b"
    r"|\b(vat|tax|taxes|gst)\b.{0,12}\b(not included|excluded|excl|extra)\b"
)
_WITH_TAX = re.compile(
    r"含\s*(\d+(\.\d+)?\s*%\s*)?的?(增值)?税|税后"
    r"|\b(incl(uding|usive of|uded|ude|udes|\.)?|with)\.?\s*(any\s+|all\s+|sales\s+)*(\d+(\.\d+)?\s*%\s*)?"
    r"(vat|tax|taxes|gst)\b|\b(vat|tax|taxes|gst)\b.{0,12}\b(included|incl)\b|\bgross (unit )?price"
)
_CJK = re.compile(r"[\u3400-\u9fff]")
_CURRENCY = re.compile(
    r"\b("
    + "|".join(sorted(CODES))
    + r"|RMB)\b|(人民币|美元|欧元|港币|港元|日元|US\$|HK\$|€|£)|(万元|千元|亿元|(?<![日美欧港])元)"
)
_CURRENCY_OF = {
    "RMB": "CNY", "人民币": "CNY", "美元": "USD", "欧元": "EUR", "港币": "HKD", "港元": "HKD", "日元": "JPY",
    "US$": "USD", "HK$": "HKD", "€": "EUR", "£": "GBP",
}  # fmt: skip
_SCALE = {"亿元": 8, "万元": 4, "千元": 3, "万": 4}

_FIELDS: tuple[tuple[str, str], ...] = (
    ("ignored", r"kind|current (low|typical|high|as of|currency|evidence)|(ext|extended|total|line) list( price)?"),
    ("low", r"new low"),
    ("typical", r"new typical"),
    ("high", r"new high"),
    ("part", r"part id|部件id"),
    (
        "maker_number",
        r"(mfr|mfg|manufacturers?|maker|oem)( s)? (part )?(numbers?|no|#|p n|pn|sku|part|code)|mpn"
        r"|原厂(料号|型号|编码|编号|pn)|厂家(型号|料号|编码)|制造商(型号|料号|编码)",
    ),
    (
        "line",
        r"(line|item|pos|position|seq)( (no|#|number|item))|no|#|line|pos|sn|s n|seq|序号|项次|行号|序|编号",
    ),
    (
        "number",
        r"((vendor|seller|supplier|hpe?|dell|lenovo|cisco|product|part|item|material|catalog(ue)?|order|option|article"
        r"|stock) )?((part|product|article) )?(numbers?|#|codes?|p n|pn|sku|no)|(product|part|item|order) id|sku|p n|pn"
        r"|models?|model (no|number|#)|feature codes?|fc"
        r"|料号|型号|物料(编码|号|代码|料号)|产品(编码|型号|代码|编号)|商品(编码|编号|型号)|货号|订货号"
        r"|(规格|设备|配置)?型号|型号规格|规格及型号|编码|部件号|零件号",
    ),
    (
        "description",
        r".*description|desc|specifications?|details|configuration|规格|规格描述|配置"
        r"|配置(描述|说明|明细|要求|参数)|描述|(产品|商品|货物)(描述|规格)|技术(参数|规格|指标)|详细配置|规格参数|参数",
    ),
    ("brand", r"brand|manufacturer|maker|mfr|mfg|vendor|make|品牌|厂商|厂家|制造商|生产厂家|品牌厂商"),
    (
        "list_price",
        r"(unit )?(list|msrp|retail|catalog|standard|rrp)( unit)?( price)?|目录价|列表价|原价|市场价|媒体价|官方指导价",
    ),
    (
        "unit_price",
        r"((your|our|net|unit|sales?|offer|quoted?|discounted|customer|special|final) )*(price|cost|net)"
        r"( (each|ea|per unit|per piece|unit|net))?|each|unit net"
        r"|(.*)单价|报价|价格|售价|成交价|优惠价|折后价",
    ),
    ("discount", r"disc(ount)?( .*)?|折扣率?"),
    (
        "amount",
        r"(ext|extd|extended|line|total|sub ?total|net|order)( (ext|net|line))?( (price|amount|total|cost|value|net))?"
        r"|subtotal|amount|sum|(.*)金额|小计|合计|(.*)总价|合价|总额|价税合计",
    ),
    ("tax_rate", r"(tax|vat|gst)( rate| %)|税率"),
    ("tax_amount", r"(sales )?tax( amount)?|vat( amount)?|gst|税额|税金"),
    ("qty", r"((order|total|required) )?(qty|quantity|q ty|pcs|units|count|pieces)|(.*)数量|台数|套数"),
    ("uom", r"unit|uom|unit of measure|计量单位|单位"),
    ("currency", r"currency|ccy|cur|币种|货币|币别"),
    (
        "valid_until",
        r"valid|(price |quote )?valid(ity)?( (until|through|to|till|thru))?|expir(y|es|ation)( date)?"
        r"|(报价|价格)?有效期至?|截止日期",
    ),
    (
        "lead_time",
        r"lead ?time.*|(est )?delivery( (time|lead time))?|availability|eta"
        r"|货期|交货期|交期|供货周期|供货期|到货时间|交付周期",
    ),
    ("warranty", r"warranty.*|guarantee|质保期?|保修期?|维保|维保期|质保年限|质保服务|售后服务"),
    ("quote", r"(quote|quotation)( (no|number|#|id))?|报价单?(号|编号)"),
    ("seller", r"seller|supplier|reseller|distributor|供应商|卖方|报价单位|供货商"),
    ("as_of", r"((price|quote|quotation|new) )?(date|as of)|报价日期|日期"),
    (
        "name",
        r"(product|item|goods|part|component|material)( name)?|name"
        r"|品名|名称|(产品|货物|设备|物料|商品|部件|配件|材料)(名称)?|项目",
    ),
    ("note", r"remarks?|notes?|comments?|备注|说明"),
)
FIELDS = tuple(name for name, _ in _FIELDS)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _FIELDS)
MONEY_FIELDS = frozenset({"low", "typical", "high", "list_price", "unit_price", "amount", "tax_amount"})

_TOTAL = re.compile(
    r"(.*[^\w])?((sub|grand|order|quote|section|net)?[ \-]?total|subtotal|amount due|balance due|sum)\b.*"
    r"|.{0,24}(小计|合计|总计|总价|共计|总金额|总额|累计).{0,24}"
)
_TAX_ROW = re.compile(r"(estimated )?(sales )?(tax|vat|gst)\b.*|(增值)?税(额|金|款)?.{0,12}|增值税.{0,16}")
_MOST_HEADER = 120
_NUMERALS = "一二三四五六七八九十百"
_SECTION = re.compile(
    rf"[(]?[{_NUMERALS}]+[)]?\s*[、.,:\s].*|[(][{_NUMERALS}]+[)].*|第[{_NUMERALS}\d]+(部分|章|节|包|标段).*"
    r"|(section|part|group|category|lot|configuration|config)\s+([ivx]+|\d+|[a-z])\b.*|[ivx]+[.、)]\s*\S.*"
)


@dataclass(frozen=True)
class Header:
    """What a column holds.

    Attributes
    ----------
    field : str
        One of `FIELDS`.
    tax : str
        Whether its amounts hold tax; empty where it does not say.
    power : int or None
        Its amounts count 10 ** power of the currency's unit; None where it does not say.
    currency : str
        Code; empty where it does not say.
    rate : Decimal or None
        Of the tax that it names.
    """

    field: str
    tax: Tax = ""
    power: int | None = None
    currency: str = ""
    rate: Decimal | None = None


def is_chinese(text: str) -> bool:
    """Return whether `text` holds Chinese characters."""
    return bool(_CJK.search(text))


def tax_of(text: str) -> Tax:
    """Return whether `text` says that prices hold tax."""
    words = wide(text).casefold()
    if _NO_TAX.search(words):
        return "excluded"
    return "included" if _WITH_TAX.search(words) else ""


def rate_of(text: str) -> Decimal | None:
    """Return the rate of the tax that `text` names."""
    words = wide(text).casefold()
    return percent_of(words) if re.search(r"税|\b(vat|tax|taxes|gst)\b", words) else None


def money_unit(text: str) -> tuple[str, int | None]:
    """Return the currency and the power of ten that ``人民币万元`` or ``USD`` means."""
    currency, power = "", None
    for match in _CURRENCY.finditer(wide(text).upper()):
        word = match[0]
        if match[3]:
            power = _SCALE.get(word, 0)
            currency = currency or "CNY"
        else:
            currency = _CURRENCY_OF.get(word, word)
    if power is None and re.search(r"万(?!兆)", wide(text)) and is_chinese(text) and len(text) <= 12:
        power = 4
    return currency, power


@lru_cache(maxsize=4096)
def header(text: str) -> Header | None:
    """Return what a column under this header holds; None where the words are not known."""
    words = wide(text).casefold() if len(text) <= _MOST_HEADER else ""
    if not words or re.search(r":\s*\S", words):
        # A key with its value, such as a unit that holds for the whole quote.
        return None
    tax, (currency, power), rate = tax_of(words), money_unit(words), rate_of(words)
    bare = re.sub(r"[(\[].*?[)\]]", " ", words)
    bare = _NO_TAX.sub(" ", bare)
    bare = _WITH_TAX.sub(" ", bare) if tax else bare
    bare = re.sub(r"人民币|美元|欧元|[万千亿]?元|us\$|[$¥€£]|\b(" + "|".join(CODES).lower() + r"|rmb)\b|/", " ", bare)
    bare = re.sub(r"[^\w#%]+|_", " ", bare).strip()
    bare = bare.replace(" ", "") if is_chinese(bare) else bare
    if not bare or len(bare) > 40:
        return None
    for field, pattern in _PATTERNS:
        if pattern.fullmatch(bare):
            money = field in MONEY_FIELDS
            return Header(field, tax if money else "", power if money else None, currency if money else "", rate)
    return None


def is_total(text: str) -> bool:
    """Return whether a line of this text sums others up."""
    return len(text) <= 60 and bool(_TOTAL.fullmatch(wide(text).casefold().rstrip(":")))


def is_tax(text: str) -> bool:
    """Return whether a line of this text is the tax on others."""
    return len(text) <= 40 and bool(_TAX_ROW.fullmatch(wide(text).casefold().rstrip(":")))


def is_section(text: str) -> bool:
    """Return whether this text heads a section: ``一、``, ``Section 2``."""
    words = wide(text).casefold()
    return bool(_SECTION.fullmatch(words)) or (bool(words) and all(char in _NUMERALS for char in words))
