"""A question to the planner: a workload, how it may be served, rules, and what to minimise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, Literal

from planner.errors import InputError
from planner.evidence import Evidence
from planner.fields import (
    Amount,
    Bytes,
    Count,
    Day,
    Days,
    Flag,
    Number,
    Parsed,
    PerKwh,
    PerKwMonth,
    PerRuMonth,
    Seconds,
    Share,
    Text,
    Tokens,
    TokensPerSecond,
    Watts,
    Whole,
    record,
)
from planner.units import QuantityError
from planner.workload import Workload


def _stock(value: object) -> Mapping[str, int]:
    if not isinstance(value, dict):
        raise QuantityError("expected parts with a whole number each, such as 'h200-sxm: 16'")
    for part, count in value.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise QuantityError(f"'{part}': expected a whole number, found {count!r}")
    return dict(value)


OBJECTIVES = ("capex", "tco", "nodes", "power")


def _objective(value: object) -> str | tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names or len(set(map(str, names))) < len(names) or not all(name in OBJECTIVES for name in names):
        raise QuantityError(f"expected one of {', '.join(OBJECTIVES)}, or a list of different ones, found {value!r}")
    return tuple(map(str, names)) if len(names) > 1 else str(names[0])


ROLES = ("both", "split")


def _role(value: object) -> str:
    if value not in ROLES:
        raise QuantityError(f"expected one of {', '.join(ROLES)}, found {value!r}")
    return str(value)


_NAME = {"enum": list(OBJECTIVES), "type": "string"}
_NAMES = {"type": "array", "items": _NAME, "minItems": 1, "uniqueItems": True}
Objective = Annotated[str | tuple[str, ...], Parsed(_objective, {"anyOf": [_NAME, _NAMES]})]
Role = Annotated[str, Parsed(_role, {"type": "string", "enum": list(ROLES)})]
Stock = Annotated[Mapping[str, int], Parsed(_stock, {"type": "object", "additionalProperties": {"type": "integer"}})]


@record
class CustomKv:
    """A KV format that no engine has, taken at its word.

    Attributes
    ----------
    name : str
        How results call it.
    token_bytes : int
        Bytes per token over all layers, one copy.
    """

    name: Text
    token_bytes: Bytes
    note: str = ""


@record
class Serving:
    """How the model may be run; the optimiser chooses among what is listed and legal.

    Attributes
    ----------
    engines : tuple of str
        Engine ids.
    weights : tuple of str
        Weight formats.
    kv_formats : tuple of str
        KV formats; each is used where the engine has it on the GPU at hand.
    custom_kv : CustomKv or None
        Instead of `kv_formats`.
    layouts : tuple of str
        Layout names or ``any``.
    draft_layers, draft_tokens : int
        Draft (MTP) layers kept loaded for speculation, and tokens proposed per step; as many as
        layers if left out.
    placement : {'balanced', 'sticky'}
        Whether a turn goes to any KV pool of its group with room, or to the one that its session
        was given.
    overflow_fraction : Fraction
        With sticky placement, share of the sessions in flight that may find their pool full.
    roles : tuple of str
        ``both``: groups that prefill and decode; ``split``: groups of which each does one of the
        two, with the transfer of KV caches between them.
    accepted : Fraction or None
        Mean tokens per step and session with drafts, the one that is always sure included; None
        counts no gain.
    utilisation_fraction, max_sequences, batched_tokens
        Start-up options of the engines: share of visible memory, and the largest batch in
        sequences and tokens; None for each engine's own defaults.
    """

    engines: tuple[Text, ...]
    weights: tuple[Text, ...]
    kv_formats: tuple[Text, ...] = ()
    custom_kv: CustomKv | None = None
    layouts: tuple[Text, ...] = ("any",)
    draft_layers: Whole = 0
    draft_tokens: Whole | None = None
    placement: Literal["balanced", "sticky"] = "balanced"
    overflow_fraction: Share = Fraction(1, 20)
    roles: tuple[Role, ...] = ("both",)
    accepted: Number | None = None
    utilisation_fraction: Share | None = None
    max_sequences: Count | None = None
    batched_tokens: Tokens | None = None


@record
class Tiers:
    """Where KV caches live beside GPU memory.

    Attributes
    ----------
    cache : str
        Offload product.
    placement : {'local', 'pooled'}
        ``local``: a session's warm and cold copies sit on the node that runs it; ``pooled``:
        any node reaches all host memory and drives over the fabric, which is then priced.
    dram : {'inclusive', 'exclusive', 'none'}
        Whether host memory also holds the active sessions, only the warm ones, or nothing.
    nvme : {'write-all', 'spill', 'none'}
        Whether drives hold every session, only the cold ones, or nothing.
    staging_prefixes : int or None
        Overrides the product's own number of staged prefixes.
    shared : bool
        Whether services of one plan keep their sessions in one pool; only where they are pooled.
    """

    cache: Text
    placement: Literal["local", "pooled"] = "local"
    dram: Literal["inclusive", "exclusive", "none"] = "inclusive"
    nvme: Literal["write-all", "spill", "none"] = "write-all"
    staging_prefixes: Whole | None = None
    shared: Flag = False


@record
class Service:
    """What users must get.

    Attributes
    ----------
    decode_tokens_per_s : int
        Tokens per second to each session in flight.
    first_token_s : Fraction
        From the request to its first token, resumed from the slowest tier.
    prefill_ceiling_fraction, decode_ceiling_fraction : Fraction or None
        Shares of the GPUs' time that may be planned: for prompts, and for prompts and decode together;
        None for the engine's own.
    rewarm_s : Fraction or None
        How soon the rest must have prefilled again what a lost group held; None for no promise.
    measured : str or None
        CSV file with the throughput of replicas, beside this file; replaces the roofline where it
        has rows.
    """

    decode_tokens_per_s: TokensPerSecond
    first_token_s: Seconds
    prefill_ceiling_fraction: Share | None = None
    decode_ceiling_fraction: Share | None = None
    rewarm_s: Seconds | None = None
    measured: Text | None = None


@record
class Owned:
    """Machines that are there already: nothing is paid for them, their running costs count.

    Attributes
    ----------
    name : str
        How plans call them.
    system : str or None
        Whole system of the catalogue with the same content; what is written beside it differs.
    chassis, gpu, cpu, dimm, drive : str
        Part ids.
    dimms, drives : int
        Per machine.
    nics : mapping
        Network cards in each: part id to count. What is missing is bought.
    count : int
        How many machines.
    upgrade : bool
        Whether more of the same DIMMs and drives may be bought for free slots and bays.
    """

    name: Text
    system: Text | None = None
    chassis: Text | None = None
    gpu: Text | None = None
    cpu: Text | None = None
    dimm: Text | None = None
    dimms: Count | None = None
    drive: Text | None = None
    drives: Whole | None = None
    nics: Stock | None = None
    count: Count
    upgrade: Flag = False


@record
class Fleet:
    """Which machines may be bought and how many kinds of them.

    Attributes
    ----------
    gpus, chassis : tuple of str
        Ids, or empty for all.
    vendors, without_vendors : tuple of str
        Makers of GPU, chassis and system: all must be among the first, where it is not empty,
        and none among the second.
    region : str or None
        Where the machines will stand: parts that are not sold there, or that export rules keep
        from there, are left out. None for no such rule.
    cooling : tuple of {'air', 'liquid'}
        How machines may be cooled at the site.
    max_builds : int
        Distinct builds in one plan.
    min_build_nodes : int or None
        Fewest nodes of each build in use.
    one_gpu_model : bool
        Whether all nodes of a plan have the same GPU.
    spare_groups : int
        Replica groups that may fail with the load still held.
    spare_nodes, spare_racks : int
        Nodes, and racks with all nodes in them, that may fail so; each node takes its whole
        group with it. Each kind of failure is held on its own. Racks: 0 or 1.
    max_nodes : int or None
        Most nodes.
    owned : tuple of Owned
        Machines that are there already and may be used.
    group_nodes : tuple of int
        How many nodes a replica group may span.
    """

    gpus: tuple[Text, ...] = ()
    chassis: tuple[Text, ...] = ()
    vendors: tuple[Text, ...] = ()
    without_vendors: tuple[Text, ...] = ()
    region: Text | None = None
    cooling: tuple[Literal["air", "liquid"], ...] = ("air",)
    max_builds: Count | None = None
    min_build_nodes: Count | None = None
    one_gpu_model: Flag = False
    spare_groups: Whole = 0
    spare_nodes: Whole = 0
    spare_racks: Whole = 0
    max_nodes: Count | None = None
    owned: tuple[Owned, ...] = ()
    group_nodes: tuple[Count, ...] = (1, 2)


@record
class Limits:
    """What the site and the purse allow; None where there is no limit.

    Attributes
    ----------
    budget : Money or None
        On capex_total, cluster lines and tax included.
    power_w : int or None
        Sum of all peak watts at the site, cooling excluded.
    sustained_power_w : int or None
        Sum of all mean watts: peak times `finance.average_load`.
    rack_units : int or None
        Of the nodes.
    racks : int or None
        Most racks for nodes.
    rack_power_w, rack_height : int or None
        Watts and rack units that one rack offers to nodes, in place of the catalogue's.
    stock : mapping
        Part id to how many can be had.
    minimum : mapping
        Part id to the fewest in the machines of a plan.
    maximum : mapping
        Part id to the most in a plan, machines and cluster lines together.
    deliver_by : str or None
        Parts of machines that come later are left out. Ordered on the price book's `as_of`.
    drive_wear_fraction : Fraction
        Share of what drives are rated to be written that may be planned over the term.
    lead_time_days : int or None
        Counted for parts whose price says none; None for leaving them out.
    """

    budget: Amount | None = None
    power_w: Watts | None = None
    sustained_power_w: Watts | None = None
    rack_units: Count | None = None
    racks: Count | None = None
    rack_power_w: Watts | None = None
    rack_height: Count | None = None
    stock: Stock = field(default_factory=dict)
    minimum: Stock = field(default_factory=dict)
    maximum: Stock = field(default_factory=dict)
    deliver_by: Day | None = None
    lead_time_days: Days | None = None
    drive_wear_fraction: Share = Fraction(4, 5)


@record
class Finance:
    """Prices and running costs.

    Attributes
    ----------
    prices : str
        Price book.
    price_case : {'low', 'typical', 'high'}
        Which value of each price the plan is optimised for.
    estimates : {'use', 'refuse'}
        Whether prices that the book's rules made for parts without one may be planned with.
    tax_fraction : Fraction
        Added in a column of its own where the book's prices exclude it.
    years : int
        Term of support and of total cost of ownership.
    discount_rate_fraction : Fraction
        Yearly cost of capital: what is paid at once counts as an annuity over the term.
    energy_rate, colocation_rate, colocation_per_ru_rate : MoneyRate or None
        Money per kWh, per kW and month, per rack unit of the nodes and month.
    pue : Fraction
        Facility power over IT power.
    average_load_fraction : Fraction
        Mean over peak power.
    """

    prices: Text
    price_case: Literal["low", "typical", "high"] = "typical"
    estimates: Literal["use", "refuse"] = "use"
    tax_fraction: Share = Fraction(0)
    years: Count = 4
    discount_rate_fraction: Share = Fraction(0)
    energy_rate: PerKwh | None = None
    colocation_rate: PerKwMonth | None = None
    colocation_per_ru_rate: PerRuMonth | None = None
    pue: Number = Fraction(1)
    average_load_fraction: Share = Fraction(1)


@record
class Scenario:
    """Everything a plan depends on beside the catalogue.

    Attributes
    ----------
    objective : str or tuple of str
        What is minimised, the first before the second; ties are broken by cost, then node count.
    evidence : mapping
        Dotted path to where a value comes from, for those that say so.
    applied : tuple of str
        Overrides in the order they were applied.
    label : str
        How a plan of several services calls this one; empty where it stands alone.
    services : tuple of Scenario
        The services of one plan; empty where there is one. What the whole says of limits,
        finance, objective and fleet holds for each, see `services_of`.
    throughput : Throughput or None
        What the file of `service.measured` holds.
    """

    kind: Literal["scenario"] = "scenario"
    name: Text
    title: Text
    model: Text
    workload: Workload
    serving: Serving
    tiers: Tiers
    service: Service | None = None
    fleet: Fleet = field(default_factory=Fleet)
    limits: Limits = field(default_factory=Limits)
    finance: Finance
    objective: Objective = "capex"
    note: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    applied: tuple[str, ...] = ()
    resolved: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    # Each a Scenario: a record that named itself here would nest in its own schema without end.
    services: tuple[Any, ...] = ()
    throughput: Any = None

    @property
    def objectives(self) -> tuple[str, ...]:
        """What is minimised, in order."""
        return (self.objective,) if isinstance(self.objective, str) else self.objective

    @property
    def splits(self) -> bool:
        """Whether groups may be offered that only prefill or only decode."""
        return "split" in self.serving.roles

    @property
    def flat(self) -> bool:
        """Whether the flat overhead rule replaces the engine's own rounding and ceilings."""
        return self.workload.overhead_fraction is not None


