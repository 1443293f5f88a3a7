"""Parts and machines: frozen facts of the catalogue in exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planner.errors import InputError, nearest
from planner.evidence import Evidence, SourceList
from planner.fields import (
    Bytes,
    BytesPerSecond,
    Count,
    Flag,
    Flops,
    LinkRate,
    Number,
    Share,
    Text,
    Watts,
    Whole,
    record,
)
from planner.prices import PriceBook
from planner.wiring import Topology

Generation = Literal["ddr4", "ddr5"]
"""Of memory: modules and boards of different generations do not fit each other."""


@record
class Part:
    """What every entry of the catalogue has.

    Attributes
    ----------
    id : str
        How scenarios, prices and plans name it.
    name : str
        What a buyer calls it.
    part_numbers : tuple of str
        The maker's own numbers for it.
    aliases : tuple of str
        Other names that quotes give it.
    regions : tuple of str
        The only regions in which it is sold; empty for everywhere.
    export_barred : tuple of str
        Regions that export rules close to it.
    source : tuple of str
        Documents behind all values that name none of their own.
    evidence : mapping
        Dotted path of a value to where it comes from; filled by the loader.
    """

    id: Text
    name: Text
    part_numbers: tuple[Text, ...] = ()
    aliases: tuple[Text, ...] = ()
    note: str = ""
    regions: tuple[Text, ...] = ()
    export_barred: tuple[Text, ...] = ()
    source: tuple[Text, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)


@record
class FlopRates:
    """Dense peak rates of a GPU in FLOP/s, without sparsity; None where the type does not exist."""

    bf16_flops: Flops
    fp8_flops: Flops | None = None
    fp4_flops: Flops | None = None


@record
class Gpu(Part):
    """An accelerator.

    Attributes
    ----------
    architecture : str
        Compiler target such as ``sm90`` or ``gfx942``; decides which formats exist.
    form_factor : str
        What it plugs into; a chassis names the same word.
    memory_bytes : int
        As the driver shows it, which is not what the label says.
    visible_bytes : int or None
        As engines see it as total, which is less by what the driver keeps; None where no log says.
    memory_bandwidth_bytes_per_s : int
        Nominal.
    dense : FlopRates
        Peaks without sparsity.
    power_w : int
        Board power limit.
    host_link_bytes_per_s : int
        One direction, raw, of its own link towards the CPU.
    fabric_bytes_per_s : int
        One direction, to the other GPUs of the node; 0 where there is none.
    """

    kind: Literal["gpu"] = "gpu"
    vendor: Text
    architecture: Text
    form_factor: Text
    memory_bytes: Bytes
    visible_bytes: Bytes | None = None
    memory_bandwidth_bytes_per_s: BytesPerSecond
    dense: FlopRates
    power_w: Watts
    host_link_bytes_per_s: BytesPerSecond
    fabric_bytes_per_s: BytesPerSecond


@record
class Cpu(Part):
    """A processor with the memory it drives.

    Attributes
    ----------
    platform : str
        Generation, such as ``xeon-emr``; a chassis names those it takes.
    memory_channels : int
        Per socket.
    memory_generation : {'ddr4', 'ddr5'}
        Which modules go into its board.
    speed_1dpc, speed_2dpc : int
        MT/s with one and with two DIMMs per channel; 0 where two do not go.
    power_w : int
        TDP.
    """

    kind: Literal["cpu"] = "cpu"
    vendor: Text
    platform: Text
    memory_channels: Count
    memory_generation: Generation = "ddr5"
    speed_1dpc: Count
    speed_2dpc: Whole
    power_w: Watts


@record
class Dimm(Part):
    """A memory module: a registered DIMM of one generation."""

    kind: Literal["dimm"] = "dimm"
    generation: Generation = "ddr5"
    capacity_bytes: Bytes
    speed: Count
    power_w: Watts


@record
class Drive(Part):
    """A solid-state drive.

    Attributes
    ----------
    role : {'data', 'boot'}
        Whether it carries the KV cache or the operating system.
    form_factors : tuple of str
        Bays it fits.
    read_iops, write_iops : int or None
        Random accesses of 4 KiB per second at steady state, for the reader: plans move long
        runs and count bytes per second. None where not known.
    dwpd : Fraction
        Rated drive writes per day over the warranty.
    warranty_years : int or None
        For how long that is rated; None where it is not known, and then taken to be five years.
    """

    kind: Literal["drive"] = "drive"
    vendor: Text
    role: Literal["data", "boot"]
    form_factors: tuple[Text, ...]
    capacity_bytes: Bytes
    read_bytes_per_s: BytesPerSecond
    write_bytes_per_s: BytesPerSecond
    read_iops: Count | None = None
    write_iops: Count | None = None
    dwpd: Number
    warranty_years: Count | None = None
    power_w: Watts


@record
class Nic(Part):
    """A network card; `optic` and `cable` are what one of its ports needs, by part id."""

    kind: Literal["nic"] = "nic"
    vendor: Text
    ports: Count
    port_bytes_per_s: BytesPerSecond
    optic: Text | None = None
    cable: Text
    power_w: Watts


@record
class Switch(Part):
    """A network switch; `usable_ports` is what is left for servers after uplinks and peer links."""

    kind: Literal["switch"] = "switch"
    vendor: Text
    ports: Count
    usable_ports: Count
    port_bytes_per_s: BytesPerSecond
    rack_units: Count
    power_w: Watts


@record
class Item(Part):
    """Anything else that is bought by the piece: racks, PDUs, optics, cables, kits, head nodes."""

    kind: Literal["item"] = "item"
    category: Text
    power_w: Watts = 0
    rack_units: Whole = 0


@record
class Chassis(Part):
    """A server barebone: case, boards, GPU baseboard, fans and power supplies.

    Attributes
    ----------
    gpu_form_factor : str
        What its GPU sockets or slots take.
    gpus : int
        How many; the sockets are always filled.
    gpu_models : tuple of str
        Which GPUs its baseboard or cooling allows.
    cpu_platforms : tuple of str
        Which processors fit.
    cpus : int
        Sockets.
    dimm_slots : int
        In the whole machine.
    max_dimm_bytes : int
        Largest module.
    drive_bays, drive_form_factors
        For data drives, boot drives apart.
    boot_drives : int
        How many of which boot drive every machine has.
    nic_slots : int
        Full-width slots for network cards.
    psus, psu_w, spare_psus
        Power supplies, each one's watts, and how many are there for redundancy.
    base_w : int
        Fans, boards and conversion loss, without the parts listed on their own.
    topology : str or None
        How its inside is wired, by the id of an entry of that kind.
    uplinks, uplink_bytes_per_s
        Where no such entry is named: links from switches that GPUs, drives and cards share to the CPUs.
    inside : Topology or None
        The entry that `topology` names; filled by the loader.
    cooling : {'air', 'liquid'}
        What the site must provide.
    whole_system : bool
        Whether it is sold as a complete system only (DGX).
    """

    kind: Literal["chassis"] = "chassis"
    vendor: Text
    rack_units: Count
    gpu_form_factor: Text
    n_gpus: Count
    gpu_models: tuple[Text, ...]
    cpu_platforms: tuple[Text, ...]
    n_cpus: Count
    dimm_slots: Count
    max_dimm_bytes: Bytes
    drive_bays: Whole
    drive_form_factors: tuple[Text, ...]
    boot_drives: Count
    nic_slots: Whole
    psus: Count
    psu_w: Watts
    spare_psus: Whole
    base_w: Watts
    topology: Text | None = None
    uplinks: Count | None = None
    uplink_bytes_per_s: LinkRate | None = None
    inside: Topology | None = None
    cooling: Literal["air", "liquid"] = "air"
    whole_system: Flag = False

    @property
    def power_limit_w(self) -> int:
        """Watts that the power supplies deliver with the spare ones lost."""
        return (self.psus - self.spare_psus) * self.psu_w


@record
class Quantity:
    """So many of a part."""

    part: Text
    count: Count


@record
class System(Part):
    """A machine that is sold complete under one price.

    Attributes
    ----------
    chassis, gpu, cpu : str
        Part ids; the chassis says how many of each.
    dimms, drives, boot, nics
        What is inside.
    """

    kind: Literal["system"] = "system"
    vendor: Text
    chassis: Text
    gpu: Text
    cpu: Text
    dimms: Quantity
    drives: tuple[Quantity, ...] = ()
    boot: Quantity
    nics: tuple[Quantity, ...] = ()


@record
class OwnedMachine(System):
    """A machine that is there already, as a whole system that costs nothing.

    Attributes
    ----------
    count : int
        How many of it there are.
    upgrade : bool
        Whether more of its DIMMs and drives may be bought for free slots and bays.
    """

    count: Count
    upgrade: Flag = False


@record
class ClusterLine:
    """One line of what a fleet needs beside its nodes, with its quantity rule.

    quantity = pieces * max(ceil(minimum / pieces), ceil(driver / per)), and 0 where the driver is
    at most `beyond`; the driver is what `driver` names. Lines with `percent` cost that share of each node's price
    instead, rounded up to a cent on each part.

    Attributes
    ----------
    item : str
        Part id, or the name of a service priced in the book under this id.
    driver : str
        ``fleet`` (once), ``nodes``, ``groups``, ``racks``, ``front_ports``, ``fabric_ports``.
    per : int
        How many of the driver one lot of `pieces` serves.
    beyond : int
        Up to so many of the driver need none: a spine is needed by more ports than one leaf has.
    percent : Fraction or None
        Share of the node's price.
    years : bool
        Whether the line is charged once per year of the plan's term.
    """

    id: Text
    name: Text
    item: Text | None = None
    driver: Literal["fleet", "nodes", "groups", "racks", "front_ports", "fabric_ports"]
    per: Count = 1
    pieces: Count = 1
    minimum: Whole = 0
    beyond: Whole = 0
    percent: Share | None = None
    percent_low: Share | None = None
    percent_high: Share | None = None
    per_year: Flag = False
    assumed: str = ""
    sources: tuple[Text, ...] = ()
    note: str = ""


@record
class Cluster:
    """The rules for everything beside the nodes, and what they leave out.

    Attributes
    ----------
    rack_units, rack_w : int
        What one rack offers to nodes.
    front_nic, front_nics
        Network card for user traffic and storage in every node, and how many.
    fabric_nic : str
        Network card per GPU in groups that span nodes and in pooled tiers.
    front_switch, fabric_switch : str
        Leaf switches of the two networks.
    lines : tuple of ClusterLine
        The quantity rules.
    not_included : tuple of str
        What the total does not hold, by name.
    """

    kind: Literal["cluster"] = "cluster"
    id: Text
    name: Text
    rack_units: Count
    rack_w: Watts
    front_nic: Text
    front_nics: Count
    fabric_nic: Text
    front_switch: Text
    fabric_switch: Text
    boot_drive: Text
    lines: tuple[ClusterLine, ...]
    not_included: tuple[Text, ...]
    note: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalog:
    """All parts by kind and id, the price books and the cluster rules.

    Attributes
    ----------
    parts : mapping of str to mapping of str to Part
        Kind, then id.
    """

    parts: Mapping[str, Mapping[str, Part]]
    books: Mapping[str, PriceBook]
    cluster: Cluster
    sources: SourceList
    digest: str = ""
    topologies: Mapping[str, Topology] = field(default_factory=dict)

    def gpus(self) -> Mapping[str, Gpu]:
        """Return the accelerators by id."""
        return self.parts["gpu"]  # type: ignore[return-value]

    def chassis(self) -> Mapping[str, Chassis]:
        """Return the chassis by id."""
        return self.parts["chassis"]  # type: ignore[return-value]

    def cpus(self) -> Mapping[str, Cpu]:
        """Return the processors by id."""
        return self.parts["cpu"]  # type: ignore[return-value]

    def dimms(self) -> Mapping[str, Dimm]:
        """Return the memory modules by id."""
        return self.parts["dimm"]  # type: ignore[return-value]

    def drives(self) -> Mapping[str, Drive]:
        """Return the drives by id."""
        return self.parts["drive"]  # type: ignore[return-value]

    def nics(self) -> Mapping[str, Nic]:
        """Return the network cards by id."""
        return self.parts["nic"]  # type: ignore[return-value]

    def switches(self) -> Mapping[str, Switch]:
        """Return the switches by id."""
        return self.parts["switch"]  # type: ignore[return-value]

    def systems(self) -> Mapping[str, System]:
        """Return the whole systems by id."""
        return self.parts["system"]  # type: ignore[return-value]

    def regions(self) -> list[str]:
        """Return every region that a price book or a part names."""
        parts = [part for by_id in self.parts.values() for part in by_id.values()]
        named = {name for part in parts for name in (*part.regions, *part.export_barred)}
        return sorted(named | {book.region for book in self.books.values()})

    def find(self, part: str) -> Part | None:
        """Return the part `part` of whatever kind, None where there is none."""
        for by_id in self.parts.values():
            if part in by_id:
                return by_id[part]
        return None

    def book(self, name: str) -> PriceBook:
        """Return the price book `name`.

        Raises
        ------
        InputError
            If there is none; names the nearest.
        """
        if name not in self.books:
            raise InputError(f"unknown price book '{name}'; {nearest(name, self.books)}")
        return self.books[name]
