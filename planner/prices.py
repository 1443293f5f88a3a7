"""Price books: what parts cost, where, when, and how we know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Literal

from planner.evidence import Evidence, Source
from planner.fields import Amount, Count, Day, Days, Months, Number, Share, Text, record
from planner.units import Money


@record
class LeadTime:
    """From the order to the delivery of one part.

    Attributes
    ----------
    time_days : int
        Calendar days; of a range, the late end.
    sources, derived, assumed
        At least one kind of evidence.
    """

    time_days: Days
    sources: tuple[Text, ...] = ()
    derived: str = ""
    assumed: str = ""
    note: str = ""


@record
class VolumePrice:
    """What a piece costs where many are bought.

    Attributes
    ----------
    from_pieces : int
        So many or more; then all pieces cost the same.
    low, typical, high : Money
        Of each piece.
    """

    from_pieces: Count
    low: Amount
    typical: Amount
    high: Amount


@record
class Price:
    """What one part costs.

    Attributes
    ----------
    part : str
        Part id.
    low, typical, high : Money
        The range and the value that plans use unless told otherwise.
    as_of : str
        Date of the quotation or observation.
    valid_until : str or None
        Last day on which a quote can be ordered on.
    quote : str
        Number of the quote, as its seller writes it.
    seller : str
        Who sells at this price.
    part_numbers : tuple of str
        What the seller or the server's vendor orders the part under; the maker's numbers stand with the part.
    warranty_months : int or None
        For how long the seller answers for it.
    basis : {'contract', 'street', 'list', 'indicative'}
        What kind of price it is.
    volume : tuple of VolumePrice
        What a piece costs where more are bought, the fewest pieces first.
    lead_time : LeadTime or None
        From the order to the delivery; only `limits.deliver_by` asks for it.
    estimate : str
        The rule that made it; empty where the book's file holds it.
    sources, derived, assumed
        Exactly one kind of evidence; `derived` and `assumed` state the formula or the reason.
    """

    part: Text
    low: Amount
    typical: Amount
    high: Amount
    as_of: Day
    valid_until: Day | None = None
    quote: Text | None = None
    seller: Text | None = None
    part_numbers: tuple[Text, ...] = ()
    warranty_months: Months | None = None
    basis: Literal["contract", "street", "list", "indicative"]
    volume: tuple[VolumePrice, ...] = ()
    lead_time: LeadTime | None = None
    estimate: str = ""
    sources: tuple[Text, ...] = ()
    derived: str = ""
    assumed: str = ""
    note: str = ""

    @property
    def evidence(self) -> Evidence:
        """Where the price comes from."""
        if self.assumed:
            return Evidence("assumed", self.sources, self.assumed, note=self.note)
        if self.derived:
            return Evidence("derived", self.sources, self.derived, note=self.note)
        return Evidence("sourced", self.sources, note=self.note)

    def at_pieces(self, pieces: int) -> Price:
        """Return the price where so many are bought."""
        reached = [tier for tier in self.volume if tier.from_pieces <= pieces]
        if not reached:
            return self
        last = reached[-1]
        return replace(self, low=last.low, typical=last.typical, high=last.high)


@record
class Exchange:
    """What one unit of a currency was worth in another on a day.

    Attributes
    ----------
    base, quote : str
        One of `base` is so many of `quote`: ``USD`` and ``CNY``.
    rate : Fraction
        Has its evidence, as values of parts have.
    as_of : str
        Date of the rate.
    """

    kind: Literal["exchange"] = "exchange"
    id: Text
    base: Text
    quote: Text
    rate: Number
    as_of: Day
    note: str = ""
    source: tuple[Text, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)


@record
class Estimate:
    """A rule that makes prices for parts which a book has none for.

    Attributes
    ----------
    rule : {'convert', 'per_gb', 'system_less_parts'}
        Prices of another book, the price per GB of like parts, or a whole system's price less its parts.
    kinds : tuple of str
        Kinds of parts that it may price.
    assumed : str
        Why its prices are good enough to plan with.
    book, exchange : str or None
        Of `convert`: the other book, and the rate where currencies differ.
    tax_fraction : Fraction or None
        Of `convert`: the tax that one book's prices contain and the other's do not.
    markup_fraction : Fraction
        Of `convert`: what this market asks more.
    """

    rule: Literal["convert", "per_gb", "system_less_parts"]
    kinds: tuple[Text, ...]
    assumed: Text
    book: Text | None = None
    exchange: Text | None = None
    tax_fraction: Share | None = None
    markup_fraction: Share = Fraction(0)


@record
class PriceBook:
    """Prices of one region in one currency and on one tax basis.

    Attributes
    ----------
    estimates : tuple of Estimate
        Rules for parts without a price, the first that has an answer counts.
    tax : {'excluded', 'included'}
        Whether the prices contain value-added or sales tax.
    tax_name : str
        E.g. ``sales tax`` or ``增值税``.
    documents : tuple of Source
        Sources that the book brings along, such as the quote it was made from.
    """

    kind: Literal["prices"] = "prices"
    id: Text
    name: Text
    region: Text
    currency: Text
    as_of: Day
    tax: Literal["excluded", "included"]
    tax_name: Text = "tax"
    documents: tuple[Source, ...] = ()
    prices: tuple[Price, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    note: str = ""

    def find(self, part: str) -> Price | None:
        """Return the price of `part`; None where the book has none."""
        return self._by_part.get(part)

    @property
    def _by_part(self) -> Mapping[str, Price]:
        cached: Mapping[str, Price] | None = self.__dict__.get("_index")
        if cached is None:
            cached = {price.part: price for price in self.prices}
            object.__setattr__(self, "_index", cached)
        return cached

    @property
    def tiered(self) -> tuple[Price, ...]:
        """The prices that depend on how many are bought."""
        cached: tuple[Price, ...] | None = self.__dict__.get("_tiered")
        if cached is None:
            cached = tuple(price for price in self.prices if price.volume)
            object.__setattr__(self, "_tiered", cached)
        return cached

    def without_estimates(self) -> PriceBook:
        """Return the book as its file has it, without what rules made."""
        return replace(self, prices=tuple(price for price in self.prices if not price.estimate))

    def at_pieces(self, pieces: Mapping[str, int]) -> PriceBook:
        """Return the book with the prices that hold where so many of each part are bought."""
        found = (price.at_pieces(pieces[price.part]) if price.part in pieces else price for price in self.prices)
        return replace(self, prices=tuple(found))

    def cents(self, part: str, case: str = "typical") -> int | None:
        """Return the price of `part` in cents for the case ``low``, ``typical`` or ``high``."""
        price = self.find(part)
        if price is None:
            return None
        amount: Money = getattr(price, case)
        return amount.cents