OWN_FLEET = ("gpus", "chassis", "group_nodes", "spare_groups", "spare_nodes", "one_gpu_model")
"""What each service of a plan says of the fleet for itself; the rest is common to all."""


def services_of(scenario: Scenario) -> tuple[Scenario, ...]:
    """Return the services of a plan under the limits, finance, objective and fleet of the whole; itself where alone."""
    return tuple(
        replace(
            one,
            limits=scenario.limits,
            finance=scenario.finance,
            objective=scenario.objective,
            fleet=replace(scenario.fleet, **{key: getattr(one.fleet, key) for key in OWN_FLEET}),
        )
        for one in scenario.services
    ) or (scenario,)


def of_each(scenario: Scenario, change: Callable[[Scenario], Scenario]) -> Scenario:
    """Return the scenario changed, and so each of its services."""
    changed = tuple(change(one) for one in scenario.services)
    return replace(change(scenario), services=changed)


@dataclass(frozen=True)
class Override:
    """One change of a scenario: a dotted path and the new value as YAML text."""

    path: str
    text: str

    @classmethod
    def parse(cls, text: str) -> Override:
        """Read ``workload.users=250``.

        Raises
        ------
        InputError
            If there is no ``=``.
        """
        path, found, value = text.partition("=")
        if not found or not path.strip():
            raise InputError(f"--set {text}: expected PATH=VALUE, such as workload.users=250")
        return cls(path.strip(), value.strip())


def service_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield what contradicts itself about speed, each with its setting."""
    for key in ("prefill_ceiling", "decode_ceiling"):
        share = getattr(scenario.service, f"{key}_fraction", None)
        if share is not None and not 0 < share <= 1:
            yield f"service.{key}", "expected a share of the time above 0 and up to 100 %"
    serving = scenario.serving
    drafts = serving.draft_layers if serving.draft_tokens is None else serving.draft_tokens
    if serving.accepted is not None and not 1 <= serving.accepted <= 1 + drafts:
        yield "serving.accepted", f"expected 1 to {1 + drafts} tokens per step with {drafts} drafted"
