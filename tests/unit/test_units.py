"""Quantities with units: every dimension, exactness, and every unit that is easily confused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner import units
from planner.units import Dimension, Money, QuantityError

EXACT = [
    (units.BYTES, "141 GiB", 141 * 2**30),
    (units.BYTES, "141GiB", 141 * 2**30),
    (units.BYTES, "  7.68 TB ", 7_680_000_000_000),
    (units.BYTES, "97.8 kB", 97_800),
    (units.BYTES, "1 KiB", 1024),
    (units.BYTES, "1_000 B", 1000),
    (units.BYTES, "0 B", 0),
    (units.BYTES, "2 PB", 2 * 10**15),
    (units.BYTES, "1.5 B", 2),
    (units.BYTES_PER_SECOND, "3.35 TB/s", 3_350_000_000_000),
    (units.BYTES_PER_SECOND, "400 Gbit/s", 50_000_000_000),
    (units.BYTES_PER_SECOND, "1 GiB/s", 2**30),
    (units.BYTES_PER_SECOND, "100 Mbit/s", 12_500_000),
    (units.TOKENS, "128Ki tokens", 131_072),
    (units.TOKENS, "128 Ki tokens", 131_072),
    (units.TOKENS, "128k tokens", 128_000),
    (units.TOKENS, "1 token", 1),
    (units.TOKENS_PER_SECOND, "20 tokens/s", 20),
    (units.TOKENS_PER_SECOND, "1.5 k tokens/s", 1500),
    (units.WATTS, "10.2 kW", 10_200),
    (units.WATTS, "700 W", 700),
    (units.WATTS, "1.25 MW", 1_250_000),
    (units.FLOP_PER_SECOND, "1979 TFLOP/s", 1979 * 10**12),
    (units.FLOP_PER_SECOND, "4.5 PFLOP/s", 4500 * 10**12),
    (units.SECONDS, "15 min", Fraction(900)),
    (units.SECONDS, "2.5 ms", Fraction(1, 400)),
    (units.SECONDS, "2 d", Fraction(172_800)),
    (units.SECONDS, "1 day", Fraction(86_400)),
    (units.SHARE, "30 %", Fraction(3, 10)),
    (units.SHARE, "12.5%", Fraction(1, 8)),
]


@pytest.mark.parametrize(("dimension", "text", "value"), EXACT, ids=[text.strip() for _, text, _ in EXACT])
def test_reads_exactly(dimension: Dimension, text: str, value: int) -> None:
    found = dimension.parse(text)
    assert found == value
    assert isinstance(found, Fraction if dimension.exact else int)


def test_decimal_and_binary_are_never_confused() -> None:
    assert units.BYTES.parse("1 GiB") - units.BYTES.parse("1 GB") == 73_741_824


def test_no_float_in_between() -> None:
    # In floating point 4.35 x 10^15 would be a few bytes off.
    assert units.BYTES.parse("4.350000000000001 PB") == 4_350_000_000_000_001
    assert units.BYTES.parse("9007199254740993 B") == 2**53 + 1


CONFUSED = [
    (units.BYTES, "5 KB", ["5 kB", "5 KiB", "1,000", "1,024"]),
    (units.BYTES, "5 Kb", ["5 kB", "5 KiB"]),
    (units.BYTES, "5 G", ["5 GB", "5 GiB"]),
    (units.BYTES, "5 T", ["5 TB", "5 TiB"]),
    (units.BYTES, "5 Gbit", ["divide the bits by 8"]),
    (units.BYTES, "5 gb", ["did you mean '5 GB'"]),
    (units.BYTES, "5 gib", ["did you mean '5 GiB'"]),
    (units.BYTES, "5 watts", ["units:", "GiB"]),
    (units.BYTES_PER_SECOND, "400 Gbps", ["400 Gbit/s", "400 GB/s"]),
    (units.BYTES_PER_SECOND, "400 Gb/s", ["400 Gbit/s", "400 GB/s"]),
    (units.BYTES_PER_SECOND, "400 GBps", ["400 GB/s"]),
    (units.BYTES_PER_SECOND, "400 GB", ["bytes per second"]),
    (units.TOKENS, "128K tokens", ["128Ki tokens", "128k tokens"]),
    (units.TOKENS, "128K", ["128Ki tokens", "128k tokens"]),
    (units.TOKENS, "128k", ["128Ki tokens"]),
    (units.TOKENS, "128Ki", ["128Ki tokens"]),
    (units.FLOP_PER_SECOND, "989 TFLOPS", ["989 TFLOP/s"]),
    (units.FLOP_PER_SECOND, "2 PFLOPS", ["2 PFLOP/s"]),
    (units.SECONDS, "5 m", ["5 min", "5 ms"]),
    (units.WATTS, "5 kw", ["did you mean '5 kW'"]),
    (units.SHARE, "0.3", ["no unit", "30 %"]),
]


@pytest.mark.parametrize(("dimension", "text", "words"), CONFUSED, ids=[text for _, text, _ in CONFUSED])
def test_confusing_unit_is_refused_with_advice(dimension: Dimension, text: str, words: list[str]) -> None:
    with pytest.raises(QuantityError) as fault:
        dimension.parse(text)
    assert [word for word in words if word not in str(fault.value)] == []


DIMENSIONS = [value for value in vars(units).values() if isinstance(value, Dimension)]


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=[d.name for d in DIMENSIONS])
def test_every_dimension_names_its_units_where_one_is_missing(dimension: Dimension) -> None:
    for number in ("5", 5, 5.5):
        with pytest.raises(QuantityError) as fault:
            dimension.parse(number)
        assert "has no unit" in str(fault.value)
        assert f"'{dimension.examples[0]}'" in str(fault.value)


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=[d.name for d in DIMENSIONS])
def test_every_dimension_reads_its_own_examples(dimension: Dimension) -> None:
    assert all(dimension.parse(example) > 0 for example in dimension.examples)


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=[d.name for d in DIMENSIONS])
@pytest.mark.parametrize("value", [True, None, [], {}, "", "many", "1e9 B", ".5 B", "--5 B", "nan %"])
def test_every_dimension_refuses_what_is_no_quantity(dimension: Dimension, value: object) -> None:
    with pytest.raises(QuantityError):
        dimension.parse(value)


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=[d.name for d in DIMENSIONS])
def test_every_dimension_refuses_negative_values(dimension: Dimension) -> None:
    with pytest.raises(QuantityError, match="negative"):
        dimension.parse(f"-{dimension.examples[0]}")


@pytest.mark.parametrize("text", ["0.5 tokens", "1.0001k tokens", "0.1 W"])
def test_counted_dimensions_must_come_to_whole_numbers(text: str) -> None:
    dimension = units.TOKENS if "token" in text else units.WATTS
    with pytest.raises(QuantityError, match="not a whole number"):
        dimension.parse(text)


MONEY = [
    ("USD 30k", "USD", 3_000_000),
    ("USD30k", "USD", 3_000_000),
    ("USD 0.01", "USD", 1),
    ("EUR 495859.52", "EUR", 49_585_952),
    ("USD 1.5M", "USD", 150_000_000),
    ("USD 2bn", "USD", 200_000_000_000),
    ("CNY 120万", "CNY", 120_000_000),
    ("CNY 1.2亿", "CNY", 12_000_000_000),
    ("USD 1_000", "USD", 100_000),
]


@pytest.mark.parametrize(("text", "currency", "cents"), MONEY, ids=[text for text, _, _ in MONEY])
def test_reads_money_in_whole_cents(text: str, currency: str, cents: int) -> None:
    assert Money.parse(text) == Money(currency, cents)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (30_000, "has no currency"),
        ("30k", "is no amount"),
        ("$30k", "is no amount"),
        ("usd 30k", "is no amount"),
        ("USD 1.234", "finer than a hundredth"),
        ("USD 0.08/kWh", "is a rate"),
        ("USD 1,000", "is no amount"),
        (None, "is no amount"),
    ],
)
def test_money_that_cannot_be_read_says_why(text: object, words: str) -> None:
    with pytest.raises(QuantityError, match=words):
        Money.parse(text)


def test_money_rate_is_an_exact_fraction() -> None:
    rate = units.parse_money_rate("USD 0.081/kWh", "kWh")
    assert (rate.currency, rate.cents, rate.per) == ("USD", Fraction(81, 10), "kWh")
    assert str(rate) == "USD 0.081/kWh"
    assert units.parse_money_rate("USD 163.44/kW/month", "kW/month").cents == 16_344
    for wrong in ("USD 5", "USD 5/h", "5/kWh"):
        with pytest.raises(QuantityError):
            units.parse_money_rate(wrong, "kWh")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.format_money(123_450, "USD"), "USD 1,234.50"),
        (units.format_money(-100), "-1"),
        (units.format_money(5, "EUR"), "EUR 0.05"),
        (units.format_bytes(1_240_656_000_000), "1,241 GB"),
        (units.format_bytes(10**13), "10 TB"),
        (units.format_bytes(999), "999 B"),
        (units.format_gib(141 * 2**30), "141.00 GiB"),
        (units.format_rate(63 * 10**9), "63 GB/s"),
        (units.format_watts(10_200), "10.2 kW"),
        (units.format_watts(700), "700 W"),
        (units.format_tokens(131_072), "131,072 tokens"),
        (units.format_share(Fraction(1, 8)), "12.5 %"),
    ],
)
def test_shows_for_reading(shown: str, expected: str) -> None:
    assert shown == expected


def test_rounding_up_is_exact() -> None:
    assert units.ceil_div(10**30 + 1, 10**15) == 10**15 + 1
    assert [units.ceil_div(n, 3) for n in (0, 1, 3, 4)] == [0, 1, 1, 2]
    assert units.ceil(Fraction(10**30 + 1, 10**30)) == 2
