"""Prices by rule for parts without one: by hand, what they are called, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.estimates.base import Known, oldest, whole
from planner.estimates.per_gb import PerGb, family
from planner.loading import Shelf, load_shelf
from planner.planning import make_plan, pricing_of
from planner.prices import Estimate, Price, PriceBook
from planner.scenario_files import load_scenario
from planner.units import Money
from tests.unit.tiny import shelf

HEAD = "kind: prices\nid: {id}\nname: Name\nregion: R\ncurrency: {currency}\nas_of: '2026-11-30'\ntax: {tax}\n"
LINE = (
    "  - {{part: {part}, low: {c} 100, typical: {c} 200, high: {c} 400, as_of: '{day}', basis: street, {why}}}\n"
)  # fmt: skip
RATE = "kind: exchange\nid: usd-xyz\nbase: USD\nquote: XYZ\nrate: {value: 2.5, source: hz-track}\nas_of: '2026-03'\n"

Book = Callable[..., Shelf]


@pytest.fixture
def layer(tmp_path: Path) -> Book:
    """Load the shipped catalogue with an exchange rate and books over it."""

    def load(*books: str, rate: str = RATE) -> Shelf:
        for i, text in enumerate(books):
            (tmp_path / f"book-{i}.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "rate.yaml").write_text(rate, encoding="utf-8")
        return load_shelf([tmp_path])

    return load


def book(name: str, currency: str, tax: str, prices: str = "", estimates: str = "") -> str:
    text = HEAD.format(id=name, currency=currency, tax=tax)
    text += f"prices:\n{prices}" if prices else ""
    return text + (f"estimates:\n{estimates}" if estimates else "")


def line(part: str, currency: str = "USD", day: str = "2026-09", why: str = "sources: [hz-track]") -> str:
    return LINE.format(part=part, c=currency, day=day, why=why)


def rule(words: str) -> str:
    return f"  - {{{words}, assumed: by hand}}\n"


def amounts(price: Price | None) -> tuple[int, int, int]:
    assert price is not None
    return price.low.cents, price.typical.cents, price.high.cents


def test_converted_by_hand(layer: Book) -> None:
    found = layer(
        book("here", "USD", "excluded", line("h200-sxm") + line("rdimm-64", why="assumed: guess")),
        book(
            "there", "XYZ", "included", line("rdimm-64", "XYZ"),
            rule("rule: convert, book: here, exchange: usd-xyz, kinds: [gpu, dimm], tax: 10 %, markup: 4 %"),
        ),
    )  # fmt: skip
    made = found.catalog.book("there").find("h200-sxm")
    # 2.5 x 1.1 x 1.04 = 2.86 per dollar, in whole units.
    assert amounts(made) == (28600, 57200, 114400)
    assert made is not None
    assert (made.estimate, made.basis, made.as_of, made.sources) == ("convert", "indicative", "2026-03", ("hz-track",))
    assert made.derived == "price in here x 2.5 XYZ per USD of 2026-03 x 1.1 for tax + 4 %"
    # A price of the book's own stays as it is; what the other book lacks stays without one.
    own = found.catalog.book("there").find("rdimm-64")
    assert (amounts(own), own and own.estimate) == ((10000, 20000, 40000), "")
    assert found.catalog.book("there").find("b200") is None


def test_converted_backwards_and_out_of_tax(layer: Book) -> None:
    found = layer(
        book("here", "XYZ", "included", line("h200-sxm", "XYZ", why="assumed: guess")),
        book("there", "USD", "excluded", "",
             rule("rule: convert, book: here, exchange: usd-xyz, kinds: [gpu], tax: 25 %")),
    )  # fmt: skip
    made = found.catalog.book("there").find("h200-sxm")
    # 1 / 2.5 / 1.25 = 0.32: 32, 64 and 128.
    assert amounts(made) == (3200, 6400, 12800)
    assert made is not None
    assert (made.derived, made.evidence.kind) == ("", "assumed")
    assert made.assumed.endswith("; what it is made of is assumed itself")


def test_a_chain_of_books_is_filled_from_its_beginning(layer: Book) -> None:
    found = layer(
        book("a", "USD", "excluded", "", rule("rule: convert, book: b, kinds: [gpu]")),
        book("b", "USD", "excluded", "", rule("rule: convert, book: c, kinds: [gpu], markup: 50 %")),
        book("c", "USD", "excluded", line("h200-sxm")),
    )
    assert amounts(found.catalog.book("a").find("h200-sxm")) == (15000, 30000, 60000)


def test_volume_prices_and_lead_times_come_along(layer: Book) -> None:
    tiers = "volume: [{from: 10, low: USD 90, typical: USD 150, high: USD 300}]"
    lead = "lead_time: {time: 12 weeks, assumed: test}"
    found = layer(
        book("here", "USD", "excluded", line("h200-sxm", why=f"sources: [hz-track], {tiers}, {lead}")),
        book("there", "XYZ", "excluded", "", rule("rule: convert, book: here, exchange: usd-xyz, kinds: [gpu]")),
    )
    made = found.catalog.book("there").find("h200-sxm")
    assert made is not None
    assert amounts(made.at_pieces(10)) == (22500, 37500, 75000)
    assert made.lead_time is not None
    assert made.lead_time.time_days == 84


def test_price_per_gb_by_hand() -> None:
    parts = shelf().catalog.parts
    dimms = {name: parts["dimm"][name] for name in ("rdimm-32", "rdimm-64", "rdimm-96", "rdimm-128")}
    money = {"rdimm-32": (32, 64, 320), "rdimm-64": (128, 192, 256), "rdimm-128": (128, 640, 1280)}
    prices = tuple(
        Price(part=name, low=Money("USD", 100 * a), typical=Money("USD", 100 * b), high=Money("USD", 100 * c),
              as_of=f"2026-0{i + 1}", basis="street", sources=("hz-track",))
        for i, (name, (a, b, c)) in enumerate(money.items())
    )  # fmt: skip
    known = Known(_book(prices), {}, {**parts, "dimm": dimms}, {})
    estimate = Estimate(rule="per_gb", kinds=("dimm",), assumed="by hand")
    made = PerGb().price(estimate, dimms["rdimm-96"], known)
    # Typical 2, 3 and 5 a GB: the median is 3. Low 1, 2 and 1: 1. High 10, 4 and 10: 10.
    assert amounts(made) == (9600, 28800, 96000)
    assert made is not None
    assert (made.as_of, made.derived[:22]) == ("2026-01", "median price per GB of")
    alone = replace(known, book=_book(prices[:1]))
    assert PerGb().price(estimate, dimms["rdimm-96"], alone) is None


def _book(prices: tuple[Price, ...]) -> PriceBook:
    return PriceBook(
        id="b", name="B", region="R", currency="USD", as_of="2026-11", tax="excluded", prices=prices
    )  # fmt: skip


def test_drives_of_different_cells_are_no_family() -> None:
    drives = shelf().catalog.parts["drive"]
    slow, fast = drives["solidigm-p5336-30.72tb"], drives["micron-9550-pro-30.72tb"]
    assert family(slow) != family(fast)
    assert family(drives["micron-9550-pro-15.36tb"]) == family(fast)


def test_chassis_as_a_system_less_its_parts(layer: Book) -> None:
    catalog = shelf().catalog
    system, chassis = catalog.systems()["dgx-h200"], catalog.chassis()["dgx-h100-h200-chassis"]
    inside = [system.gpu, system.cpu, system.dimms.part, system.boot.part]
    inside += [quantity.part for quantity in (*system.drives, *system.nics)]
    count = chassis.n_gpus + chassis.n_cpus + system.dimms.count + system.boot.count
    count += sum(quantity.count for quantity in (*system.drives, *system.nics))
    machine = line(system.id).replace("USD 100", "USD 50k").replace("USD 200", "USD 60k").replace("USD 400", "USD 70k")
    text = machine + "".join(line(part) for part in dict.fromkeys(inside))
    found = layer(book("b", "USD", "excluded", text, rule("rule: system_less_parts, kinds: [chassis]")))
    made = found.catalog.book("b").find(chassis.id)
    # Every part at its typical 200 dollars.
    assert amounts(made) == tuple(100 * (dollars - 200 * count) for dollars in (50_000, 60_000, 70_000))
    assert made is not None
    assert made.derived.startswith("price of dgx-h200 less 8 x h200-sxm, ")
    # Nothing is left of a machine that costs no more than its parts, nor of one whose parts are not all priced.
    for prices in (text.replace("USD 50k", "USD 1k"), machine):
        left = layer(book("b", "USD", "excluded", prices, rule("rule: system_less_parts, kinds: [chassis]")))
        assert left.catalog.book("b").find(chassis.id) is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rule: convert, kinds: [gpu]", "needs 'book: ...'"),
        ("rule: convert, book: us-2026, kinds: [gpu]", "did you mean 'us-2026-11'?"),
        ("rule: convert, book: us-2026-11, kinds: [gpu]", "between USD and XYZ needs 'exchange: ...'"),
        ("rule: convert, book: us-2026-11, exchange: usd-xy, kinds: [gpu]", "did you mean 'usd-xyz'?"),
        ("rule: convert, book: us-2026-11, exchange: usd-cny, kinds: [gpu]", "between USD and CNY, not USD and XYZ"),
        ("rule: convert, book: us-2026-11, exchange: usd-xyz, kinds: [gpu], tax: 3 %", "the same; leave 'tax' out"),
        ("rule: convert, book: cn-2026-11, exchange: usd-xyz, kinds: [gpu]", "say with 'tax: ... %'"),
        ("rule: convert, book: b, kinds: [gpu]", "in a circle: b from b"),
        ("rule: per_gb, kinds: [gpu]", "is for dimm and drive, not for 'gpu'"),
        ("rule: per_gb, kinds: [dim]", "did you mean 'dimm'?"),
        ("rule: per_gb, kinds: [dimm], book: us-2026-11", "takes no 'book'"),
        ("rule: per_gb, kinds: [dimm], markup: 3 %", "takes no 'markup'"),
        ("rule: system_less_parts, kinds: [system]", "is for chassis, not for 'system'"),
        ("rule: system_less_parts, kinds: [chassis], markup: 3 %", "takes no 'markup'"),
        ("rule: covert, kinds: [chassis]", "expected convert or per_gb or system_less_parts"),
    ],
)
def test_rules_that_cannot_be_followed(layer: Book, words: str, told: str) -> None:
    with pytest.raises(InputError) as fault:
        layer(book("b", "XYZ", "excluded", "", rule(words)))
    problems = list(fault.value.problems)
    assert any(told in f"{problem.message} {problem.hint}" for problem in problems), problems
    assert all(problem.line == 9 and problem.file.endswith("book-0.yaml") for problem in problems)


def test_a_rate_of_nothing_converts_nothing(layer: Book) -> None:
    words = rule("rule: convert, book: us-2026-11, exchange: usd-xyz, kinds: [gpu]")
    with pytest.raises(InputError, match="has the rate 0"):
        layer(book("b", "XYZ", "excluded", "", words), rate=RATE.replace("2.5", "0"))


def test_no_file_may_say_that_a_rule_made_its_price(layer: Book) -> None:
    with pytest.raises(InputError, match="unknown key 'estimate'"):
        layer(book("b", "USD", "excluded", line("h200-sxm", why="assumed: x, estimate: convert")))


@pytest.mark.parametrize(
    ("days", "first"),
    [(("2026", "2026-11"), "2026-11"), (("2026-03", "2026-03-30"), "2026-03-30"), (("2025", "2026-01-01"), "2025")],
)
def test_oldest_day(days: tuple[str, ...], first: str) -> None:
    assert oldest(*days) == first


def test_whole_units_halves_up() -> None:
    assert [whole(Fraction(cents), "USD").cents for cents in (149, 150, 249)] == [100, 200, 200]


def _planned(**finance: Any) -> Any:
    scenario = load_scenario("report-real", [], None, shelf())
    money = replace(scenario.finance, prices="us-contract-2026-11", **finance)
    return replace(scenario, finance=money)


def test_plan_says_which_prices_rules_made() -> None:
    plan = make_plan(_planned(), shelf(), compare=False)
    told = next(words for words in plan.warnings if "rules of the price book made them" in words)
    assert "mi300x (convert)" in told
    assert "rdimm-128" not in told


def test_prices_by_rule_may_be_refused() -> None:
    book_of = pricing_of(_planned(estimates="refuse"), shelf()).book
    assert {price.part for price in book_of.prices} == {"rdimm-32", "rdimm-64", "rdimm-96", "rdimm-128"}
    assert not any(price.estimate for price in book_of.prices)


def test_a_converted_price_promises_nothing(layer: Book) -> None:
    words = "quote: Q-1, seller: S, part_numbers: [ABC-1], warranty: 3 years, valid_until: '2026-12-31', "
    quoted = line("h200-sxm", why=f"{words}sources: [hz-track]")
    convert = rule("rule: convert, book: here, kinds: [gpu]")
    found = layer(book("here", "USD", "excluded", quoted), book("there", "USD", "excluded", "", convert))
    there, here = (found.catalog.book(name).find("h200-sxm") for name in ("there", "here"))
    assert here is not None and (here.quote, here.warranty_months) == ("Q-1", 36)
    assert there is not None and there.typical == here.typical
    assert (there.quote, there.seller, there.part_numbers, there.valid_until) == (None, None, (), None)
    assert there.warranty_months is None
